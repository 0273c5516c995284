// The NVIDIA devices of this machine.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace warpwright::gpu {

struct GpuInfo {
  std::string name;
  int cc_major = 0;
  int cc_minor = 0;
  int sm_count = 0;
  uint64_t memory = 0;  // bytes
  uint64_t l2_bytes = 0;
  int driver_version = 0;  // the CUDA version of the driver, 1000 * major + 10 * minor
};

// In the driver's order, which is the order of device numbers. Empty without a driver: driver_status() says why.
std::vector<GpuInfo> list_gpus();

}  // namespace warpwright::gpu
