#include "gpu/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gpu/door.h"
#include "gpu/driver.h"
#include "gpu/require.h"

namespace warpwright::gpu {
namespace {

void answered(int code, const char* what) {
  if (code != 0) throw Failure(fmt::format("{} failed: {}.", what, door().error_text(code)));
}

}  // namespace

DeviceMemory::DeviceMemory(size_t bytes) {
  require_device();
  answered(door().allocate(&data_, std::max<size_t>(bytes, 1)), "the allocation of device memory");
}
DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr) (void)door().free(data_);
}
DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}

Stream::Stream() {
  require_device();
  answered(door().stream_create(&stream_), "making a stream");
}
Stream::~Stream() { (void)door().stream_destroy(stream_); }
void Stream::synchronize() const { gpu::synchronize(stream_, "the kernel"); }

Event::Event() {
  require_device();
  answered(door().event_create(&event_), "making an event");
}
Event::~Event() { (void)door().event_destroy(event_); }
void Event::record(void* stream) const { answered(door().event_record(event_, stream), "recording an event"); }
void Event::record_in_graph(const Stream& stream) const {
  require(driver().event_record_with_flags(static_cast<abi::Event>(event_), stream.get(), abi::kEventRecordExternal),
          "recording an event");
}
void Event::synchronize() const { answered(door().event_synchronize(event_), "the kernel"); }
double Event::us_since(const Event& start) const {
  float ms = 0;
  answered(door().event_elapsed(&ms, start.event_, event_), "reading the time of an event");
  return double(ms) * 1e3;
}

void copy_to_device(void* to, const void* from, size_t bytes, const char* what) {
  require_device();
  if (bytes == 0) return;
  answered(door().copy_to_device(to, from, bytes), what);
  answered(door().stream_synchronize(nullptr), what);  // a small copy from pageable memory may still be under way
}
void copy_to_host(void* to, const void* from, size_t bytes, const char* what) {
  require_device();
  if (bytes > 0) answered(door().copy_to_host(to, from, bytes), what);
}
void copy_on_device(void* to, const void* from, size_t bytes, void* stream) {
  require_device();
  if (bytes > 0) answered(door().copy_on_device(to, from, bytes, stream), "the copy on the device");
}
void set_bytes(void* to, uint8_t value, size_t bytes, void* stream) {
  require_device();
  if (bytes > 0) answered(door().set_bytes(to, value, bytes, stream), "setting device memory");
}
void synchronize(const char* what) {
  require_device();
  answered(door().synchronize(), what);
}
void synchronize(void* stream, const char* what) {
  require_device();
  answered(door().stream_synchronize(stream), what);
}

}  // namespace warpwright::gpu
