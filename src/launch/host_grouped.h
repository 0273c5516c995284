// Filling the arguments of the grouped Blackwell kernels on the host, as host_kernels.h does it for the others.
#pragma once
#include <cstdint>
#include <string>

#include "launch/host_kernels.h"
#include "warpwright/status.h"

namespace warpwright::launch {

// Pointers in device memory. `table` says how many rows, groups and matrices there are.
struct GroupedOperands {
  void* a = nullptr;          // tokens [table.rows, k], or as the configuration has it stored
  void* b = nullptr;          // [table.matrix_count][n, k], or so
  void* a_scales = nullptr;   // tiles of factors, each group (or slot) begins a new one
  void* b_scales = nullptr;   // tiles of factors, each matrix begins a new one
  void* d = nullptr;          // [table.rows, n]
  int64_t a_scale_tiles = 0;  // rows of tiles that a_scales has
  int n = 0, k = 0;
  GroupTable table = {};
  const float* matrix_alpha = nullptr;
  void* d_scales = nullptr;   // out_scaling: tiles of factors of D
  int64_t d_scale_tiles = 0;  // rows of tiles that d_scales has
  const float* matrix_out_scale = nullptr;
  const int32_t* index = nullptr;  // of gathered rows: a has a_rows of them
  int a_rows = 0;
  bool accumulate = false;  // by_depth: D is C of the epilogue too
  const void* bias = nullptr;
  int64_t bias_stride = 0;  // from the bias of one matrix to the next
  float beta = 0;           // of a function of the user's own
};

inline Status refuse(const GroupedGemmSm100Config& c, const GroupedOperands& o) {
  const GroupTable& t = o.table;
  if (o.n < 0 || o.k < 0 || t.rows < 0 || t.groups < 0 || t.matrix_count < 0) {
    return problem::refused(fmt::format("{} rows in {} groups, {} matrices of [{}, {}]: an extent is negative.", t.rows,
                                        t.groups, t.matrix_count, o.n, o.k));
  }
  if (t.groups > 0 && (t.offsets == nullptr) == (t.counts == nullptr)) {
    return problem::refused("groups: the table has either offsets or counts.");
  }
  // Each matrix begins a new tile of factors, and both are counted by 32-bit integers.
  const int64_t apart =
      c.dense().scaled() ? (int64_t(o.n) + kScaleTileRows - 1) / kScaleTileRows * kScaleTileRows : o.n;
  if (t.matrix_count * apart > INT32_MAX) {
    return problem::refused(
        fmt::format("{} matrices of {} rows: there are more than {} rows.", t.matrix_count, o.n, INT32_MAX));
  }
  if (c.dense().scaled() && t.rows > 0 && o.k > 0 && o.a_scale_tiles < 1)
    return problem::refused("a_scales: there is no tile of factors.");
  if (c.tiles(t.rows, t.groups, o.n) > INT32_MAX)
    return problem::refused("groups: there are more than 2^31 - 1 tiles.");
  if (const int unit = 2 * scale_block(c.out_scaling); c.out_scaling != BlockScaling::none && o.n % unit != 0) {
    return problem::refused(fmt::format(
        "n = {}: quantized results come in blocks of {}, each of two columns, so n must be a multiple of {}.", o.n,
        unit / 2, unit));
  }
  if (c.out_scaling != BlockScaling::none && t.rows > 0 && (o.d_scales == nullptr || o.d_scale_tiles < 1)) {
    return problem::refused("d_scales: there is no tile of factors.");
  }
  if (c.by_depth && (t.offsets == nullptr || t.depth != o.k)) {
    return problem::refused("groups: those along k have offsets up to k.");
  }
  // An operand stored along m or n has rows of this many elements.
  if (c.a_major == Major::MN) {
    if (Status s = problem::detail::refuse_operand("A", c.type, o.k, t.rows, o.a, 0, 0); !s) return s;
    return problem::detail::refuse_operand("B", c.type, o.k, o.n, o.b, 0, 0);
  }
  return problem::refuse(c.dense(), t.rows, o.n, o.k, o.a, o.b);
}

// [matrices][gates; ups], of which a tile has a gate and its up in turn.
inline MatrixMap paired_matrices(const TensorBox& box, const GroupedOperands& o) {
  const uint64_t bytes = uint64_t(o.n) * uint64_t(o.k) * uint64_t(bits(box.type)) / 8;
  return {box, o.b, o.n, o.k, o.table.matrix_count, bytes, 0, 1};
}

// Where D is C of the epilogue, and what a function of the user's own names.
inline void fill_nodes(EpilogueArgs& e, const GroupedOperands& o) {
  e.bias = o.bias;
  e.bias_batch_stride = o.bias_stride;
  e.beta = o.beta;
  if (!o.accumulate) return;
  e.beta = 1;
  e.c = o.d;
  e.c_row_stride = o.n;
}

template <class Encode>
Status fill(GroupedGemmSm100Args& args, const GroupedGemmSm100Config& config, const GroupedOperands& o,
            Encode&& encode) {
  if (Status s = refuse(config, o); !s) return s;
  const DenseGemmSm100Config c = config.dense();
  args = {};
  args.d = o.d;
  args.m = o.table.rows;
  args.n = o.n;
  args.k = o.k;
  args.groups = o.table;
  if (c.scaled()) args.groups.blocks = int32_t(o.a_scale_tiles);
  if (config.out_scaling != BlockScaling::none && (!c.scaled() || o.d_scale_tiles < o.a_scale_tiles)) {
    args.groups.blocks = int32_t(o.d_scale_tiles);
  }
  args.matrix_alpha = o.matrix_alpha;
  args.d_scales = o.d_scales;
  args.matrix_out_scale = o.matrix_out_scale;
  args.a_index = o.index;
  args.a_rows = o.a_rows;
  fill_nodes(args.epilogue, o);
  if (o.k == 0 || o.table.rows == 0 || o.table.matrix_count == 0 || o.n == 0) return {};
  const int64_t matrix_rows = int64_t(o.table.matrix_count) * o.n;
  TensorMap& tokens = config.swap_ab ? args.b : args.a;
  TensorMap& matrices = config.swap_ab ? args.a : args.b;
  const int token_rows = config.gathered ? o.a_rows : o.table.rows;
  if (config.a_major == Major::MN) {
    if (Status s = encode(MatrixMap{config.token_box(), o.a, o.k, token_rows}, tokens); !s) return s;
    return encode(MatrixMap{config.matrix_box(), o.b, o.k, o.n}, matrices);
  }
  if (Status s = encode(MatrixMap{config.token_box(), o.a, token_rows, o.k}, tokens); !s) return s;
  const TensorBox matrix_box = config.matrix_box();
  if (Status s =
          encode(config.epilogue.pair() ? paired_matrices(matrix_box, o) : MatrixMap{matrix_box, o.b, matrix_rows, o.k},
                 matrices);
      !s)
    return s;
  if (!c.scaled()) return {};
  const auto tiles = [](int64_t n, int64_t tile) { return (n + tile - 1) / tile; };
  const int64_t along_k = tiles(o.k, scale_block(config.scaling) * kScaleTileColumns);
  const auto scales = [&](void* data, bool second, int64_t down, TensorMap& to) {
    const TensorBox box = second && config.has_sfb() ? config.sfb_box() : c.scale_box();
    return encode(MatrixMap{box, data, along_k, c.scale_box().inner, down, uint64_t(along_k) * kScaleTileBytes}, to);
  };
  TensorMap& of_tokens = config.swap_ab ? args.b_scales : args.a_scales;
  TensorMap& of_matrices = config.swap_ab ? args.a_scales : args.b_scales;
  if (Status s = scales(o.a_scales, config.swap_ab, o.a_scale_tiles, of_tokens); !s) return s;
  return scales(o.b_scales, !config.swap_ab, o.table.matrix_count * tiles(o.n, kScaleTileRows), of_matrices);
}

// `a_scales` is [blocks of k][rows, padded to a multiple of 4], of gathered rows [a_rows][blocks of k], `b_scales`
// [matrix][blocks of n][blocks of k]; of groups along k as those of A.
template <class Encode>
Status fill(BlockwiseFp8Sm100Args& args, const BlockwiseFp8Sm100Config& config, const GroupedOperands& o,
            Encode&& encode) {
  GroupedGemmSm100Config same{.scaling = BlockScaling::none, .tile_n = config.tile_n, .cta_group = config.cta_group};
  same.by_depth = config.by_depth;
  if (Status s = refuse(same, o); !s) return s;
  args = {};
  args.b_scales = static_cast<const float*>(o.b_scales);
  args.d = o.d;
  args.m = o.table.rows;
  args.n = o.n;
  args.k = o.k;
  args.groups = o.table;
  args.matrix_alpha = o.matrix_alpha;
  if (config.gathered) {
    args.a_index = o.index;
    args.a_rows = o.a_rows;
    args.a_row_scales = static_cast<const float*>(o.a_scales);
  }
  if (config.quantized()) args.d_scales = static_cast<float*>(o.d_scales);
  fill_nodes(args.epilogue, o);
  if (o.k == 0 || o.table.rows == 0 || o.table.matrix_count == 0 || o.n == 0) return {};
  const int a_rows = config.gathered ? o.a_rows : o.table.rows;
  if (Status s = encode(MatrixMap{config.a_box(), o.a, a_rows, o.k}, args.a); !s) return s;
  if (Status s =
          encode(config.epilogue.pair() ? paired_matrices(config.b_box(), o)
                                        : MatrixMap{config.b_box(), o.b, int64_t(o.table.matrix_count) * o.n, o.k},
                 args.b);
      !s)
    return s;
  if (config.gathered) return {};
  const int64_t blocks = (o.k + config.block - 1) / config.block;
  const auto scales = [&](const TensorBox& box, void* data, int rows, TensorMap& to) {
    return encode(MatrixMap{box, data, blocks, rows, 0, 0, config.padded_rows(rows)}, to);
  };
  if (Status s = scales(config.scales_box(), o.a_scales, o.table.rows, args.a_scales); !s || !config.by_depth) return s;
  return scales(config.b_scales_box(), o.b_scales, o.n, args.b_scale_map);
}

}  // namespace warpwright::launch
