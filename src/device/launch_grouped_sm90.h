// Launching the blockwise and grouped kernels that are compiled ahead, like device/launch.h.
#pragma once
#include "device/launch.h"
#include "warpwright/kernel/config_grouped_sm90.h"

namespace warpwright::device {

// An entry's position names its instance, so new ones go to the end.
inline constexpr GroupedGemmConfig kGroupedGemmSm90[] = {
    // Blockwise scales, one product.
    deepest(GroupedGemmConfig{.tile_m = 128, .tile_n = 128, .cluster = 2}),
    deepest(GroupedGemmConfig{.tile_m = 256, .tile_n = 128, .cluster = 2, .axis = ClusterAxis::n, .group_rows = 128}),
    deepest(GroupedGemmConfig{.tile_m = 128, .tile_n = 192, .cluster = 2}),
    deepest(GroupedGemmConfig{.tile_m = 64, .tile_n = 64}),
    deepest(GroupedGemmConfig{.tile_m = 128, .tile_n = 144, .cluster = 2}),
    deepest(GroupedGemmConfig{.tile_m = 64, .tile_n = 128}),
    deepest(GroupedGemmConfig{.out = DType::fp32, .tile_m = 128, .tile_n = 128, .cluster = 2}),
    // Groups one behind the other.
    deepest(GroupedGemmConfig{.tile_m = 128, .tile_n = 192, .cluster = 2, .groups = Groups::contiguous}),
    deepest(GroupedGemmConfig{.tile_m = 256,
                              .tile_n = 128,
                              .cluster = 2,
                              .axis = ClusterAxis::n,
                              .group_rows = 128,
                              .groups = Groups::contiguous}),
    deepest(GroupedGemmConfig{
        .type = DType::bf16, .tile_m = 128, .tile_n = 256, .cluster = 2, .groups = Groups::contiguous}),
    // Groups with room for more rows.
    deepest(GroupedGemmConfig{.tile_m = 128, .tile_n = 192, .cluster = 2, .groups = Groups::masked}),
    deepest(GroupedGemmConfig{.tile_m = 64, .tile_n = 128, .groups = Groups::masked}),
    deepest(
        GroupedGemmConfig{.type = DType::bf16, .tile_m = 128, .tile_n = 256, .cluster = 2, .groups = Groups::masked}),
    deepest(GroupedGemmConfig{.type = DType::bf16, .tile_m = 64, .tile_n = 128, .groups = Groups::masked}),
    deepest(GroupedGemmConfig{.tile_m = 64, .tile_n = 192, .groups = Groups::masked}),
    deepest(GroupedGemmConfig{.type = DType::bf16, .tile_m = 64, .tile_n = 256, .groups = Groups::masked}),
    deepest(GroupedGemmConfig{.type = DType::bf16,
                              .tile_m = 256,
                              .tile_n = 128,
                              .cluster = 2,
                              .axis = ClusterAxis::n,
                              .group_rows = 128,
                              .groups = Groups::contiguous}),
    deepest(GroupedGemmConfig{.tile_m = 128, .tile_n = 192}),
    // A scale for each row of B; any groups of rows, or none.
    deepest(GroupedGemmConfig{.tile_m = 128,
                              .tile_n = 128,
                              .cluster = 2,
                              .axis = ClusterAxis::n,
                              .groups = Groups::contiguous,
                              .any_rows = true,
                              .b_scale_rows = 1}),
    // Groups along k.
    deepest(GroupedGemmConfig{
        .out = DType::fp32, .tile_m = 128, .tile_n = 128, .cluster = 2, .groups = Groups::by_depth, .b_scale_rows = 1}),
    deepest(GroupedGemmConfig{.type = DType::bf16,
                              .out = DType::fp32,
                              .tile_m = 128,
                              .tile_n = 256,
                              .cluster = 2,
                              .groups = Groups::by_depth}),
    // Fused epilogues, for any groups of rows, or none.
    deepest(GroupedGemmConfig{.out = DType::e4m3,
                              .tile_m = 128,
                              .tile_n = 256,
                              .cluster = 2,
                              .axis = ClusterAxis::n,
                              .groups = Groups::contiguous,
                              .any_rows = true,
                              .swiglu = true,
                              .bias = true}),
    deepest(GroupedGemmConfig{.tile_m = 128,
                              .tile_n = 256,
                              .cluster = 2,
                              .axis = ClusterAxis::n,
                              .groups = Groups::contiguous,
                              .any_rows = true,
                              .swiglu = true,
                              .bias = true}),
    deepest(GroupedGemmConfig{.out = DType::e4m3,
                              .tile_m = 128,
                              .tile_n = 128,
                              .cluster = 2,
                              .axis = ClusterAxis::n,
                              .groups = Groups::contiguous,
                              .any_rows = true,
                              .bias = true}),
    deepest(GroupedGemmConfig{.tile_m = 128,
                              .tile_n = 128,
                              .cluster = 2,
                              .axis = ClusterAxis::n,
                              .groups = Groups::contiguous,
                              .any_rows = true,
                              .bias = true}),
    deepest(GroupedGemmConfig{.type = DType::bf16,
                              .tile_m = 128,
                              .tile_n = 256,
                              .cluster = 2,
                              .axis = ClusterAxis::n,
                              .groups = Groups::contiguous,
                              .any_rows = true,
                              .swiglu = true,
                              .bias = true}),
    // Few rows: as many tiles as there are SMs.
    deepest(GroupedGemmConfig{.tile_m = 64, .tile_n = 112}),
    deepest(GroupedGemmConfig{.tile_m = 64, .tile_n = 32}),
};
inline constexpr SkinnyBlockwiseConfig kSkinnyBlockwiseSm90[] = {
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 8, .split = 1}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 8, .split = 2}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 8, .split = 4}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 8, .split = 8}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 16, .split = 1}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 16, .split = 2}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 16, .split = 4}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 32, .split = 1}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 32, .split = 2}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 32, .split = 4}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 64, .split = 1}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 64, .split = 2}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 64, .split = 4}),
    deepest(SkinnyBlockwiseConfig{.rows = 128, .tokens = 64, .split = 1}),
    deepest(SkinnyBlockwiseConfig{.rows = 128, .tokens = 64, .split = 2}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 128, .split = 1}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 128, .split = 2}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 128, .split = 4}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 8, .split = 3}),
};

Status launch_grouped_gemm_sm90(int index, const GroupedGemmArgs& args, void* stream, int max_ctas = 0);
Status launch_skinny_blockwise_sm90(int index, const SkinnyBlockwiseArgs& args, void* stream, int max_ctas = 0,
                                    bool dependent = false);

template <int Index>
Status launch_grouped_gemm_sm90(const GroupedGemmArgs& args, void* stream, int max_ctas);
template <int Index>
Status launch_skinny_blockwise_sm90(const SkinnyBlockwiseArgs& args, void* stream, int max_ctas, bool dependent);

}  // namespace warpwright::device
