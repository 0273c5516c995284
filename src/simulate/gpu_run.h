// Running an example on the GPU of this machine.
#pragma once
#include <cstdint>
#include <optional>
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

// Nothing, or a sentence that says why it could not be run: no device code in this build, no GPU, a launch that failed.
std::optional<std::string> run_on_gpu(const Example& example, const reference::Workload& workload, GpuOutcome& outcome);

// The same without the timing.
std::optional<std::string> check_on_gpu(const Example& example, const reference::Workload& workload,
                                        GpuOutcome& outcome);

}  // namespace warpwright::simulate
