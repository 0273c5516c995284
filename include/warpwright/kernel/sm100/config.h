// Configuration and arguments of the dense Blackwell kernel, which serves as the model for the others
// (grouped/config.h). World-free: the host fills these, whichever world compiles the kernel.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/block_scaling.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"
#include "warpwright/core/tensor_box.h"
#include "warpwright/epilogue/config.h"
#include "warpwright/kernel/fixup_config.h"
#include "warpwright/tile/config.h"

namespace warpwright {

// sm100/dense/dense_gemm.h: D[m, n] = epilogue(sum over k of A[m, k] * B[n, k]), for each matrix of a batch; A, B and D
// row-major with rows of whole 16-byte units.
struct DenseGemmSm100Config {
  DType type = DType::bf16;      // of A and B: bf16, fp16, tf32 or e4m3, with block scaling as it has it; sums are fp32
  DType out_type = DType::bf16;  // of D: fp32, bf16, fp16, e4m3 or e5m2
  int tile_m = 128;              // rows of one CTA: 64 or 128
  int tile_n = 256;              // columns of one MMA, which a pair of CTAs shares
  int stages = 4;                // of the input ring
  int k_group = 1;               // tiles along K in one stage
  int accumulators = 2;
  int cta_group = 1;  // 2: a pair of CTAs multiplies as one, each with its own rows of A and half of the rows of B
  int cluster_m = 1;  // CTAs along M, which share B by multicast
  int cluster_n = 1;  // CTAs along N, which share A by multicast
  TileOrder raster = TileOrder::serpentine;
  int raster_group = 8;  // rows of tiles in a band, where the order has bands
  TileSource source = TileSource::persistent;
  int clc_stages = 2;  // of the ring of responses; 0: every cluster does the tile it was launched for
  bool clc_throttle = true;
  DepthSplit split = DepthSplit::none;
  bool batched = false;    // A and B have maps of three dimensions
  bool swap_ab = false;    // for few rows of A: they are columns of the MMA, whose rows are those of B
  bool dependent = false;  // may start before the kernel ahead on the stream has ended
  // What happens to a sum before it is stored; its `out` is out_type. Swiglu: B is [gates; ups], and rows 2i and 2i + 1
  // of its tile are the gate and the up projection of a column of D, which has n / 2 columns.
  EpilogueConfig epilogue = {.alpha = true};
  int epilogue_warps = kTmemWarps;  // a multiple of 4: warpgroups that divide the columns of a tile among them
  // 0: the threads of the epilogue store D, whatever its alignment. Otherwise D, whose rows are whole 16-byte units,
  // leaves by TMA: so many stages has the ring between each warpgroup and its store warp.
  int store_stages = 0;
  // 0: the threads of the epilogue read C, the residual and the bias. Otherwise a load warp for each warpgroup brings
  // C, the residual and the bias of the columns by TMA, ahead of the sums, through a ring of so many stages.
  int epilogue_load_stages = 0;
  // Elements of A and B have factors for blocks along K, which the tensor core applies. `type` is that of A.
  BlockScaling scaling = BlockScaling::none;

