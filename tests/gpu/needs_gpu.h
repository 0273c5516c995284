// For tests that can say nothing without a GPU.
#pragma once
#include <gtest/gtest.h>

#include "runtime/gpu.h"

#define WW_NEEDS_A_GPU()                                                                 \
  do {                                                                                   \
    if (warpwright::runtime::list_gpus().empty())                                        \
      GTEST_SKIP() << warpwright::runtime::gpu_driver_problem().value_or("no GPU here"); \
  } while (false)
