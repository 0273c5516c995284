// Launching a kernel from the host side of a .cu file: cluster size, shared memory and block size come from its plan.
#pragma once
#include <cuda_runtime.h>

#include <atomic>

#include "warpwright/kernel/entry.h"

namespace warpwright {

// Programmatic dependent launch: the kernel may start before its predecessor in the stream has ended, and must call
// grid_dependency_wait() before it touches what the predecessor writes.
enum class DependentLaunch : bool { off, on };

namespace detail {
template <class K>
class LaunchConfig {
 public:
  LaunchConfig(unsigned grid_ctas, cudaStream_t stream, DependentLaunch dependent) {
    config_.gridDim = dim3(grid_ctas);
    config_.blockDim = dim3(unsigned(K::plan.threads()));
    config_.dynamicSmemBytes = K::plan.shared_bytes;
    config_.stream = stream;
    config_.attrs = attributes_;
    if constexpr (K::plan.cluster > 1) {
      cudaLaunchAttribute& cluster = attributes_[config_.numAttrs++];
      cluster.id = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim = {unsigned(K::plan.cluster), 1, 1};
    }
    if (dependent == DependentLaunch::on) {
      cudaLaunchAttribute& overlap = attributes_[config_.numAttrs++];
      overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      overlap.val.programmaticStreamSerializationAllowed = 1;
    }
  }
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;
  const cudaLaunchConfig_t* get() const { return &config_; }

 private:
  cudaLaunchAttribute attributes_[2] = {};
  cudaLaunchConfig_t config_ = {};
};

// The kernel's shared-memory limit is a property of the current device. Setting it twice is harmless, so two threads
// that meet here need no lock; devices past the 64th set it at every launch.
template <class K>
cudaError_t allow_shared_memory() {
  static std::atomic<uint64_t> prepared{0};
  int device = 0;
  if (const cudaError_t e = cudaGetDevice(&device); e != cudaSuccess) return e;
  const uint64_t bit = device < 64 ? uint64_t(1) << device : 0;
  if (prepared.load(std::memory_order_acquire) & bit) return cudaSuccess;
  if (const cudaError_t e =
          cudaFuncSetAttribute(entry<K>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(K::plan.shared_bytes));
      e != cudaSuccess) {
    return e;
  }
  if constexpr (K::plan.cluster > 8) {
    if (const cudaError_t e = cudaFuncSetAttribute(entry<K>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
        e != cudaSuccess) {
      return e;
    }
  }
  prepared.fetch_or(bit, std::memory_order_release);
  return cudaSuccess;
}
}  // namespace detail

// `grid_ctas` is a multiple of the plan's cluster size. Legal during stream capture.
template <class K>
cudaError_t launch_kernel(const typename K::Args& args, unsigned grid_ctas, cudaStream_t stream,
                          DependentLaunch dependent = DependentLaunch::off) {
  if (const cudaError_t e = detail::allow_shared_memory<K>(); e != cudaSuccess) return e;
  const detail::LaunchConfig<K> config(grid_ctas, stream, dependent);
  return cudaLaunchKernelEx(config.get(), entry<K>, args);
}
#if defined(WW_RECORD)
// The same, with timestamps.
template <class K>
cudaError_t launch_kernel(const typename K::Args& args, unsigned grid_ctas, cudaStream_t stream,
                          const record::Buffers& buffers) {
  if (const cudaError_t e = detail::allow_shared_memory<K>(); e != cudaSuccess) return e;
  const detail::LaunchConfig<K> config(grid_ctas, stream, DependentLaunch::off);
  return cudaLaunchKernelEx(config.get(), entry<K>, args, buffers);
}
#endif

// How many clusters of K the current device runs at once; 0 when it cannot run K.
template <class K>
int max_active_clusters() {
  if (detail::allow_shared_memory<K>() != cudaSuccess) return 0;
  int clusters = 0;
  if constexpr (K::plan.cluster > 1) {
    const detail::LaunchConfig<K> config(unsigned(K::plan.cluster), nullptr, DependentLaunch::off);
    if (cudaOccupancyMaxActiveClusters(&clusters, entry<K>, config.get()) != cudaSuccess) return 0;
  } else {
    int device = 0, multiprocessors = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&clusters, entry<K>, K::plan.threads(), K::plan.shared_bytes) !=
            cudaSuccess) {
      return 0;
    }
    clusters *= multiprocessors;
  }
  return clusters;
}

}  // namespace warpwright
