// What a kernel is configured with, what a launch passes to it, and the tensor maps it expects. World-free: the host
// fills these, whichever world compiles the kernel.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"
#include "warpwright/core/tensor_box.h"

namespace warpwright {

// sm90/ring_copy.h: y = alpha * x + beta, element by element.
struct RingCopyConfig {
  DType type = DType::fp32;  // fp32, bf16 or fp16, of x and y
  int tile_rows = 32;
  int tile_columns = 64;
  int stages = 4;
  int output_stages = 2;
  int compute_warps = 4;

  WW_HD constexpr TensorBox box() const { return {type, tile_columns, tile_rows, Swizzle::none}; }
  bool operator==(const RingCopyConfig&) const = default;
};
struct RingCopyArgs {
  TensorMap x;  // config.box() over [rows, columns]
  TensorMap y;  // the same
  int32_t rows = 0;
  int32_t columns = 0;
  float alpha = 1;
  float beta = 0;
};

// sm90/cluster_ring.h: cluster c sums its tiles c, c + C, c + 2C, ... of x, element by element; CTA r of it stores
// scale[r] times the sum.
struct ClusterRingConfig {
  int cluster = 2;
  int tile_rows = 32;
  int tile_columns = 64;
  int stages = 4;
  int compute_warps = 4;

  // Each CTA loads this part of a tile and multicasts it to the whole cluster.
  WW_HD constexpr TensorBox box() const { return {DType::fp32, tile_columns, tile_rows / cluster, Swizzle::none}; }
  WW_HD constexpr int tile_elements() const { return tile_rows * tile_columns; }
  bool operator==(const ClusterRingConfig&) const = default;
};
struct ClusterRingArgs {
  static constexpr int kMaxCluster = 8;
  TensorMap x;            // config.box() over [rows, columns] of fp32
  float* sums = nullptr;  // [clusters][cluster][tile_elements]; a cluster without tiles stores zeros
  int32_t rows = 0;
  int32_t columns = 0;
  float scale[kMaxCluster] = {};
};

// Along which dimension of the result the CTAs of a cluster lie. Along m they share a tile of B, along n one of A.
enum class ClusterAxis : uint8_t { m, n };

// sm90/dense_gemm.h: D[m, n] = alpha * sum over k of A[m, k] * B[n, k]; A, B and D row-major with rows of whole 16-byte
// units.
struct DenseGemmConfig {
  DType type = DType::bf16;  // bf16 or fp16, of A, B and D; sums are fp32
  int tile_m = 128;          // 64 rows for each MMA warpgroup: 64, 128 or 192
  int tile_n = 256;          // a multiple of 16
  int stages = 4;
  int output_stages = 2;
  int cluster = 2;  // CTAs that share an operand by multicast
  ClusterAxis axis = ClusterAxis::m;
  int raster_group = 8;
  bool overlapped = true;  // hand back stage k-1 while the MMAs of stage k run

  // One row of the 128-byte swizzle.
  WW_HD constexpr int tile_k() const { return int(swizzle_bytes(Swizzle::b128)) * 8 / bits(type); }
  WW_HD constexpr int warpgroups() const { return tile_m / 64; }
  WW_HD constexpr int cluster_m() const { return axis == ClusterAxis::m ? cluster : 1; }
  WW_HD constexpr int cluster_n() const { return axis == ClusterAxis::n ? cluster : 1; }
  // Each CTA loads its own operand and its share of the one that the cluster has in common.
  WW_HD constexpr TensorBox a_box() const { return {type, tile_k(), tile_m / cluster_n(), Swizzle::b128}; }
  WW_HD constexpr TensorBox b_box() const { return {type, tile_k(), tile_n / cluster_m(), Swizzle::b128}; }
  // The subtile of the output ring: the rows of a warpgroup by the widest row of a swizzle that divides the tile.
  WW_HD constexpr TensorBox d_box() const {
    const Swizzle swizzle = tile_n % 64 == 0 ? Swizzle::b128 : tile_n % 32 == 0 ? Swizzle::b64 : Swizzle::b32;
    return {type, int(swizzle_bytes(swizzle)) * 8 / bits(type), 64, swizzle};
  }
  WW_HD constexpr uint32_t stage_bytes() const {
    return uint32_t(tile_m + tile_n) * uint32_t(tile_k()) * uint32_t(bits(type)) / 8;
  }
  bool operator==(const DenseGemmConfig&) const = default;
};
struct DenseGemmArgs {
  TensorMap a;  // config.a_box() over [m, k]; with k = 0 it is not read
  TensorMap b;  // config.b_box() over [n, k]; with k = 0 it is not read
  TensorMap d;  // config.d_box() over [m, n]
  int32_t m = 0;
  int32_t n = 0;
  int32_t k = 0;
  float alpha = 1;
};

// sm90/skinny_gemm.h: the same product for few rows of A ("tokens"): D[m, n] = alpha * sum over k of X[m, k] * W[n, k].
// The rows of W ("weights") are the M side of the MMA, the tokens its N side. A cluster splits the depth of a tile.
struct SkinnyGemmConfig {
  DType type = DType::bf16;  // bf16 or fp16, of X, W and D; sums are fp32
  int rows = 64;             // of W in a tile: 64 for each MMA warpgroup
  int tokens = 16;           // rows of X in a tile, a multiple of 8; m is at most this
  int split = 1;             // CTAs of a cluster, each with its part of k
  int stages = 8;
  int output_stages = 2;

