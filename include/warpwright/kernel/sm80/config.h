// Configuration and arguments of the mma.sync GEMM, for the host and the kernel.
#pragma once
#include "warpwright/kernel/config.h"
#include "warpwright/kernel/fixup_config.h"
#include "warpwright/schedule/mma_sync.h"
#include "warpwright/tile/config.h"

namespace warpwright {

// What decides the order of issue of an mma.sync GEMM.
struct MmaSyncSchedule {
  schedule::MmaSyncShape shape = {};
  int depth = 0;   // tiles of K in shared memory; 0: what the schedule's compiler chooses
  int unroll = 1;  // tiles of K in one iteration
  constexpr bool operator==(const MmaSyncSchedule&) const = default;
};

// How the rows of A and B reach shared memory. A row that begins at a multiple of 16 bytes goes by cp.async of 16
// bytes, one at a multiple of 4 by cp.async of 4, any other through registers.
enum class RowCopy : uint8_t { bytes16, bytes4, registers };

// D = epilogue(A * B^T) with A [m, k] and B [n, k], for each matrix of a batch. MN: stored [k, m] and [k, n].
struct MmaSyncGemmConfig {
  DType type = DType::bf16;  // bf16, fp16, s8; e4m3 and e5m2 from sm_89 on
  Major a_major = Major::K, b_major = Major::K;
  int tile_m = 128, tile_n = 256;
  int warps_m = 2, warps_n = 4;
  int depth = 0;   // tiles of K in shared memory; 0: what the schedule's compiler chooses
  int unroll = 1;  // tiles of K in one iteration
  // Parameters of the schedule: see schedule/mma_sync.h.
  int pieces = 4;
  int copies_a = 1, copies_b = 1;
  bool spread = true;
  int copy_latency = 2700;
  RowCopy copy = RowCopy::bytes16;
  int blocks_per_sm = 1;
  int band = 8;  // rows of tiles that CTAs running at the same time share
  DepthSplit split = DepthSplit::none;
  EpilogueConfig epilogue = factor_and_conversion(DType::bf16);

  bool operator==(const MmaSyncGemmConfig&) const = default;
  WW_HD constexpr int warps() const { return warps_m * warps_n; }
  WW_HD constexpr int threads() const { return warps() * 32; }
  WW_HD constexpr int warp_m() const { return tile_m / warps_m; }
  WW_HD constexpr int warp_n() const { return tile_n / warps_n; }
  WW_HD constexpr DType out_type() const { return epilogue.out; }
  WW_HD constexpr int tile_k() const { return schedule::kMmaSyncRowBytes * 8 / bits(type); }
  // A slot of the ring holds a tile of A and, behind it, one of B. Swizzled so that the eight rows of an ldmatrix lie
  // in different banks.
  WW_HD constexpr SmemTile a_slot() const { return slot_of(tile_m, a_major); }
  WW_HD constexpr SmemTile b_slot() const { return slot_of(tile_n, b_major); }
  WW_HD constexpr uint32_t slot_bytes() const { return a_slot().bytes() + b_slot().bytes(); }
  WW_HD constexpr int64_t tiles(int m, int n, int batches) const {
    return int64_t((m + tile_m - 1) / tile_m) * ((n + tile_n - 1) / tile_n) * batches;
  }
  // Where CTAs that share the depth of a tile leave their sums.
  WW_HD constexpr FixupConfig fixup() const { return {1, threads(), warp_m() * warp_n() / 32}; }
  WW_HD constexpr int64_t workspace_bytes(int m, int n, int batches, int splits, int) const {
    const int64_t shared = tiles(m, n, batches);
    return fixup().bytes(shared, split == DepthSplit::split_k ? shared * (splits - 1) : 0);
  }
  constexpr schedule::MmaSyncShape shape() const {
    return {tile_m, tile_n, warps_m, warps_n, pieces, copies_a, copies_b, spread, blocks_per_sm, copy_latency};
  }
  constexpr MmaSyncSchedule order() const { return {shape(), depth, unroll}; }

