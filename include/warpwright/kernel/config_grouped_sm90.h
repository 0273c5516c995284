// Configurations and arguments of the Hopper kernels for blockwise-scaled and grouped products. World-free, like
// kernel/config.h.
#pragma once
#include "warpwright/kernel/config.h"
#include "warpwright/tile/group_mode.h"
#include "warpwright/tile/group_table.h"

namespace warpwright {

// Elements along k, and rows of B, that share a scale.
inline constexpr int kScaleBlock = 128;

// The ring through which scales reach the MMA warps. A slot has the scales of some blocks along k: `lines` of one
// operand and a few of the other.
struct ScaleRing {
  static constexpr int kBlocks = 4;  // along k, in a slot
  static constexpr int kPad = 8;     // keeps the banks of the blocks apart that one instruction writes
  static constexpr int kFew = 12;
  int lines = 0;
  int slots = 3;
  WW_HD constexpr int line_stride() const { return lines + kPad; }
  WW_HD constexpr uint32_t slot_bytes() const { return uint32_t(kBlocks * (line_stride() + kFew)) * 4; }
  WW_HD constexpr uint32_t bytes() const { return slot_bytes() * uint32_t(slots); }
};

// sm90/grouped_gemm.h: D[m, n] = sum over k of A[m, k] * B[n, k]. e4m3 operands have scales: one for each row of A and
// 128 elements along k, one for each 128 x 128 of B.
struct GroupedGemmConfig {
  DType type = DType::e4m3;  // of A and B: e4m3, or bf16 without scales
  DType out = DType::bf16;   // bf16 or fp32
  int tile_m = 128;
  int tile_n = 128;  // a multiple of 16
  int stages = 4;
  int output_stages = 2;
  int cluster = 1;
  ClusterAxis axis = ClusterAxis::m;
  int group_rows = 64;  // of a tile, for each MMA warpgroup: 64 or 128
  int raster_group = 8;
  Groups groups = Groups::none;

