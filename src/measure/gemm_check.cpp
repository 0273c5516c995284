#include "measure/gemm_check.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/executor.h"
#include "gpu/memory.h"
#include "gpu/require.h"
#include "measure/guarded_arrays.h"
#include "measure/timed_launches.h"
#include "reference/problem_workload.h"

namespace warpwright::measure {
namespace {}  // namespace

Status check_gemm(GemmProblem problem, const GemmTrial& trial, GemmOutcome& outcome) {
  outcome = {};
  problem = reference::with_packed_addends(std::move(problem));
  auto plan = make_plan(problem);
  if (!plan) return plan.status();
  const auto device = gpu::hopper_device();
  outcome.device = device ? device->name : "";
  outcome.device_number = plan->device();
  outcome.plan = plan->name();
  outcome.instance = plan->instance();
  outcome.explanation = plan->explanation();
  try {
    const reference::Workload w = workload_of(problem, trial.offset, trial.data, trial.seed);
    const GuardedArrays arrays(w);
    const GemmPointers pointers = reference::pointers_of(problem, trial.offset, w, arrays.pointers());
    std::optional<gpu::Stream> own;
    if (trial.stream == nullptr) own.emplace();
    void* const stream = own ? own->get() : trial.stream;
    if (Status s = plan->run(pointers, stream); !s) return s;
    gpu::synchronize(static_cast<gpu::abi::Stream>(stream), "the kernel");
    outcome.output = arrays.output();
    outcome.verdict = reference::judge(w, outcome.output);
    outcome.elements = w.expected.size();
    outcome.stray_bytes = arrays.stray_bytes(w);
    if (outcome.stray_bytes != 0) outcome.verdict.ok = false;
    if (trial.timed && own) {
      const gpu::Event start, stop;
      std::vector<double> us;
      for (int i = 0; i < kTimedLaunches; ++i) {
        std::this_thread::sleep_for(kIdle);
        start.record(*own);
        if (Status s = plan->run(pointers, stream); !s) return s;
        stop.record(*own);
        stop.synchronize();
        us.push_back(stop.us_since(start));
      }
      std::nth_element(us.begin(), us.begin() + kTimedLaunches / 2, us.end());
      outcome.measured_us = us[kTimedLaunches / 2];
    }
  } catch (const gpu::Failure& failure) {
    return Status(Code::failed, failure.what());
  }
  return {};
}

}  // namespace warpwright::measure
