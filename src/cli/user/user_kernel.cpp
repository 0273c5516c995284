#include "cli/user/user_kernel.h"

#include <fmt/format.h>

#include <cstddef>
#include <deque>
#include <exception>
#include <utility>

#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "cli/simulation.h"
#include "problem/refused.h"
#include "sim/mode.h"
#include "warpwright/check.h"

namespace warpwright::cli {
namespace {

// The closures of an Example are kept here: it holds views of them.
struct UserKernel {
  check::Kernel kernel;
  simulate::Example example;
};

simulate::Outcome simulate(const check::Kernel& kernel, const reference::Workload& w,
                           const simulator::Options& options) {
  check::SimulatedArrays arrays(w.seed);
  simulate::Outcome out;
  try {
    out.sim = kernel.run(arrays, {w.shape.m, w.shape.n, w.shape.k}, options);
  } catch (const std::exception& x) {
    simulator::Finding finding;
    finding.rule = "exception";
    finding.message = fmt::format("arrange threw: {}", x.what());
    out.sim.findings.push_back(std::move(finding));
  }
  out.verdict.ok = true;
  if (!out.sim.ok()) return out;
  for (const check::Arrays::Array& array : arrays.all()) {
    if (!array.output()) continue;
    const check::Differences d = check::compare(array, static_cast<const std::byte*>(array.data));
    if (d.none()) continue;
    simulator::Finding finding;
    finding.rule = "result";
    finding.message = d.sentence;
    finding.details = d.details;
    finding.object = array.name;
    finding.mode = simulator::mode_text(options);
    finding.seed = options.seed;
    out.sim.findings.push_back(std::move(finding));
    out.verdict = {false, 1, d.wrong + d.unwritten, d.unwritten};
    break;
  }
  return out;
}

// Arranging without running would launch nothing, so the simulator is asked for no step.
Status takes(const check::Kernel& kernel, reference::Case shape) {
  check::SimulatedArrays arrays(1);
  simulator::Options options;
  options.step_limit = 1;
  options.check = false;
  try {
    (void)kernel.run(arrays, {shape.m, shape.n, shape.k}, options);
  } catch (const std::exception& x) {
    return problem::refused(fmt::format("arrange threw: {}", x.what()));
  }
  if (!arrays.refusal().empty()) return problem::refused(arrays.refusal());
  for (const check::Arrays::Array& array : arrays.all()) {
    if (array.output()) return {};
  }
  return problem::refused("it declares no output, so that nothing could be compared.");
}

simulate::Example example_of(const check::Kernel& kernel) {
  simulate::Example e{};
  e.name = kernel.name.c_str();
  e.summary = "a kernel of the user's own";
  e.instance = "";
  e.arch = kernel.plan->arch;
  e.plan = kernel.plan;
  e.sites = [&kernel] { return kernel.sites; };
  for (const check::Shape& s : kernel.shapes) e.cases.push_back({s.m, s.n, s.k});
  e.takes = [&kernel](reference::Case shape) { return takes(kernel, shape); };
  e.workload = [](reference::Case shape, reference::Data data, uint64_t seed) {
    reference::Workload w;
    w.shape = shape;
    w.data = data;
    w.seed = seed;
    return w;
  };
  e.simulate = [&kernel](const reference::Workload& w, const simulator::Options& options, int) {
    return simulate(kernel, w, options);
  };
  return e;
}

}  // namespace

std::vector<const simulate::Example*> compile_user_kernels(const std::string& file, const CompileOptions& options) {
  const auto entry = reinterpret_cast<void (*)(check::Registry&)>(open_user_file(
      file, options, "warpwright_kernels", "extern \"C\" void warpwright_kernels(warpwright::check::Registry&)"));
  static std::deque<UserKernel> kept;
  check::Registry registry;
  entry(registry);
  std::vector<const simulate::Example*> examples;
  for (const check::Kernel& kernel : registry.kernels()) {
    UserKernel& user = kept.emplace_back(UserKernel{kernel, {}});
    if (user.kernel.shapes.empty()) throw UsageError(fmt::format("'{}': {} names no shape", file, kernel.name));
    user.example = example_of(user.kernel);
    for (const reference::Case& shape : user.example.cases) {
      if (const Status s = user.example.takes(shape); !s)
        throw UsageError(
            fmt::format("'{}': {} {}x{}x{}: {}", file, kernel.name, shape.m, shape.n, shape.k, s.message()));
    }
    examples.push_back(&user.example);
  }
  if (examples.empty()) throw UsageError(fmt::format("'{}' registers no kernel", file));
  return examples;
}

}  // namespace warpwright::cli
