#include "cli/user/user_kernel.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <exception>
#include <iostream>
#include <set>
#include <utility>

#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "cli/simulation.h"
#include "problem/refused.h"
#include "sim/guard/guard.h"
#include "sim/mode.h"
#include "simulate/locate.h"
#include "warpwright/check.h"

namespace warpwright::cli {
namespace {

// The closures of an Example are kept here: it holds views of them.
struct UserKernel {
  check::Kernel kernel;
  simulate::Example example;
};

// Arrays are in the memory of whatever runs the kernel, and the host keeps what it needs of them.
simulator::Finding fault_of_arrange(const simulator::GivenUp& why) {
  simulator::Finding finding;
  const bool memory = (why.signal == SIGSEGV || why.signal == SIGBUS) && !why.stack;
  finding.rule = memory ? "bounds.bare" : "exception";
  finding.message = fmt::format("arrange {}", simulator::reason_of(why));
  if (memory) {
    finding.message += fmt::format(
        " at address {}: the host reads Input::values, and what `data` points to is for the kernel", why.address);
  }
  finding.instruction = why.instruction;
  return finding;
}

// Runs what the user wrote. What it prints goes to stderr: stdout has the verdict.
template <class Code>
simulator::GivenUp call_users(Code&& code) {
  class Aside {
   public:
    Aside() : stdout_(dup(STDOUT_FILENO)) {
      std::fflush(stdout);
      dup2(STDERR_FILENO, STDOUT_FILENO);
    }
    ~Aside() {
      std::fflush(stdout);
      std::cout.flush();
      dup2(stdout_, STDOUT_FILENO);
      close(stdout_);
    }
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;

   private:
    int stdout_;
  };
  const Aside aside;
  return simulator::call_guarded(code);
}

simulate::Outcome simulate(const check::Kernel& kernel, const reference::Workload& w,
                           const simulator::Options& options) {
  check::SimulatedArrays arrays(w.seed);
  simulate::Outcome out;
  try {
    const simulator::GivenUp why = call_users([&] {
      out.sim = kernel.run(arrays, {w.shape.m, w.shape.n, w.shape.k}, options);
    });
    if (why.signal != 0) out.sim.findings.push_back(fault_of_arrange(why));
    simulate::locate(out.sim);
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
    const check::Differences d = check::compare(array, arrays.contents(size_t(&array - arrays.all().data())));
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
  options.step_limit = 0;
  options.check = false;
  try {
    const simulator::GivenUp why = call_users([&] { (void)kernel.run(arrays, {shape.m, shape.n, shape.k}, options); });
    if (why.signal != 0) {
      simulator::Result result;
      result.findings.push_back(fault_of_arrange(why));
      simulate::locate(result);
      return problem::refused(result.findings.front().message + ".");
    }
  } catch (const std::exception& x) {
    return problem::refused(fmt::format("arrange threw: {}", x.what()));
  }
  if (!arrays.refusal().empty()) return problem::refused(arrays.refusal());
  for (const check::Arrays::Array& array : arrays.all()) {
    if (array.output()) return {};
  }
  return problem::refused("it declares no output, so there is nothing to compare.");
}

simulate::Example example_of(const check::Kernel& kernel) {
  simulate::Example e{};
  e.name = kernel.name.c_str();
  e.summary = "a kernel of your own";
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
  check::Registry registry;
  // Code of the file runs when it is opened too.
  const auto stopped = [&file](const std::string& why) {
    return UsageError(fmt::format("'{}': what it does before its kernels are known {}", file, why));
  };
  try {
    const simulator::GivenUp why = call_users([&] {
      const auto entry = reinterpret_cast<void (*)(check::Registry&)>(open_user_file(
          file, options, "warpwright_kernels", "extern \"C\" void warpwright_kernels(warpwright::check::Registry&)"));
      entry(registry);
    });
    if (why.signal != 0) throw stopped(simulator::reason_of(why));
  } catch (const UsageError&) {
    throw;
  } catch (const MissingError&) {
    throw;
  } catch (const std::exception& x) {
    throw stopped(fmt::format("threw: {}", x.what()));
  }
  static std::deque<UserKernel> kept;
  std::set<std::string> names;
  std::vector<const simulate::Example*> examples;
  for (const check::Kernel& kernel : registry.kernels()) {
    if (!names.insert(kernel.name).second)
      throw UsageError(fmt::format("'{}': two kernels are called '{}'", file, kernel.name));
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
