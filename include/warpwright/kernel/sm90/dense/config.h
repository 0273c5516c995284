// What the dense Hopper GEMM is configured with, and what a launch passes to it.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"
#include "warpwright/core/tensor_box.h"
#include "warpwright/epilogue/config.h"
#include "warpwright/kernel/config.h"
#include "warpwright/kernel/fixup_config.h"
#include "warpwright/tile/config.h"

namespace warpwright {

// sm90/dense/dense_gemm.h: D[m, n] = epilogue(sum over k of A[m, k] * B[n, k]).
struct DenseGemmConfig {
  DType type = DType::bf16;  // the type of A: bf16, fp16, e4m3 or e5m2; sums are fp32
  int tile_m = 128;          // rows of a CTA's tile
  int tile_n = 256;          // and columns
  int stages = 4;
  int output_stages = 2;
  int cluster = 2;  // CTAs that share an operand by multicast
  ClusterAxis axis = ClusterAxis::m;
  int across = 1;  // with axis m: how many of the cluster's CTAs lie side by side; both operands are then shared
  int raster_group = 8;
  bool overlapped = true;  // hand back stage k-1 while the MMAs of stage k run
  bool mixed = false;      // A is e4m3 and B e5m2, or the other way round
  EpilogueConfig epilogue = factor_and_conversion(DType::bf16);
  // The M side of the MMAs, in blocks of 64 for each warpgroup, is a tile's rows and the N side, in steps of 16, its
  // columns. Swapped: M its columns and N its rows, in steps of 8. 16-bit results only.
  bool swapped = false;
  int group_rows = 64;  // rows of the M side for each MMA warpgroup: 64 or 128; all of them where the N side is halved
  TileSharing sharing = TileSharing::cooperative;
  // K: the matrix is stored [m, k] or [n, k]. MN: stored [k, m] or [k, n]; 16-bit types only.
  Major a_major = Major::K;
  Major b_major = Major::K;
  // 0: the tensor core adds over the whole depth (8-bit types: with 14 bits of fraction). Otherwise a multiple of
  // tile_k(): after so many elements its sums are added to a second set in fp32.
  int promote_k = 0;
  Scaling scaling = Scaling::none;
  bool batched = false;
  Mover load = Mover::tma;   // how A and B are loaded
  Mover store = Mover::tma;  // how D is stored
  bool dependent = true;     // may be launched before the kernel ahead of it on the stream has ended
  TileOrder raster = TileOrder::serpentine;
  bool raster_by_columns = false;  // the raster of the transposed matrix: bands are columns of tiles
  CacheHint a_hint = CacheHint::normal;
  CacheHint b_hint = CacheHint::normal;
  DepthSplit split = DepthSplit::none;