  // One row of the 128-byte swizzle.
  WW_HD constexpr int tile_k() const { return int(swizzle_bytes(Swizzle::b128)) * 8 / bits(type); }
  WW_HD constexpr int cluster() const { return cluster_m * cluster_n; }
  WW_HD constexpr int mma_m() const { return tile_m * cta_group; }
  // Pairs, or single CTAs, along M: this many MMAs run in a column of the cluster.
  WW_HD constexpr int groups_m() const { return cluster_m / cta_group; }
  // The rows of B in the shared memory of one CTA.
  WW_HD constexpr int b_rows() const { return tile_n / cta_group; }
  // Each CTA loads only a slice of a tile; the CTAs that share the tile send each other their slices.
  WW_HD constexpr TensorBox a_box() const { return operand_box(first_type(), tile_m / cluster_n); }
  WW_HD constexpr TensorBox b_box() const { return operand_box(second_type(), b_rows() / groups_m()); }
  // The types of the MMA's operands.
  WW_HD constexpr DType first_type() const { return swap_ab ? b_dtype(scaling, type) : type; }
  WW_HD constexpr DType second_type() const { return swap_ab ? type : b_dtype(scaling, type); }
  // The bytes of one whole tile in the shared memory of a CTA.
  WW_HD constexpr uint32_t a_bytes() const { return a_box().bytes() * uint32_t(cluster_n); }
  WW_HD constexpr uint32_t b_bytes() const { return b_box().bytes() * uint32_t(groups_m()); }
  // The bytes that loads of a tile do not fill.
  WW_HD constexpr uint32_t gap_bytes() const {
    return (a_box().bytes() - a_box().transferred()) * uint32_t(cluster_n) +
           (b_box().bytes() - b_box().transferred()) * uint32_t(groups_m());
  }
  WW_HD constexpr bool scaled() const { return scaling != BlockScaling::none; }
  // Tiles of factors along K, and down the rows of each operand, that belong to a tile of the ring. Rows of the second
  // operand may begin in the middle of a tile of factors.
  WW_HD constexpr int scale_tiles() const { return tile_k() / scale_block(scaling) / kScaleTileColumns; }
  WW_HD constexpr int a_scale_blocks() const { return tile_m / kScaleTileRows; }
  WW_HD constexpr int b_scale_blocks() const { return (tile_n + kScaleTileRows - 1) / kScaleTileRows; }
  WW_HD constexpr uint32_t a_scale_bytes() const { return scale_box().bytes() * uint32_t(a_scale_blocks()); }
  WW_HD constexpr uint32_t b_scale_bytes() const { return scale_box().bytes() * uint32_t(b_scale_blocks()); }
  WW_HD constexpr TensorBox scale_box() const { return warpwright::scale_box(scale_tiles()); }
  // Columns of tensor memory for the factors of a tile of the ring: each has its own.
  WW_HD constexpr int scale_columns() const {
    return scaled() ? kScaleTileTmemColumns * scale_tiles() * (a_scale_blocks() + b_scale_blocks()) : 0;
  }
  WW_HD constexpr int first_scale_column() const { return accumulator_columns() * accumulators; }
  WW_HD constexpr int tmem_columns() const { return first_scale_column() + scale_columns() * stages * k_group; }
  // The matrix that the MMAs make has the rows of their first operand.
  WW_HD constexpr int rows(int m, int n) const { return swap_ab ? n : m; }
  WW_HD constexpr int columns(int m, int n) const { return swap_ab ? m : n; }
  // Tiles of a whole cluster in the result.
  WW_HD constexpr int64_t tiles(int m, int n, int batches = 1) const {
    const int64_t tall = tile_m * cluster_m, wide = tile_n * cluster_n;
    return (rows(m, n) + tall - 1) / tall * ((columns(m, n) + wide - 1) / wide) * (batched ? batches : 1);
  }
  // Stages of the input ring that a tile takes.
  WW_HD constexpr int steps(int k) const { return (k + tile_k() * k_group - 1) / (tile_k() * k_group); }
  // Jobs that clusters can work on at once: with CLC the grid has a cluster for each.
  WW_HD constexpr int64_t jobs(int m, int n, int k, int batches = 1, int splits = 1) const {
    const int deep = steps(k) > 1 ? steps(k) : 1;
    const int parts = split == DepthSplit::none ? 1 : split == DepthSplit::stream_k || splits > deep ? deep : splits;
    return tiles(m, n, batches) * (parts > 1 ? parts : 1);
  }
  WW_HD constexpr ClcConfig clc() const {
    return {source == TileSource::clc ? clc_stages : 0, clc_throttle, cluster()};
  }
  // Where clusters that share the depth of a tile leave their sums; `clusters` are those of the launch.
  WW_HD constexpr FixupConfig fixup() const { return {cluster(), kWarpThreads * epilogue_warps, group_columns()}; }
  WW_HD constexpr int64_t workspace_bytes(int m, int n, int batches, int splits, int clusters) const {
    const int64_t shared = tiles(m, n, batches);
    const int64_t slots = split == DepthSplit::split_k    ? shared * (splits - 1)
                          : split == DepthSplit::stream_k ? int64_t(clusters)
                                                          : 0;
    return fixup().bytes(shared, slots);
  }
  // Columns of tensor memory that one accumulator takes: 64 rows in a pair lie beside each other, in two halves of N.
  WW_HD constexpr int accumulator_columns() const { return tile_n / halves(); }
  WW_HD constexpr int halves() const { return cta_group == 2 && tile_m == 64 ? 2 : 1; }

