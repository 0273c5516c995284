// The driver's interface as gpu/driver_abi.h writes it down, compared with the toolkit's header. Nothing is left for
// the run: what differs does not compile.
#include <gtest/gtest.h>

#if __has_include(<cuda.h>) && __has_include(<cudaProfiler.h>)
#include <cuda.h>
#include <cudaProfiler.h>
#endif

#if defined(CUDA_VERSION) && CUDA_VERSION >= 13000
#include <cstddef>
#include <type_traits>
#include <utility>

#include "gpu/driver.h"

namespace warpwright::gpu::abi {
namespace {

// Numbers.
static_assert(kSuccess == CUDA_SUCCESS);
static_assert(kErrorOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(kErrorInvalidContext == CUDA_ERROR_INVALID_CONTEXT);
static_assert(kMultiprocessorCount == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(kL2CacheSize == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(kComputeCapabilityMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(kComputeCapabilityMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(kMaxSharedMemoryPerBlockOptin == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(kFunctionMaxDynamicSharedBytes == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(kFunctionNonPortableClusterSize == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
static_assert(kLaunchClusterDimension == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
static_assert(kLaunchProgrammaticStreamSerialization == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(kEventDefault == CU_EVENT_DEFAULT);
static_assert(kEventRecordExternal == CU_EVENT_RECORD_EXTERNAL);
static_assert(kCaptureModeThreadLocal == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
static_assert(kCaptureModeRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(kCaptureNone == CU_STREAM_CAPTURE_STATUS_NONE);
static_assert(kPoolReleaseThreshold == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
static_assert(kAllocationPinned == CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(kLocationDevice == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(kEdgeProgrammatic == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
static_assert(kTypeUint8 == CU_TENSOR_MAP_DATA_TYPE_UINT8);
static_assert(kTypeFloat16 == CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
static_assert(kTypeFloat32 == CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
static_assert(kTypeBfloat16 == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
static_assert(kTypeTfloat32 == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32);
static_assert(kType16U4Align8B == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B);
static_assert(kType16U4Align16B == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B);
static_assert(kInterleaveNone == CU_TENSOR_MAP_INTERLEAVE_NONE);
static_assert(kFillZero == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);

// Structures: the size, and the size and place of every field.
#define WW_SAME_SIZE(ours, theirs) \
  static_assert(sizeof(ours) == sizeof(theirs) && alignof(ours) == alignof(theirs), #ours)
#define WW_SAME_FIELD(ours, field, theirs, their_field)                                                 \
  static_assert(offsetof(ours, field) == offsetof(theirs, their_field) &&                               \
                    sizeof(std::declval<ours&>().field) == sizeof(std::declval<theirs&>().their_field), \
                #ours "::" #field)
WW_SAME_SIZE(ClusterDimension, decltype(CUlaunchAttributeValue::clusterDim));
WW_SAME_SIZE(LaunchAttribute, CUlaunchAttribute);
WW_SAME_FIELD(LaunchAttribute, id, CUlaunchAttribute, id);
WW_SAME_FIELD(LaunchAttribute, value, CUlaunchAttribute, value);
WW_SAME_FIELD(LaunchAttribute, value.cluster.y, CUlaunchAttribute, value.clusterDim.y);
WW_SAME_FIELD(LaunchAttribute, value.programmatic_stream_serialization, CUlaunchAttribute,
              value.programmaticStreamSerializationAllowed);
WW_SAME_SIZE(LaunchConfig, CUlaunchConfig);
WW_SAME_FIELD(LaunchConfig, grid[0], CUlaunchConfig, gridDimX);
WW_SAME_FIELD(LaunchConfig, grid[2], CUlaunchConfig, gridDimZ);
WW_SAME_FIELD(LaunchConfig, block[0], CUlaunchConfig, blockDimX);
WW_SAME_FIELD(LaunchConfig, block[2], CUlaunchConfig, blockDimZ);
WW_SAME_FIELD(LaunchConfig, shared_bytes, CUlaunchConfig, sharedMemBytes);
WW_SAME_FIELD(LaunchConfig, stream, CUlaunchConfig, hStream);
WW_SAME_FIELD(LaunchConfig, attributes, CUlaunchConfig, attrs);
WW_SAME_FIELD(LaunchConfig, attribute_count, CUlaunchConfig, numAttrs);
WW_SAME_SIZE(PoolProperties, CUmemPoolProps);
WW_SAME_FIELD(PoolProperties, allocation, CUmemPoolProps, allocType);
WW_SAME_FIELD(PoolProperties, handles, CUmemPoolProps, handleTypes);
WW_SAME_FIELD(PoolProperties, location.type, CUmemPoolProps, location.type);
WW_SAME_FIELD(PoolProperties, location.id, CUmemPoolProps, location.id);
WW_SAME_FIELD(PoolProperties, security, CUmemPoolProps, win32SecurityAttributes);
WW_SAME_FIELD(PoolProperties, most_bytes, CUmemPoolProps, maxSize);
WW_SAME_FIELD(PoolProperties, usage, CUmemPoolProps, usage);
WW_SAME_FIELD(PoolProperties, reserved, CUmemPoolProps, reserved);
WW_SAME_SIZE(GraphEdge, CUgraphEdgeData);
WW_SAME_FIELD(GraphEdge, from_port, CUgraphEdgeData, from_port);
WW_SAME_FIELD(GraphEdge, to_port, CUgraphEdgeData, to_port);
WW_SAME_FIELD(GraphEdge, type, CUgraphEdgeData, type);

// Handles are the same types.
static_assert(std::is_same_v<Context, CUcontext> && std::is_same_v<Stream, CUstream> &&
              std::is_same_v<Event, CUevent> && std::is_same_v<Library, CUlibrary> &&
              std::is_same_v<KernelHandle, CUkernel> && std::is_same_v<Pool, CUmemoryPool> &&
              std::is_same_v<Graph, CUgraph> && std::is_same_v<GraphExec, CUgraphExec> &&
              std::is_same_v<GraphNode, CUgraphNode> && std::is_same_v<Pointer, CUdeviceptr> &&
              std::is_same_v<Device, CUdevice>);

// Signatures. A parameter may differ where the ABI does not: an enumeration is an int here, a structure one of the same
// size, a tensor map any 128 bytes, a kernel takes the place of its function.
template <class Ours, class Theirs>
constexpr bool passes() {
  if constexpr (std::is_same_v<Ours, Theirs>) {
    return true;
  } else if constexpr (std::is_same_v<Ours, CUkernel>) {
    return std::is_same_v<Theirs, CUfunction>;
  } else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using To = std::remove_pointer_t<Ours>;
    using TheirTo = std::remove_pointer_t<Theirs>;
    if constexpr (std::is_const_v<To> != std::is_const_v<TheirTo>) {
      return false;
    } else if constexpr (std::is_void_v<To>) {
      return std::is_same_v<TheirTo, CUtensorMap>;
    } else if constexpr (std::is_class_v<To> && std::is_class_v<TheirTo>) {
      return sizeof(To) == sizeof(TheirTo);
    } else {
      return passes<std::remove_const_t<To>, std::remove_const_t<TheirTo>>();
    }
  } else if constexpr (std::is_integral_v<Ours> && (std::is_integral_v<Theirs> || std::is_enum_v<Theirs>)) {
    return sizeof(Ours) == sizeof(Theirs);
  } else {
    return false;
  }
}
template <class Ours, class Theirs>
struct Same : std::false_type {};
template <class... Ours, class... Theirs>
requires(sizeof...(Ours) == sizeof...(Theirs)) struct Same<Result (*)(Ours...), CUresult (*)(Theirs...)>
    : std::bool_constant<(passes<Ours, Theirs>() && ...)> {
};

#define WW_SAME_SIGNATURE(name, symbol, signature) \
  static_assert(Same<Result(*) signature, decltype(&symbol)>(), #symbol);
WW_DRIVER_FUNCTIONS(WW_SAME_SIGNATURE)

// The comparison itself can fail.
static_assert(!Same<Result (*)(int*), decltype(&cuDeviceGetName)>());
static_assert(!Same<Result (*)(Pointer*, int), decltype(&cuMemAlloc)>());
static_assert(!Same<Result (*)(Stream, unsigned), decltype(&cuStreamCreate)>());
static_assert(!Same<Result (*)(Pointer, void*, size_t), decltype(&cuMemcpyHtoD)>());

TEST(DriverAbi, IsThatOfTheToolkit) { SUCCEED(); }

}  // namespace
}  // namespace warpwright::gpu::abi

#else

TEST(DriverAbi, IsThatOfTheToolkit) { GTEST_SKIP() << "no CUDA toolkit 13 here"; }

#endif
