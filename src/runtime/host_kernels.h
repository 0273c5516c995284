// Filling the arguments of the kernels on the host. The maps are made by `encode(const MatrixMap&, TensorMap&)`, which
// returns nothing or a sentence: the driver's encoder on the GPU, our own in the simulator.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/gpu.h"
#include "warpwright/kernel/config.h"
#include "warpwright/kernel/config_sm100.h"

namespace warpwright::runtime {

// A row-major matrix and the box in which a kernel moves it.
struct MatrixMap {
  TensorBox box;
  void* data = nullptr;  // 16-byte aligned
  int64_t rows = 0;
  int64_t columns = 0;

  uint64_t row_bytes() const { return uint64_t(columns) * uint64_t(bits(box.type)) / 8; }
};

inline TensorMapSpec to_tensor_map_spec(const MatrixMap& matrix) {
  TensorMapSpec spec;
  spec.element = matrix.box.type;
  spec.rank = 2;
  spec.base = matrix.data;
  spec.dims = {uint64_t(matrix.columns), uint64_t(matrix.rows)};
  spec.strides = {0, matrix.row_bytes()};
  spec.box = {uint32_t(matrix.box.inner), uint32_t(matrix.box.outer)};
  spec.swizzle = matrix.box.swizzle;
  return spec;
}

struct EncodeForGpu {
  std::optional<std::string> operator()(const MatrixMap& matrix, TensorMap& map) const {
    return encode_tensor_map_gpu(to_tensor_map_spec(matrix), map);
  }
};

template <class Encode>
std::optional<std::string> fill(RingCopyArgs& args, const RingCopyConfig& config, void* x, void* y, int rows,
                                int columns, float alpha, float beta, Encode&& encode) {
  args = {{}, {}, rows, columns, alpha, beta};
  if (auto e = encode(MatrixMap{config.box(), x, rows, columns}, args.x)) return e;
  return encode(MatrixMap{config.box(), y, rows, columns}, args.y);
}

// `scale` has a factor for each CTA of a cluster.
template <class Encode>
std::optional<std::string> fill(ClusterRingArgs& args, const ClusterRingConfig& config, void* x, float* sums, int rows,
                                int columns, const float* scale, Encode&& encode) {
  args = {};
  args.sums = sums;
  args.rows = rows;
  args.columns = columns;
  for (int i = 0; i < config.cluster; ++i) args.scale[i] = scale[i];
  return encode(MatrixMap{config.box(), x, rows, columns}, args.x);
}

// Without depth A and B have no elements, so no map: the kernels do not use it then.
template <class Args, class Config, class Encode>
std::optional<std::string> fill_operands(Args& args, const Config& config, void* a, void* b, Encode&& encode) {
  if (args.k == 0) return {};
  if (auto e = encode(MatrixMap{config.a_box(), a, args.m, args.k}, args.a)) return e;
  return encode(MatrixMap{config.b_box(), b, args.n, args.k}, args.b);
}

template <class Encode>
std::optional<std::string> fill(DenseGemmArgs& args, const DenseGemmConfig& config, void* a, void* b, void* d, int m,
                                int n, int k, float alpha, Encode&& encode) {
  args = {{}, {}, {}, m, n, k, alpha};
  if (auto e = fill_operands(args, config, a, b, encode)) return e;
  return encode(MatrixMap{config.d_box(), d, m, n}, args.d);
}

// `x` has m rows of k, `w` n rows of k, `d` m rows of n.
template <class Encode>
std::optional<std::string> fill(SkinnyGemmArgs& args, const SkinnyGemmConfig& config, void* x, void* w, void* d, int m,
                                int n, int k, float alpha, Encode&& encode) {
  args = {{}, {}, {}, m, n, k, alpha, false};
  if (k > 0) {
    if (auto e = encode(MatrixMap{config.x_box(), x, m, k}, args.x)) return e;
    if (auto e = encode(MatrixMap{config.w_box(), w, n, k}, args.w)) return e;
  }
  return encode(MatrixMap{config.d_box(), d, m, n}, args.d);
}

template <class Encode>
std::optional<std::string> fill(TmemLifecycleArgs& args, const TmemLifecycleConfig& config, void* a, void* b, void* d,
                                int m, int n, int k, Encode&& encode) {
  args = {{}, {}, d, m, n, k};
  return fill_operands(args, config, a, b, encode);
}

template <class Encode>
std::optional<std::string> fill(DenseGemmSm100Args& args, const DenseGemmSm100Config& config, void* a, void* b, void* d,
                                int m, int n, int k, float alpha, Encode&& encode) {
  args = {{}, {}, d, m, n, k, {}};
  args.epilogue.alpha = alpha;
  return fill_operands(args, config, a, b, encode);
}

template <class Encode>
std::optional<std::string> fill(BlockwiseFp8Sm100Args& args, const BlockwiseFp8Sm100Config& config, void* a, void* b,
                                void* a_scales, const void* b_scales, void* d, int m, int n, int k, Encode&& encode) {
  args = {{}, {}, {}, static_cast<const float*>(b_scales), d, m, n, k};
  if (auto e = fill_operands(args, config, a, b, encode)) return e;
  if (k == 0) return {};
  const int64_t blocks = (k + config.block - 1) / config.block;
  return encode(MatrixMap{config.scales_box(), a_scales, blocks, m}, args.a_scales);
}

}  // namespace warpwright::runtime
