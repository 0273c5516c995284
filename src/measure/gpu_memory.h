// Names of gpu/ for the tests and benchmarks that run on a GPU.
#pragma once
#include "gpu/memory.h"
#include "gpu/require.h"
#include "measure/guarded_arrays.h"

namespace warpwright::measure {

using CudaFailure = gpu::Failure;
using gpu::DeviceMemory;
using gpu::Event;
using gpu::require;
using gpu::Stream;

}  // namespace warpwright::measure
