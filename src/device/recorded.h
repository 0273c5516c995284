// Kernels that write timestamps (core/record.h) and were compiled ahead. The definitions exist where WW_HAVE_CUDA is
// set.
#pragma once
#include "device/launch.h"
#include "warpwright/core/record.h"

namespace warpwright::device {

// The large tile that `demo` shows.
inline constexpr DenseGemmConfig kRecordedDenseGemmSm90{.tile_m = 128, .tile_n = 256, .stages = 4, .cluster = 2};

// How many clusters the current device runs at once; 0: it cannot run them.
int recorded_dense_gemm_sm90_clusters();
// Puts exactly `ctas` CTAs on the stream; the buffers have room for all their warps.
Status launch_recorded_dense_gemm_sm90(const DenseGemmArgs& args, const record::Buffers& buffers, int ctas,
                                       void* stream);

}  // namespace warpwright::device
