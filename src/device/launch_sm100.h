// Launching the Blackwell kernels that are compiled ahead. They are compiled and inspected here, and run in the
// simulator only.
#pragma once
#include "device/launch.h"
#include "warpwright/kernel/config_sm100.h"

namespace warpwright::device {

// The configurations that are compiled. An entry's position names its instance, so new ones go to the end.
inline constexpr DenseGemmSm100Config kDenseGemmSm100[] = {
    {.tile_n = 128, .stages = 6, .cta_group = 2, .cluster_m = 4, .cluster_n = 2},
    {.tile_n = 256, .stages = 6, .cta_group = 2, .cluster_m = 2},
    {.tile_n = 128, .stages = 6},
    {.tile_m = 64, .tile_n = 64, .stages = 8},
    {.type = DType::fp16, .out_type = DType::fp16, .tile_n = 128, .stages = 6},
    {.type = DType::e4m3, .tile_n = 256, .stages = 6, .cta_group = 2, .cluster_m = 2},
    {.type = DType::tf32, .out_type = DType::fp32, .tile_n = 128, .stages = 6},
    {.tile_n = 256, .stages = 6, .cta_group = 2, .cluster_m = 2, .source = TileSource::clc},
    {.tile_n = 128, .stages = 6, .raster = TileOrder::hilbert, .batched = true},
    {.tile_n = 128, .stages = 6, .source = TileSource::clc, .split = DepthSplit::split_k},
    {.tile_n = 256, .stages = 6, .cta_group = 2, .cluster_m = 2, .split = DepthSplit::stream_k},
    {.tile_n = 16, .stages = 10, .split = DepthSplit::split_k, .swap_ab = true, .dependent = true},
    {.tile_n = 256, .stages = 6, .cta_group = 2, .cluster_m = 2, .store_stages = 2},
    {.tile_n = 128,
     .stages = 4,
     .epilogue = {.alpha = true,
                  .source = true,
                  .bias = Bias::per_column,
                  .activation = Activation::gelu_tanh,
                  .residual = true},
     .store_stages = 2,
     .epilogue_load_stages = 1},
    {.tile_n = 256,
     .stages = 6,
     .cta_group = 2,
     .cluster_m = 2,
     .epilogue = {.alpha = true, .activation = Activation::swiglu},
     .store_stages = 2},
    {.tile_n = 256, .stages = 5, .cta_group = 2, .cluster_m = 2, .epilogue_warps = 8, .store_stages = 2},
    {.type = DType::e4m3,
     .out_type = DType::e4m3,
     .tile_n = 256,
     .stages = 6,
     .cta_group = 2,
     .cluster_m = 2,
     .epilogue = {.alpha = true, .quantize = true},
     .store_stages = 2},
    {.type = DType::e4m3, .tile_n = 128, .stages = 6, .cta_group = 2, .cluster_m = 2, .scaling = BlockScaling::mxfp8},
    {.type = DType::e2m1,
     .tile_n = 256,
     .stages = 5,
     .accumulators = 1,
     .cta_group = 2,
     .cluster_m = 2,
     .scaling = BlockScaling::mxfp4},
    {.type = DType::e2m1, .tile_n = 128, .stages = 6, .cta_group = 2, .cluster_m = 2, .scaling = BlockScaling::nvfp4},
    {.type = DType::e4m3, .tile_n = 128, .stages = 6, .cta_group = 2, .cluster_m = 2, .scaling = BlockScaling::w4a8},
};
inline constexpr BlockwiseFp8Sm100Config kBlockwiseFp8Sm100[] = {
    {.tile_n = 128, .stages = 6, .cta_group = 2},
    {.tile_n = 128, .stages = 6},
    {.tile_n = 128, .stages = 5, .cta_group = 2, .epilogue_warps = 8, .store_stages = 2},
    {.tile_n = 128, .stages = 6, .epilogue = {.alpha = true}, .grouped = true},
};
inline constexpr GroupedGemmSm100Config kGroupedGemmSm100[] = {
    {.tile_n = 128, .stages = 6, .cta_group = 2, .swap_ab = true},
    {.scaling = BlockScaling::nvfp4, .type = DType::e2m1, .tile_n = 8, .stages = 8, .swap_ab = true},
    {.scaling = BlockScaling::w4a8, .tile_n = 32, .stages = 8, .swap_ab = true},
    {.scaling = BlockScaling::mxfp4, .type = DType::e2m1, .tile_n = 128, .stages = 5},
    {.tile_n = 128, .stages = 6, .cta_group = 2, .out_scaling = BlockScaling::mxfp8},
    {.scaling = BlockScaling::nvfp4,
     .type = DType::e2m1,
     .tile_n = 128,
     .stages = 4,
     .out_scaling = BlockScaling::nvfp4,
     .clamped_swiglu = true},
    {.tile_n = 128, .stages = 6, .cta_group = 2, .swap_ab = true, .pointers = true},
    {.tile_n = 16, .stages = 8, .swap_ab = true, .out_scaling = BlockScaling::mxfp8},
};

Status launch_dense_gemm_sm100(int index, const DenseGemmSm100Args& args, void* stream, int max_ctas = 0);
Status launch_blockwise_fp8_sm100(int index, const BlockwiseFp8Sm100Args& args, void* stream, int max_ctas = 0);
Status launch_grouped_gemm_sm100(int index, const GroupedGemmSm100Args& args, void* stream, int max_ctas = 0);

// One definition for each entry of a table, in a file of its own: compilation runs in parallel.
template <int Index>
Status launch_dense_gemm_sm100(const DenseGemmSm100Args& args, void* stream, int max_ctas);
template <int Index>
Status launch_blockwise_fp8_sm100(const BlockwiseFp8Sm100Args& args, void* stream, int max_ctas);
template <int Index>
Status launch_grouped_gemm_sm100(const GroupedGemmSm100Args& args, void* stream, int max_ctas);

}  // namespace warpwright::device
