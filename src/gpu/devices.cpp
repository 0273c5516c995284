#include "gpu/devices.h"

#include <cstddef>
#include <optional>
#include <string>

#include "gpu/driver.h"
#include "hip/driver.h"

namespace warpwright::gpu {

std::optional<Arch> arch_of(int major, int minor) {
  const int capability = 10 * major + minor;
  switch (capability) {
    case 80:
    case 86:
    case 89:
    case 120:
      return Arch::sm80;
    case 90:
      return Arch::sm90;
    case 100:
    case 103:
      return Arch::sm100;
  }
  return std::nullopt;
}

std::optional<Arch> arch_of(std::string_view architecture) {
  for (const Arch arch : {Arch::gfx942, Arch::gfx950})
    if (hip::chip_of(architecture) == name(arch)) return arch;
  return std::nullopt;
}

std::string never_run_note(const std::string& name, int major, int minor) {
  const bool ours = major == 9 && minor == 0 && name.find("H200") != std::string::npos;
  return ours ? "" : "never run by us on this device";
}

std::vector<GpuInfo> list_gpus() {
  std::vector<GpuInfo> gpus;
  if (!driver_status()) return gpus;
  const abi::Functions& cu = driver();
  int count = 0, version = 0;
  if (cu.device_count(&count) != abi::kSuccess) return gpus;
  (void)cu.driver_version(&version);
  for (int i = 0; i < count; ++i) {
    abi::Device device = 0;
    if (cu.device(&device, i) != abi::kSuccess) continue;
    const auto attribute = [&](int which) {
      int value = 0;
      (void)cu.device_attribute(&value, which, device);
      return value;
    };
    char text[256] = {};
    size_t memory = 0;
    (void)cu.device_name(text, int(sizeof text), device);
    (void)cu.device_memory(&memory, device);
    gpus.push_back({text, attribute(abi::kComputeCapabilityMajor), attribute(abi::kComputeCapabilityMinor),
                    attribute(abi::kMultiprocessorCount), memory, uint64_t(attribute(abi::kL2CacheSize)), version});
  }
  return gpus;
}

}  // namespace warpwright::gpu
