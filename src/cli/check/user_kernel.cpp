#include "cli/check/user_kernel.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <utility>

#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "cli/simulation.h"
#include "cli/temporary_folder.h"
#include "jit/host_compiler.h"
#include "problem/refused.h"
#include "sim/mode.h"
#include "system/process.h"
#include "warpwright/check.h"

namespace warpwright::cli {
namespace {

namespace fs = std::filesystem;

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
    if (d.wrong + d.unwritten == 0) continue;
    simulator::Finding finding;
    finding.rule = "result";
    finding.message = fmt::format(
        "{} of {} elements of {} are wrong, {} of them were never written; the first is {}[{}]", d.wrong + d.unwritten,
        array.expected.size() / array.element, array.name, d.unwritten, array.name, d.first);
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

bool is_source_file(const std::string& word) {
  for (const char* ending : {".cpp", ".cc", ".cxx", ".cu", ".cuh", ".h"}) {
    if (word.ends_with(ending)) return true;
  }
  return false;
}

std::vector<const simulate::Example*> compile_user_kernels(const std::string& file) {
  if (!fs::is_regular_file(file)) throw UsageError(fmt::format("'{}' is no file", file));
  const auto headers = jit::header_folder();
  if (!headers) throw MissingError(headers.status().message());
  const auto compiler = jit::host_compiler();
  if (!compiler) throw MissingError(compiler.status().message());
  const TemporaryFolder folder;
  const std::string library = folder.path() / "kernels.so";
  std::string output;
  const auto compile = [&] {
    const Progress progress("compiling " + file, 1);
    std::vector<std::string> line = jit::simulator_flags(*headers);
    line.insert(line.begin(), compiler->begin(), compiler->end());
    // Its own warnings are the user's business.
    std::erase(line, "-w");
    line.insert(line.end(), {"-g1", file, "-o", library});
    return system::run_program(line, output);
  };
  if (const Status s = compile(); !s) {
    fmt::print(stderr, "{}\n", output);
    throw UsageError(
        fmt::format("'{}' does not compile: {}", file, output.empty() ? s.message() : jit::first_error(output)));
  }
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) throw UsageError(fmt::format("'{}' cannot be opened: {}", file, dlerror()));
  const auto entry = reinterpret_cast<void (*)(check::Registry&)>(dlsym(opened, "warpwright_kernels"));
  if (entry == nullptr) {
    throw UsageError(
        fmt::format("'{}' does not define extern \"C\" void warpwright_kernels(warpwright::check::Registry&)", file));
  }
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