  WW_HD constexpr bool scaled() const { return bits(type) == 8; }
  WW_HD constexpr int tile_k() const { return int(swizzle_bytes(Swizzle::b128)) * 8 / bits(type); }
  WW_HD constexpr int warpgroups() const { return tile_m / group_rows; }
  WW_HD constexpr int group_blocks() const { return group_rows / 64; }
  // Scaled sums are added to a second set, one block of 64 rows at a time.
  WW_HD constexpr int accumulators() const { return (group_blocks() + (scaled() ? 1 : 0)) * tile_n / 2; }
  WW_HD constexpr int cluster_m() const { return axis == ClusterAxis::m ? cluster : 1; }
  WW_HD constexpr int cluster_n() const { return axis == ClusterAxis::n ? cluster : 1; }
  WW_HD constexpr int a_share() const { return tile_m / cluster_n(); }
  WW_HD constexpr int b_share() const { return tile_n / cluster_m(); }
  WW_HD constexpr uint32_t a_bytes() const { return uint32_t(tile_m * tile_k() * bits(type) / 8); }
  WW_HD constexpr uint32_t b_bytes() const { return uint32_t(tile_n * tile_k() * bits(type) / 8); }
  WW_HD constexpr uint32_t stage_bytes() const { return a_bytes() + b_bytes(); }
  WW_HD constexpr TensorBox a_box() const { return {type, tile_k(), a_share(), Swizzle::b128}; }
  WW_HD constexpr TensorBox b_box() const { return {type, tile_k(), b_share(), Swizzle::b128}; }
  // The dense kernel whose epilogue this one shares.
  WW_HD constexpr DenseGemmConfig dense() const {
    return {.type = type, .tile_m = tile_m, .tile_n = tile_n, .epilogue = factor_and_conversion(out)};
  }
  WW_HD constexpr TensorBox d_box() const { return dense().d_box(); }
  WW_HD constexpr ScaleRing scales() const { return {tile_m}; }
  // Columns of a tile that have one scale of B wherever the tile starts, and how often they fit it.
  WW_HD constexpr int scaled_columns() const {
    int step = kScaleBlock;
    while (tile_n % step != 0) step /= 2;
    return step;
  }
  WW_HD constexpr int column_scales() const { return tile_n / scaled_columns(); }
  WW_HD constexpr uint32_t used_bytes() const {
    return d_box().bytes() * uint32_t(output_stages * warpgroups()) + (scaled() ? scales().bytes() + 48 : 0);
  }
  bool operator==(const GroupedGemmConfig&) const = default;
};

// The sentence says what is wrong; nullptr when the configuration can be compiled.
WW_HD constexpr const char* refuse(const GroupedGemmConfig& c) {
  if (c.type != DType::e4m3 && c.type != DType::bf16) return "grouped_gemm: operands are e4m3 or bf16";
  if (c.out != DType::bf16 && c.out != DType::fp32) return "grouped_gemm: the result is bf16 or fp32";
  if (c.group_rows != 64 && c.group_rows != 128) return "grouped_gemm: a warpgroup has 64 or 128 rows";
  if (c.tile_m < c.group_rows || c.tile_m % c.group_rows != 0 || c.warpgroups() > 2) {
    return "grouped_gemm: the rows of a tile are those of one or two warpgroups";
  }
  if (c.tile_n < 16 || c.tile_n % 16 != 0 || c.tile_n > 256) {
    return "grouped_gemm: tile_n is a multiple of 16, at most 256";
  }
  if (c.scaled() && c.column_scales() > ScaleRing::kFew) return "grouped_gemm: a tile has too many scales of B";
  if (c.accumulators() > 208) return "grouped_gemm: the sums do not fit in registers";
  if (c.cluster < 1 || c.cluster > 8) return "grouped_gemm: a cluster has 1 to 8 CTAs";
  if (c.tile_n % c.cluster_m() != 0 || c.b_share() % 8 != 0 || c.tile_m % c.cluster_n() != 0 || c.a_share() % 8 != 0) {
    return "grouped_gemm: a CTA's share of an operand is not made of whole swizzle atoms";
  }
  if (c.stages < 2 || c.output_stages < 2) return "grouped_gemm: two stages of a ring are held at once";
  if (c.stages > stages_that_fit(c.stage_bytes(), c.used_bytes())) return "grouped_gemm: shared memory is too small";
  return nullptr;
}

struct GroupedGemmArgs {
  TensorMap a;             // config.a_box() over [groups.rows, k]; without depth a and b are not read
  TensorMap b;             // config.b_box() over [groups.matrix_count * n, k]
  TensorMap d;             // config.d_box() over [groups.rows, n]
  void* d_data = nullptr;  // the same: where a group ends inside a box, threads store
  int64_t d_stride = 0;
  GroupTable groups = {};  // Groups::none: `rows` alone
  int32_t n = 0;
  int32_t k = 0;
  // [groups.rows, blocks of k], rows `a_scales_stride` apart, and [groups.matrix_count][blocks of n][blocks of k].
  const float* a_scales = nullptr;
  int64_t a_scales_stride = 0;
  const float* b_scales = nullptr;
};

// sm90/skinny_blockwise.h: the product with blockwise scales for few rows of A, by the arrangement of
// sm90/skinny_gemm.h.
struct SkinnyBlockwiseConfig {
  DType out = DType::bf16;
  int rows = 64;    // of W in a tile: 64 or 128
  int tokens = 16;  // rows of X, a multiple of 8
  int split = 1;
  int stages = 8;
  int output_stages = 2;

  WW_HD constexpr SkinnyGemmConfig skinny() const {
    return {.type = DType::e4m3,
            .rows = rows,
            .tokens = tokens,
            .split = split,
            .stages = stages,
            .output_stages = output_stages,
            .epilogue = factor_and_conversion(out)};
  }
  WW_HD constexpr ScaleRing scales() const { return {tokens}; }
  WW_HD constexpr uint32_t used_bytes() const {
    return skinny().partial_bytes() + skinny().output_bytes() + scales().bytes() + 48;
  }
  bool operator==(const SkinnyBlockwiseConfig&) const = default;
};
WW_HD constexpr const char* refuse(const SkinnyBlockwiseConfig& c) {
  if (const char* why = refuse(c.skinny())) return why;
  if (c.tokens > 128) return "skinny_blockwise: two sets of sums of at most 128 tokens fit in registers";
  if (c.stages > stages_that_fit(c.skinny().stage_bytes(), c.used_bytes())) {
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

WW_HD constexpr GroupedGemmConfig deepest(GroupedGemmConfig c, int most = 8) {
  return with_at_most(c, stages_that_fit(c.stage_bytes(), c.used_bytes()), most);
}
WW_HD constexpr SkinnyBlockwiseConfig deepest(SkinnyBlockwiseConfig c, int most = 20) {
  return with_at_most(c, stages_that_fit(c.skinny().stage_bytes(), c.used_bytes()), most);
}

}  // namespace warpwright
