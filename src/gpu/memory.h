// Owners of device memory, streams and events, and plain copies, whoever made the device. Failures are thrown
// (gpu/require.h). Whatever is made here is made on the device of the calling thread; a thread without one gets device
// 0.
#pragma once
#include <cstddef>
#include <cstdint>

#include "gpu/driver_abi.h"

namespace warpwright::gpu {

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  uint8_t* data() const { return static_cast<uint8_t*>(data_); }

 private:
  void* data_ = nullptr;
};

class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // For functions of the NVIDIA driver it has its type; those that take any device want a void*.
  abi::Stream get() const { return static_cast<abi::Stream>(stream_); }
  void synchronize() const;

 private:
  void* stream_ = nullptr;
};

class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(const Stream& stream) const { record(stream.get()); }
  void record(void* stream) const;
  // In a captured stream of the NVIDIA driver: a node of the graph that records it at every launch.
  void record_in_graph(const Stream& stream) const;
  void synchronize() const;
  double us_since(const Event& start) const;

 private:
  void* event_ = nullptr;
};

// `what` is named where it fails. Streams of this file do not wait for the default stream: a copy between host and
// device has ended when it returns, other work on the default stream has to be waited for.
void copy_to_device(void* to, const void* from, size_t bytes, const char* what = "the copy to the device");
void copy_to_host(void* to, const void* from, size_t bytes, const char* what = "the copy from the device");
void copy_on_device(void* to, const void* from, size_t bytes, void* stream = nullptr);
void set_bytes(void* to, uint8_t value, size_t bytes, void* stream = nullptr);
// Waits for everything on the device.
void synchronize(const char* what);
void synchronize(void* stream, const char* what);

}  // namespace warpwright::gpu
