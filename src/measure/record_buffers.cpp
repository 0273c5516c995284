#include "measure/record_buffers.h"

#include "gpu/driver.h"
#include "gpu/require.h"
#include "warpwright/record_fetch.h"

namespace warpwright::measure {
namespace {

size_t event_bytes(size_t warps, uint32_t capacity) {
  record::Buffers buffers;
  buffers.capacity = capacity;
  return warps * buffers.per_warp() * sizeof(record::Event);
}

}  // namespace

RecordBuffers::RecordBuffers(size_t warps, uint32_t capacity)
    : count_(warps), warps_(warps * sizeof(record::Warp)), events_(event_bytes(warps, capacity)) {
  buffers_.warps = reinterpret_cast<record::Warp*>(warps_.data());
  buffers_.events = reinterpret_cast<record::Event*>(events_.data());
  buffers_.capacity = capacity;
  gpu::set_bytes(warps_.data(), 0, warps * sizeof(record::Warp));
  gpu::synchronize("clearing the lists of events");
}

void RecordBuffers::fetch(record::Launch& launch) const {
  const auto copy = [](void* to, const void* from, size_t bytes) {
    return gpu::driver().copy_to_host(to, gpu::address(from), bytes);
  };
  gpu::require(record::fetch(buffers_, count_, launch, copy), "the copy of the events");
}

}  // namespace warpwright::measure
