#include "gpu/memory.h"

#include <algorithm>
#include <utility>

#include "gpu/driver.h"
#include "gpu/require.h"

namespace warpwright::gpu {

DeviceMemory::DeviceMemory(size_t bytes) {
  require_device();
  abi::Pointer memory = 0;
  require(driver().allocate(&memory, std::max<size_t>(bytes, 1)), "the allocation of device memory");
  data_ = pointer(memory);
}
DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr) (void)driver().free(address(data_));
}
DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}

Stream::Stream() {
  require_device();
  require(driver().stream_create(&stream_, abi::kStreamNonBlocking), "making a stream");
}
Stream::~Stream() { (void)driver().stream_destroy(stream_); }
void Stream::synchronize() const { gpu::synchronize(stream_, "the kernel"); }

Event::Event() {
  require_device();
  require(driver().event_create(&event_, abi::kEventDefault), "making an event");
}
Event::~Event() { (void)driver().event_destroy(event_); }
void Event::record(const Stream& stream) const {
  require(driver().event_record(event_, stream.get()), "recording an event");
}
void Event::record_in_graph(const Stream& stream) const {
  require(driver().event_record_with_flags(event_, stream.get(), abi::kEventRecordExternal), "recording an event");
}
void Event::synchronize() const { require(driver().event_synchronize(event_), "the kernel"); }
double Event::us_since(const Event& start) const {
  float ms = 0;
  require(driver().event_elapsed(&ms, start.event_, event_), "reading the time of an event");
  return double(ms) * 1e3;
}

void copy_to_device(void* to, const void* from, size_t bytes, const char* what) {
  require_device();
  if (bytes == 0) return;
  require(driver().copy_to_device(address(to), from, bytes), what);
  require(driver().stream_synchronize(nullptr), what);  // a small copy from pageable memory may still be under way
}
void copy_to_host(void* to, const void* from, size_t bytes, const char* what) {
  require_device();
  if (bytes > 0) require(driver().copy_to_host(to, address(from), bytes), what);
}
void copy_on_device(void* to, const void* from, size_t bytes, abi::Stream stream) {
  require_device();
  if (bytes > 0) {
    require(driver().copy_on_device_async(address(to), address(from), bytes, stream), "the copy on the device");
  }
}
void set_bytes(void* to, uint8_t value, size_t bytes, abi::Stream stream) {
  require_device();
  if (bytes > 0) require(driver().set_bytes_async(address(to), value, bytes, stream), "setting device memory");
}
void synchronize(const char* what) {
  require_device();
  require(driver().synchronize(), what);
}
void synchronize(abi::Stream stream, const char* what) {
  require_device();
  require(driver().stream_synchronize(stream), what);
}

}  // namespace warpwright::gpu
