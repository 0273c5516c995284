// The NVIDIA devices of this machine and their tensor maps. The driver is opened at run time, so the same binary starts
// where there is none: list_gpus() is empty and encode_tensor_map_gpu() says why it cannot.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"

namespace warpwright::runtime {

struct GpuInfo {
  std::string name;
  int cc_major = 0;
  int cc_minor = 0;
  int sm_count = 0;
  uint64_t memory = 0;  // bytes
  uint64_t l2_bytes = 0;
  int driver_version = 0;  // the CUDA version of the driver, 1000 * major + 10 * minor
};

// In the driver's order, which is the order of the runtime's device numbers.
std::vector<GpuInfo> list_gpus();
// Why list_gpus() is empty; nothing when the driver works.
std::optional<std::string> gpu_driver_problem();

enum class L2Promotion : uint8_t { none, b64, b128, b256 };

// A tiled tensor in device memory, dimensions innermost first. Elements outside the tensor are read as zero.
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

// Fills `map` through cuTensorMapEncodeTiled. Returns a sentence on failure.
std::optional<std::string> encode_tensor_map_gpu(const TensorMapSpec& spec, TensorMap& map);

}  // namespace warpwright::runtime
