// Configurations and arguments of the Blackwell kernels. World-free: the host fills these, whichever world compiles the
// kernel.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"
#include "warpwright/core/tensor_box.h"
#include "warpwright/epilogue/config.h"

namespace warpwright {

// sm100/dense_gemm.h: D[m, n] = epilogue(sum over k of A[m, k] * B[n, k]); A, B and D row-major with rows of whole
// 16-byte units.
struct DenseGemmSm100Config {
  DType type = DType::bf16;      // of A and B: bf16, fp16, tf32 or e4m3; sums are fp32
  DType out_type = DType::bf16;  // of D: fp32, bf16 or fp16
  int tile_m = 128;              // rows of one CTA: 64 or 128
  int tile_n = 256;              // columns of one MMA; a pair of CTAs has them in common
  int stages = 4;                // of the input ring
  int k_group = 1;               // tiles along K in one stage
  int accumulators = 2;
  int cta_group = 1;  // 2: a pair of CTAs multiplies as one, each with its own rows of A and half of the rows of B
  int cluster_m = 1;  // CTAs along M, which share B by multicast
  int cluster_n = 1;  // CTAs along N, which share A by multicast
  int raster_group = 8;
  // What happens to a sum before it is stored; its `out` is out_type.
  EpilogueConfig epilogue = {.alpha = true};

  // One row of the 128-byte swizzle.
  WW_HD constexpr int tile_k() const { return int(swizzle_bytes(Swizzle::b128)) * 8 / bits(type); }
  WW_HD constexpr int cluster() const { return cluster_m * cluster_n; }
  WW_HD constexpr int mma_m() const { return tile_m * cta_group; }
  // Pairs, or single CTAs, along M: so many MMAs run in a column of the cluster.
  WW_HD constexpr int groups_m() const { return cluster_m / cta_group; }
  // The rows of B in the shared memory of one CTA.
  WW_HD constexpr int b_rows() const { return tile_n / cta_group; }
  // Of a tile each CTA loads only a slice; the CTAs that share the tile send each other theirs.
  WW_HD constexpr TensorBox a_box() const { return {type, tile_k(), tile_m / cluster_n, Swizzle::b128}; }
  WW_HD constexpr TensorBox b_box() const { return {type, tile_k(), b_rows() / groups_m(), Swizzle::b128}; }
  // Of one whole tile in the shared memory of a CTA.
  WW_HD constexpr uint32_t a_bytes() const { return a_box().bytes() * uint32_t(cluster_n); }
  WW_HD constexpr uint32_t b_bytes() const { return b_box().bytes() * uint32_t(groups_m()); }
  // Columns of tensor memory that one accumulator takes: 64 rows in a pair lie beside each other, in two halves of N.
  WW_HD constexpr int accumulator_columns() const { return cta_group == 2 && tile_m == 64 ? tile_n / 2 : tile_n; }
  bool operator==(const DenseGemmSm100Config&) const = default;
};
struct DenseGemmSm100Args {
  TensorMap a;  // config.a_box() over [m, k]; with k = 0 it is not read
  TensorMap b;  // config.b_box() over [n, k]; with k = 0 it is not read
  void* d = nullptr;
  int32_t m = 0;
  int32_t n = 0;
  int32_t k = 0;
  EpilogueArgs epilogue = {};
};

// sm100/blockwise_fp8.h: D[m, n] = sum over blocks of 128 along k of a_scales[block, m] * b_scales[n / 128, block] *
// the product of the e4m3 blocks. A, B and D as above; the rows of a_scales are whole 16-byte units.
struct BlockwiseFp8Sm100Config {
  DType out_type = DType::bf16;  // fp32, bf16 or fp16
  int tile_n = 128;
  int stages = 4;
  int accumulators = 2;
  int cta_group = 1;  // 2: in pairs, the cluster is one pair
  int raster_group = 8;

  static constexpr int block = 128;  // of the scales, along n and k

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
            .raster_group = raster_group};
  }
  WW_HD constexpr TensorBox a_box() const { return dense().a_box(); }
  WW_HD constexpr TensorBox b_box() const { return dense().b_box(); }
  // One scale for each row of a CTA.
  WW_HD constexpr TensorBox scales_box() const { return {DType::fp32, dense().tile_m, 1, Swizzle::none}; }
  bool operator==(const BlockwiseFp8Sm100Config&) const = default;
};
struct BlockwiseFp8Sm100Args {
  TensorMap a;                      // config.a_box() over [m, k]; with k = 0 it is not read, nor are those below
  TensorMap b;                      // config.b_box() over [n, k]
  TensorMap a_scales;               // config.scales_box() over [blocks of k, m] of fp32
  const float* b_scales = nullptr;  // [blocks of n, blocks of k]
  void* d = nullptr;
  int32_t m = 0;
  int32_t n = 0;
  int32_t k = 0;
};

}  // namespace warpwright
