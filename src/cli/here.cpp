#include "cli/here.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "gpu/devices.h"
#include "gpu/embedded.h"

namespace warpwright::cli {
namespace {

// An instance that was not compiled ahead is compiled when it is used, so a build without images needs a compiler
// there.
bool has_device_code() { return !gpu::embedded_images().empty(); }

const char* chips_of(Arch arch) {
  switch (arch) {
    case Arch::sm80:
      return "8.0, 8.6, 8.9, 9.0, 10.0, 10.3 or 12.0";
    case Arch::sm100:
      return "10.0 or 10.3, Blackwell,";
    case Arch::sm90:
    case Arch::gfx942:
    case Arch::gfx950:
      break;
  }
  return "9.0, Hopper,";
}

}  // namespace

std::optional<gpu::Device> gpu_here() {
  if (cuda_switched_off()) return std::nullopt;
  auto device = gpu::this_device();
  return device ? std::optional(*device) : std::nullopt;
}

bool runs_here(Arch arch) {
  if (!has_device_code()) return false;
  const auto device = gpu_here();
  return device && (device->arch == arch || arch == Arch::sm80);
}

void require_here(Arch arch, const std::string& target) {
  const std::string instead = fmt::format("; --target sim:{} runs in the simulator", name(arch));
  if (cuda_switched_off()) {
    throw MissingError(
        fmt::format("--target {} needs CUDA, and WARPWRIGHT_CUDA=off switches it off{}", target, instead));
  }
  if (runs_here(arch)) return;
  if (!has_device_code()) {
    throw MissingError(fmt::format(
        "--target {} needs device code, and this build has none; install the CUDA toolkit 13 and build again", target));
  }
  const auto device = gpu::this_device();
  throw MissingError(fmt::format("--target {} needs an NVIDIA GPU of compute capability {} and its driver: {}{}",
                                 target, chips_of(arch),
                                 device ? fmt::format("this is {} of {}.{}", device->name, device->major, device->minor)
                                        : device.status().message().substr(0, device.status().message().size() - 1),
                                 instead));
}

std::string note_here() {
  const auto device = gpu_here();
  return device ? gpu::never_run_note(device->name, device->major, device->minor) : "";
}

void resolve_target(ProblemOptions& options) {
  if (options.target == "gpu") {
    const auto device = gpu_here();
    if (!device) {
      const Status why = cuda_switched_off() ? Status(Code::missing, "WARPWRIGHT_CUDA=off switches CUDA off.")
                                             : gpu::this_device().status();
      throw MissingError("--target gpu: " + why.message());
    }
    options.target = name(device->arch);
    return;
  }
  const bool says_nothing =
      options.target == "auto" && options.plan.find('/') == std::string::npos && options.scaling.empty();
  if (!says_nothing) return;
  if (const auto device = gpu_here(); device && runs_here(device->arch)) options.target = name(device->arch);
}

}  // namespace warpwright::cli
