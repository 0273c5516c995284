#include "gpu/devices.h"

#include <cstddef>

#include "gpu/driver.h"

namespace warpwright::gpu {

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
