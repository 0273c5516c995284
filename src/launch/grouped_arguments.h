// Filling the arguments of the grouped and blockwise Hopper kernels on the host.
#pragma once
#include <cstdint>
#include <string>

#include "launch/tensor_map.h"
#include "warpwright/kernel/sm90/grouped/config.h"
#include "warpwright/status.h"

namespace warpwright::launch {

// Matrices with packed rows in device memory. Those that a configuration does not have are not read.
struct GroupedProductOperands {
  void* a = nullptr;
  void* b = nullptr;
  const void* a_scales = nullptr;
  const void* b_scales = nullptr;
  void* d = nullptr;
  int n = 0, k = 0;
  GroupTable groups = {};  // one product: `rows`, and one matrix
  const void* bias = nullptr;
  DType bias_type = DType::fp32;
  bool shared_bias = false;
  float beta = 0;
  void* d_scales = nullptr;
  bool accumulate = false;
  const int32_t* index = nullptr;  // of gathered rows
  int a_rows = 0;
};

// Where the scales are aligned for the TMA.
template <class Encode>
Status fill_scale_maps(GroupedGemmArgs& args, const GroupedGemmConfig& config, const GroupedProductOperands& o,
                       Encode&& encode) {
  const int blocks = (o.k + kScaleBlock - 1) / kScaleBlock;
  const auto aligned = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
  if (blocks % 4 != 0 || !aligned(o.a_scales) || (config.row_scales() && !aligned(o.b_scales))) return {};
  const auto encode_scales = [&](TensorBox box, const void* scales, int64_t lines, TensorMap& map) {
    return encode(MatrixMap{box, const_cast<void*>(scales), lines, blocks}, map);
  };
  if (Status s = encode_scales(config.a_scale_box(), o.a_scales, o.groups.rows, args.a_scale_map); !s) return s;
  if (config.row_scales()) {
    const int64_t b_lines = int64_t(o.n) * o.groups.matrix_count;
    if (Status s = encode_scales(config.b_scale_box(), o.b_scales, b_lines, args.b_scale_map); !s) return s;
  }
  args.scales_staged = true;
  return {};
}

// The matrices B. Rows along k may go on in the next matrix, since A has zeros there in any case; rows along n end with
// theirs, or a NaN there would be multiplied by these zeros. In pairs the halves of each matrix end with it.
inline MatrixMap map_of_b(const GroupedGemmConfig& config, const GroupedProductOperands& o) {
  const int matrices = o.groups.matrix_count;
  if (!config.b_by_matrix()) return {config.b_box(), o.b, int64_t(o.n) * matrices, o.k};
  const uint64_t bytes = uint64_t(o.n) * uint64_t(o.k) * uint64_t(bits(config.type)) / 8;
  if (config.b_major == Major::MN) return {config.b_box(), o.b, o.k, o.n, matrices, bytes};
  return {config.b_box(), o.b, o.n, o.k, matrices, bytes, 0, kPairedRows / 2};
}

template <class Encode>
Status fill(GroupedGemmArgs& args, const GroupedGemmConfig& config, const GroupedProductOperands& o, Encode&& encode) {
  args = {};
  const int columns = o.n / config.operands();
  args.d_data = o.d;
  args.d_stride = columns;
  args.groups = o.groups;
  args.n = o.n;
  args.k = o.k;
  args.a_scales = static_cast<const float*>(o.a_scales);
  args.a_scales_stride = (o.k + kScaleBlock - 1) / kScaleBlock;
  args.b_scales = static_cast<const float*>(o.b_scales);
  args.bias = o.bias;
  args.bias_stride = o.shared_bias ? 0 : o.n;
  args.bias_is_bf16 = o.bias_type == DType::bf16;
  args.beta = o.beta;
  args.d_scales = static_cast<float*>(o.d_scales);
  args.d_scales_stride = columns / kScaleBlock;
  args.accumulate = o.accumulate;
  if (config.gathered) {
    args.a_data = o.a;
    args.a_index = o.index;
    args.a_rows = o.a_rows;
  }
  if (o.k > 0) {
    if (!config.gathered) {
      const MatrixMap a = config.a_major == Major::K ? MatrixMap{config.a_box(), o.a, o.groups.rows, o.k}
                                                     : MatrixMap{config.a_box(), o.a, o.k, o.groups.rows};
      if (Status s = encode(a, args.a); !s) return s;
    }
    if (Status s = encode(map_of_b(config, o), args.b); !s) return s;
    if (config.stages_scales()) {
      if (Status s = fill_scale_maps(args, config, o, encode); !s) return s;
    }
  }
  const int64_t d_rows = int64_t(o.groups.rows) * (config.by_depth() ? o.groups.groups : 1);
  return encode(MatrixMap{config.d_box(), o.d, d_rows, columns}, args.d);
}

template <class Encode>
Status fill(SkinnyBlockwiseArgs& args, const SkinnyBlockwiseConfig& config, const GroupedProductOperands& o,
            Encode&& encode) {
  args = {};
  args.x_scales = static_cast<const float*>(o.a_scales);
  args.x_scales_stride = (o.k + kScaleBlock - 1) / kScaleBlock;
  args.w_scales = static_cast<const float*>(o.b_scales);
  const int m = o.groups.rows;
  args.product.m = m;
  args.product.n = o.n;
  args.product.k = o.k;
  if (o.k > 0) {
    if (Status s = encode(MatrixMap{config.x_box(), o.a, m, o.k}, args.product.x); !s) return s;
    if (Status s = encode(MatrixMap{config.w_box(), o.b, o.n, o.k}, args.product.w); !s) return s;
  }
  return encode(MatrixMap{config.d_box(), o.d, m, o.n}, args.product.d);
}

}  // namespace warpwright::launch
