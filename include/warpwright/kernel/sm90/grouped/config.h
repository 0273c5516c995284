// Configurations and arguments of the Hopper kernels for blockwise-scaled and grouped products. World-free, like
// kernel/config.h.
#pragma once
#include "warpwright/kernel/config.h"
#include "warpwright/kernel/sm90/dense/config.h"
#include "warpwright/kernel/sm90/skinny/config.h"
#include "warpwright/tile/group_mode.h"
#include "warpwright/tile/group_table.h"

namespace warpwright {

// How many elements along k, and rows of B, share a scale.
inline constexpr int kScaleBlock = 128;

// sm90/grouped/grouped_gemm.h: D[m, n] = sum over k of A[m, k] * B[n, k]. e4m3 operands have scales: one for each row
// of A and 128 elements along k, one for each 128 x 128 of B or for each row of B and 128 elements.
struct GroupedGemmConfig {
  DType type = DType::e4m3;  // the type of A and B: e4m3, or bf16 without scales
  DType out = DType::bf16;   // bf16, fp32, or e4m3 with a scale for each row and 128 columns
  int tile_m = 128;
  int tile_n = 128;  // a multiple of 16
  int stages = 4;
  int output_stages = 2;
  int output_boxes = 1;  // side by side in an output stage: handed on, and fenced, together
  int cluster = 1;
  ClusterAxis axis = ClusterAxis::m;
  int group_rows = 64;  // rows of a tile for each MMA warpgroup: 64 or 128
  int raster_group = 8;
  Groups groups = Groups::none;
  // For Groups::contiguous: the table says whether there are offsets, counts (Groups::masked), or neither (none).
  bool any_rows = false;
  int b_scale_rows = kScaleBlock;  // rows of B with one scale: 128 or 1
  // B is [gate; up] of n / 2 rows each, and D = silu(gate) * up has n / 2 columns. A tile has its columns of both.
  bool swiglu = false;
  bool bias = false;  // there may be one
  // A table says which row of A each row of the product takes: sm90/grouped/gather_rows.h.
  bool gathered = false;
  // K: stored [m, k] and [n, k]. MN: stored [k, m] and, each B, [k, n]; 16-bit types only.
  Major a_major = Major::K;
  Major b_major = Major::K;
  bool adds = false;  // one product, with an fp32 result: a launch may add it to D, as with groups along k
  // own_id() of a function of the user's own (epilogue/own.h), 0: there is none. It is given the sum, a bias if there
  // is one, and where the element lies. With row_bias that has an element for each row of D.
  uint64_t own = 0;
  bool row_bias = false;

