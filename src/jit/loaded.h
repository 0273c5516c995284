// Kernels compiled at run time, ready to be launched. Exists where WW_HAVE_CUDA is set.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <memory>

#include "jit/compiler.h"
#include "warpwright/core/plan.h"
#include "warpwright/core/record.h"

namespace warpwright::jit {

class LoadedKernel {
 public:
  // From this process, the cache on disk, or NVRTC. Loaded once for all devices, never unloaded: a launch may use it at
  // any time.
  static Result<const LoadedKernel*> get(const Source& source, const Plan& plan);

  // Allows the kernel its shared memory on a device and returns how many clusters of it run there at once.
  Result<int> prepare(int device) const;
  // `args` points to the kernel's arguments; `ctas` is a multiple of the cluster size. Legal during stream capture.
  cudaError_t launch(const void* args, unsigned ctas, cudaStream_t stream, bool dependent) const;
  // Of a kernel with timestamps.
  cudaError_t launch(const void* args, const record::Buffers& buffers, unsigned ctas, cudaStream_t stream) const;

 private:
  LoadedKernel(cudaKernel_t kernel, const Plan& plan)
      : kernel_(kernel),
        threads_(unsigned(plan.threads())),
        cluster_(unsigned(plan.cluster)),
        shared_bytes_(plan.shared_bytes) {}
  void configure(cudaLaunchConfig_t& config, cudaLaunchAttribute* attributes, unsigned ctas, bool dependent) const;

  cudaKernel_t kernel_;
  unsigned threads_, cluster_;
  uint32_t shared_bytes_;
};

}  // namespace warpwright::jit
