// For tests that can say nothing without a GPU.
#pragma once
#include <gtest/gtest.h>

#include "gpu/devices.h"
#include "gpu/driver.h"

#define WW_NEEDS_A_GPU()                                                             \
  do {                                                                               \
    if (warpwright::gpu::list_gpus().empty())                                        \
      GTEST_SKIP() << "no GPU here. " << warpwright::gpu::driver_status().message(); \
  } while (false)
