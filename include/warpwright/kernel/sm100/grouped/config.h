// Configurations and arguments of the Blackwell kernels for groups and for blockwise scales. World-free, like those of
// the dense kernel (sm100/config.h), whose fields most of these are.
#pragma once
#include "warpwright/kernel/sm100/config.h"
#include "warpwright/tile/group_table.h"

namespace warpwright {

// sm100/blockwise/blockwise_fp8.h: D[m, n] = sum over blocks of 128 along k of a_scales[block, m] * b_scales[n / 128,
// block] * the product of the e4m3 blocks. A, B and D as those of the dense kernel; the rows of a_scales are whole
// 16-byte units.
struct BlockwiseFp8Sm100Config {
  DType out_type = DType::bf16;  // as that of the dense kernel
  int tile_n = 128;
  int stages = 4;
  int accumulators = 2;
  int cta_group = 1;  // 2: in pairs, the cluster is one pair
  int raster_group = 8;
  // As in DenseGemmSm100Config.
  EpilogueConfig epilogue = {};
  int epilogue_warps = kTmemWarps;
  int store_stages = 0;
  int epilogue_load_stages = 0;
  // Rows of A are in groups, each of which is multiplied by a matrix of its own: args.groups. D is stored by threads.
  bool grouped = false;
  // As in GroupedGemmSm100Config. The scales of A are read from where they are, by rows.
  bool gathered = false;
  bool dependent = false;               // as the dense kernel has it
  DepthSplit split = DepthSplit::none;  // or split_k
  // grouped: groups are columns of A and of B instead, whole blocks of them, with a D and a C each, and every row of B
  // has scales of its own, as those of A have.
  bool by_depth = false;

  static constexpr int block = 128;  // of the scales, along n and k

  // D is e4m3 with a scale for each row and 128 of its results, which are swiglu of gates and ups.
  WW_HD constexpr bool quantized() const { return out_type == DType::e4m3 && epilogue.pair(); }
  // From one block along k, or of D's columns, to the next, where scales lie by columns.
  WW_HD static constexpr int64_t padded_rows(int64_t rows) { return (rows + 3) / 4 * 4; }

