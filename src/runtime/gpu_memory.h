// Owners of CUDA objects for host code, for files that are compiled with WW_HAVE_CUDA. A failure is thrown as
// CudaFailure; the functions that others call catch it and return its sentence.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/workload.h"

namespace warpwright::runtime {

struct CudaFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();  // the failure is reported here, not to whoever asks next
  throw CudaFailure(std::string(what) + " failed: " + cudaGetErrorString(error) + ".");
}
inline void require(const std::optional<std::string>& failure) {
  if (failure) throw CudaFailure(*failure);
}

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes) {
    require(cudaMalloc(&data_, std::max<size_t>(bytes, 1)), "cudaMalloc of the operands");
  }
  ~DeviceMemory() { (void)cudaFree(data_); }
  DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  uint8_t* data() const { return static_cast<uint8_t*>(data_); }

 private:
  void* data_ = nullptr;
};

class Stream {
 public:
  Stream() { require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void synchronize() const { require(cudaStreamSynchronize(stream_), "the kernel"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { require(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }
  void record(const Stream& stream) const { require(cudaEventRecord(event_, stream.get()), "cudaEventRecord"); }
  void synchronize() const { require(cudaEventSynchronize(event_), "the kernel"); }
  double us_since(const Event& start) const {
    float ms = 0;
    require(cudaEventElapsedTime(&ms, start.event_, event_), "cudaEventElapsedTime");
    return double(ms) * 1e3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// The arrays of a workload in device memory, each between red zones of NaN: a read beyond an array spoils the result, a
// write beyond it is counted.
class GuardedArrays {
 public:
  explicit GuardedArrays(const Workload& workload) {
    for (const Array& array : workload.arrays) {
      const size_t bytes = array.bytes.size();
      slots_.push_back({DeviceMemory(bytes + 2 * kGuard), bytes});
      uint8_t* const base = slots_.back().memory.data();
      require(cudaMemset(base, kGuardByte, bytes + 2 * kGuard), "cudaMemset");
      require(cudaMemcpy(base + kGuard, array.bytes.data(), bytes, cudaMemcpyHostToDevice), "the copy of the operands");
      pointers_.push_back(base + kGuard);
    }
    require(cudaDeviceSynchronize(), "the copy of the operands");
  }

  const std::vector<void*>& pointers() const { return pointers_; }

  std::vector<uint8_t> output() const {
    const Slot& slot = slots_.back();
    std::vector<uint8_t> bytes(slot.bytes);
    require(cudaMemcpy(bytes.data(), pointers_.back(), slot.bytes, cudaMemcpyDeviceToHost), "the copy of the result");
    return bytes;
  }

  // Bytes that changed although nobody may write there: the red zones and the inputs.
  uint64_t stray_bytes(const Workload& workload) const {
    uint64_t changed = 0;
    for (size_t i = 0; i < slots_.size(); ++i) {
      const Slot& slot = slots_[i];
      std::vector<uint8_t> have(slot.bytes + 2 * kGuard);
      require(cudaMemcpy(have.data(), slot.memory.data(), have.size(), cudaMemcpyDeviceToHost),
              "the copy of the guards");
      const auto first = have.begin() + kGuard, last = first + std::ptrdiff_t(slot.bytes);
      const auto touched = [](uint8_t byte) { return byte != kGuardByte; };
      changed += uint64_t(std::count_if(have.begin(), first, touched) + std::count_if(last, have.end(), touched));
      const Array& array = workload.arrays[i];
      if (array.output || array.scratch) continue;
      for (size_t b = 0; b < slot.bytes; ++b) changed += first[std::ptrdiff_t(b)] != array.bytes[b];
    }
    return changed;
  }

 private:
  // Larger than a box of any kernel is wide, and a multiple of the TMA's alignment.
  static constexpr size_t kGuard = 4096;
  static constexpr uint8_t kGuardByte = 0xff;
  struct Slot {
    DeviceMemory memory;
    size_t bytes;
  };
  std::vector<Slot> slots_;
  std::vector<void*> pointers_;
};

}  // namespace warpwright::runtime
