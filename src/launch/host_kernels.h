// Filling the arguments of the kernels on the host. The maps are made by `encode(const MatrixMap&, TensorMap&)`, which
// returns a Status: the driver's encoder on the GPU, our own in the simulator.
#pragma once
#include <cstdint>
#include <string>

#include "launch/tensor_map.h"
#include "problem/refuse_sm100.h"
#include "warpwright/kernel/config.h"
#include "warpwright/kernel/demo/config.h"
#include "warpwright/kernel/sm100/config.h"
#include "warpwright/kernel/sm100/grouped/config.h"
#include "warpwright/kernel/sm90/dense/config.h"
#include "warpwright/kernel/sm90/skinny/config.h"
#include "warpwright/status.h"

namespace warpwright::launch {

template <class Encode>
Status fill(RingCopyArgs& args, const RingCopyConfig& config, void* x, void* y, int rows, int columns, float alpha,
            float beta, Encode&& encode) {
  args = {{}, {}, rows, columns, alpha, beta};
  if (Status s = encode(MatrixMap{config.box(), x, rows, columns}, args.x); !s) return s;
  return encode(MatrixMap{config.box(), y, rows, columns}, args.y);
}

// `scale` has a factor for each CTA of a cluster.
template <class Encode>
Status fill(ClusterRingArgs& args, const ClusterRingConfig& config, void* x, float* sums, int rows, int columns,
            const float* scale, Encode&& encode) {
  args = {};
  args.sums = sums;
  args.rows = rows;
  args.columns = columns;
  for (int i = 0; i < config.cluster; ++i) args.scale[i] = scale[i];
  return encode(MatrixMap{config.box(), x, rows, columns}, args.x);
}

// Without depth A and B have no elements, so no map: the kernels do not use it then.
template <class Args, class Config, class Encode>
Status fill_operands(Args& args, const Config& config, void* a, void* b, Encode&& encode) {
  if (args.k == 0) return {};
  if (Status s = encode(MatrixMap{config.a_box(), a, args.m, args.k}, args.a); !s) return s;
  return encode(MatrixMap{config.b_box(), b, args.n, args.k}, args.b);
}

// The operands of a product as they lie in device memory: `a` is [m, k] or, MN-major, [k, m].
struct DenseGemmOperands {
  MatrixArgs a, b, d;
  int m = 0, n = 0, k = 0;
  int batches = 1;
  EpilogueArgs epilogue = {};
  const float* a_scales = nullptr;
  const float* b_scales = nullptr;
  int64_t a_scales_batch_stride = 0;
  int64_t b_scales_batch_stride = 0;
  void* workspace = nullptr;
  int splits = 1;
};

// MatrixMap::paired of the operand B.
template <class Config>
int pairs_of(const Config& config) {
  return config.epilogue.pair() ? kPairedRows / 2 : 0;
}

template <class Encode>
Status fill(DenseGemmArgs& args, const DenseGemmConfig& config, const DenseGemmOperands& o, Encode&& encode) {
  args = {};
  args.m = o.m;
  args.n = o.n;
  args.k = o.k;
  args.batches = o.batches;
  args.a_batch_step = o.a.batch_stride == 0 ? 0 : 1;
  args.b_batch_step = o.b.batch_stride == 0 ? 0 : 1;
  args.epilogue = o.epilogue;
  args.a_scales = o.a_scales;
  args.b_scales = o.b_scales;
  args.a_scales_batch_stride = o.a_scales_batch_stride;
  args.b_scales_batch_stride = o.b_scales_batch_stride;
  args.a_matrix = o.a;
  args.b_matrix = o.b;
  args.d_matrix = o.d;
  args.workspace = o.workspace;
  args.splits = o.splits;
  // A matrix that all of a batch share has a map of one.
  const auto map = [&](const TensorBox& box, const MatrixArgs& matrix, int64_t rows, int64_t columns, TensorMap& to,
                       int paired = 0) {
    const bool shared = matrix.batch_stride == 0;
    const int64_t apart = shared ? matrix.row_stride * rows : matrix.batch_stride;
    return encode(MatrixMap{box, matrix.data, rows, columns,
                            !config.batched ? 0
                            : shared        ? 1
                                            : o.batches,
                            uint64_t(apart) * uint64_t(bits(box.type)) / 8, matrix.row_stride, paired},
                  to);
  };
  const auto operand = [&](const TensorBox& box, Major major, const MatrixArgs& matrix, int64_t lines, TensorMap& to,
                           int paired = 0) {
    return map(box, matrix, major == Major::K ? lines : o.k, major == Major::K ? o.k : lines, to, paired);
  };
  if (config.load == Mover::tma && o.k > 0) {
    if (Status s = operand(config.a_box(), config.a_major, o.a, o.m, args.a); !s) return s;
    if (Status s = operand(config.b_box(), config.b_major, o.b, o.n, args.b, pairs_of(config)); !s) return s;
  }
  if (config.store == Mover::tma) return map(config.d_box(), o.d, o.m, o.n / config.operands(), args.d);
  return {};
}

// Rows without gaps, alpha times the product.
template <class Encode>
Status fill(DenseGemmArgs& args, const DenseGemmConfig& config, void* a, void* b, void* d, int m, int n, int k,
            float alpha, Encode&& encode) {
  DenseGemmOperands o;
  o.a = {a, config.a_major == Major::K ? k : m, 0};
  o.b = {b, config.b_major == Major::K ? k : n, 0};
  o.d = {d, n, 0};
  o.m = m;
  o.n = n;
  o.k = k;
  o.epilogue.alpha = alpha;
  return fill(args, config, o, encode);
}

// `x` has m rows of k, `w` n rows of k, `d` m rows of n; strides of 0 mean rows without gaps.
template <class Encode>
Status fill(SkinnyGemmArgs& args, const SkinnyGemmConfig& config, const MatrixArgs& x, const MatrixArgs& w,
            const MatrixArgs& d, int m, int n, int k, const EpilogueArgs& epilogue, Encode&& encode) {
  args = {};
  args.m = m;
  args.n = n;
  args.k = k;
  args.epilogue = epilogue;
  if (k > 0) {
    if (Status s = encode(MatrixMap{config.x_box(), x.data, m, k, 0, 0, x.row_stride}, args.x); !s) return s;
    const MatrixMap weights{config.w_box(), w.data, n, k, 0, 0, w.row_stride, pairs_of(config)};
    if (Status s = encode(weights, args.w); !s) return s;
  }
  return encode(MatrixMap{config.d_box(), d.data, m, n / config.operands(), 0, 0, d.row_stride}, args.d);
}
template <class Encode>
Status fill(SkinnyGemmArgs& args, const SkinnyGemmConfig& config, void* x, void* w, void* d, int m, int n, int k,
            float alpha, Encode&& encode) {
  EpilogueArgs epilogue;
  epilogue.alpha = alpha;
  return fill(args, config, MatrixArgs{x}, MatrixArgs{w}, MatrixArgs{d}, m, n, k, epilogue, encode);
}

template <class Encode>
Status fill(TmemLifecycleArgs& args, const TmemLifecycleConfig& config, void* a, void* b, void* d, int m, int n, int k,
            Encode&& encode) {
  args = {{}, {}, d, m, n, k};
  return fill_operands(args, config, a, b, encode);
}

// The maps through which the epilogue of a Blackwell kernel moves matrices, from the pointers and strides in `args`.
template <class Args, class Encode>
Status fill_epilogue_maps(Args& args, const DenseGemmSm100Config& config, int batches, int64_t d_batch_stride,
                          Encode&& encode) {
  const EpilogueArgs& e = args.epilogue;
  const int64_t columns = config.result_columns(args.n);
  // A tensor that all matrices of a batch share has a map of one.
  const auto map = [&](const char* name, const TensorBox& box, const void* data, int64_t rows, int64_t row_stride,
                       int64_t batch_stride, TensorMap& to, int32_t* step) -> Status {
    const bool shared = batch_stride == 0;
    if (step != nullptr) *step = shared ? 0 : 1;
    const int64_t apart = shared ? rows * (row_stride == 0 ? columns : row_stride) : batch_stride;
    const Status s = encode(MatrixMap{box, const_cast<void*>(data), rows, columns,
                                      !config.batched ? 0
                                      : shared        ? 1
                                                      : batches,
                                      uint64_t(apart) * uint64_t(bits(box.type)) / 8, row_stride},
                            to);
    if (s) return s;
    return Status(s.code(), std::string(name) + ", " + std::to_string(rows) + " x " + std::to_string(columns) + ": " +
                                s.message());
  };
  Status s;
  EpilogueMaps& maps = args.maps;
  if (config.store_stages > 0) {
    // An H200 overwrites what follows the last element of a row in its unit.
    if (const int unit = 128 / bits(config.out_type); columns % unit != 0) {
      return problem::refused("D, " + std::to_string(args.m) + " x " + std::to_string(columns) +
                              ": the TMA stores whole units of 16 bytes, so D must have a multiple of " +
                              std::to_string(unit) + " columns.");
    }
    s = map("D", config.d_box(), args.d, args.m, args.d_row_stride, d_batch_stride, maps.d, nullptr);
  }
  if (config.epilogue_load_stages == 0) return s;
  if (s && config.epilogue.source && e.c != nullptr) {
    s = map("C", config.c_box(), e.c, args.m, e.c_row_stride, e.c_batch_stride, maps.c, &maps.c_batch_step);
  }
  if (s && config.epilogue.residual && e.residual != nullptr) {
    s = map("residual", config.residual_box(), e.residual, args.m, e.residual_row_stride, e.residual_batch_stride,
            maps.residual, &maps.residual_batch_step);
  }
  const auto bias = [&](const char* name, const void* data, TensorMap& to) {
    return map(name, config.bias_box(), data, 1, 0, e.bias_batch_stride, to, &maps.bias_batch_step);
  };
  if (s && config.loads_bias() && e.bias != nullptr) s = bias("bias", e.bias, maps.bias);
  if (s && config.loads_bias() && e.up_bias != nullptr) s = bias("up_bias", e.up_bias, maps.up_bias);
  return s;
}

// With a depth that is shared, `args.splits` and `args.workspace` are still to be set.
template <class Encode>
Status fill(DenseGemmSm100Args& args, const DenseGemmSm100Config& config, void* a, void* b, void* d, int m, int n,
            int k, float alpha, Encode&& encode, const problem::GemmBatch& batch = {}) {
  if (Status s = problem::refuse(config, m, n, k, a, b, batch); !s) return s;
  args = {};
  args.d = d;
  args.m = m;
  args.n = n;
  args.k = k;
  args.epilogue.alpha = alpha;
  args.batches = config.batched ? batch.count : 1;
  args.d_batch_stride = batch.d_stride;
  if (Status s = fill_epilogue_maps(args, config, args.batches, args.d_batch_stride, encode); !s) return s;
  if (k == 0) return {};
  // A matrix that all of a batch share has a map of one.
  const auto operand = [&](void* data, DType type, int rows, int64_t stride) {
    const int64_t apart = stride == 0 ? int64_t(rows) * k : stride;
    return MatrixMap{{},
                     data,
                     rows,
                     k,
                     !config.batched ? 0 : stride == 0 ? 1 : batch.count,
                     uint64_t(apart) * uint64_t(bits(type)) / 8};
  };
  const MatrixMap of_a = operand(a, config.type, m, batch.a_stride);
  const MatrixMap of_b = operand(b, b_dtype(config.scaling, config.type), n, batch.b_stride);
  MatrixMap first = config.swap_ab ? of_b : of_a, second = config.swap_ab ? of_a : of_b;
  first.box = config.a_box();
  second.box = config.b_box();
  second.paired = config.epilogue.pair() ? 1 : 0;  // rows of a tile are gate and up in turn
  args.a_batch_step = (config.swap_ab ? batch.b_stride : batch.a_stride) == 0 ? 0 : 1;
  args.b_batch_step = (config.swap_ab ? batch.a_stride : batch.b_stride) == 0 ? 0 : 1;
  if (Status s = encode(first, args.a); !s) return s;
  return encode(second, args.b);
}

// The maps of the tiles of factors of A and B (core/block_scaling.h), after fill(): [matrices of the batch][tiles of
// rows][tiles along k]. A matrix that all of a batch share has its factors once.
template <class Encode>
Status fill_block_scales(DenseGemmSm100Args& args, const DenseGemmSm100Config& config, void* a_scales, void* b_scales,
                         Encode&& encode) {
  if (args.k == 0) return {};
  const auto tiles = [](int64_t n, int64_t tile) { return (n + tile - 1) / tile; };
  const int64_t along_k = tiles(args.k, scale_block(config.scaling) * kScaleTileColumns);
  const auto map = [&](void* data, int rows, int32_t batch_step, TensorMap& to, int32_t& step) {
    const int64_t down = tiles(rows, kScaleTileRows);
    step = batch_step == 0 ? 0 : int32_t(down);
    return encode(MatrixMap{config.scale_box(), data, along_k, config.scale_box().inner,
                            down * (batch_step == 0 ? 1 : args.batches), uint64_t(along_k) * kScaleTileBytes},
                  to);
  };
  void* const first = config.swap_ab ? b_scales : a_scales;
  void* const second = config.swap_ab ? a_scales : b_scales;
  if (Status s = map(first, config.rows(args.m, args.n), args.a_batch_step, args.a_scales, args.a_scale_step); !s)
    return s;
  return map(second, config.columns(args.m, args.n), args.b_batch_step, args.b_scales, args.b_scale_step);
}

template <class Encode>
Status fill(BlockwiseFp8Sm100Args& args, const BlockwiseFp8Sm100Config& config, void* a, void* b, void* a_scales,
            const void* b_scales, void* d, int m, int n, int k, Encode&& encode, const EpilogueArgs& nodes = {}) {
  args = {};
  args.epilogue = nodes;
  args.b_scales = static_cast<const float*>(b_scales);
  args.d = d;
  args.m = m;
  args.n = n;
  args.k = k;
  if (Status s = fill_epilogue_maps(args, config.dense(), 1, 0, encode); !s) return s;
  if (Status s = fill_operands(args, config, a, b, encode); !s) return s;
  if (k == 0) return {};
  const int64_t blocks = (k + config.block - 1) / config.block;
  return encode(MatrixMap{config.scales_box(), a_scales, blocks, m}, args.a_scales);
}

}  // namespace warpwright::launch
