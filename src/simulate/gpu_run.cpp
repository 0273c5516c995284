#include "simulate/gpu_run.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "gpu/executor.h"
#include "gpu/maker.h"
#include "gpu/memory.h"
#include "gpu/require.h"
#include "measure/guarded_arrays.h"

namespace warpwright::simulate {
namespace {

Status can_run(const Example& example) {
  const auto missing = [](std::string sentence) { return Status(Code::missing, std::move(sentence)); };
  if (example.launch == nullptr) return missing(example.name + " was not compiled for a GPU.");
  return gpu::current_device().status();
}

constexpr int kTimedLaunches = 11;
// Long enough for the chip to lose the heat of a launch of this size.
constexpr std::chrono::milliseconds kIdle(5);

void check(const Example& example, const reference::Workload& workload, const measure::GuardedArrays& arrays,
           const gpu::Stream& stream, GpuOutcome& outcome) {
  gpu::require(example.launch(workload, arrays.pointers(), stream.get()));
  stream.synchronize();
  outcome.output = arrays.output();
  outcome.verdict = reference::judge(workload, outcome.output);
  outcome.stray_bytes = arrays.stray_bytes(workload);
  if (outcome.stray_bytes != 0) outcome.verdict.ok = false;
}

double median_us(const Example& example, const reference::Workload& workload, const measure::GuardedArrays& arrays,
                 const gpu::Stream& stream) {
  const gpu::Event start, stop;
  std::vector<double> us;
  for (int i = 0; i < kTimedLaunches; ++i) {
    std::this_thread::sleep_for(kIdle);
    start.record(stream);
    gpu::require(example.launch(workload, arrays.pointers(), stream.get()));
    stop.record(stream);
    stop.synchronize();
    us.push_back(stop.us_since(start));
  }
  std::nth_element(us.begin(), us.begin() + kTimedLaunches / 2, us.end());
  return us[kTimedLaunches / 2];
}

Status run(const Example& example, const reference::Workload& workload, GpuOutcome& outcome, bool timed) {
  if (Status s = can_run(example); !s) return s;
  outcome = {};
  if (const auto device = gpu::this_device()) outcome.device = device->name;
  try {
    const gpu::Stream stream;
    const measure::GuardedArrays arrays(workload);
    check(example, workload, arrays, stream, outcome);
    if (timed) outcome.measured_us = median_us(example, workload, arrays, stream);
  } catch (const gpu::Failure& failure) {
    return Status(Code::failed, failure.what());
  }
  return {};
}

}  // namespace

Status run_on_gpu(const Example& example, const reference::Workload& workload, GpuOutcome& outcome) {
  return run(example, workload, outcome, true);
}
Status check_on_gpu(const Example& example, const reference::Workload& workload, GpuOutcome& outcome) {
  return run(example, workload, outcome, false);
}

}  // namespace warpwright::simulate