  // The same product without scales: tiles, boxes and MMAs are the same.
  WW_HD constexpr DenseGemmSm100Config dense() const {
    return {.type = DType::e4m3,
            .out_type = out_type,
            .tile_m = 128,
            .tile_n = tile_n,
            .stages = stages,
            .accumulators = accumulators,
            .cta_group = cta_group,
            .cluster_m = cta_group,
            .raster_group = raster_group,
            .split = split,
            .dependent = dependent,
            .epilogue = epilogue,
            .epilogue_warps = epilogue_warps,
            .store_stages = store_stages,
            .epilogue_load_stages = epilogue_load_stages};
  }
  WW_HD constexpr TensorBox a_box() const {
    TensorBox box = dense().a_box();
    if (gathered) box.outer = 1;
    return box;
  }
  WW_HD constexpr TensorBox b_box() const { return dense().b_box(); }
  // At most how many tiles of `rows` rows there are: the rows of each group are known on the device only.
  WW_HD constexpr int64_t tiles(int64_t rows, int64_t groups, int64_t n) const {
    const int64_t tall = dense().mma_m(), wide = (n + tile_n - 1) / tile_n;
    if (!grouped || by_depth) return (rows + tall - 1) / tall * wide * (by_depth ? groups : 1);
    return rows == 0 ? 0 : ((rows + tall - 1) / tall + groups) * wide;
  }
  // Into how many parts the depth of a tile is cut, where it is deep enough.
  WW_HD constexpr int64_t parts(int64_t k, int splits) const {
    const int64_t deep = (k + block - 1) / block;
    return split == DepthSplit::none || deep < 2 ? 1 : splits < deep ? splits : deep;
  }
  // Where clusters that share the depth of a tile leave their sums.
  WW_HD constexpr int64_t workspace_bytes(int64_t rows, int64_t groups, int64_t n, int splits) const {
    if (split == DepthSplit::none) return 0;
    const int64_t shared = tiles(rows, groups, n);
    return dense().fixup().bytes(shared, shared * (splits - 1));
  }
  // One scale for each row of a CTA. The rows of a group begin anywhere, a box at a multiple of 16 bytes: it has room
  // for the rows in front, in units of the 128 bytes at which a stage begins.
  WW_HD constexpr TensorBox scales_box() const {
    return {DType::fp32, dense().tile_m + (grouped && !by_depth ? 32 : 0), 1, Swizzle::none};
  }
  // by_depth: one scale for each column of a tile. They lie behind those of the rows.
  WW_HD constexpr TensorBox b_scales_box() const { return {DType::fp32, tile_n, 1, Swizzle::none}; }
  WW_HD constexpr uint32_t scales_bytes() const {
    return scales_box().bytes() + (by_depth ? b_scales_box().bytes() : 0);
  }
  bool operator==(const BlockwiseFp8Sm100Config&) const = default;
};
WW_HD constexpr const char* refuse(const BlockwiseFp8Sm100Config& c) {
  if (const char* why = refuse(c.dense())) return why;
  if (c.dense().group_columns() > 128) {
    return "blockwise_fp8: more than 128 sums do not fit the registers of a thread";
  }
  if (c.grouped && (c.store_stages != 0 || c.epilogue_load_stages != 0)) {
    return "blockwise_fp8: a box of the TMA would reach over the end of a group: groups are stored by threads";
  }
  if (c.grouped && !c.epilogue.alpha) {
    return "blockwise_fp8: there is a factor for each matrix of a group, so epilogue.alpha is on";
  }
  if ((c.gathered || c.epilogue.pair()) && !c.grouped) {
    return "blockwise_fp8: gathered rows and swiglu are for groups";
  }
  if (c.by_depth && (!c.grouped || c.gathered || c.epilogue.pair() || c.split != DepthSplit::none)) {
    return "blockwise_fp8: groups along k are sums of rows as they lie, each of one cluster";
  }
  if (c.by_depth && c.tile_n % 32 != 0) {
    return "blockwise_fp8: the scales of a tile's columns are units of 128 bytes, so tile_n is a multiple of 32";
  }
  if (c.split == DepthSplit::stream_k) return "blockwise_fp8: depth is shared by split-K";
  if (c.split != DepthSplit::none && c.quantized()) {
    return "blockwise_fp8: quantized results come from sums of the whole depth: split is none";
  }
  if (c.quantized() && (c.tile_n != 2 * c.block || c.dense().group_columns() % 32 != 0)) {
    return "blockwise_fp8: 128 results of a row have a scale: tile_n is 256, and a thread has 16 of them or more";
  }
  return nullptr;
}
struct BlockwiseFp8Sm100Args {
  TensorMap a;  // config.a_box() over [m, k]; with k = 0 it is not read, nor are those below
  TensorMap b;  // config.b_box() over [n, k]; grouped: [matrices * n, k]; swiglu: [matrices][gates; ups], in pairs
  TensorMap a_scales;               // config.scales_box() over [blocks of k, m] of fp32
  const float* b_scales = nullptr;  // [blocks of n, blocks of k]; grouped: before that the matrix; by_depth: unused
  void* d = nullptr;                // by_depth: one matrix behind the other
  int32_t m = 0;
  int32_t n = 0;
  int32_t k = 0;
  EpilogueArgs epilogue = {};
  int64_t d_row_stride = 0;
  EpilogueMaps maps = {};
  GroupTable groups = {};               // grouped
  const float* matrix_alpha = nullptr;  // grouped: a factor for each matrix, which replaces the epilogue's alpha
  // gathered: m numbers of rows of A, whose map is over [a_rows, k], and its scales, [a_rows, blocks of k].
  const int32_t* a_index = nullptr;
  int32_t a_rows = 0;
  const float* a_row_scales = nullptr;
  float* d_scales = nullptr;  // quantized(): [blocks of D's columns][m, rounded up to 4]
  // split_k: parts of a tile, where it is deep enough, and config.workspace_bytes() of memory, as the dense kernel has
  // it.
  int32_t splits = 1;
  void* workspace = nullptr;
  TensorMap b_scale_map;  // by_depth: config.b_scales_box() over [blocks of k, n] of fp32
};

// sm100/grouped/grouped_gemm.h: rows of A ("tokens") in groups, each of which is multiplied by a matrix of its own (an
// expert's weights): D[r, n] = epilogue(alpha of the matrix * sum over k of A[r, k] * B[matrix of r, n, k]). Or, by
// depth, columns of A and B in groups with a D each.
struct GroupedGemmSm100Config {
  BlockScaling scaling = BlockScaling::mxfp8;  // none: plain operands
  DType type = DType::e4m3;                    // of the tokens
  DType out_type = DType::bf16;
  int tile_n = 128;  // columns of an MMA; with swap_ab tokens of a tile: 8, 16, 32 or a multiple of 64 where scaled
  int stages = 4;
  int accumulators = 2;
  int cta_group = 1;
  bool swap_ab = false;  // for few tokens in a group: they are the columns of the MMA
  EpilogueConfig epilogue = {.alpha = true};
  int epilogue_warps = kTmemWarps;
  // Not none: rows 2i and 2i + 1 of a matrix are the gate and the up projection of column i of D, whose elements and
  // factors make an operand of this format (mxfp8 of e4m3, mxfp4, nvfp4): swiglu is the epilogue then.
  BlockScaling out_scaling = BlockScaling::none;
  bool clamped_swiglu = false;
  // Groups have matrices of their own, of any size, through args.problems and extents in the table.
  bool pointers = false;
  // Row r of the product is row args.a_index[r] of A, which has args.a_rows; a row that is not there counts as zeros.
  bool gathered = false;
  bool dependent = false;  // may start before the kernel ahead on the stream has ended
  // Groups are columns of A and of B, from any on; C of the epilogue is as D, one for each group.
  bool by_depth = false;
  // By depth. K: stored [m, k] and [n, k]. MN: stored [k, m] and [k, n].
  Major a_major = Major::K;
  Major b_major = Major::K;

