// `devices`: which GPUs, simulators and compilers this machine offers.
#include "cli/devices.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "gpu/devices.h"
#include "gpu/driver.h"
#include "hip/driver.h"
#include "simulate/executor.h"

extern char** environ;

namespace warpwright::cli {
namespace {

struct Gpu {
  std::string name;
  std::string kind;    // "compute capability 9.0", "gfx942"
  Json capability;     // "9.0"; null: AMD's have none
  std::string detail;  // "gfx942:sramecc+:xnack-" of AMD's
  std::uint64_t memory_bytes = 0;
  int sm_count = 0;    // or compute units
  std::string target;  // the kernels that run here; empty: none
  std::string note;
};

struct GpuList {
  std::vector<Gpu> gpus;
  std::string reason;  // why the list is empty
};

void add(GpuList& list, Gpu gpu, std::optional<Arch> arch, int major, int minor) {
  gpu.target = arch ? name(*arch) : "";
  gpu.note = arch ? gpu::never_run_note(gpu.name, major, minor) : "no kernel for it";
  list.gpus.push_back(std::move(gpu));
}

// Without the full stop.
std::string phrase(const Status& status) { return status.message().substr(0, status.message().size() - 1); }

GpuList find_gpus() {
  GpuList list;
  const Status& nvidia = gpu::driver_status();
  if (!cuda_switched_off()) {
    for (const gpu::GpuInfo& found : gpu::list_gpus()) {
      const std::string capability = fmt::format("{}.{}", found.cc_major, found.cc_minor);
      add(list, {found.name, "compute capability " + capability, capability, "", found.memory, found.sm_count, "", ""},
          gpu::arch_of(found.cc_major, found.cc_minor), found.cc_major, found.cc_minor);
    }
  }
  for (const hip::GpuInfo& found : hip::list_gpus()) {
    add(list,
        {found.name, std::string(hip::chip_of(found.architecture)), Json(), found.architecture, found.memory,
         found.compute_units, "", ""},
        gpu::arch_of(found.architecture), 0, 0);
  }
  if (!list.gpus.empty()) return list;
  list.reason = cuda_switched_off() ? "CUDA is switched off by WARPWRIGHT_CUDA=off"
                : nvidia            ? "the NVIDIA driver lists no GPU"
                                    : phrase(nvidia);
  if (const Status& amd = hip::driver_status(); !amd) list.reason += "; " + phrase(amd);
  return list;
}

std::optional<std::string> find_program(const std::string& name, const std::vector<std::string>& more_folders) {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("PATH")) folders = split(path, ':');
  folders.insert(folders.end(), more_folders.begin(), more_folders.end());
  for (const auto& folder : folders) {
    const std::string candidate = folder + "/" + name;
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

// What a program prints on stdout; empty when it cannot be run.
std::string output_of(std::vector<std::string> arguments) {
  int ends[2];
  if (pipe(ends) != 0) return "";
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  pid_t child = 0;
  const bool started = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t got; started && (got = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  if (started) waitpid(child, nullptr, 0);
  return text;
}

struct Toolchain {
  std::string name;
  std::string path;
  std::string version;
};

std::vector<Toolchain> find_toolchains() {
  std::vector<Toolchain> found;
  for (const char* name : {"g++", "clang++-22"}) {
    if (const auto path = find_program(name, {})) {
      std::string version = output_of({*path, "-dumpfullversion", "-dumpversion"});
      found.push_back({name, *path, version.substr(0, version.find('\n'))});
    }
  }
  if (!cuda_switched_off()) {
    if (const auto path = find_program("nvcc", {"/usr/local/cuda/bin"})) {
      // "Cuda compilation tools, release 13.0, V13.0.88"
      const std::string text = output_of({*path, "--version"});
      const auto at = text.find(", V");
      const auto version = at == std::string::npos ? "" : text.substr(at + 3, text.find('\n', at) - at - 3);
      found.push_back({"nvcc", *path, version});
    }
  }
  return found;
}

constexpr struct Simulator {
  const char* target;
  const char* models;
} simulators[] = {{"sim:sm80", "H200 by mma.sync"},
                  {"sim:sm90", "H200"},
                  {"sim:sm100", "B200"},
                  {"sim:gfx942", "MI300X"},
                  {"sim:gfx950", "MI355X"}};

// The kernels that run without a compiler.
std::vector<std::string> kernels_inside(std::string_view target) {
  const std::string folder = std::string(target.substr(target.find(':') + 1)) + '/';
  std::vector<std::string> names;
  for (const simulate::BuiltIn& one : simulate::built_in()) {
    if (std::string_view(one.name).starts_with(folder)) names.emplace_back(one.name);
  }
  return names;
}

}  // namespace

Devices find_devices() {
  const GpuList list = find_gpus();
  const auto toolchains = find_toolchains();

  Json gpus = Json::array();
  Table table({"kind", "name", "detail"});
  for (const Gpu& gpu : list.gpus) {
    gpus.push_back({{"name", gpu.name},
                    {"compute_capability", gpu.capability},
                    {"memory_bytes", gpu.memory_bytes},
                    {"sm_count", gpu.sm_count},
                    {"target", gpu.target.empty() ? Json() : Json(gpu.target)},
                    {"note", gpu.note}});
    const bool amd = !gpu.detail.empty();
    if (amd) gpus.back()["architecture"] = gpu.detail;
    table.row({"gpu", gpu.name,
               fmt::format("{}, {}, {} {}{}{}", gpu.kind, bytes_text(gpu.memory_bytes), gpu.sm_count,
                           amd ? "CUs" : "SMs", gpu.note.empty() ? "" : "; ", gpu.note)});
  }
  if (list.gpus.empty()) table.row({"gpu", "none", list.reason});
  Json simulator_list = Json::array();
  for (const auto& simulator : simulators) {
    const auto kernels = kernels_inside(simulator.target);
    simulator_list.push_back({{"target", simulator.target}, {"models", simulator.models}, {"kernels", kernels}});
    table.row({"simulator", simulator.target,
               fmt::format("models the {}; kernels that need no compiler: {}", simulator.models, kernels.size())});
  }
  Json toolchain_list = Json::array();
  for (const auto& toolchain : toolchains) {
    toolchain_list.push_back({{"name", toolchain.name}, {"path", toolchain.path}, {"version", toolchain.version}});
    table.row({"toolchain", toolchain.name, fmt::format("{} ({})", toolchain.version, toolchain.path)});
  }

  Json document = {{"gpus", gpus}, {"simulators", simulator_list}, {"toolchains", toolchain_list}};
  if (list.gpus.empty()) document["gpu_reason"] = list.reason;
  return {document, table};
}

void configure_devices(CommandLine& line, Context& context) {
  context.runs(line, "./warpwright devices --json", [](Output& out) {
    const Devices found = find_devices();
    out.document(found.document);
    out.table(found.table);
    return exit_ok;
  });
}

}  // namespace warpwright::cli
