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
    deepest(GroupedGemmConfig{.tile_m = 128, .tile_n = 176, .cluster = 2}),
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
    deepest(SkinnyBlockwiseConfig{.rows = 128, .tokens = 128, .split = 1}),
    deepest(SkinnyBlockwiseConfig{.rows = 128, .tokens = 128, .split = 2}),
    deepest(SkinnyBlockwiseConfig{.rows = 128, .tokens = 128, .split = 4}),
    deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 8, .split = 3}),
    deepest(SkinnyBlockwiseConfig{.rows = 128, .tokens = 128, .split = 8}),
};

Status launch_grouped_gemm_sm90(int index, const GroupedGemmArgs& args, void* stream, int max_ctas = 0);
Status launch_skinny_blockwise_sm90(int index, const SkinnyBlockwiseArgs& args, void* stream, int max_ctas = 0,
                                    bool dependent = false);

template <int Index>
Status launch_grouped_gemm_sm90(const GroupedGemmArgs& args, void* stream, int max_ctas);
template <int Index>
Status launch_skinny_blockwise_sm90(const SkinnyBlockwiseArgs& args, void* stream, int max_ctas, bool dependent);

}  // namespace warpwright::device
