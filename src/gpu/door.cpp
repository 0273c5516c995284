#include "gpu/door.h"

#include "gpu/driver.h"
#include "gpu/maker.h"
#include "hip/driver.h"

namespace warpwright::gpu {
namespace {

abi::Stream stream_of(void* stream) { return static_cast<abi::Stream>(stream); }
abi::Event event_of(void* event) { return static_cast<abi::Event>(event); }

// A handle is made where a driver expects one of its own type.
template <class Handle, class Make>
int made(void** to, const Make& make) {
  Handle handle = {};
  const int code = make(&handle);
  *to = handle;
  return code;
}

constexpr Door kNvidia = {
    .allocate =
        [](void** memory, size_t bytes) {
          abi::Pointer at = 0;
          const int code = driver().allocate(&at, bytes);
          *memory = pointer(at);
          return code;
        },
    .free = [](void* memory) { return driver().free(address(memory)); },
    .copy_to_device = [](void* to, const void* from,
                         size_t bytes) { return driver().copy_to_device(address(to), from, bytes); },
    .copy_to_host = [](void* to, const void* from,
                       size_t bytes) { return driver().copy_to_host(to, address(from), bytes); },
    .copy_on_device =
        [](void* to, const void* from, size_t bytes, void* stream) {
          return driver().copy_on_device_async(address(to), address(from), bytes, stream_of(stream));
        },
    .set_bytes = [](void* to, uint8_t value, size_t bytes,
                    void* stream) { return driver().set_bytes_async(address(to), value, bytes, stream_of(stream)); },
    .synchronize = [] { return driver().synchronize(); },
    .stream_create =
        [](void** stream) {
          return made<abi::Stream>(stream,
                                   [](abi::Stream* to) { return driver().stream_create(to, abi::kStreamNonBlocking); });
        },
    .stream_destroy = [](void* stream) { return driver().stream_destroy(stream_of(stream)); },
    .stream_synchronize = [](void* stream) { return driver().stream_synchronize(stream_of(stream)); },
    .stream_is_capturing = [](void* stream,
                              int* status) { return driver().stream_is_capturing(stream_of(stream), status); },
    .event_create =
        [](void** event) {
          return made<abi::Event>(event, [](abi::Event* to) { return driver().event_create(to, abi::kEventDefault); });
        },
    .event_destroy = [](void* event) { return driver().event_destroy(event_of(event)); },
    .event_record = [](void* event, void* stream) { return driver().event_record(event_of(event), stream_of(stream)); },
    .event_synchronize = [](void* event) { return driver().event_synchronize(event_of(event)); },
    .event_elapsed = [](float* ms, void* start,
                        void* stop) { return driver().event_elapsed(ms, event_of(start), event_of(stop)); },
    .error_text = [](int code) { return error_text(code); },
};

using hip::abi::kDeviceToDevice;
using hip::abi::kDeviceToHost;
using hip::abi::kHostToDevice;
using AmdEvent = hip::abi::Event;
using AmdStream = hip::abi::Stream;

constexpr Door kAmd = {
    .allocate = [](void** memory, size_t bytes) { return hip::driver().allocate(memory, bytes); },
    .free = [](void* memory) { return hip::driver().free(memory); },
    .copy_to_device = [](void* to, const void* from,
                         size_t bytes) { return hip::driver().copy(to, from, bytes, kHostToDevice); },
    .copy_to_host = [](void* to, const void* from,
                       size_t bytes) { return hip::driver().copy(to, from, bytes, kDeviceToHost); },
    .copy_on_device =
        [](void* to, const void* from, size_t bytes, void* stream) {
          return hip::driver().copy_async(to, from, bytes, kDeviceToDevice, static_cast<AmdStream>(stream));
        },
    .set_bytes =
        [](void* to, uint8_t value, size_t bytes, void* stream) {
          return hip::driver().set_bytes_async(to, value, bytes, static_cast<AmdStream>(stream));
        },
    .synchronize = [] { return hip::driver().synchronize(); },
    .stream_create =
        [](void** stream) {
          return made<AmdStream>(
              stream, [](AmdStream* to) { return hip::driver().stream_create(to, hip::abi::kStreamNonBlocking); });
        },
    .stream_destroy = [](void* stream) { return hip::driver().stream_destroy(static_cast<AmdStream>(stream)); },
    .stream_synchronize = [](void* stream) { return hip::driver().stream_synchronize(static_cast<AmdStream>(stream)); },
    .stream_is_capturing =
        [](void* stream, int* status) {
          return hip::driver().stream_is_capturing(static_cast<AmdStream>(stream), status);
        },
    .event_create =
        [](void** event) { return made<AmdEvent>(event, [](AmdEvent* to) { return hip::driver().event_create(to); }); },
    .event_destroy = [](void* event) { return hip::driver().event_destroy(static_cast<AmdEvent>(event)); },
    .event_record =
        [](void* event, void* stream) {
          return hip::driver().event_record(static_cast<AmdEvent>(event), static_cast<AmdStream>(stream));
        },
    .event_synchronize = [](void* event) { return hip::driver().event_synchronize(static_cast<AmdEvent>(event)); },
    .event_elapsed =
        [](float* ms, void* start, void* stop) {
          return hip::driver().event_elapsed(ms, static_cast<AmdEvent>(start), static_cast<AmdEvent>(stop));
        },
    .error_text = [](int code) { return hip::error_text(code); },
};
static_assert(abi::kSuccess == 0 && hip::abi::kSuccess == 0 && abi::kCaptureNone == 0 && hip::abi::kCaptureNone == 0);

}  // namespace

const Door& door() { return maker() == Maker::amd ? kAmd : kNvidia; }

}  // namespace warpwright::gpu
