// HIP's binary interface as far as it is used here: types, numbers and signatures as its public headers have them
// (hip_runtime_api.h, driver_types.h and, for the older structure, hip_deprecated.h of ROCm 6.2), which a machine
// without ROCm does not have. tests/api/hip_abi_test.cpp compares them with these headers where there are any.
#pragma once
#include <cstddef>
#include <cstdint>

// The names of hip_runtime_api.h: whoever includes that as well has the same types.
struct ihipStream_t;
struct ihipEvent_t;
struct ihipModule_t;
struct ihipModuleSymbol_t;

namespace warpwright::hip::abi {

using Result = int;  // hipError_t
using Stream = ihipStream_t*;
using Event = ihipEvent_t*;
using Module = ihipModule_t*;
using Function = ihipModuleSymbol_t*;

inline constexpr Result kSuccess = 0;

// hipDeviceAttribute_t
inline constexpr int kL2CacheSize = 19;
inline constexpr int kMultiprocessorCount = 63;
inline constexpr int kMaxSharedMemoryPerBlock = 74;

// hipFunction_attribute
inline constexpr int kFunctionMaxThreads = 0;
inline constexpr int kFunctionSharedBytes = 1;

// hipMemcpyKind
inline constexpr int kHostToDevice = 1;
inline constexpr int kDeviceToHost = 2;
inline constexpr int kDeviceToDevice = 3;

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr int kCaptureNone = 0;

// hipModuleLaunchKernel takes arguments as one buffer by a list of these, in this order: pointer, the buffer, size, the
// address of its size, end.
inline void* launch_word(uintptr_t word) { return reinterpret_cast<void*>(word); }
inline constexpr uintptr_t kBufferPointer = 1;
inline constexpr uintptr_t kBufferSize = 2;
inline constexpr uintptr_t kBufferEnd = 3;

// hipDeviceProp_t changed with ROCm 6. The function for the new one is hipGetDevicePropertiesR0600; the plain name
// still fills the old one. From either only the architecture's name is read: everything else is an attribute.
struct PropertiesR0600 {
  char before[1160];
  char architecture[256];  // gcnArchName, "gfx942:sramecc+:xnack-"
  char behind[56];
};
struct PropertiesR0000 {
  char before[396];
  char architecture[256];
  char behind[140];
};
static_assert(sizeof(PropertiesR0600) == 1472 && sizeof(PropertiesR0000) == 792);

// name of our pointer, symbol of the library, signature
#define WW_HIP_FUNCTIONS(X)                                                  \
  X(init, hipInit, (unsigned))                                               \
  X(runtime_version, hipRuntimeGetVersion, (int*))                           \
  X(driver_version, hipDriverGetVersion, (int*))                             \
  X(device_count, hipGetDeviceCount, (int*))                                 \
  X(device, hipGetDevice, (int*))                                            \
  X(set_device, hipSetDevice, (int))                                         \
  X(device_name, hipDeviceGetName, (char*, int, int))                        \
  X(device_memory, hipDeviceTotalMem, (size_t*, int))                        \
  X(device_attribute, hipDeviceGetAttribute, (int*, int, int))               \
  X(synchronize, hipDeviceSynchronize, ())                                   \
  X(allocate, hipMalloc, (void**, size_t))                                   \
  X(free, hipFree, (void*))                                                  \
  X(copy, hipMemcpy, (void*, const void*, size_t, int))                      \
  X(copy_async, hipMemcpyAsync, (void*, const void*, size_t, int, Stream))   \
  X(set_bytes_async, hipMemsetAsync, (void*, int, size_t, Stream))           \
  X(stream_create, hipStreamCreateWithFlags, (Stream*, unsigned))            \
  X(stream_destroy, hipStreamDestroy, (Stream))                              \
  X(stream_synchronize, hipStreamSynchronize, (Stream))                      \
  X(stream_is_capturing, hipStreamIsCapturing, (Stream, int*))               \
  X(event_create, hipEventCreate, (Event*))                                  \
  X(event_destroy, hipEventDestroy, (Event))                                 \
  X(event_record, hipEventRecord, (Event, Stream))                           \
  X(event_synchronize, hipEventSynchronize, (Event))                         \
  X(event_elapsed, hipEventElapsedTime, (float*, Event, Event))              \
  X(module_load, hipModuleLoadData, (Module*, const void*))                  \
  X(module_unload, hipModuleUnload, (Module))                                \
  X(module_function, hipModuleGetFunction, (Function*, Module, const char*)) \
  X(function_attribute, hipFuncGetAttribute, (int*, int, Function))          \
  X(launch, hipModuleLaunchKernel,                                           \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**))

struct Functions {
#define WW_POINTER(name, symbol, signature) Result(*name) signature = nullptr;
  WW_HIP_FUNCTIONS(WW_POINTER)
#undef WW_POINTER
  const char* (*error_string)(Result) = nullptr;
  // One of the two: the first where the library has it.
  Result (*properties)(PropertiesR0600*, int) = nullptr;
  Result (*old_properties)(PropertiesR0000*, int) = nullptr;
};
inline constexpr const char* kErrorString = "hipGetErrorString";
inline constexpr const char* kProperties = "hipGetDevicePropertiesR0600";
inline constexpr const char* kOldProperties = "hipGetDeviceProperties";

}  // namespace warpwright::hip::abi
