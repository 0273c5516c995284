#if WW_HAVE_CUDA
#include "jit/loaded.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

namespace warpwright::jit {
namespace {

Status failure(cudaError_t error, const char* what) {
  (void)cudaGetLastError();  // the failure is reported here, not to whoever asks next
  return Status(Code::failed, fmt::format("{} failed: {}.", what, cudaGetErrorString(error)));
}

}  // namespace

Result<const LoadedKernel*> LoadedKernel::get(const Source& source, const Plan& plan) {
  // Held while compiling: two threads that ask for one kernel compile it once.
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<LoadedKernel>> loaded;
  const std::lock_guard lock(mutex);
  if (const auto found = loaded.find(source.text); found != loaded.end()) return found->second.get();
  auto binary = obtain(source, toolkit(), Cache(cache_folder()));
  if (!binary) return binary.status();
  cudaLibrary_t library = nullptr;
  if (const cudaError_t e =
          cudaLibraryLoadData(&library, binary->cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
      e != cudaSuccess) {
    return failure(e, "loading a compiled kernel");
  }
  cudaKernel_t kernel = nullptr;
  if (const cudaError_t e = cudaLibraryGetKernel(&kernel, library, kEntry); e != cudaSuccess) {
    (void)cudaLibraryUnload(library);
    return failure(e, "cudaLibraryGetKernel");
  }
  auto& entry = loaded[source.text];
  entry.reset(new LoadedKernel(kernel, plan));
  return entry.get();
}

void LoadedKernel::configure(cudaLaunchConfig_t& config, cudaLaunchAttribute* attributes, unsigned ctas,
                             bool dependent) const {
  config.gridDim = dim3(ctas);
  config.blockDim = dim3(threads_);
  config.dynamicSmemBytes = shared_bytes_;
  config.attrs = attributes;
  if (cluster_ > 1) {
    cudaLaunchAttribute& a = attributes[config.numAttrs++];
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim = {cluster_, 1, 1};
  }
  if (dependent) {
    cudaLaunchAttribute& a = attributes[config.numAttrs++];
    a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a.val.programmaticStreamSerializationAllowed = 1;
  }
}

Result<int> LoadedKernel::prepare(int device) const {
  if (const cudaError_t e = cudaKernelSetAttributeForDevice(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                            int(shared_bytes_), device);
      e != cudaSuccess) {
    return failure(e, "the shared memory of a compiled kernel");
  }
  const void* const function = reinterpret_cast<const void*>(kernel_);
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attributes[2] = {};
  configure(config, attributes, cluster_, false);
  int count = 0;
  if (cluster_ > 1) {
    if (const cudaError_t e = cudaOccupancyMaxActiveClusters(&count, function, &config); e != cudaSuccess) {
      return failure(e, "cudaOccupancyMaxActiveClusters");
    }
    return count;
  }
  int multiprocessors = 0;
  if (const cudaError_t e = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
      e != cudaSuccess) {
    return failure(e, "cudaDeviceGetAttribute");
  }
  if (const cudaError_t e =
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, function, int(threads_), shared_bytes_);
      e != cudaSuccess) {
    return failure(e, "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  }
  return count * multiprocessors;
}

cudaError_t LoadedKernel::launch(const void* args, unsigned ctas, cudaStream_t stream, bool dependent) const {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attributes[2] = {};
  configure(config, attributes, ctas, dependent);
  config.stream = stream;
  void* arguments[] = {const_cast<void*>(args)};
  return cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel_), arguments);
}

cudaError_t LoadedKernel::launch(const void* args, const record::Buffers& buffers, unsigned ctas,
                                 cudaStream_t stream) const {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attributes[2] = {};
  configure(config, attributes, ctas, false);
  config.stream = stream;
  record::Buffers copy = buffers;
  void* arguments[] = {const_cast<void*>(args), &copy};
  return cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel_), arguments);
}

}  // namespace warpwright::jit
#endif
