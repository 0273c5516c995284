// A library of ROCm 5: the architecture of a device comes from the older structure.
#include <gtest/gtest.h>

#include "driver/session.h"
#include "gpu/executor.h"
#include "hip/driver.h"

namespace warpwright {
namespace {

TEST(Rocm5, saysTheArchitectureInItsOwnPlace) {
  recorded::begin_hip("gfx942,gfx90a", recorded::Rocm::five);
  ASSERT_TRUE(hip::driver_status()) << hip::driver_status().message();
  EXPECT_EQ(hip::driver().properties, nullptr);
  const auto gpus = hip::list_gpus();
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].architecture, "gfx942:sramecc+:xnack-");
  EXPECT_EQ(gpus[0].compute_units, 304);
  EXPECT_EQ(gpus[0].lds_bytes, 65536u);
  const auto device = gpu::this_device();
  ASSERT_TRUE(device) << device.status().message();
  EXPECT_EQ(device->arch, Arch::gfx942);
  EXPECT_EQ(device->kind(), "gfx942");
}

}  // namespace
}  // namespace warpwright
