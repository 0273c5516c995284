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
};
inline constexpr BlockwiseFp8Sm100Config kBlockwiseFp8Sm100[] = {
    {.tile_n = 128, .stages = 6, .cta_group = 2},
    {.tile_n = 128, .stages = 6},
};

Status launch_dense_gemm_sm100(int index, const DenseGemmSm100Args& args, void* stream, int max_ctas = 0);
Status launch_blockwise_fp8_sm100(int index, const BlockwiseFp8Sm100Args& args, void* stream, int max_ctas = 0);

// One definition for each entry of a table, in a file of its own: compilation runs in parallel.
template <int Index>
Status launch_dense_gemm_sm100(const DenseGemmSm100Args& args, void* stream, int max_ctas);
template <int Index>
Status launch_blockwise_fp8_sm100(const BlockwiseFp8Sm100Args& args, void* stream, int max_ctas);

}  // namespace warpwright::device