  WW_HD constexpr int epilogue_groups() const { return epilogue_warps / kTmemWarps; }
  // Accumulators of one thread of the epilogue.
  WW_HD constexpr int group_columns() const { return accumulator_columns() / epilogue_groups(); }
  // Accumulators that make one element of D, and the columns of D.
  WW_HD constexpr int operands() const { return epilogue.pair() ? 2 : 1; }
  WW_HD constexpr int result_columns(int n) const { return n / operands(); }
  // The epilogue works in steps: a thread holds this many accumulators at once. Where the TMA moves the results, or
  // what is added to them, a step is a box, whose rows are at most one row of the swizzle.
  WW_HD constexpr int step_columns() const {
    int widest = 0;
    const auto moved = [&](bool is, DType type) { widest = is && bits(type) > widest ? bits(type) : widest; };
    moved(store_stages > 0, out_type);
    moved(epilogue_load_stages > 0 && epilogue.source, epilogue.source_type);
    moved(epilogue_load_stages > 0 && epilogue.residual, epilogue.residual_type);
    const int row = widest == 0 ? 32 : int(swizzle_bytes(Swizzle::b128)) * 8 / widest * operands();
    int step = row < 64 ? row : 64;
    while (step > 8 && group_columns() % step != 0) step /= 2;
    return step;
  }
  WW_HD constexpr int step_results() const { return step_columns() / operands(); }
  // What the TMA moves of a matrix of D's shape in one step.
  WW_HD constexpr TensorBox step_box(DType t) const {
    const int row = step_results() * bits(t) / 8;
    const Swizzle swizzle = row == 128  ? Swizzle::b128
                            : row == 64 ? Swizzle::b64
                            : row == 32 ? Swizzle::b32
                                        : Swizzle::none;
    return {t, step_results(), tile_m, swizzle};
  }
  WW_HD constexpr TensorBox d_box() const { return step_box(out_type); }
  WW_HD constexpr TensorBox c_box() const { return step_box(epilogue.source_type); }
  WW_HD constexpr TensorBox residual_box() const { return step_box(epilogue.residual_type); }
  WW_HD constexpr TensorBox bias_box() const { return {epilogue.bias_type, step_results(), 1, Swizzle::none}; }
  WW_HD constexpr bool loads_bias() const { return epilogue_load_stages > 0 && epilogue.bias == Bias::per_column; }
  bool operator==(const DenseGemmSm100Config&) const = default;

