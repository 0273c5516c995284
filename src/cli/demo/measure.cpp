// The first kernel of `demo` on this machine's GPU.
#include <fmt/format.h>

#include <optional>

#include "catalog/instance.h"
#include "cli/demo/demo.h"
#include "cli/here.h"
#include "measure/gemm_check.h"
#include "measure/record_gpu.h"

namespace warpwright::cli {
namespace {

std::optional<Measured> measured_here(const simulate::Shown& kernel, const GemmProblem& problem, Output& out) {
  const catalog::Instance instance{kernel.config};
  if (!runs_here(catalog::arch_of(instance))) return {};
  GemmProblem named = problem;
  named.plan = kernel.name;
  measure::GemmOutcome gpu;
  if (const Status s = measure::check_gemm(named, {.seed = 1, .timed = true}, gpu); !s) {
    out.note("The GPU was left out: " + s.message());
    return {};
  }
  Measured measured{gpu.device, gpu.plan, gpu.instance, gpu.verdict.ok, gpu.verdict.max_rel_error, gpu.measured_us, {}};
  timeline::GpuRecording recording;
  if (const Status s = measure::record_on_gpu(instance, {problem.m, problem.n, problem.k}, 1, recording); !s) {
    out.note("The timeline of the GPU was left out: " + s.message());
    return measured;
  }
  if (!recording.same) measured.ok = false;  // timestamps must not change a result
  measured.timeline =
      timeline::timeline_run(recording, kernel.name, fmt::format("{}x{}x{}", problem.m, problem.n, problem.k));
  return measured;
}

}  // namespace

void configure_demo(CommandLine& line, Context& context) { configure_demo(line, context, measured_here); }

}  // namespace warpwright::cli
