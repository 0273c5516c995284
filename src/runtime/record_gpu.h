// A matrix product on the GPU of this machine by a kernel with timestamps.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/example.h"
#include "runtime/plan_choice.h"
#include "runtime/recording.h"
#include "runtime/timeline.h"

namespace warpwright::runtime {

struct GpuRecording {
  Recording recording;
  double ns_per_cycle = 0;
  Plan plan{"", Arch::sm90};
  std::string device;
  double plain_us = 0;     // of the kernel without timestamps, by events around a launch that follows another; median
  double recorded_us = 0;  // of the recorded launch, in the same way
  bool same = false;       // it wrote the bytes that the kernel without timestamps wrote
};

// Random operands without gaps between their rows. The kernel with timestamps is compiled when it is first used, except
// that of the demo. A sentence, of code missing, says why this machine cannot; others why the kernel cannot.
Status record_on_gpu(const Kernel& kernel, Case shape, uint64_t seed, GpuRecording& out);

// The kernel that record_on_gpu() should take for a plain product on this chip: `plan` is the name of an example or of
// a plan; empty: the usual choice among the kernels that can be recorded.
Result<Kernel> recordable(const GemmShape& shape, const Chip& chip, const std::string& plan);

// The example that is the same kernel in the simulator, and back. Null or nothing: it has none.
const Example* example_of(const Kernel& kernel);
std::optional<Kernel> kernel_of_example(const std::string& name);
// How many CTAs of it a chip of so many SMs runs for a problem.
int ctas_of(const Kernel& kernel, Case shape, int multiprocessors);

// What is drawn of it: as many CTAs as a page can show.
TimelineRun timeline_run(const GpuRecording& recorded, const std::string& kernel, const std::string& problem);

}  // namespace warpwright::runtime