  // One row of the 128-byte swizzle.
  WW_HD constexpr int tile_k() const { return int(swizzle_bytes(Swizzle::b128)) * 8 / bits(type); }
  WW_HD constexpr DType b_type() const { return !mixed ? type : type == DType::e4m3 ? DType::e5m2 : DType::e4m3; }
  WW_HD constexpr DType out_type() const { return epilogue.out; }
  // Columns of the product for one of D. Where there are two, B is [gates; ups], and 16 rows of its tile are 8 gates
  // and their 8 ups (kernel/config.h), so that a thread holds the sums of both.
  WW_HD constexpr int operands() const { return epilogue.pair() ? 2 : 1; }
  WW_HD constexpr int mma_m() const { return swapped ? tile_n : tile_m; }
  WW_HD constexpr int mma_n() const { return swapped ? tile_m : tile_n; }
  WW_HD constexpr int warpgroups() const { return sharing == TileSharing::cooperative ? mma_m() / group_rows : 2; }
  // The part of the N side that each MMA warpgroup has.
  WW_HD constexpr int group_n() const { return sharing == TileSharing::halves ? mma_n() / 2 : mma_n(); }
  // Blocks of 64 rows that a warpgroup accumulates.
  WW_HD constexpr int group_blocks() const { return group_rows / 64; }
  // What a warpgroup makes of 64 rows of the M side: this many elements of D along the M side, and along the N side.
  WW_HD constexpr int block_results_m() const { return swapped ? 64 / operands() : 64; }
  WW_HD constexpr int results_n() const { return swapped ? group_n() : group_n() / operands(); }
  // Registers of a thread that hold sums.
  WW_HD constexpr int accumulators() const { return group_blocks() * group_n() / 2 * (promote_k == 0 ? 1 : 2); }
  WW_HD constexpr int cluster_m() const { return axis == ClusterAxis::m ? cluster / across : 1; }
  WW_HD constexpr int cluster_n() const { return axis == ClusterAxis::n ? cluster : across; }
  // CTAs whose loads fill a stage of this one: those of its row and of its column of the cluster.
  WW_HD constexpr int fillers() const { return cluster_m() + cluster_n() - 1; }
  // What CTAs share, a tile of A in a row of the cluster or of B in a column, comes in parts of this many rows, which
  // they load in turn. Each loads at least one: a CTA that loads nothing for another would not hold it back, and its
  // stages could come back twice before they were awaited once.
  WW_HD constexpr int a_part() const { return part_of(tile_m, cluster_n(), unit_of(a_major)); }
  WW_HD constexpr int b_part() const { return part_of(tile_n, cluster_m(), unit_of(b_major) * operands()); }
  WW_HD constexpr uint32_t a_bytes() const { return uint32_t(tile_m * tile_k() * bits(type) / 8); }
  WW_HD constexpr uint32_t b_bytes() const { return uint32_t(tile_n * tile_k() * bits(b_type()) / 8); }
  WW_HD constexpr uint32_t stage_bytes() const { return a_bytes() + b_bytes(); }
  // What one TMA load brings. A K-major part is one box; an MN-major one has a box for every 64 rows, a panel of the
  // swizzle.
  WW_HD constexpr TensorBox a_box() const { return operand_box(type, a_major, a_part()); }
  WW_HD constexpr TensorBox b_box() const { return operand_box(b_type(), b_major, b_part()); }
  // What one TMA store takes from a stage of the output ring: a block of rows by the widest row of a swizzle that
  // divides the tile. Swapped: a block's columns by as many rows as divide both the tile and a stage.
  WW_HD constexpr TensorBox d_box() const {
    if (swapped) {
      const int rows = output_stage_n();
      int outer = 8;
      while (rows % (2 * outer) == 0 && group_n() % (2 * outer) == 0) outer *= 2;
      return {out_type(), block_results_m(), outer, operands() == 1 ? Swizzle::b128 : Swizzle::b64};
    }
    const int row = results_n() * bits(out_type()) / 8;
    const Swizzle swizzle = row % 128 == 0  ? Swizzle::b128
                            : row % 64 == 0 ? Swizzle::b64
                            : row % 32 == 0 ? Swizzle::b32
                                            : Swizzle::none;
    return {out_type(), int(swizzle_bytes(swizzle)) * 8 / bits(out_type()), 64, swizzle};
  }
  // The part of the N side that a stage of the output ring holds; the last stage of a swapped tile may hold less.
  // Halved tiles are large and leave little room.
  WW_HD constexpr int output_stage_n() const {
    if (!swapped) return d_box().inner;
    const int most = sharing == TileSharing::halves ? 32 : 64;
    return group_n() < most ? group_n() : most;
  }
  WW_HD constexpr uint32_t output_stage_bytes() const {
    return uint32_t(block_results_m() * output_stage_n() * bits(out_type()) / 8);
  }
  WW_HD constexpr uint32_t output_bytes() const {
    return store == Mover::tma ? output_stage_bytes() * uint32_t(output_stages * warpgroups()) : 0;
  }
  // Threads that load bring lines of 128 bytes as they lie in memory, some stages ahead, and then move them to their
  // places (dense_realign.h): where rows run along k, and room is left for two stages of the input ring.
  static constexpr int kLineBytes = int(swizzle_bytes(Swizzle::b128));
  WW_HD constexpr uint32_t raw_slot_bytes() const { return uint32_t((tile_m + tile_n) * kLineBytes); }
  // About 40 KiB under way, which is an SM's share of the memory's rate times its latency.
  WW_HD constexpr int raw_slots() const {
    if (load != Mover::threads || a_major != Major::K || b_major != Major::K) return 0;
    const int wanted = 2 + int(40960 / raw_slot_bytes());
    const int slots = wanted < 3 ? 3 : wanted > 8 ? 8 : wanted;
    return stages_that_fit(stage_bytes(), raw_slot_bytes() * uint32_t(slots)) < 2 ? 0 : slots;
  }
  WW_HD constexpr uint32_t raw_bytes() const { return raw_slot_bytes() * uint32_t(raw_slots()); }
  // One warp for the TMA. For threads, one for each scheduler of the SM, or two where the sums leave them registers.
  WW_HD constexpr int load_warps() const {
    return load == Mover::tma ? 1 : warpgroups() == 1 && accumulators() <= 64 ? 8 : 4;
  }
  // Tiles of a whole cluster in the result.
  WW_HD constexpr int64_t tiles(int m, int n, int batches = 1) const {
    const int64_t tall = tile_m * cluster_m(), wide = tile_n * cluster_n();
    return (m + tall - 1) / tall * ((n + wide - 1) / wide) * (batched ? batches : 1);
  }
  // Where clusters that share the depth of a tile leave their sums; `clusters` are those of the launch.
  WW_HD constexpr FixupConfig fixup() const { return {cluster, warpgroups() * 128, group_blocks() * group_n() / 2}; }
  WW_HD constexpr int64_t workspace_bytes(int m, int n, int batches, int splits, int clusters) const {
    const int64_t shared = tiles(m, n, batches);
    const int64_t slots = split == DepthSplit::split_k    ? shared * (splits - 1)
                          : split == DepthSplit::stream_k ? int64_t(clusters)
                                                          : 0;
    return fixup().bytes(shared, slots);
  }
  // Nothing but a factor that is the same for all tiles, and a conversion: what the plain instances are made for.
  WW_HD constexpr bool plain_epilogue() const {
    return epilogue == factor_and_conversion(out_type()) &&
           (scaling == Scaling::none || (scaling == Scaling::tensor && !batched));
  }
  bool operator==(const DenseGemmConfig&) const = default;

