// A matrix product on the GPU of this machine by a kernel with timestamps.
#pragma once
#include <cstdint>
#include <string>

#include "choice/dense.h"
#include "reference/workload.h"
#include "timeline/recorded.h"

namespace warpwright::measure {

// Random operands without gaps between their rows. The kernel with timestamps is compiled when it is first used. A
// sentence, of code missing, says why this machine cannot; others why the kernel cannot.
Status record_on_gpu(const catalog::Instance& instance, reference::Case shape, uint64_t seed,
                     timeline::GpuRecording& out);

// The instance that record_on_gpu() should take for a plain product on this chip: the one that `plan` names; empty: the
// usual choice among those that can be recorded.
Result<catalog::Instance> recordable(const problem::GemmShape& shape, const choice::Chip& chip,
                                     const std::string& plan);

// How many of its CTAs a chip with this many SMs runs for a problem.
int ctas_of(const catalog::Instance& instance, reference::Case shape, int multiprocessors);

}  // namespace warpwright::measure
