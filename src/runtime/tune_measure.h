// The fastest of several launches. For files that are compiled with WW_HAVE_CUDA; failures are thrown as CudaFailure.
#pragma once
#include <vector>

#include "runtime/bench_measure.h"
#include "runtime/tune_gpu.h"

namespace warpwright::runtime {

struct Fastest {
  BenchMode mode = BenchMode::sustained;  // the one that counts for a product of this length
  int winner = -1;                        // of the others; -1: the current one stays
  double us = 0, current_us = 0;
  double ratio = 1, ratio_lo = 1, ratio_hi = 1;  // current_us / us
};
// A brief test of all, then the best of them pairwise against the current one, which only gives way to a launch whose
// whole interval lies above 1.
Fastest fastest_of(const LaunchSet& current, const std::vector<LaunchSet>& others, int sets, const TuneOptions& options,
                   const Stream& stream);

}  // namespace warpwright::runtime
