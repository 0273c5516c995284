// Devices, memory, streams and events of a pretended machine: it answers from memory of the host, runs nothing and
// takes a microsecond from one event to the next.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "driver/hip_recorder/world.h"

namespace hip_recorder {
namespace {

// hipRuntimeGetVersion: 10000000 * major + 100000 * minor + patch.
constexpr int kVersion = 70000000;

struct ErrorName {
  int code;
  const char* text;
};
constexpr ErrorName kErrors[] = {
    {0, "no error"},
    {kInvalidValue, "invalid argument"},
    {kOutOfMemory, "out of memory"},
    {kInvalidConfiguration, "invalid configuration argument"},
    {kInvalidDirection, "invalid copy direction for memcpy"},
    {kInvalidDevice, "invalid device ordinal"},
    {kInvalidImage, "device kernel image is invalid"},
    {kNoBinary, "no kernel image is available for execution on the device"},
    {kInvalidHandle, "invalid resource handle"},
    {kNotFound, "named symbol not found"},
    {kOutOfResources, "out of resources"},
    {kLaunchFailure, "unspecified launch failure"},
};

recorder::Address address(const void* pointer) { return reinterpret_cast<recorder::Address>(pointer); }
bool is_on_device(World& world, const void* at, size_t bytes) {
  return world.holding(address(at), bytes) != world.buffers.end();
}

// Both structures have the name of the architecture, each where it has it; the places are written down here once more,
// so that a wrong one in src/hip/abi.h is seen.
constexpr size_t kBytesR0600 = 1472, kArchitectureR0600 = 1160, kBytesR0000 = 792, kArchitectureR0000 = 396;
void describe(const Chip& chip, void* properties, size_t bytes, size_t at) {
  constexpr size_t length = 256;
  auto* const to = static_cast<char*>(properties);
  std::memset(to, 0x5a, bytes);  // memory that must not be read
  std::memset(to + at, 0, length);
  chip.architecture.copy(to + at, length - 1);
}

int copy(World& world, const char* call, void* to, const void* from, size_t bytes, int direction) {
  const auto refuse = [&](Rule rule) { return world.judged(call, refused(rule)); };
  const bool to_device = direction == abi::kHostToDevice || direction == abi::kDeviceToDevice;
  const bool from_device = direction == abi::kDeviceToHost || direction == abi::kDeviceToDevice;
  if (!to_device && !from_device) return refuse(Rule::copy_direction);
  if (to_device && !is_on_device(world, to, bytes)) return refuse(Rule::copy_range);
  if (from_device && !is_on_device(world, from, bytes)) return refuse(Rule::copy_range);
  if ((!to_device && to == nullptr) || (!from_device && from == nullptr)) return refuse(Rule::copy_host);
  std::memmove(to, from, bytes);
  return 0;
}

}  // namespace
}  // namespace hip_recorder

using namespace hip_recorder;

extern "C" __attribute__((visibility("default"))) const char* hipGetErrorString(abi::Result code) {
  for (const ErrorName& e : kErrors)
    if (e.code == code) return e.text;
  return "unknown error";
}

WW_HIP_ENTRY hipInit(unsigned flags) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(flags != 0, init_flags);
  return 0;
}
WW_HIP_ENTRY hipRuntimeGetVersion(int* version) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(version == nullptr, no_place);
  *version = kVersion;
  return 0;
}
WW_HIP_ENTRY hipDriverGetVersion(int* version) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(version == nullptr, no_place);
  *version = kVersion;
  return 0;
}
WW_HIP_ENTRY hipGetDeviceCount(int* count) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(count == nullptr, no_place);
  *count = int(world.chips.size());
  return 0;
}
WW_HIP_ENTRY hipGetDevice(int* device) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(device == nullptr, no_place);
  *device = current_device;
  return 0;
}
WW_HIP_ENTRY hipSetDevice(int device) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(!world.has(device), no_device);
  current_device = device;
  return 0;
}
WW_HIP_ENTRY hipDeviceGetName(char* text, int length, int device) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(!world.has(device), no_device);
  WW_HIP_REFUSE(text == nullptr, no_place);
  WW_HIP_REFUSE(length < 1, no_length);
  std::strncpy(text, world.chips[size_t(device)].name.c_str(), size_t(length));
  text[length - 1] = '\0';
  return 0;
}
WW_HIP_ENTRY hipDeviceTotalMem(size_t* bytes, int device) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(bytes == nullptr, no_place);
  WW_HIP_REFUSE(!world.has(device), no_device);
  *bytes = world.chips[size_t(device)].memory;
  return 0;
}
WW_HIP_ENTRY hipDeviceGetAttribute(int* value, int attribute, int device) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(value == nullptr, no_place);
  WW_HIP_REFUSE(!world.has(device), no_device);
  const Chip& chip = world.chips[size_t(device)];
  switch (attribute) {
    case abi::kMultiprocessorCount:
      *value = chip.compute_units;
      return 0;
    case abi::kL2CacheSize:
      *value = chip.l2_bytes;
      return 0;
    case abi::kMaxSharedMemoryPerBlock:
      *value = chip.lds_bytes;
      return 0;
  }
  WW_HIP_REFUSE(true, no_attribute);
}
#if !defined(WW_RECORDER_OF_ROCM_5)
WW_HIP_ENTRY hipGetDevicePropertiesR0600(abi::PropertiesR0600* properties, int device) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(properties == nullptr, no_place);
  WW_HIP_REFUSE(!world.has(device), no_device);
  describe(world.chips[size_t(device)], properties, kBytesR0600, kArchitectureR0600);
  return 0;
}
#endif
WW_HIP_ENTRY hipGetDeviceProperties(abi::PropertiesR0000* properties, int device) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(properties == nullptr, no_place);
  WW_HIP_REFUSE(!world.has(device), no_device);
  describe(world.chips[size_t(device)], properties, kBytesR0000, kArchitectureR0000);
  return 0;
}
WW_HIP_ENTRY hipDeviceSynchronize() { return 0; }

