// The CUDA driver's binary interface as far as it is used here: types, numbers and signatures of its public header,
// which a machine without the toolkit does not have. tests/api/driver_abi_test.cpp compares them with cuda.h where
// there is one.
#pragma once
#include <cstddef>
#include <cstdint>

// The names of cuda.h: whoever includes that as well has the same types.
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUlib_st;
struct CUkern_st;
struct CUmemPoolHandle_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;

namespace warpwright::gpu::abi {

using Result = int;
using Device = int;
using Pointer = unsigned long long;
using Context = CUctx_st*;
using Stream = CUstream_st*;
using Event = CUevent_st*;
using Library = CUlib_st*;
using KernelHandle = CUkern_st*;  // also where the driver wants a CUfunction
using Pool = CUmemPoolHandle_st*;
using Graph = CUgraph_st*;
using GraphExec = CUgraphExec_st*;
using GraphNode = CUgraphNode_st*;

inline constexpr Result kSuccess = 0;
inline constexpr Result kErrorOutOfMemory = 2;
inline constexpr Result kErrorInvalidContext = 201;

// CUdevice_attribute
inline constexpr int kMultiprocessorCount = 16;
inline constexpr int kL2CacheSize = 38;
inline constexpr int kComputeCapabilityMajor = 75;
inline constexpr int kComputeCapabilityMinor = 76;
inline constexpr int kMaxSharedMemoryPerBlockOptin = 97;

// CUfunction_attribute
inline constexpr int kFunctionMaxDynamicSharedBytes = 8;
inline constexpr int kFunctionNonPortableClusterSize = 14;

// CUlaunchAttributeID
inline constexpr int kLaunchClusterDimension = 4;
inline constexpr int kLaunchProgrammaticStreamSerialization = 6;

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventRecordExternal = 1;
inline constexpr int kCaptureModeThreadLocal = 1;
inline constexpr int kCaptureModeRelaxed = 2;
inline constexpr int kCaptureNone = 0;

inline constexpr int kPoolReleaseThreshold = 4;
inline constexpr int kAllocationPinned = 1;
inline constexpr int kLocationDevice = 1;

// Constants for tensor maps.
inline constexpr int kTypeUint8 = 0;
inline constexpr int kTypeFloat16 = 6;
inline constexpr int kTypeFloat32 = 7;
inline constexpr int kTypeBfloat16 = 9;
inline constexpr int kTypeTfloat32 = 11;
inline constexpr int kType16U4Align8B = 13;
inline constexpr int kType16U4Align16B = 14;
inline constexpr int kInterleaveNone = 0;
inline constexpr int kFillZero = 0;

struct ClusterDimension {
  unsigned x, y, z;
};
struct LaunchAttribute {
  int id;
  alignas(8) union {
    char room[64];
    ClusterDimension cluster;
    int programmatic_stream_serialization;
  } value;
};
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

struct PoolProperties {
  int allocation;
  int handles;
  struct {
    int type;
    int id;
  } location;
  void* security;
  size_t most_bytes;
  unsigned short usage;
  unsigned char reserved[54];
};

struct GraphEdge {
  unsigned char from_port, to_port, type;
  unsigned char reserved[5];
};
inline constexpr unsigned char kEdgeProgrammatic = 1;

// name of our pointer, symbol of the driver, signature
#define WW_DRIVER_FUNCTIONS(X)                                                                                       \
  X(init, cuInit, (unsigned))                                                                                        \
  X(driver_version, cuDriverGetVersion, (int*))                                                                      \
  X(error_string, cuGetErrorString, (Result, const char**))                                                          \
  X(device_count, cuDeviceGetCount, (int*))                                                                          \
  X(device, cuDeviceGet, (Device*, int))                                                                             \
  X(device_name, cuDeviceGetName, (char*, int, Device))                                                              \
  X(device_attribute, cuDeviceGetAttribute, (int*, int, Device))                                                     \
  X(device_memory, cuDeviceTotalMem_v2, (size_t*, Device))                                                           \
  X(primary_context, cuDevicePrimaryCtxRetain, (Context*, Device))                                                   \
  X(context, cuCtxGetCurrent, (Context*))                                                                            \
  X(set_context, cuCtxSetCurrent, (Context))                                                                         \
  X(context_device, cuCtxGetDevice, (Device*))                                                                       \
  X(synchronize, cuCtxSynchronize, ())                                                                               \
  X(memory_info, cuMemGetInfo_v2, (size_t*, size_t*))                                                                \
  X(allocate, cuMemAlloc_v2, (Pointer*, size_t))                                                                     \
  X(free, cuMemFree_v2, (Pointer))                                                                                   \
  X(pool_create, cuMemPoolCreate, (Pool*, const PoolProperties*))                                                    \
  X(pool_attribute, cuMemPoolSetAttribute, (Pool, int, void*))                                                       \
  X(allocate_from_pool, cuMemAllocFromPoolAsync, (Pointer*, size_t, Pool, Stream))                                   \
  X(free_async, cuMemFreeAsync, (Pointer, Stream))                                                                   \
  X(copy_to_device, cuMemcpyHtoD_v2, (Pointer, const void*, size_t))                                                 \
  X(copy_to_host, cuMemcpyDtoH_v2, (void*, Pointer, size_t))                                                         \
  X(copy_on_device, cuMemcpyDtoD_v2, (Pointer, Pointer, size_t))                                                     \
  X(copy_to_device_async, cuMemcpyHtoDAsync_v2, (Pointer, const void*, size_t, Stream))                              \
  X(copy_on_device_async, cuMemcpyDtoDAsync_v2, (Pointer, Pointer, size_t, Stream))                                  \
  X(set_bytes, cuMemsetD8_v2, (Pointer, unsigned char, size_t))                                                      \
  X(set_bytes_async, cuMemsetD8Async, (Pointer, unsigned char, size_t, Stream))                                      \
  X(set_words_async, cuMemsetD32Async, (Pointer, unsigned, size_t, Stream))                                          \
  X(stream_create, cuStreamCreate, (Stream*, unsigned))                                                              \
  X(stream_destroy, cuStreamDestroy_v2, (Stream))                                                                    \
  X(stream_synchronize, cuStreamSynchronize, (Stream))                                                               \
  X(stream_is_capturing, cuStreamIsCapturing, (Stream, int*))                                                        \
  X(stream_wait, cuStreamWaitEvent, (Stream, Event, unsigned))                                                       \
  X(begin_capture, cuStreamBeginCapture_v2, (Stream, int))                                                           \
  X(end_capture, cuStreamEndCapture, (Stream, Graph*))                                                               \
  X(exchange_capture_mode, cuThreadExchangeStreamCaptureMode, (int*))                                                \
  X(event_create, cuEventCreate, (Event*, unsigned))                                                                 \
  X(event_destroy, cuEventDestroy_v2, (Event))                                                                       \
  X(event_record, cuEventRecord, (Event, Stream))                                                                    \
  X(event_record_with_flags, cuEventRecordWithFlags, (Event, Stream, unsigned))                                      \
  X(event_synchronize, cuEventSynchronize, (Event))                                                                  \
  X(event_elapsed, cuEventElapsedTime, (float*, Event, Event))                                                       \
  X(graph_instantiate, cuGraphInstantiateWithFlags, (GraphExec*, Graph, unsigned long long))                         \
  X(graph_edges, cuGraphGetEdges_v2, (Graph, GraphNode*, GraphNode*, GraphEdge*, size_t*))                           \
  X(graph_launch, cuGraphLaunch, (GraphExec, Stream))                                                                \
  X(graph_destroy, cuGraphDestroy, (Graph))                                                                          \
  X(graph_exec_destroy, cuGraphExecDestroy, (GraphExec))                                                             \
  X(library_load, cuLibraryLoadData, (Library*, const void*, int*, void**, unsigned, int*, void**, unsigned))        \
  X(library_unload, cuLibraryUnload, (Library))                                                                      \
  X(library_kernel, cuLibraryGetKernel, (KernelHandle*, Library, const char*))                                       \
  X(kernel_attribute, cuKernelSetAttribute, (int, int, KernelHandle, Device))                                        \
  X(launch, cuLaunchKernelEx, (const LaunchConfig*, KernelHandle, void**, void**))                                   \
  X(resident_clusters, cuOccupancyMaxActiveClusters, (int*, KernelHandle, const LaunchConfig*))                      \
  X(resident_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor, (int*, KernelHandle, int, size_t))                 \
  X(profiler_start, cuProfilerStart, ())                                                                             \
  X(profiler_stop, cuProfilerStop, ())                                                                               \
  X(encode_tiled, cuTensorMapEncodeTiled,                                                                            \
    (void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*, int, int, int, \
     int))                                                                                                           \
  X(replace_address, cuTensorMapReplaceAddress, (void*, void*))

struct Functions {
#define WW_POINTER(name, symbol, signature) Result(*name) signature = nullptr;
  WW_DRIVER_FUNCTIONS(WW_POINTER)
#undef WW_POINTER
};

}  // namespace warpwright::gpu::abi
