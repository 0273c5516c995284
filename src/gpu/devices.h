// The devices of this machine, and whose kernels they run.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warpwright/core/address.h"

namespace warpwright::gpu {

// Whose kernels a chip runs: 9.0 Hopper's, 10.0 and 10.3 Blackwell's, 8.0, 8.6, 8.9 and 12.0 those of mma.sync.
// Nothing: there are none for it.
std::optional<Arch> arch_of(int major, int minor);
// The same of AMD's chips, by the name that HIP has for one ("gfx942:sramecc+:xnack-").
std::optional<Arch> arch_of(std::string_view architecture);

// "never run by us on this device", for every device but the one on which everything ran; for that one it is empty.
// AMD's have no compute capability, 0.0.
std::string never_run_note(const std::string& name, int major, int minor);

struct GpuInfo {
  std::string name;
  int cc_major = 0;
  int cc_minor = 0;
  int sm_count = 0;
  uint64_t memory = 0;  // bytes
  uint64_t l2_bytes = 0;
  int driver_version = 0;  // the CUDA version of the driver, 1000 * major + 10 * minor
};

// NVIDIA's, in the driver's order, which is the order of device numbers. Empty without a driver: driver_status() says
// why. hip::list_gpus() has AMD's.
std::vector<GpuInfo> list_gpus();

}  // namespace warpwright::gpu