 private:
  // One part for each CTA where whole swizzle atoms, or panels, allow it. Otherwise the size with which the busiest CTA
  // loads least, and of those the largest.
  WW_HD static constexpr int unit_of(Major major) { return major == Major::K ? 8 : 64; }
  WW_HD static constexpr int part_of(int rows, int sharers, int unit) {
    if (rows % (sharers * unit) == 0) return rows / sharers;
    int best = unit, least = rows;
    for (int part = 64; part >= unit; part /= 2) {
      const int busiest = (rows / part + sharers - 1) / sharers * part;
      if (rows % part == 0 && rows / part >= sharers && busiest < least) best = part, least = busiest;
    }
    return best;
  }
  WW_HD constexpr TensorBox operand_box(DType t, Major major, int rows) const {
    if (major == Major::K) return {t, tile_k(), rows, Swizzle::b128};
    return {t, int(swizzle_bytes(Swizzle::b128)) * 8 / bits(t), tile_k(), Swizzle::b128};
  }
};

struct DenseGemmArgs {
  // Boxes of the configuration over the matrices as they are stored; three-dimensional with `batched`. Without depth a
  // and b are not read. The mover `threads` does not use them.
  TensorMap a;
  TensorMap b;
  TensorMap d;
  int32_t m = 0;
  int32_t n = 0;
  int32_t k = 0;
  int32_t batches = 1;
  int32_t a_batch_step = 1;  // 0: all matrices of a batch share A, and its map has only one
  int32_t b_batch_step = 1;
  EpilogueArgs epilogue = {};
  // Scaling::tensor: one factor each, or null with a plain epilogue; row_column: m and n of them. Strides are from one
  // matrix of a batch to the next.
  const float* a_scales = nullptr;
  const float* b_scales = nullptr;
  int64_t a_scales_batch_stride = 0;
  int64_t b_scales_batch_stride = 0;
  // For the mover `threads`.
  MatrixArgs a_matrix = {};
  MatrixArgs b_matrix = {};
  MatrixArgs d_matrix = {};
  // split_k and stream_k: config.workspace_bytes(), of which the first fixup().counter_bytes(tiles) are zero before the
  // first launch. One launch at a time uses it.
  void* workspace = nullptr;
  int32_t splits = 1;  // split_k: parts of a tile, where it is deep enough
};

// The sentence says what is wrong; nullptr when the configuration can be compiled.
WW_HD constexpr const char* refuse(const DenseGemmConfig& c) {
  const auto wide = [](DType t) { return t == DType::bf16 || t == DType::fp16; };
  const auto narrow = [](DType t) { return t == DType::e4m3 || t == DType::e5m2; };
  if (!wide(c.type) && !narrow(c.type)) return "dense_gemm: A is bf16, fp16, e4m3 or e5m2";
  if (c.mixed && !narrow(c.type)) return "dense_gemm: only the two 8-bit types can be mixed";
  if (const char* why = refuse(c.epilogue)) return why;
  const bool halved = c.sharing == TileSharing::halves;
  if (c.group_rows < 64 || c.group_rows % 64 != 0 || c.group_rows > (halved ? 256 : 128)) {
    return halved ? "dense_gemm: the warpgroups of a halved tile have 64, 128, 192 or 256 rows"
                  : "dense_gemm: a warpgroup has 64 or 128 rows";
  }
  if (c.sharing != TileSharing::cooperative ? c.mma_m() != c.group_rows
                                            : c.mma_m() < c.group_rows || c.mma_m() % c.group_rows != 0) {
    return c.swapped ? "dense_gemm: the columns of a swapped tile are those of its warpgroups"
                     : "dense_gemm: the rows of a tile are those of its warpgroups";
  }
  if (c.warpgroups() > 3) return "dense_gemm: one to three MMA warpgroups";
  if (!c.swapped && (c.tile_n < 16 || c.tile_n % 16 != 0 || c.tile_n > 256))
    return "dense_gemm: tile_n is a multiple of 16, at most 256";
  if (c.swapped && (c.tile_m < 8 || c.tile_m % 8 != 0 || c.tile_m > 256))
    return "dense_gemm: tile_m of swapped operands is a multiple of 8, at most 256";
  if (halved && (c.group_n() % (c.swapped ? 8 : 16) != 0 || (c.swapped ? c.a_major : c.b_major) != Major::K)) {
    return "dense_gemm: a halved N side is K-major and made of whole swizzle atoms";
  }
  if (c.epilogue.pair() && c.b_major != Major::K) return "dense_gemm: B of swiglu is stored [n, k]";
  if (c.epilogue.pair() && !c.swapped && c.group_n() % 32 != 0)
    return "dense_gemm: with swiglu a warpgroup has a multiple of 32 columns";
  if (c.swapped && bits(c.out_type()) != 16) return "dense_gemm: swapped operands are for results of 16 bits";
  // ptxas compiles for the 128 registers that a thread has at launch with 512 threads, whatever setmaxnreg gives later.
  if (c.accumulators() > (c.warpgroups() == 3 ? 96 : 208)) return "dense_gemm: the sums do not fit in registers";
  if (c.cluster < 1 || c.cluster > 8) return "dense_gemm: a cluster has 1 to 8 CTAs";
  if (c.across < 1 || c.cluster % c.across != 0 || c.cluster_m() * c.cluster_n() != c.cluster) {
    return "dense_gemm: a cluster is made of whole rows of CTAs";
  }
  if (c.across > 1 && c.cluster == c.across) return "dense_gemm: a cluster of one row lies along n";
  if (c.tile_n / c.b_part() < c.cluster_m() || c.tile_m / c.a_part() < c.cluster_n()) {
    return "dense_gemm: more CTAs share a tile of A or B than it has parts";
  }
  if (c.b_major == Major::MN && c.b_part() * c.cluster_m() != c.tile_n) {
    return "dense_gemm: the CTAs' shares of B are not made of whole panels";
  }
  if (c.a_major == Major::MN && c.a_part() * c.cluster_n() != c.tile_m) {
    return "dense_gemm: the CTAs' shares of A are not made of whole panels";
  }
  if (narrow(c.type) && (c.a_major != Major::K || c.b_major != Major::K)) {
    return "dense_gemm: wgmma reads MN-major operands of 16-bit types only";
  }
  if (c.promote_k < 0 || c.promote_k % c.tile_k() != 0) return "dense_gemm: promote_k is a multiple of tile_k";
  if (c.stages < 2 || c.output_stages < 2) return "dense_gemm: two stages of a ring are held at once";
  if (c.stages > stages_that_fit(c.stage_bytes(), c.output_bytes() + c.raw_bytes())) {
    return "dense_gemm: shared memory is too small";
  }
  if (c.load == Mover::threads) {
    if (c.cluster != 1) return "dense_gemm: threads load for their own CTA, the cluster is 1";
    if (c.store != Mover::threads) return "dense_gemm: where threads load, threads store";
    if (c.warpgroups() > 2) return "dense_gemm: threads load for one or two MMA warpgroups";
  }
  if (c.split != DepthSplit::none && c.sharing == TileSharing::ping_pong) {
    return "dense_gemm: only a cooperative schedule shares the depth of a tile";
  }
  if (c.raster_group < 1) return "dense_gemm: raster_group is at least 1";
  return nullptr;
}

// The configuration with as many input stages as fit.
WW_HD constexpr DenseGemmConfig deepest(DenseGemmConfig c, int most = 8) {
  return with_at_most(c, stages_that_fit(c.stage_bytes(), c.output_bytes() + c.raw_bytes()), most);
}

}  // namespace warpwright
