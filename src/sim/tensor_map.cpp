#include <optional>
#include <string>

#include "model.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::simulator {
namespace {

model::TensorMapFields fields_of(const TensorBox& box, void* base, int64_t rows, int64_t columns, uint64_t row_bytes) {
  model::TensorMapFields f{};
  f.type = model::element_of(box.type, box.padded);
  f.rank = 2;
  f.base = base;
  f.dims[0] = uint64_t(columns);
  f.dims[1] = uint64_t(rows);
  f.strides[1] = row_bytes != 0 ? row_bytes : uint64_t(columns) * uint64_t(bits(box.type)) / 8;
  f.box[0] = uint32_t(box.inner);
  f.box[1] = uint32_t(box.outer);
  f.swizzle = box.swizzle;
  return f;
}

}  // namespace

std::optional<std::string> encode_tensor_map(const TensorBox& box, void* base, int64_t rows, int64_t columns,
                                             TensorMap& out, uint64_t row_bytes) {
  return model::encode_tensor_map(fields_of(box, base, rows, columns, row_bytes), out);
}

std::optional<std::string> encode_tensor_map(const TensorBox& box, void* base, int64_t rows, int64_t columns,
                                             int64_t batches, int64_t batch_bytes, TensorMap& out, uint64_t row_bytes) {
  model::TensorMapFields f = fields_of(box, base, rows, columns, row_bytes);
  f.rank = 3;
  f.dims[2] = uint64_t(batches);
  f.strides[2] = uint64_t(batch_bytes);
  f.box[2] = 1;
  return model::encode_tensor_map(f, out);
}

}  // namespace warpwright::simulator