  // The ring between the scheduler and the other roles. A load role that gathers looks a tile ahead.
  WW_HD constexpr int slots() const { return gathered ? 3 : 2; }

  // The same product of one matrix: tiles, boxes and MMAs are the same.
  WW_HD constexpr DenseGemmSm100Config dense() const {
    return {.type = type,
            .out_type = out_type,
            .tile_m = 128,
            .tile_n = tile_n,
            .stages = stages,
            .accumulators = accumulators,
            .cta_group = cta_group,
            .cluster_m = cta_group,
            .swap_ab = swap_ab,
            .epilogue = epilogue,
            .epilogue_warps = epilogue_warps,
            .scaling = scaling};
  }
  // What one load brings of an operand that is stored along m or n: a panel of the swizzle.
  WW_HD constexpr TensorBox panel_box() const {
    return {type, int(swizzle_bytes(Swizzle::b128)) * 8 / bits(type), dense().tile_k(), Swizzle::b128};
  }
  // The box of the tokens' map: gathered rows come one by one.
  WW_HD constexpr TensorBox token_box() const {
    if (a_major == Major::MN) return panel_box();
    TensorBox box = swap_ab ? dense().b_box() : dense().a_box();
    if (gathered) box.outer = 1;
    return box;
  }
  // The box of the matrices' map.
  WW_HD constexpr TensorBox matrix_box() const {
    if (b_major == Major::MN) return panel_box();
    return swap_ab ? dense().a_box() : dense().b_box();
  }
  // tcgen05.cp cannot put the factors of so few columns where the MMA needs them: warps do it.
  WW_HD constexpr bool has_sfb() const { return scaling != BlockScaling::none && tile_n < 64; }
  // Their part of tiles of factors: rows of 16 bytes in which four rows of the matrix lie.
  WW_HD constexpr TensorBox sfb_box() const { return {DType::fp32, tile_n * 4, dense().scale_tiles(), Swizzle::none}; }
  WW_HD constexpr int tile_tokens() const { return swap_ab ? tile_n : dense().mma_m(); }
  WW_HD constexpr int tile_columns() const { return swap_ab ? dense().mma_m() : tile_n; }
  // At most how many tiles of `rows` tokens there are in `groups` groups.
  WW_HD constexpr int64_t tiles(int64_t rows, int64_t groups, int64_t n) const {
    const int64_t tall = by_depth ? (rows + tile_tokens() - 1) / tile_tokens() * groups
                                  : rows / tile_tokens() + (groups < rows ? groups : rows);
    return tall * ((n + tile_columns() - 1) / tile_columns());
  }
  bool operator==(const GroupedGemmSm100Config&) const = default;
};
WW_HD constexpr const char* refuse(const GroupedGemmSm100Config& c) {
  const DenseGemmSm100Config d = c.dense();
  if (!d.scaled() && c.type != DType::bf16 && c.type != DType::fp16 && c.type != DType::e4m3) {
    return "grouped_gemm: plain operands are bf16, fp16 or e4m3";
  }
  if (refuse(c.scaling, c.type) != nullptr) return "grouped_gemm: this block scaling has other elements";
  if (c.cta_group != 1 && c.cta_group != 2) return "grouped_gemm: cta_group is 1 or 2";
  if (c.tile_n < 8 || c.tile_n > 256 || c.tile_n % (c.cta_group == 1 ? 8 : 16) != 0) {
    return "grouped_gemm: tile_n is a multiple of 8 (of 16 in a pair of CTAs) up to 256";
  }
  if (d.scaled() && c.tile_n % 64 != 0 && c.tile_n != 8 && c.tile_n != 16 && c.tile_n != 32) {
    return "grouped_gemm: block-scaled operands have a tile_n of 8, 16, 32 or a multiple of 64";
  }
  if (c.has_sfb() && c.cta_group != 1) return "grouped_gemm: an MMA of fewer than 64 columns is of one CTA";
  if (c.stages < 1 || c.accumulators < 1) return "grouped_gemm: rings have at least one stage";
  if (d.tmem_columns() > 512) {
    return "grouped_gemm: accumulators and scale factors exceed the 512 columns of tensor memory";
  }
  if (c.pointers && c.out_scaling != BlockScaling::none) {
    return "grouped_gemm: quantized results lie in one matrix, not in one for each group";
  }
  if (c.gathered && (d.scaled() || c.pointers)) {
    return "grouped_gemm: gathered rows are plain operands, in one matrix of all groups";
  }
  if (c.epilogue.pair() && (d.scaled() || c.pointers)) {
    return "grouped_gemm: gates and ups that lie apart are plain operands, in one array of matrices";
  }
  if (c.by_depth) {
    if (bits(c.type) != 16 || c.pointers || c.gathered || c.swap_ab || c.epilogue.pair() ||
        c.out_scaling != BlockScaling::none) {
      return "grouped_gemm: groups along k are sums of 16-bit elements, in two matrices of all groups";
    }
    if (c.cta_group != 1)
      return "grouped_gemm: one CTA clears what a stage has of other groups along k, so cta_group is 1";
    if (c.a_major != c.b_major) return "grouped_gemm: A and B of groups along k are stored the same way";
    if (c.a_major == Major::MN && c.tile_n % c.panel_box().inner != 0) {
      return "grouped_gemm: operands along m or n are loaded in panels of 64 rows";
    }
  } else if (c.a_major != Major::K || c.b_major != Major::K) {
    return "grouped_gemm: A and B of groups of rows are stored along k";
  }
  if (const char* why = refuse_epilogue(d)) return why;
  if (!c.epilogue.alpha) return "grouped_gemm: there is a factor for each matrix, so epilogue.alpha is on";
  if (c.out_scaling == BlockScaling::none) return nullptr;
  EpilogueConfig beside = c.epilogue;
  beside.alpha = false;
  if (!beside.trivial()) return "grouped_gemm: quantized results are swiglu of the product, with no other epilogue";
  if (c.out_type != GroupedGemmSm100Config{}.out_type) {
    return "grouped_gemm: the type of quantized results is that of out_scaling, so out_type stays as it is";
  }
  if (c.swap_ab && c.epilogue_warps != kTmemWarps)
    return "grouped_gemm: four warps quantize where tokens are the columns";
  // A result comes from two accumulators, gate and up.
  if (!c.swap_ab && d.group_columns() % (2 * scale_block(c.out_scaling)) != 0) {
    return "grouped_gemm: a thread has whole blocks of quantized results";
  }
  return nullptr;
}
// One group of a product by pointers, in device memory. The maps are as those of GroupedGemmSm100Args, of one matrix.
struct alignas(128) GroupProblem {
  TensorMap a = {};
  TensorMap b = {};
  TensorMap a_scales = {};
  TensorMap b_scales = {};
  void* d = nullptr;
  int64_t d_row_stride = 0;  // 0: as many as it has columns
  float alpha = 1;
};
struct GroupedGemmSm100Args {
  // config.dense().a_box() over tokens [m, k] and b_box() over [matrices * n, k]; with swap_ab a is over the matrices
  // and b over the tokens. With swiglu b is over [matrices][gates; ups], in pairs of a gate and an up. Of operands that
  // are stored along m or n config.panel_box() over [k, m] and [k, n]. With k = 0 they are not read, nor are those
  // below.
  TensorMap a;
  TensorMap b;
  // scaling: config.dense().scale_box() over tiles of factors, of tokens [tiles of rows], where each group begins a new
  // tile, and of matrices [matrix][tiles of n]; with has_sfb() that of the tokens is config.sfb_box().
  TensorMap a_scales = {};
  TensorMap b_scales = {};
  void* d = nullptr;  // by_depth: one matrix behind the other
  int32_t m = 0;      // tokens
  int32_t n = 0;
  int32_t k = 0;
  GroupTable groups = {};
  const float* matrix_alpha = nullptr;  // a factor for each matrix, which replaces the epilogue's alpha
  EpilogueArgs epilogue = {};
  int64_t d_row_stride = 0;
  // out_scaling: tiles of factors of D, of which each group begins a new one, and for each matrix what nvfp4 results
  // are multiplied by before they are rounded; null: 1.
  void* d_scales = nullptr;
  const float* matrix_out_scale = nullptr;
  float swiglu_limit = 7.f;
  float swiglu_slope = 1.702f;
  const GroupProblem* problems = nullptr;  // pointers: in device memory, one for each group
  // gathered: m numbers of rows of A. The map of the tokens is config.token_box() over [a_rows, k].
  const int32_t* a_index = nullptr;
  int32_t a_rows = 0;
};

}  // namespace warpwright