  WW_HD constexpr int tile_k() const { return int(swizzle_bytes(Swizzle::b128)) * 8 / bits(type); }
  WW_HD constexpr int warpgroups() const { return rows / 64; }
  // The CTAs that add the parts of a tile, each those of its own tokens: MMA results come in blocks of 8 tokens.
  WW_HD constexpr int owners() const { return split < tokens / 8 ? split : tokens / 8; }
  WW_HD constexpr int owned_tokens() const { return tokens / owners(); }
  WW_HD constexpr TensorBox w_box() const { return {type, tile_k(), rows, Swizzle::b128}; }
  WW_HD constexpr TensorBox x_box() const { return {type, tile_k(), tokens, Swizzle::b128}; }
  // The tokens of an owner by the 64 columns of D that a warpgroup makes.
  WW_HD constexpr TensorBox d_box() const { return {type, 64, owned_tokens(), Swizzle::b128}; }
  // What the owner receives: from every CTA 4 sums of each thread for each of its blocks of 8 tokens.
  WW_HD constexpr uint32_t partial_bytes() const {
    return split == 1 ? 0 : uint32_t(split * (owned_tokens() / 8) * warpgroups() * 128) * 16;
  }
  WW_HD constexpr uint32_t output_bytes() const { return d_box().bytes() * uint32_t(output_stages * warpgroups()); }
  bool operator==(const SkinnyGemmConfig&) const = default;
};
struct SkinnyGemmArgs {
  TensorMap w;  // config.w_box() over [n, k]; with k = 0 it is not read
  TensorMap x;  // config.x_box() over [m, k]; with k = 0 it is not read
  TensorMap d;  // config.d_box() over [m, n]
  int32_t m = 0;
  int32_t n = 0;
  int32_t k = 0;
  float alpha = 1;
  // The weights were not written by the kernel before this one on the stream: they are fetched while it still runs.
  bool weights_are_constant = false;
};

// The configuration with as many input stages as fit beside what `used` bytes hold. A barrier pair a stage, and up to
// 1 KiB for alignment and the other barriers.
template <class Config>
WW_HD constexpr Config with_stages_that_fit(Config c, uint32_t stage_bytes, uint32_t used, int most) {
  constexpr uint32_t available = 232448 - 1024;
  const int fit = int((available - used) / (stage_bytes + 16));
  c.stages = fit < most ? fit : most;
  return c;
}
WW_HD constexpr DenseGemmConfig deepest(DenseGemmConfig c, int most = 8) {
  return with_stages_that_fit(c, c.stage_bytes(), c.d_box().bytes() * uint32_t(c.output_stages * c.warpgroups()), most);
}
WW_HD constexpr SkinnyGemmConfig deepest(SkinnyGemmConfig c, int most = 20) {
  return with_stages_that_fit(c, c.w_box().bytes() + c.x_box().bytes(), c.partial_bytes() + c.output_bytes(), most);
}

// sm100/tmem_lifecycle.h: D[m, n] = sum over k of A[m, k] * B[n, k]; A and B as above, D row-major with n a multiple
// of 8.
struct TmemLifecycleConfig {
  DType type = DType::bf16;      // bf16 or fp16, of A and B
  DType out_type = DType::fp32;  // fp32, bf16 or fp16
  int tile_n = 128;
  int stages = 4;
  int accumulators = 2;
  int raster_group = 8;

  static constexpr int tile_m = 128;  // one row of the tile is one lane of tensor memory
  WW_HD constexpr int tile_k() const { return int(swizzle_bytes(Swizzle::b128)) * 8 / bits(type); }
  WW_HD constexpr TensorBox a_box() const { return {type, tile_k(), tile_m, Swizzle::b128}; }
  WW_HD constexpr TensorBox b_box() const { return {type, tile_k(), tile_n, Swizzle::b128}; }
  bool operator==(const TmemLifecycleConfig&) const = default;
};
struct TmemLifecycleArgs {
  TensorMap a;  // config.a_box() over [m, k]; with k = 0 it is not read
  TensorMap b;  // config.b_box() over [n, k]; with k = 0 it is not read
  void* d = nullptr;
  int32_t m = 0;
  int32_t n = 0;
  int32_t k = 0;
};

}  // namespace warpwright
