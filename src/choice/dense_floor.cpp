#include <algorithm>

#include "choice/dense.h"

namespace warpwright::choice {
namespace {

double bytes_of(const GemmShape& s) {
  const double m = double(s.m), n = double(s.n), k = double(s.k);
  const auto size = [](DType type) { return double(bits(type)) / 8; };
  double bytes = m * k * size(s.dtype) + n * k * size(s.b_dtype()) + m * n * size(s.epilogue.out);
  if (s.epilogue.source) bytes += m * n * size(s.epilogue.source_type);
  if (s.block_scaling != BlockScaling::none) bytes += (m + n) * k / scale_block(s.block_scaling);
  if (s.epilogue.residual) bytes += m * n * size(s.epilogue.residual_type);
  return double(s.batch) * bytes;
}

}  // namespace

Floor floor_of(const GemmShape& s, Arch arch) {
  const ChipFigures chip = chip_figures(arch);
  const double flops_per_us = chip.flops_per_us * 16 / std::max(bits(s.dtype), 8);
  Floor floor;
  floor.flops = 2.0 * double(s.batch) * double(s.m) * double(s.n) * double(s.k);
  floor.bytes = bytes_of(s);
  floor.tensor_us = floor.flops / flops_per_us;
  // A pair of 4-bit operands is multiplied at twice the rate of 8 bits.
  if (bits(s.dtype) == 4 && bits(s.b_dtype()) == 4) floor.tensor_us /= 2;
  floor.memory_us = floor.bytes / chip.bytes_per_us;
  return floor;
}

}  // namespace warpwright::choice