 private:
  // Rows of 128 bytes where the tile is wide enough along m or n.
  WW_HD constexpr SmemTile slot_of(int extent, Major major) const {
    const Swizzle along = extent % 64 == 0 ? Swizzle::b128 : extent == 32 ? Swizzle::b64 : Swizzle::b32;
    return {type, extent, tile_k(), major == Major::K ? Swizzle::b64 : along, major};
  }
};

// Why a tile of an operand cannot be copied and read; `extent` rows or columns of it, `warp_extent` of a warp's.
constexpr const char* refuse_operand(const MmaSyncGemmConfig& c, Major major, int extent, int warp_extent, int copies) {
  const bool along_k = major == Major::K;
  if (!along_k && bits(c.type) != 16) return "mma_sync_gemm: 8-bit operands are stored along k";
  if (!along_k && ((extent != 16 && extent != 32 && extent % 64 != 0) ||
                   (warp_extent != 16 && warp_extent != 32 && warp_extent % 64 != 0))) {
    return "mma_sync_gemm: of an operand along m or n, tiles and warps have 16, 32 or a multiple of 64";
  }
  const int chunks = along_k ? schedule::kMmaSyncRowBytes / 16 : extent * bits(c.type) / 128;
  const int rows = along_k ? extent : c.tile_k();
  if (c.threads() % chunks != 0 || c.threads() / chunks % 8 != 0) {
    return "mma_sync_gemm: all threads together copy a multiple of 8 rows of a tile";
  }
  const int pass = c.threads() / chunks;
  if ((pass < rows && rows % (pass * copies) != 0) || (pass >= rows && copies != 1)) {
    return "mma_sync_gemm: every part of a copy is a whole number of 16-byte chunks for each thread";
  }
  return nullptr;
}

// The sentence says what is wrong; nullptr when the configuration can be compiled.
constexpr const char* refuse(const MmaSyncGemmConfig& c) {
  if (c.type != DType::bf16 && c.type != DType::fp16 && c.type != DType::s8 && c.type != DType::e4m3 &&
      c.type != DType::e5m2) {
    return "mma_sync_gemm: A and B are bf16, fp16, s8, e4m3 or e5m2";
  }
  if (c.warps() < 1 || c.warps() > 32 || c.tile_m % c.warps_m != 0 || c.tile_n % c.warps_n != 0) {
    return "mma_sync_gemm: 1 to 32 warps divide the tile";
  }
  if (c.warp_m() % (16 * c.pieces) != 0 || c.warp_n() % (16 * c.pieces) != 0) {
    return "mma_sync_gemm: every piece of a warp's tile is a whole number of 16 rows and of 16 columns";
  }
  if (const char* why = refuse_operand(c, c.a_major, c.tile_m, c.warp_m(), c.copies_a)) return why;
  if (const char* why = refuse_operand(c, c.b_major, c.tile_n, c.warp_n(), c.copies_b)) return why;
  if (c.warp_n() * bits(c.out_type()) % 256 != 0) {
    return "mma_sync_gemm: 16 rows of a warp's tile are stored in whole rounds of 32 pieces of 16 bytes";
  }
  if (c.split == DepthSplit::stream_k) return "mma_sync_gemm: stream-K is not served";
  if (c.epilogue.pair()) return "mma_sync_gemm: swiglu is not served";
  return refuse(c.epilogue);
}

// Strides count elements: from one stored row to the next, and from one matrix of a batch to the next (0: the whole
// batch shares one).
struct MmaSyncGemmArgs {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  int64_t a_stride = 0, b_stride = 0, d_stride = 0;
  int64_t a_batch_stride = 0, b_batch_stride = 0, d_batch_stride = 0;
  int32_t m = 0, n = 0, k = 0;
  int32_t batches = 1;
  int32_t splits = 1;  // split_k: parts of a tile, where it is deep enough
  // split_k: config.workspace_bytes(), of which the first fixup().counter_bytes(tiles) are zero before the first
  // launch.
  void* workspace = nullptr;
  EpilogueArgs epilogue = {};
};

// Which way of copying the rows of a matrix allow.
constexpr RowCopy row_copy(uint64_t address, int64_t row_bytes) {
  const uint64_t low = address | uint64_t(row_bytes);
  return low % 16 == 0 ? RowCopy::bytes16 : low % 4 == 0 ? RowCopy::bytes4 : RowCopy::registers;
}

// The pipeline, derived and proven by schedule/.
constexpr schedule::Pipeline mma_sync_pipeline(const MmaSyncSchedule& c) {
  const schedule::Target target = schedule::mma_sync_target(schedule::targets::sm80, c.shape);
  return schedule::compile(schedule::mma_sync_ring(target, c.shape), target, {.depth = c.depth, .unroll = c.unroll});
}

}  // namespace warpwright
