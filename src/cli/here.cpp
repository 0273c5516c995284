#include "cli/here.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "gpu/devices.h"
#include "gpu/embedded.h"
#include "gpu/maker.h"
#include "hip/driver.h"
#include "system/library.h"

namespace warpwright::cli {

bool cuda_switched_off() { return system::says_off("WARPWRIGHT_CUDA"); }

namespace {

// Instances for NVIDIA that were not compiled ahead are compiled when they are used, with what the library carries for
// that; a build without any image has no device code at all. For AMD there is what was compiled ahead.
bool has_device_code(Arch arch) {
  const auto images = gpu::embedded_images();
  return std::any_of(images.begin(), images.end(), [&](const gpu::EmbeddedImage& image) {
    const auto amd = gpu::arch_of(image.target);
    return is_cdna(arch) ? amd == arch : !amd;
  });
}

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
  auto device = gpu::this_device();
  if (!device || (cuda_switched_off() && !is_cdna(device->arch))) return std::nullopt;
  return *device;
}

bool runs_here(Arch arch) {
  if (!has_device_code(arch)) return false;
  const auto device = gpu_here();
  return device && (device->arch == arch || (arch == Arch::sm80 && !is_cdna(device->arch)));
}

namespace {

// Why there is no such device, without the full stop.
std::string lacking(Arch arch) {
  if (const auto device = gpu_here()) {
    return is_cdna(device->arch) ? fmt::format("this is {}, {}", device->name, device->kind())
                                 : fmt::format("this is {} of {}.{}", device->name, device->major, device->minor);
  }
  const auto device = gpu::this_device();
  const Status& why = is_cdna(arch) && !hip::driver_status() ? hip::driver_status() : device.status();
  return why.message().substr(0, why.message().size() - 1);
}

}  // namespace

void require_here(Arch arch, const std::string& target) {
  const std::string instead = fmt::format("; --target sim:{} runs in the simulator", name(arch));
  if (!is_cdna(arch) && cuda_switched_off()) {
    throw MissingError(
        fmt::format("--target {} needs CUDA, and WARPWRIGHT_CUDA=off switches it off{}", target, instead));
  }
  if (runs_here(arch)) return;
  if (!has_device_code(arch)) {
    throw MissingError(fmt::format("--target {} needs device code, and this build has none; install {} and build again",
                                   target, is_cdna(arch) ? "clang++-22 and lld-22" : "the CUDA toolkit 13"));
  }
  if (is_cdna(arch)) {
    throw MissingError(fmt::format("--target {} needs an AMD GPU of {} and ROCm's HIP library: {}{}", target,
                                   name(arch), lacking(arch), instead));
  }
  throw MissingError(fmt::format("--target {} needs an NVIDIA GPU of compute capability {} and its driver: {}{}",
                                 target, chips_of(arch), lacking(arch), instead));
}

std::string note_here() {
  const auto device = gpu_here();
  return device ? gpu::never_run_note(device->name, device->major, device->minor) : "";
}

void resolve_target(ProblemOptions& options) {
  if (options.target == "gpu") {
    const auto device = gpu_here();
    if (!device) {
      const Status why = cuda_switched_off() && gpu::maker() != gpu::Maker::amd
                             ? Status(Code::missing, "WARPWRIGHT_CUDA=off switches CUDA off.")
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
