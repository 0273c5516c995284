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
#include <vector>

#include "cli/commands.h"
#include "gpu/devices.h"
#include "gpu/driver.h"

extern char** environ;

namespace warpwright::cli {
namespace {

struct Gpu {
  std::string name;
  int major = 0;
  int minor = 0;
  std::uint64_t memory_bytes = 0;
  int sm_count = 0;
  std::string target;  // the kernels that run here; empty: none
  std::string note;
};

struct GpuList {
  std::vector<Gpu> gpus;
  std::string reason;  // why the list is empty
};

std::string target_of(int major, int minor) {
  const auto arch = gpu::arch_of(major, minor);
  return arch ? name(*arch) : "";
}

GpuList find_gpus() {
  if (cuda_switched_off()) return {{}, "CUDA is switched off by WARPWRIGHT_CUDA=off"};
  if (const Status& s = gpu::driver_status(); !s) return {{}, s.message().substr(0, s.message().size() - 1)};
  GpuList list;
  for (const gpu::GpuInfo& found : gpu::list_gpus()) {
    const std::string target = target_of(found.cc_major, found.cc_minor);
    list.gpus.push_back(
        {found.name, found.cc_major, found.cc_minor, found.memory, found.sm_count, target,
         target.empty() ? "no kernel for it" : gpu::never_run_note(found.name, found.cc_major, found.cc_minor)});
  }
  if (list.gpus.empty()) list.reason = "the NVIDIA driver lists no GPU";
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

}  // namespace

Devices find_devices() {
  const GpuList list = find_gpus();
  const auto toolchains = find_toolchains();

  Json gpus = Json::array();
  Table table({"kind", "name", "detail"});
  for (const Gpu& gpu : list.gpus) {
    const std::string capability = fmt::format("{}.{}", gpu.major, gpu.minor);
    gpus.push_back({{"name", gpu.name},
                    {"compute_capability", capability},
                    {"memory_bytes", gpu.memory_bytes},
                    {"sm_count", gpu.sm_count},
                    {"target", gpu.target.empty() ? Json() : Json(gpu.target)},
                    {"note", gpu.note}});
    table.row({"gpu", gpu.name,
               fmt::format("compute capability {}, {}, {} SMs{}{}", capability, bytes_text(gpu.memory_bytes),
                           gpu.sm_count, gpu.note.empty() ? "" : "; ", gpu.note)});
  }
  if (list.gpus.empty()) table.row({"gpu", "none", list.reason});
  Json simulator_list = Json::array();
  for (const auto& simulator : simulators) {
    simulator_list.push_back({{"target", simulator.target}, {"models", simulator.models}});
    table.row({"simulator", simulator.target, fmt::format("models the {}", simulator.models)});
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