  WW_HD constexpr bool scaled() const { return bits(type) == 8; }
  WW_HD constexpr bool by_depth() const { return groups == Groups::by_depth; }
  WW_HD constexpr bool row_scales() const { return scaled() && b_scale_rows == 1; }
  // Groups along k may end inside a stage, and begin inside one if k is contiguous; not where every block along k has a
  // scale of its own.
  WW_HD constexpr bool clears_edges() const { return by_depth() && !scaled(); }
  WW_HD constexpr bool adds_to_result() const { return out == DType::fp32 && (by_depth() || adds); }
  WW_HD constexpr int depth_unit() const { return scaled() ? kScaleBlock : 1; }
  // Columns of the product for one of D.
  WW_HD constexpr int operands() const { return swiglu ? 2 : 1; }
  WW_HD constexpr int out_columns() const { return tile_n / operands(); }
  // 16 rows of a tile of B are 8 gates and their 8 ups (kernel/config.h), and one MMA multiplies all of its rows. With
  // scales the tile has its gates first and its ups after them, with an MMA each.
  WW_HD constexpr bool in_pairs() const { return swiglu && !scaled(); }
  WW_HD constexpr int column_blocks() const { return swiglu && scaled() ? 2 : 1; }
  WW_HD constexpr int block_columns() const { return tile_n / column_blocks(); }
  WW_HD constexpr int tile_k() const { return int(swizzle_bytes(Swizzle::b128)) * 8 / bits(type); }
  WW_HD constexpr int warpgroups() const { return tile_m / group_rows; }
  WW_HD constexpr bool takes_turns() const { return scaled() && warpgroups() == 2; }
  // Blocks of 64 rows and block_columns() columns.
  WW_HD constexpr int group_blocks() const { return group_rows / 64 * column_blocks(); }
  // Scaled sums are added to a second set, one block at a time.
  WW_HD constexpr int accumulators() const { return (group_blocks() + (scaled() ? 1 : 0)) * block_columns() / 2; }
  WW_HD constexpr int cluster_m() const { return axis == ClusterAxis::m ? cluster : 1; }
  WW_HD constexpr int cluster_n() const { return axis == ClusterAxis::n ? cluster : 1; }
  // Two CTAs that otherwise work one above the other share the last rows of tiles of a group, side by side:
  // tile/paired_raster.h. With scales, which are read row by row, this costs more than it brings.
  WW_HD constexpr bool paired() const {
    return cluster_m() == 2 && tile_m == 128 && group_rows == 64 && !scaled() && !by_depth();
  }
  // Results wait for the next tile's MMAs: sm90/grouped/grouped_deferred.h.
  WW_HD constexpr bool defers() const {
    return !scaled() && !by_depth() && !swiglu && !bias && own == 0 && !gathered && out == DType::bf16 &&
           warpgroups() == 2;
  }
  WW_HD constexpr int a_share() const { return tile_m / cluster_n(); }
  WW_HD constexpr int b_share() const { return tile_n / cluster_m(); }
  WW_HD constexpr uint32_t a_bytes() const { return uint32_t(tile_m * tile_k() * bits(type) / 8); }
  WW_HD constexpr uint32_t b_bytes() const { return uint32_t(tile_n * tile_k() * bits(type) / 8); }
  WW_HD constexpr uint32_t stage_bytes() const { return a_bytes() + b_bytes(); }
  // Stages whose gathered rows are still under way when another one is begun. A consumer holds one stage until it has
  // the next, so at least two must have been published.
  WW_HD constexpr int stages_behind() const { return stages < 4 ? stages - 2 : stages / 2; }
  // What one TMA load brings: a K-major share, or of an MN-major one 64 rows, a panel of the swizzle.
  WW_HD constexpr int panel_rows() const { return int(swizzle_bytes(Swizzle::b128)) * 8 / bits(type); }
  WW_HD constexpr TensorBox panel_box() const { return {type, panel_rows(), tile_k(), Swizzle::b128}; }
  WW_HD constexpr TensorBox a_box() const {
    if (a_major == Major::MN) return panel_box();
    return {type, tile_k(), paired() ? tile_m / 2 : a_share(), Swizzle::b128};
  }
  WW_HD constexpr TensorBox b_box() const {
    if (b_major == Major::MN) return panel_box();
    return {type, tile_k(), b_share() / column_blocks(), Swizzle::b128};
  }
  // Columns of D that a K-major box of B is for.
  WW_HD constexpr int box_columns() const { return b_share() / operands(); }
  // The map of B has a dimension of matrices. Otherwise their rows follow each other.
  WW_HD constexpr bool b_by_matrix() const { return b_major == Major::MN || in_pairs(); }
  // The dense kernel whose epilogue this one shares.
  WW_HD constexpr DenseGemmConfig dense() const {
    return {.type = type, .tile_m = tile_m, .tile_n = out_columns(), .epilogue = factor_and_conversion(out)};
  }
  WW_HD constexpr TensorBox d_box() const { return dense().d_box(); }
  // Columns of a block that have one scale of B wherever the tile starts, and how many times they fit into it.
  WW_HD constexpr int scaled_columns() const {
    if (row_scales()) return 1;
    int step = kScaleBlock;
    while (out_columns() % step != 0) step /= 2;
    return step;
  }
  WW_HD constexpr int block_scales() const { return out_columns() / scaled_columns(); }
  // Lines of scales of B: for each column, or for the one or two blocks of 128 that a block of columns touches.
  WW_HD constexpr int block_lines() const { return row_scales() ? out_columns() : block_scales() == 1 ? 1 : 2; }
  WW_HD constexpr int scale_lines() const { return column_blocks() * block_lines(); }
  // The scales of one block along k. There is one slot for each stage.
  WW_HD constexpr uint32_t slot_bytes() const {
    return scaled() ? uint32_t(tile_m + (scale_lines() + 3) / 4 * 4) * 4 : 0;
  }
  // Where there are many lines, the TMA brings eight blocks along k together if their alignment allows it
  // (scales_staged in the arguments), and a warp distributes them to the slots.
  WW_HD constexpr bool stages_scales() const {
    return scaled() && (tile_m == 256 || by_depth() || (adds && row_scales()));
  }
  static constexpr int kStagedBlocks = 8;
  WW_HD constexpr TensorBox a_scale_box() const { return {DType::fp32, kStagedBlocks, tile_m, Swizzle::b32}; }
  WW_HD constexpr TensorBox b_scale_box() const { return {DType::fp32, kStagedBlocks, tile_n, Swizzle::b32}; }
  WW_HD constexpr uint32_t staged_bytes() const {
    return stages_scales() ? a_scale_box().bytes() + (row_scales() ? b_scale_box().bytes() : 0) : 0;
  }
  WW_HD constexpr uint32_t stage_room() const { return stage_bytes() + slot_bytes(); }
  WW_HD constexpr uint32_t output_bytes() const { return d_box().bytes() * uint32_t(output_boxes); }
  // Output stages of a tile, for each warpgroup.
  WW_HD constexpr int outputs() const { return group_rows / 64 * (out_columns() / (d_box().inner * output_boxes)); }
  WW_HD constexpr uint32_t used_bytes() const {
    return output_bytes() * uint32_t(output_stages * warpgroups()) + staged_bytes();
  }
  bool operator==(const GroupedGemmConfig&) const = default;
};

// The sentence says what is wrong; nullptr when the configuration can be compiled.
WW_HD constexpr const char* refuse(const GroupedGemmConfig& c) {
  if (c.type != DType::e4m3 && c.type != DType::bf16) return "grouped_gemm: operands are e4m3 or bf16";
  if (c.out != DType::bf16 && c.out != DType::fp32 && c.out != DType::e4m3) {
    return "grouped_gemm: the result is bf16, fp32 or e4m3";
  }
  if (c.out == DType::e4m3 && c.out_columns() != kScaleBlock) {
    return "grouped_gemm: a tile of an e4m3 result has the 128 columns that share a scale";
  }
  if (c.b_scale_rows != 1 && c.b_scale_rows != kScaleBlock) return "grouped_gemm: 1 or 128 rows of B share a scale";
  if (c.any_rows && c.groups != Groups::contiguous) return "grouped_gemm: any_rows is a property of contiguous groups";
  if (c.by_depth()) {
    if (c.out == DType::e4m3 || c.swiglu || c.bias) return "grouped_gemm: groups along k have sums only";
    if (c.scaled() && !c.row_scales()) return "grouped_gemm: groups along k have a scale for each row of B";
  }
  if (c.gathered) {
    if (c.groups != Groups::contiguous || c.any_rows)
      return "grouped_gemm: gathered rows are those of contiguous groups";
    if (c.group_rows != 64) return "grouped_gemm: gathered rows are for 64 rows of a warpgroup";
    if (c.stages_scales()) return "grouped_gemm: scales of gathered rows do not come by TMA";
    if (c.cluster_n() > 1) return "grouped_gemm: every CTA gathers rows of its own, a cluster lies along m";
  }
  if (c.a_major == Major::MN || c.b_major == Major::MN) {
    if (bits(c.type) != 16) return "grouped_gemm: wgmma reads MN-major operands of 16-bit types only";
    if (c.a_major != (c.by_depth() ? c.b_major : Major::K)) {
      return "grouped_gemm: A of groups of rows is stored [m, k], A and B of groups along k the same way";
    }
    if (c.swiglu || c.gathered) return "grouped_gemm: with swiglu or gathered rows B is stored [n, k]";
    if (c.b_share() % c.panel_rows() != 0 || (c.a_major == Major::MN && c.a_share() % c.panel_rows() != 0)) {
      return "grouped_gemm: a CTA's share of an operand is not made of whole panels";
    }
  }
  if (c.own != 0 && (c.swiglu || c.adds)) {
    return "grouped_gemm: a function of your own takes the place of the activation and of what D held";
  }
  if (c.row_bias && (c.own == 0 || c.bias || c.by_depth())) {
    return "grouped_gemm: a bias of each row is for a function of your own, of groups of rows, which has no other bias";
  }
  if (c.adds && (!c.scaled() || c.groups != Groups::none || c.out != DType::fp32)) {
    return "grouped_gemm: adds is a property of one product of e4m3 with an fp32 result";
  }
  if (c.swiglu && (c.group_rows != 64 || c.out == DType::fp32)) {
    return "grouped_gemm: swiglu is for 64 rows of a warpgroup and results of bf16 or e4m3";
  }
  if (c.group_rows != 64 && c.group_rows != 128) return "grouped_gemm: a warpgroup has 64 or 128 rows";
  if (c.tile_m < c.group_rows || c.tile_m % c.group_rows != 0 || c.warpgroups() > 2) {
    return "grouped_gemm: the rows of a tile are those of one or two warpgroups";
  }
  if (c.out_columns() < 16 || c.out_columns() % 16 != 0 || c.tile_n > 256) {
    return "grouped_gemm: tile_n is at most 256, and the columns of D in a tile a multiple of 16";
  }
  if (c.scaled() && !c.row_scales() && c.out_columns() + kScaleBlock - c.scaled_columns() > 2 * kScaleBlock) {
    return "grouped_gemm: the columns of a tile touch more than two blocks of B with a scale";
  }
  if (c.accumulators() > 208) return "grouped_gemm: the sums do not fit in registers";
  if (c.cluster < 1 || c.cluster > 8) return "grouped_gemm: a cluster has 1 to 8 CTAs";
  if (c.tile_n % c.cluster_m() != 0 || c.b_share() % (8 * c.operands()) != 0 || c.tile_m % c.cluster_n() != 0 ||
      c.a_share() % 8 != 0) {
    return "grouped_gemm: a CTA's share of an operand is not made of whole swizzle atoms";
  }
  if (c.stages < 2 || c.output_stages < (c.outputs() == 1 ? 1 : 2)) {
    return "grouped_gemm: two stages of a ring are held at once";
  }
  if (c.output_boxes < 1 || c.out_columns() % (c.d_box().inner * c.output_boxes) != 0) {
    return "grouped_gemm: the columns of a tile are whole output stages";
  }
  if (c.stages > stages_that_fit(c.stage_room(), c.used_bytes())) return "grouped_gemm: shared memory is too small";
  return nullptr;
}

struct GroupedGemmArgs {
  TensorMap a;  // config.a_box() over A as it is stored; without depth a and b are not read
  // config.b_box() over [groups.matrix_count * n, k] or, by matrix, over each of [groups.matrix_count][k, n] or, as
  // launch::in_pairs() has it, of [groups.matrix_count][gates; ups].
  TensorMap b;
  TensorMap d;             // config.d_box() over [rows of D, columns of D]
  void* d_data = nullptr;  // the same: where a group ends inside a box, threads store
  int64_t d_stride = 0;
  GroupTable groups = {};  // Groups::none: only `rows`
  int32_t n = 0;
  int32_t k = 0;
  // [groups.rows, blocks of k], rows `a_scales_stride` apart, and [groups.matrix_count][n, or its blocks][blocks of k].
  const float* a_scales = nullptr;
  int64_t a_scales_stride = 0;
  const float* b_scales = nullptr;
  const void* bias = nullptr;  // n elements for each matrix, `bias_stride` apart, or one for each row; null: none
  int64_t bias_stride = 0;
  float* d_scales =
      nullptr;  // the scales of a result in e4m3: [groups.rows, columns / 128], rows `d_scales_stride` apart
  int64_t d_scales_stride = 0;
  bool bias_is_bf16 = false;  // or fp32
  bool accumulate = false;    // config.adds_to_result(): added to what D holds
  // For a configuration that stages scales: a_scale_box() over a_scales and, with row scales, b_scale_box() over
  // b_scales.
  TensorMap a_scale_map;
  TensorMap b_scale_map;
  bool scales_staged = false;  // the maps are there
  // Of a configuration that gathers, in place of `a`: row i of the product is row a_index[i] of A, which has `a_rows`
  // rows of k elements without gaps; i is below groups.rows. A row that A does not have is taken as zeros. Then the
  // status word is 0 before the launch, and faults are added to it.
  const void* a_data = nullptr;
  const int32_t* a_index = nullptr;
  int32_t a_rows = 0;
  float beta = 0;  // of a function of the user's own
};

// sm90/skinny/skinny_blockwise.h: the product with blockwise scales for few rows of A, by the arrangement of
// sm90/skinny/skinny_gemm.h.
struct SkinnyBlockwiseConfig {
  DType out = DType::bf16;
  int rows = 64;    // rows of W in a tile: 64 or 128
  int tokens = 16;  // rows of X, a multiple of 8
  int split = 1;
  int stages = 8;
  int output_stages = 2;
  // The tokens are the M side of the MMA, 64 for each warpgroup, and the rows of W the N side. Then a thread has two
  // tokens, and reads two scales of a block instead of one for every fourth token.
  bool tokens_first = false;