WW_HIP_ENTRY hipMalloc(void** memory, size_t bytes) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(memory == nullptr, no_place);
  *memory = nullptr;
  if (bytes == 0) return 0;
  WW_HIP_REFUSE(bytes > world.chips[size_t(current_device)].memory, too_much_memory);
  *memory = reinterpret_cast<void*>(world.take(bytes));
  return *memory == nullptr ? kOutOfMemory : 0;
}
WW_HIP_ENTRY hipFree(void* memory) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(memory != nullptr && world.buffers.erase(address(memory)) == 0, no_memory);
  return 0;
}
WW_HIP_ENTRY hipMemcpy(void* to, const void* from, size_t bytes, int direction) {
  WW_HIP_WORLD;
  return copy(world, __func__, to, from, bytes, direction);
}
WW_HIP_ENTRY hipMemcpyAsync(void* to, const void* from, size_t bytes, int direction, abi::Stream stream) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(!world.has(stream), no_stream);
  return copy(world, __func__, to, from, bytes, direction);
}
WW_HIP_ENTRY hipMemsetAsync(void* to, int value, size_t bytes, abi::Stream stream) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(!world.has(stream), no_stream);
  WW_HIP_REFUSE(!is_on_device(world, to, bytes), copy_range);
  std::memset(to, value, bytes);
  return 0;
}

WW_HIP_ENTRY hipStreamCreateWithFlags(abi::Stream* stream, unsigned flags) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(stream == nullptr, no_place);
  WW_HIP_REFUSE(flags > abi::kStreamNonBlocking, stream_flags);
  *stream = world.new_handle<abi::Stream>();
  world.streams.insert(*stream);
  return 0;
}
WW_HIP_ENTRY hipStreamDestroy(abi::Stream stream) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(world.streams.erase(stream) == 0, no_stream);
  return 0;
}
WW_HIP_ENTRY hipStreamSynchronize(abi::Stream stream) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(!world.has(stream), no_stream);
  return 0;
}
WW_HIP_ENTRY hipStreamIsCapturing(abi::Stream stream, int* status) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(!world.has(stream), no_stream);
  WW_HIP_REFUSE(status == nullptr, no_place);
  *status = abi::kCaptureNone;
  return 0;
}

WW_HIP_ENTRY hipEventCreate(abi::Event* event) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(event == nullptr, no_place);
  *event = world.new_handle<abi::Event>();
  world.events[*event] = false;
  return 0;
}
WW_HIP_ENTRY hipEventDestroy(abi::Event event) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(world.events.erase(event) == 0, no_event);
  return 0;
}
WW_HIP_ENTRY hipEventRecord(abi::Event event, abi::Stream stream) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(world.events.count(event) == 0, no_event);
  WW_HIP_REFUSE(!world.has(stream), no_stream);
  world.events[event] = true;
  return 0;
}
WW_HIP_ENTRY hipEventSynchronize(abi::Event event) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(world.events.count(event) == 0, no_event);
  return 0;
}
WW_HIP_ENTRY hipEventElapsedTime(float* ms, abi::Event start, abi::Event stop) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(ms == nullptr, no_place);
  WW_HIP_REFUSE(world.events.count(start) == 0 || world.events.count(stop) == 0, no_event);
  WW_HIP_REFUSE(!world.events[start] || !world.events[stop], event_not_recorded);
  *ms = 1e-3f;
  return 0;
}
