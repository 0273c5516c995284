// Launching the kernels that are compiled ahead. No CUDA header is needed to include this; the definitions are in the
// .cu files beside it and exist where WW_HAVE_CUDA is set.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "device/dense_variants.h"
#include "warpwright/kernel/config.h"

namespace warpwright::device {

// Nothing: the kernel was put on the stream. Otherwise a sentence. `stream` is a cudaStream_t.
using Status = std::optional<std::string>;

// The configurations that are compiled. An entry's position names its instance, so new ones go to the end.
inline constexpr RingCopyConfig kRingCopySm90[] = {
    {.type = DType::fp32},
    {.type = DType::bf16},
};
inline constexpr ClusterRingConfig kClusterRingSm90[] = {
    {},
};
inline constexpr DenseGemmConfig kDenseGemmSm90[] = {
    {.type = DType::bf16, .tile_m = 128, .tile_n = 256, .stages = 4, .cluster = 2},
    {.type = DType::bf16, .tile_m = 128, .tile_n = 256, .stages = 4, .cluster = 1},
    {.type = DType::bf16, .tile_m = 128, .tile_n = 128, .stages = 6, .cluster = 2},
    {.type = DType::bf16, .tile_m = 128, .tile_n = 128, .stages = 6, .cluster = 1},
    {.type = DType::bf16, .tile_m = 64, .tile_n = 64, .stages = 4, .cluster = 1},
    {.type = DType::fp16,
     .tile_m = 128,
     .tile_n = 256,
     .stages = 4,
     .cluster = 2,
     .epilogue = factor_and_conversion(DType::fp16)},
    {.type = DType::fp16,
     .tile_m = 128,
     .tile_n = 128,
     .stages = 6,
     .cluster = 1,
     .epilogue = factor_and_conversion(DType::fp16)},
    deepest({.tile_m = 128, .tile_n = 224}),
    deepest({.tile_m = 128, .tile_n = 192}),
    deepest({.tile_m = 128, .tile_n = 176}),
    deepest({.tile_m = 128, .tile_n = 160}),
    deepest({.tile_m = 128, .tile_n = 144}),
    deepest({.tile_m = 128, .tile_n = 64, .axis = ClusterAxis::n}),
    deepest({.tile_m = 128, .tile_n = 192, .axis = ClusterAxis::n}),
    deepest({.tile_m = 192, .tile_n = 192}),
    deepest({.tile_m = 128, .tile_n = 256, .axis = ClusterAxis::n}),
    // Little depth: one warpgroup multiplies while the other stores, or the output ring takes a whole tile.
    deepest({.tile_m = 128, .tile_n = 192, .group_rows = 128, .schedule = Schedule::ping_pong}),
    {.tile_m = 128, .tile_n = 256, .stages = 3, .output_stages = 4},
    deepest({.tile_m = 64, .tile_n = 128, .schedule = Schedule::ping_pong}),
    // Few rows or few tiles.
    deepest({.tile_m = 64, .tile_n = 224, .axis = ClusterAxis::n}, 5),
    deepest({.tile_m = 64, .tile_n = 128}),
    deepest({.tile_m = 64, .tile_n = 64, .cluster = 1}, 12),
    deepest({.tile_m = 64, .tile_n = 48, .axis = ClusterAxis::n}, 16),
    deepest({.tile_m = 64, .tile_n = 64, .axis = ClusterAxis::n}, 16),
    deepest({.tile_m = 64, .tile_n = 80, .axis = ClusterAxis::n}, 16),
    // The output ring takes a whole tile, or most of it: the warpgroups wait for fewer stores.
    {.tile_m = 128, .tile_n = 160, .stages = 5, .output_stages = 5},
    {.tile_m = 128, .tile_n = 224, .stages = 4, .output_stages = 5},
};
// Instances of one width share a file.
inline constexpr SkinnyGemmConfig kSkinnyGemmSm90[] = {
    deepest({.rows = 64, .tokens = 8, .split = 1}),    deepest({.rows = 64, .tokens = 8, .split = 2}),
    deepest({.rows = 64, .tokens = 8, .split = 4}),    deepest({.rows = 64, .tokens = 8, .split = 8}),
    deepest({.rows = 64, .tokens = 16, .split = 1}),   deepest({.rows = 64, .tokens = 16, .split = 2}),
    deepest({.rows = 64, .tokens = 16, .split = 4}),   deepest({.rows = 64, .tokens = 16, .split = 8}),
    deepest({.rows = 64, .tokens = 32, .split = 1}),   deepest({.rows = 64, .tokens = 32, .split = 2}),
    deepest({.rows = 64, .tokens = 32, .split = 4}),   deepest({.rows = 64, .tokens = 32, .split = 8}),
    deepest({.rows = 128, .tokens = 64, .split = 1}),  deepest({.rows = 128, .tokens = 64, .split = 2}),
    deepest({.rows = 128, .tokens = 64, .split = 4}),  deepest({.rows = 128, .tokens = 64, .split = 8}),
    deepest({.rows = 128, .tokens = 128, .split = 1}), deepest({.rows = 128, .tokens = 128, .split = 2}),
    deepest({.rows = 128, .tokens = 128, .split = 4}), deepest({.rows = 128, .tokens = 128, .split = 8}),
    deepest({.rows = 64, .tokens = 64, .split = 1}),   deepest({.rows = 64, .tokens = 64, .split = 2}),
    deepest({.rows = 64, .tokens = 64, .split = 4}),   deepest({.rows = 64, .tokens = 128, .split = 1}),
    deepest({.rows = 64, .tokens = 128, .split = 2}),  deepest({.rows = 64, .tokens = 128, .split = 4}),
    deepest({.rows = 64, .tokens = 8, .split = 3}),    deepest({.rows = 64, .tokens = 16, .split = 3}),
    deepest({.rows = 128, .tokens = 8, .split = 1}),   deepest({.rows = 128, .tokens = 16, .split = 1}),
};
inline constexpr TmemLifecycleConfig kTmemLifecycleSm100[] = {
    {.out_type = DType::fp32},
    {.out_type = DType::bf16},
};

// The first `index` of a table above that equals the wanted configuration, or -1.
template <class Config, size_t N>
constexpr int find_config(const Config (&table)[N], const Config& wanted) {
  for (size_t i = 0; i < N; ++i) {
    if (table[i] == wanted) return int(i);
  }
  return -1;
}

// `index` is a position in the table of the kernel. `max_ctas` limits the persistent grid; 0: as many as fit the
// device.
Status launch_ring_copy_sm90(int index, const RingCopyArgs& args, void* stream, int max_ctas = 0);
// `dependent` allows the launch to begin before the kernel ahead of it on the stream has ended.
Status launch_dense_gemm_sm90(int index, const DenseGemmArgs& args, void* stream, int max_ctas = 0,
                              bool dependent = false);
// Of kDenseVariantsSm90. Where the depth of tiles is shared the workspace is for max_ctas / cluster clusters.
Status launch_dense_variant_sm90(int index, const DenseGemmArgs& args, void* stream, int max_ctas = 0,
                                 bool dependent = false);
Status launch_skinny_gemm_sm90(int index, const SkinnyGemmArgs& args, void* stream, int max_ctas = 0,
                               bool dependent = false);
Status launch_skinny_variant_sm90(int index, const SkinnyGemmArgs& args, void* stream, int max_ctas = 0,
                                  bool dependent = false);
Status launch_tmem_lifecycle_sm100(int index, const TmemLifecycleArgs& args, void* stream, int max_ctas = 0);
// The result has a block for each of exactly `clusters` clusters.
Status launch_cluster_ring_sm90(int index, const ClusterRingArgs& args, int clusters, void* stream);

// One definition for each entry of a table, in a file of its own: compilation runs in parallel.
template <int Index>
Status launch_dense_gemm_sm90(const DenseGemmArgs& args, void* stream, int max_ctas, bool dependent);
template <int Index>
Status launch_dense_variant_sm90(const DenseGemmArgs& args, void* stream, int max_ctas, bool dependent);
template <int Index>
Status launch_skinny_gemm_sm90(const SkinnyGemmArgs& args, void* stream, int max_ctas, bool dependent);
template <int Index>
Status launch_skinny_variant_sm90(const SkinnyGemmArgs& args, void* stream, int max_ctas, bool dependent);

}  // namespace warpwright::device
