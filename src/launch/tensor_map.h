// What a tensor map describes, for both executors: the driver encodes it for the TMA, the simulator for its own.
#pragma once
#include <array>
#include <cstdint>

#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"
#include "warpwright/core/tensor_box.h"
#include "warpwright/status.h"

namespace warpwright::launch {

// The alignment of addresses and strides that the TMA takes, in bytes.
constexpr int64_t kTmaAlignment = 16;

enum class L2Promotion : uint8_t { none, b64, b128, b256 };

// A tiled tensor in memory, dimensions innermost first. Elements outside the tensor are read as zero.
struct TensorMapSpec {
  DType element = DType::bf16;
  int rank = 2;                          // 1..5
  void* base = nullptr;                  // 16-byte aligned
  std::array<uint64_t, 5> dims = {};     // elements
  std::array<uint64_t, 5> strides = {};  // bytes; strides[0] is not used, the innermost dimension is dense
  std::array<uint32_t, 5> box = {};      // elements
  Swizzle swizzle = Swizzle::b128;
  L2Promotion l2_promotion = L2Promotion::b256;
  bool padded = false;  // e2m1: in shared memory sixteen elements take sixteen bytes (TensorBox), not eight
};

// How much L2 fetches at once. Where rows do not begin at multiples of 128 bytes, fetching two lines costs more than it
// brings: the H200 loads such matrices 11 to 17 % faster with one, others up to 2 % faster with two.
inline L2Promotion promotion_of(uint64_t row_bytes) {
  return row_bytes % 128 == 0 ? L2Promotion::b256 : L2Promotion::b128;
}

// A row-major matrix, or a batch of them, and the box in which a kernel moves it.
struct MatrixMap {
  TensorBox box;
  void* data = nullptr;  // 16-byte aligned
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t batches = 0;       // 0: one matrix, and a map of two dimensions
  uint64_t batch_bytes = 0;  // from one matrix to the next
  int64_t row_stride = 0;    // in elements; 0: rows without gaps
  int paired = 0;            // not 0: in_pairs() with this many

  uint64_t row_bytes() const { return uint64_t(row_stride == 0 ? columns : row_stride) * uint64_t(bits(box.type)) / 8; }
};
TensorMapSpec spec_of(const MatrixMap& matrix);
// The map of [gates; ups], a matrix or a batch of them, whose boxes take `unit` rows of the first half, as many of the
// second, and so on: two dimensions more, {k, 0, 0, first row of the box / 2 / unit} being its corner.
TensorMapSpec in_pairs(TensorMapSpec spec, uint32_t unit);

// The only thing that differs between executors while arguments are made.
class MapEncoder {
 public:
  virtual ~MapEncoder() = default;
  virtual Status encode(const TensorMapSpec& spec, TensorMap& map) const = 0;
  Status operator()(const MatrixMap& matrix, TensorMap& map) const { return encode(spec_of(matrix), map); }
  // The same tensor at another address; much faster than encoding.
  virtual Status set_address(TensorMap& map, const void* address) const = 0;
};

}  // namespace warpwright::launch
