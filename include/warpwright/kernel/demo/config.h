// What the kernels that teach are configured with, and what a launch passes to them.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"
#include "warpwright/core/tensor_box.h"

namespace warpwright {

// demo/ring_copy.h: y = alpha * x + beta, element by element.
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

// demo/cluster_ring.h: cluster c sums its tiles c, c + C, c + 2C, ... of x, element by element; CTA r of it stores
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

// demo/tmem_lifecycle.h: D[m, n] = sum over k of A[m, k] * B[n, k]; A and B as above, D row-major with n a multiple
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