  // The kernel whose rings and exchange this one shares. With tokens_first its weights are the tokens.
  WW_HD constexpr SkinnyGemmConfig skinny() const {
    return {.type = DType::e4m3,
            .rows = tokens_first ? tokens : rows,
            .tokens = tokens_first ? rows : tokens,
            .split = split,
            .stages = stages,
            .output_stages = output_stages,
            .epilogue = factor_and_conversion(out)};
  }
  WW_HD constexpr TensorBox w_box() const { return tokens_first ? skinny().x_box() : skinny().w_box(); }
  WW_HD constexpr TensorBox x_box() const { return tokens_first ? skinny().w_box() : skinny().x_box(); }
  // What an owner has of a warpgroup's results: with tokens_first 64 rows in boxes of at most 64 columns.
  WW_HD constexpr int owned_columns() const { return tokens_first ? skinny().owned_tokens() : 64; }
  WW_HD constexpr TensorBox d_box() const {
    if (!tokens_first) return skinny().d_box();
    const int columns = owned_columns() < 64 ? owned_columns() : 64;
    return {out, columns, 64, columns == 64 ? Swizzle::b128 : columns == 32 ? Swizzle::b64 : Swizzle::b32};
  }
  WW_HD constexpr int64_t tiles(int m, int n) const {
    return int64_t((m + tokens - 1) / tokens) * ((n + rows - 1) / rows);
  }
  // Products of the scales of tokens and weights, for the block along k of a stage.
  WW_HD constexpr uint32_t slot_bytes() const { return uint32_t(tokens) * 4; }
  WW_HD constexpr uint32_t stage_room() const { return skinny().stage_bytes() + slot_bytes(); }
  // After setmaxnreg: two warpgroups with three sets of sums for this many tokens need more than their part.
  WW_HD constexpr int mma_registers() const { return rows == 128 && tokens > 64 ? 224 : 0; }
  WW_HD constexpr int other_registers() const { return mma_registers() != 0 ? 56 : 0; }
  WW_HD constexpr uint32_t used_bytes() const { return skinny().partial_bytes() + skinny().output_bytes() + 16; }
  bool operator==(const SkinnyBlockwiseConfig&) const = default;
};
WW_HD constexpr const char* refuse(const SkinnyBlockwiseConfig& c) {
  if (const char* why = refuse(c.skinny())) return why;
  if (c.tokens > 128 || c.rows > 128) return "skinny_blockwise: three sets of sums of at most 128 fit in registers";
  if (c.tokens_first && (c.out != DType::bf16 || c.owned_columns() < 16 || 128 % c.owned_columns() != 0)) {
    return "skinny_blockwise: with tokens first a result is bf16, and an owner has 16, 32, 64 or 128 columns of it";
  }
  if (c.stages > stages_that_fit(c.stage_room(), c.used_bytes())) {
    return "skinny_blockwise: shared memory is too small";
  }
  return nullptr;
}
struct SkinnyBlockwiseArgs {
  SkinnyGemmArgs product;
  const float* x_scales = nullptr;  // [m, blocks of k], rows `x_scales_stride` apart
  int64_t x_scales_stride = 0;
  const float* w_scales = nullptr;  // [blocks of n, blocks of k]
};

// A block of 64 rows in each output stage, and as many of them as a warpgroup has.
WW_HD constexpr GroupedGemmConfig by_blocks(GroupedGemmConfig c) {
  c.output_boxes = c.out_columns() / c.d_box().inner;
  c.output_stages = c.group_rows / 64;
  return c;
}
WW_HD constexpr GroupedGemmConfig deepest(GroupedGemmConfig c, int most = 8) {
  return with_at_most(c, stages_that_fit(c.stage_room(), c.used_bytes()), most);
}
WW_HD constexpr SkinnyBlockwiseConfig deepest(SkinnyBlockwiseConfig c, int most = 20) {
  return with_at_most(c, stages_that_fit(c.stage_room(), c.used_bytes()), most);
}

}  // namespace warpwright
