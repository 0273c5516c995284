// The arguments of dense products on other architectures than Hopper, a file each. launch/dense.h calls them.
#pragma once
#include "launch/tensor_map.h"
#include "problem/lower.h"
#include "warpwright/gemm.h"
#include "warpwright/kernel/cdna/config.h"
#include "warpwright/kernel/sm100/config.h"
#include "warpwright/kernel/sm80/config.h"

namespace warpwright::launch {

// For a configuration that serves the problem. `args.splits` is set before.
Status fill(DenseGemmSm100Args& args, const DenseGemmSm100Config& config, const GemmProblem& problem,
            const problem::Lowered& low, const GemmPointers& pointers, const MapEncoder& maps);
Status fill(MmaSyncGemmArgs& args, const MmaSyncGemmConfig& config, const GemmProblem& problem,
            const problem::Lowered& low, const GemmPointers& pointers);
void fill(CdnaMatmulArgs& args, const CdnaMatmulConfig& config, const GemmProblem& problem, const problem::Lowered& low,
          const GemmPointers& pointers);

// What every dense kernel passes to its epilogue: numbers and strides, then addresses.
EpilogueArgs epilogue_of(const GemmProblem& problem, const problem::Lowered& low);
void set_addresses(EpilogueArgs& args, const GemmProblem& problem, const GemmPointers& pointers);

}  // namespace warpwright::launch
