// Timestamps from the host side: fetching what a launch wrote and, in a .cu file that defines WW_RECORD before it
// includes anything, launching a kernel and writing a file for `warpwright trace --recording FILE`.
#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "warpwright/record_fetch.h"
#include "warpwright/record_file.h"
#if defined(WW_RECORD)
#include "warpwright/launch.h"
#endif

namespace warpwright::record {

// Memory of the device for the lists of one launch.
class DeviceBuffers {
 public:
  DeviceBuffers(size_t warps, uint32_t capacity) : count_(warps) {
    buffers_.capacity = capacity;
    const size_t event_bytes = warps * buffers_.per_warp() * sizeof(Event);
    error_ = cudaMalloc(reinterpret_cast<void**>(&buffers_.warps), warps * sizeof(Warp));
    if (error_ == cudaSuccess) error_ = cudaMalloc(reinterpret_cast<void**>(&buffers_.events), event_bytes);
    if (error_ == cudaSuccess) error_ = cudaMemset(buffers_.warps, 0, warps * sizeof(Warp));
  }
  ~DeviceBuffers() {
    (void)cudaFree(buffers_.warps);
    (void)cudaFree(buffers_.events);
  }
  DeviceBuffers(const DeviceBuffers&) = delete;
  DeviceBuffers& operator=(const DeviceBuffers&) = delete;

  cudaError_t error() const { return error_; }  // from the allocation
  const Buffers& get() const { return buffers_; }

  // After the launch has ended.
  cudaError_t fetch(Launch& launch) const {
    return record::fetch(buffers_, count_, launch, [](void* to, const void* from, size_t bytes) {
      const cudaError_t e = cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost);
      if (e != cudaSuccess) (void)cudaGetLastError();  // it is reported here, not to whoever asks next
      return e;
    });
  }

 private:
  size_t count_;
  Buffers buffers_;
  cudaError_t error_ = cudaSuccess;
};

#if defined(WW_RECORD)
// A kernel that only reads the clocks; compared with the real kernel's, they show how fast the SMs' clocks run.
template <class = void>
__global__ void tick(const Buffers buffers) {
  machine::record::begin(buffers);
  machine::record::end(buffers);
}

// Launches K once on the default stream, waits for it, and writes the file.
template <class K>
cudaError_t launch_to_file(const typename K::Args& args, unsigned ctas, const std::string& path) {
  constexpr uint32_t capacity = 8192;
  int device = 0, multiprocessors = 0;
  cudaDeviceProp properties;
  cudaError_t e = cudaGetDevice(&device);
  if (e == cudaSuccess) e = cudaGetDeviceProperties(&properties, device);
  if (e != cudaSuccess) return e;
  multiprocessors = properties.multiProcessorCount;
  const DeviceBuffers before(size_t(multiprocessors), 1), lists(size_t(ctas) * size_t(K::plan.warps), capacity);
  if (before.error() != cudaSuccess) return before.error();
  if (lists.error() != cudaSuccess) return lists.error();
  tick<><<<multiprocessors, 32>>>(before.get());
  if (e = cudaGetLastError(); e != cudaSuccess) return e;
  if (e = launch_kernel<K>(args, ctas, nullptr, lists.get()); e != cudaSuccess) return e;
  if (e = cudaDeviceSynchronize(); e != cudaSuccess) return e;
  Launch first, launch;
  if (e = before.fetch(first); e != cudaSuccess) return e;
  if (e = lists.fetch(launch); e != cudaSuccess) return e;
  const std::string bytes = file_bytes(K::plan, properties.name, ns_per_cycle(first.warps, launch.warps), launch);
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  return cudaSuccess;
}
#endif

}  // namespace warpwright::record