 private:
  // 4-bit elements beside 8-bit ones are padded.
  WW_HD constexpr TensorBox operand_box(DType t, int rows_of_box) const {
    return {t, tile_k(), rows_of_box, Swizzle::b128, bits(t) < bits(type)};
  }
};

// What the epilogue cannot do; refuse() below calls it. The sentence says what is wrong.
WW_HD constexpr const char* refuse_epilogue(const DenseGemmSm100Config& c) {
  const EpilogueConfig& e = c.epilogue;
  const auto wide = [](bool is, DType t) { return !is || t == DType::fp32 || t == DType::bf16 || t == DType::fp16; };
  if (!wide(true, c.out_type) && c.out_type != DType::e4m3 && c.out_type != DType::e5m2) {
    return "epilogue: D is fp32, bf16, fp16, e4m3 or e5m2";
  }
  if (!wide(e.source, e.source_type) || !wide(e.residual, e.residual_type) ||
      !wide(e.bias != Bias::none, e.bias_type)) {
    return "epilogue: C, the residual and the bias are fp32, bf16 or fp16";
  }
  if (e.pair() && e.source) return "epilogue: beta * C has no meaning for a pair of accumulators";
  if (c.epilogue_warps < kTmemWarps || c.epilogue_warps % kTmemWarps != 0) {
    return "epilogue: four warps reach all lanes of tensor memory, so their number is a multiple of 4";
  }
  if (c.accumulator_columns() % (8 * c.epilogue_groups()) != 0) {
    return "epilogue: each warpgroup has a multiple of 8 columns of an accumulator";
  }
  if (c.store_stages < 0 || c.store_stages == 1) return "epilogue: two stages of the output ring are held at once";
  if (c.epilogue_load_stages < 0) return "epilogue: the ring of the load warp has 0 or more stages";
  const bool stores = c.store_stages > 0, loads = c.epilogue_load_stages > 0;
  const auto whole_units = [&](bool is, DType t) { return !is || c.step_results() * bits(t) % 128 == 0; };
  if (!whole_units(stores, c.out_type)) {
    return "epilogue: a row of D in one step is not whole 16-byte units, as the TMA wants it: use a wider tile_n or "
           "store_stages = 0";
  }
  if (!whole_units(loads && e.source, e.source_type) || !whole_units(loads && e.residual, e.residual_type) ||
      !whole_units(c.loads_bias(), e.bias_type)) {
    return "epilogue: a row of C, of the residual or of the bias in one step is not whole 16-byte units, as the TMA "
           "wants it: use a wider tile_n or epilogue_load_stages = 0";
  }
  if (loads && !e.source && !e.residual && !c.loads_bias()) return "epilogue: there is nothing to load by TMA";
  if (c.swap_ab && (stores || loads || e.pair())) {
    return "epilogue: with swap_ab a thread has a column of D: no TMA and no pair of accumulators";
  }
  return nullptr;
}
// The sentence says what is wrong; nullptr when the configuration can be compiled. Whether the rings fit into shared
// memory depends on the kernel's plan.
WW_HD constexpr const char* refuse(const DenseGemmSm100Config& c) {
  constexpr int columns_of_tmem = 512;
  if (!c.scaled() && c.type != DType::bf16 && c.type != DType::fp16 && c.type != DType::tf32 && c.type != DType::e4m3) {
    return "dense_gemm: A and B are bf16, fp16, tf32 or e4m3";
  }
  if (refuse(c.scaling, c.type) != nullptr) return "dense_gemm: this block scaling has other elements";
  if (c.scaled() && c.tile_m != 128) return "dense_gemm: a block-scaled MMA has 128 rows of each CTA";
  if (c.scaled() && c.tile_n % 64 != 0) {
    return "dense_gemm: the factors of half a tile of 128 rows are copied at least, so tile_n is a multiple of 64";
  }
  if (c.scaled() && c.tmem_columns() > columns_of_tmem) {
    return "dense_gemm: accumulators and scale factors exceed the 512 columns of tensor memory";
  }
  if (c.out_type != DType::fp32 && c.out_type != DType::bf16 && c.out_type != DType::fp16 &&
      c.out_type != DType::e4m3 && c.out_type != DType::e5m2) {
    return "dense_gemm: D is fp32, bf16, fp16, e4m3 or e5m2";
  }
  if (c.cta_group != 1 && c.cta_group != 2) return "dense_gemm: cta_group is 1 or 2";
  if (c.cluster_m < 1 || c.cluster_n < 1 || c.cluster() > 16) return "dense_gemm: a cluster has 1 to 16 CTAs";
  if (c.cta_group == 2 && c.cluster_m % 2 != 0) {
    return "dense_gemm: cta_group 2 pairs CTAs along M, so cluster_m must be even";
  }
  if (c.tile_m != 64 && c.tile_m != 128) return "dense_gemm: a CTA has 64 or 128 rows of a tile";
  if (c.tile_n < 8 || c.tile_n > 256 || c.tile_n % (c.cta_group == 1 ? 8 : 16) != 0) {
    return "dense_gemm: tile_n is a multiple of 8 (of 16 in a pair of CTAs) up to 256";
  }
  if (c.stages < 1 || c.k_group < 1) return "dense_gemm: the input ring has at least one stage of one tile";
  if (c.accumulators < 1 || c.accumulators > 4) return "dense_gemm: there are 1 to 4 accumulators";
  if (c.accumulator_columns() * c.accumulators > columns_of_tmem) {
    return "dense_gemm: the accumulators exceed the 512 columns of tensor memory";
  }
  if (c.tile_m % (8 * c.cluster_n) != 0) {
    return "dense_gemm: a CTA's slice of A must be a multiple of 8 rows, one swizzle atom";
  }
  if (c.b_rows() % (8 * c.groups_m()) != 0) {
    return "dense_gemm: a CTA's slice of B must be a multiple of 8 rows, one swizzle atom";
  }
  if (c.raster_group < 1) return "dense_gemm: a raster group has at least one row of tiles";
  if (c.clc_stages < 0 || c.clc_stages > 8) return "dense_gemm: the ring of responses has 0 to 8 stages";
  if (c.split == DepthSplit::stream_k && c.source != TileSource::persistent) {
    return "dense_gemm: stream-K shares the depth among a fixed number of clusters: its source is persistent";
  }
  return refuse_epilogue(c);
}

// Maps of the matrices that the epilogue moves by TMA, with a batch in front where the kernel is batched.
struct EpilogueMaps {
  TensorMap d;         // store_stages > 0: config.d_box() over D
  TensorMap c;         // epilogue_load_stages > 0: config.c_box() over C,
  TensorMap residual;  // config.residual_box() over the residual,
  TensorMap bias;      // config.bias_box() over one row, the bias of the columns
  TensorMap up_bias;
  // 0: all matrices of a batch share the tensor, and its map has only one.
  int32_t c_batch_step = 1;
  int32_t residual_batch_step = 1;
  int32_t bias_batch_step = 1;
};
struct DenseGemmSm100Args {
  // config.a_box() over [m, k] and config.b_box() over [n, k], before that the batch; with swap_ab a is over B and b
  // over A. With k = 0 they are not read.
  TensorMap a;
  TensorMap b;
  void* d = nullptr;
  int32_t m = 0;
  int32_t n = 0;
  int32_t k = 0;
  EpilogueArgs epilogue = {};
  int32_t batches = 1;       // batched
  int32_t a_batch_step = 1;  // batched, in the map `a`; 0: all matrices share one, and the map has one
  int32_t b_batch_step = 1;
  int32_t splits = 1;          // split_k: parts of a tile, where it is deep enough
  int64_t d_batch_stride = 0;  // batched: elements from one matrix of D to the next
  // split_k and stream_k: config.workspace_bytes(), of which the first fixup().counter_bytes(tiles) are zero before the
  // first launch. One launch at a time uses it.
  void* workspace = nullptr;
  // dependent: B was not written by the previous kernel on the stream, so it is fetched while that one still runs.
  bool weights_are_constant = false;
  int64_t d_row_stride = 0;  // stored by threads: elements from one row of D to the next; 0: as many as it has columns
  EpilogueMaps maps = {};
  // scaling: config.scale_box() over [tiles of rows][tiles along k][512 bytes], of the matrices of `a` and `b`.
  TensorMap a_scales = {};
  TensorMap b_scales = {};
  int32_t a_scale_step = 0;  // batched: tiles of rows from one matrix to the next
  int32_t b_scale_step = 0;
};

}  // namespace warpwright
