// HIP's interface as hip/abi.h writes it down, compared with the headers of ROCm where there are any. Nothing is left
// for the run: what differs does not compile.
#include <gtest/gtest.h>

#if __has_include(<hip/hip_runtime_api.h>)
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DISABLE_CPP_FUNCTIONS__ 1  // overloads of the C functions
#include <hip/hip_runtime_api.h>
#endif

#if defined(HIP_VERSION_MAJOR) && HIP_VERSION_MAJOR >= 6
#include <hip/hip_deprecated.h>

#include <cstddef>
#include <type_traits>

#include "driver/hip_recorder/rules.h"
#include "hip/abi.h"

namespace warpwright::hip::abi {
namespace {

// Numbers.
static_assert(kSuccess == hipSuccess);
static_assert(kL2CacheSize == hipDeviceAttributeL2CacheSize);
static_assert(kMultiprocessorCount == hipDeviceAttributeMultiprocessorCount);
static_assert(kMaxSharedMemoryPerBlock == hipDeviceAttributeMaxSharedMemoryPerBlock);
static_assert(kFunctionMaxThreads == HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(kFunctionSharedBytes == HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
static_assert(kHostToDevice == hipMemcpyHostToDevice);
static_assert(kDeviceToHost == hipMemcpyDeviceToHost);
static_assert(kDeviceToDevice == hipMemcpyDeviceToDevice);
static_assert(kStreamNonBlocking == hipStreamNonBlocking);
static_assert(kCaptureNone == hipStreamCaptureStatusNone);

// The recorder's functions.
static_assert(hip_recorder::kInvalidValue == hipErrorInvalidValue);
static_assert(hip_recorder::kOutOfMemory == hipErrorOutOfMemory);
static_assert(hip_recorder::kInvalidConfiguration == hipErrorInvalidConfiguration);
static_assert(hip_recorder::kInvalidDirection == hipErrorInvalidMemcpyDirection);
static_assert(hip_recorder::kInvalidDevice == hipErrorInvalidDevice);
static_assert(hip_recorder::kInvalidImage == hipErrorInvalidImage);
static_assert(hip_recorder::kNoBinary == hipErrorNoBinaryForGpu);
static_assert(hip_recorder::kInvalidHandle == hipErrorInvalidHandle);
static_assert(hip_recorder::kNotFound == hipErrorNotFound);
static_assert(hip_recorder::kOutOfResources == hipErrorLaunchOutOfResources);
static_assert(hip_recorder::kLaunchFailure == hipErrorLaunchFailure);

// Structures, of which one field is read.
#define WW_SAME_PROPERTIES(ours, theirs)                                                                           \
  static_assert(sizeof(ours) == sizeof(theirs) && offsetof(ours, architecture) == offsetof(theirs, gcnArchName) && \
                    sizeof(ours::architecture) == sizeof(theirs::gcnArchName),                                     \
                #ours)
WW_SAME_PROPERTIES(PropertiesR0600, hipDeviceProp_tR0600);
WW_SAME_PROPERTIES(PropertiesR0000, hipDeviceProp_tR0000);

// Handles are the same types.
static_assert(std::is_same_v<Stream, hipStream_t> && std::is_same_v<Event, hipEvent_t> &&
              std::is_same_v<Module, hipModule_t> && std::is_same_v<Function, hipFunction_t>);

// Signatures. An enumeration is an int here, the address of one that of an int.
template <class Ours, class Theirs>
constexpr bool passes() {
  if constexpr (std::is_same_v<Ours, Theirs>) {
    return true;
  } else if constexpr (std::is_same_v<Ours, int*> && std::is_pointer_v<Theirs>) {
    return passes<int, std::remove_pointer_t<Theirs>>();
  } else if constexpr (!std::is_enum_v<Theirs>) {
    return false;
  } else {
    return std::is_same_v<Ours, int> && sizeof(Theirs) == sizeof(int);
  }
}
template <class Ours, class Theirs>
struct Same : std::false_type {};
template <class... Ours, class... Theirs>
requires(sizeof...(Ours) == sizeof...(Theirs)) struct Same<Result (*)(Ours...), hipError_t (*)(Theirs...)>
    : std::bool_constant<(passes<Ours, Theirs>() && ...)> {
};
static_assert(sizeof(hipError_t) == sizeof(Result));

#define WW_SAME_SIGNATURE(name, symbol, signature) \
  static_assert(Same<Result(*) signature, decltype(&::symbol)>(), #symbol);
WW_HIP_FUNCTIONS(WW_SAME_SIGNATURE)
static_assert(std::is_same_v<decltype(&::hipGetErrorString), const char* (*)(hipError_t)>);

// The comparison itself can fail.
static_assert(!Same<Result (*)(int*), decltype(&::hipSetDevice)>());
static_assert(!Same<Result (*)(void**, unsigned), decltype(&::hipMalloc)>());
static_assert(!Same<Result (*)(void*, void*, size_t, int), decltype(&::hipMemcpy)>());

TEST(HipAbi, isThatOfTheHeaders) { SUCCEED(); }

}  // namespace
}  // namespace warpwright::hip::abi

#else

TEST(HipAbi, isThatOfTheHeaders) { GTEST_SKIP() << "no headers of ROCm 6 or later here"; }

#endif
