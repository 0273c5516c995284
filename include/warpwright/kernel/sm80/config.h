// Configuration and arguments of the mma.sync GEMM, for the host and the kernel.
#pragma once
#include "warpwright/kernel/config.h"
#include "warpwright/schedule/mma_sync.h"

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

// D = epilogue(A * B^T) with A [m, k] and B [n, k].
struct MmaSyncGemmConfig {
  DType type = DType::bf16;  // bf16, fp16, s8; e4m3 and e5m2 from sm_89 on
  int tile_m = 128, tile_n = 256;
  int warps_m = 2, warps_n = 4;
  int depth = 0;   // tiles of K in shared memory; 0: what the schedule's compiler chooses
  int unroll = 1;  // tiles of K in one iteration
  // Of the schedule: see schedule/mma_sync.h.
  int pieces = 4;
  int copies_a = 1, copies_b = 1;
  bool spread = true;
  int copy_latency = 2700;
  RowCopy copy = RowCopy::bytes16;
  int blocks_per_sm = 1;
  int band = 8;  // rows of tiles that CTAs running at the same time share
  EpilogueConfig epilogue = factor_and_conversion(DType::bf16);

  bool operator==(const MmaSyncGemmConfig&) const = default;
  WW_HD constexpr int warps() const { return warps_m * warps_n; }
  WW_HD constexpr int threads() const { return warps() * 32; }
  WW_HD constexpr int warp_m() const { return tile_m / warps_m; }
  WW_HD constexpr int warp_n() const { return tile_n / warps_n; }
  WW_HD constexpr DType out_type() const { return epilogue.out; }
  WW_HD constexpr int tile_k() const { return schedule::kMmaSyncRowBytes * 8 / bits(type); }
  constexpr schedule::MmaSyncShape shape() const {
    return {tile_m, tile_n, warps_m, warps_n, pieces, copies_a, copies_b, spread, blocks_per_sm, copy_latency};
  }
  constexpr MmaSyncSchedule order() const { return {shape(), depth, unroll}; }
};

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
  const int rows = c.threads() / 4;
  if (c.tile_m % (rows * c.copies_a) != 0 || c.tile_n % (rows * c.copies_b) != 0) {
    return "mma_sync_gemm: every part of a copy is a whole number of 16-byte chunks for each thread";
  }
  if (c.epilogue.pair()) return "mma_sync_gemm: swiglu is not served";
  return refuse(c.epilogue);
}

// Strides count elements, from one row to the next.
struct MmaSyncGemmArgs {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  int64_t a_stride = 0, b_stride = 0, d_stride = 0;
  int32_t m = 0, n = 0, k = 0;
  EpilogueArgs epilogue = {};
};

// Which copy the rows of a matrix allow.
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
