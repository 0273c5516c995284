#include "launch/tensor_map.h"

namespace warpwright::launch {

TensorMapSpec spec_of(const MatrixMap& matrix) {
  TensorMapSpec spec;
  spec.element = matrix.box.type;
  spec.base = matrix.data;
  spec.dims = {uint64_t(matrix.columns), uint64_t(matrix.rows)};
  spec.strides = {0, matrix.row_bytes()};
  spec.box = {uint32_t(matrix.box.inner), uint32_t(matrix.box.outer)};
  spec.swizzle = matrix.box.swizzle;
  spec.l2_promotion = promotion_of(matrix.row_bytes());
  spec.padded = matrix.box.padded;
  if (matrix.batches > 0) {
    spec.rank = 3;
    spec.dims[2] = uint64_t(matrix.batches);
    spec.strides[2] = matrix.batch_bytes;
    spec.box[2] = 1;
  }
  return matrix.paired == 0 ? spec : in_pairs(spec, uint32_t(matrix.paired));
}

TensorMapSpec in_pairs(TensorMapSpec spec, uint32_t unit) {
  const uint64_t row = spec.strides[1], half = spec.dims[1] / 2;
  spec.dims = {spec.dims[0], unit, 2, half / unit, spec.dims[2]};
  spec.strides = {0, row, half * row, unit * row, spec.strides[2]};
  spec.box = {spec.box[0], unit, 2, spec.box[1] / (2 * unit), 1};
  spec.rank += 2;
  return spec;
}

}  // namespace warpwright::launch
