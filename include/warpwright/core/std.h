// The one place that knows where the standard library comes from. NVRTC has no <array>, a build without CUDA has no
// <cuda/std>, so every other header says stdx:: and includes this file.
#pragma once

#if defined(__CUDACC_RTC__)
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
namespace warpwright {
namespace stdx = ::cuda::std;
using ::cuda::std::int16_t;
using ::cuda::std::int32_t;
using ::cuda::std::int64_t;
using ::cuda::std::int8_t;
using ::cuda::std::size_t;
using ::cuda::std::uint16_t;
using ::cuda::std::uint32_t;
using ::cuda::std::uint64_t;
using ::cuda::std::uint8_t;
}  // namespace warpwright
#else
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
namespace warpwright {
namespace stdx = ::std;
using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::int8_t;
using std::size_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;
}  // namespace warpwright
#endif

// WW_HD: a function of core/, usable on the host and in device code. WW_FN: a function of the rooms below core/, which
// belongs to one world (device code under nvcc and clang's HIP mode, ordinary code in the simulator).
#if defined(__CUDACC__)
#define WW_HD __host__ __device__ __forceinline__
#define WW_FN __device__ __forceinline__
#if defined(WW_RECORD)
#define WW_WORLD cuda_recorded  // its own world: the same kernel without timestamps may be in the same program
#else
#define WW_WORLD cuda
#endif
#define WW_IN_SIMULATOR 0
#elif defined(__AMDGCN__)
#define WW_HD __attribute__((host, device, always_inline)) inline
#define WW_FN __attribute__((device, always_inline)) inline
#define WW_WORLD amdgcn
#define WW_IN_SIMULATOR 0
#else
#define WW_HD inline
#define WW_FN inline
#define WW_WORLD sim
#define WW_IN_SIMULATOR 1
#endif
