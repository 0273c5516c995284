// Running an example on the GPU of this machine.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reference/workload.h"
#include "simulate/example.h"

namespace warpwright::simulate {

struct GpuOutcome {
  reference::Verdict verdict;  // not ok either when bytes outside the output changed
  uint64_t stray_bytes = 0;
  std::vector<uint8_t> output;
  double measured_us = 0;  // median of single launches with idle gaps between them
  std::string device;
};

// Fails where it could not be run: no device code in this build, no GPU, a launch that failed.
Status run_on_gpu(const Example& example, const reference::Workload& workload, GpuOutcome& outcome);

// The same without the timing.
Status check_on_gpu(const Example& example, const reference::Workload& workload, GpuOutcome& outcome);

}  // namespace warpwright::simulate
