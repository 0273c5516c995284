// Devices, contexts, memory, streams, events and graphs. A driver below answers all of it; a pretended device answers
// from memory of the host, runs nothing and takes a microsecond from one event to the next, or what
// WARPWRIGHT_RECORDER_TIMES says of the kernels between them.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "driver/recorder/entry.h"

namespace recorder {
namespace {

// What a pretended driver calls its version: 1000 * major + 10 * minor.
constexpr int kVersion = 13000;

struct ErrorName {
  int code;
  const char* text;
};
constexpr ErrorName kErrors[] = {
    {0, "no error"},
    {kInvalidValue, "invalid argument"},
    {abi::kErrorOutOfMemory, "out of memory"},
    {kNotInitialized, "initialization error"},
    {kInvalidDevice, "invalid device ordinal"},
    {kInvalidImage, "device kernel image is invalid"},
    {abi::kErrorInvalidContext, "invalid device context"},
    {kNoBinary, "no kernel image is available for execution on the device"},
    {kInvalidPtx, "a PTX JIT compilation failed"},
    {kInvalidHandle, "invalid resource handle"},
    {kNotFound, "named symbol not found"},
    {kOutOfResources, "too many resources requested for launch"},
    {kNotSupported, "operation not supported"},
    {kInvalidCluster, "cluster misconfiguration"},
    {kCaptureUnsupported, "operation not permitted when stream is capturing"},
    {kCaptureInvalidated, "operation failed due to a previous error during capture"},
};

bool is_device(const World& world, abi::Device device) { return device >= 0 && size_t(device) < world.chips.size(); }

// Contexts are the primary ones, and known by their device.
abi::Context context_of(int device) { return reinterpret_cast<abi::Context>(uintptr_t(device) + 1); }

abi::Result take(World& world, abi::Pointer* at, size_t bytes) {
  if (at == nullptr || bytes == 0) return kInvalidValue;
  const auto device = world.device();
  if (!device) return abi::kErrorInvalidContext;
  if (bytes > world.chips[size_t(*device)].memory) return abi::kErrorOutOfMemory;
  *at = world.take(bytes);
  return *at == 0 ? abi::kErrorOutOfMemory : 0;
}
void keep(World& world, abi::Result answer, const abi::Pointer* at, size_t bytes) {
  if (answer != 0) return;
  Buffer buffer;
  buffer.bytes = bytes;
  world.add_buffer(*at, std::move(buffer));
}
abi::Result hand_back(World& world, abi::Pointer at) { return world.buffers.erase(at) > 0 ? 0 : kInvalidValue; }

uint8_t* host(World& world, abi::Pointer at, size_t bytes) {
  return world.holding(at, bytes) == world.buffers.end() ? nullptr : reinterpret_cast<uint8_t*>(at);
}
abi::Result copy(uint8_t* to, const uint8_t* from, size_t bytes) {
  if (to == nullptr || from == nullptr) return kInvalidValue;
  std::memmove(to, from, bytes);
  return 0;
}
abi::Result fill(World& world, abi::Pointer to, unsigned value, size_t size, size_t count) {
  uint8_t* const at = host(world, to, size * count);
  if (at == nullptr || to % size != 0) return kInvalidValue;
  for (size_t i = 0; i < count; ++i) std::memcpy(at + i * size, &value, size);
  return 0;
}

}  // namespace

// Calls the driver below, where there is one.
#define WW_BELOW(name, ...)                \
  World& world = World::get();             \
  const std::lock_guard lock(world.mutex); \
  if (world.below) return world.below->name(__VA_ARGS__)
// The same for a call that is no work of a stream, which a capture may forbid.
#define WW_BELOW_UNCAPTURED(name, ...) \
  WW_BELOW(name, __VA_ARGS__);         \
  if (world.breaks_capture()) return kCaptureUnsupported

WW_ENTRY cuInit(unsigned flags) {
  WW_BELOW(init, flags);
  return flags == 0 ? 0 : kInvalidValue;
}
WW_ENTRY cuDriverGetVersion(int* version) {
  WW_BELOW(driver_version, version);
  *version = kVersion;
  return 0;
}
WW_ENTRY cuGetErrorString(abi::Result error, const char** text) {
  WW_BELOW(error_string, error, text);
  *text = nullptr;
  for (const ErrorName& e : kErrors)
    if (e.code == error) *text = e.text;
  return *text == nullptr ? kInvalidValue : 0;
}

WW_ENTRY cuDeviceGetCount(int* count) {
  WW_BELOW(device_count, count);
  *count = int(world.chips.size());
  return 0;
}
WW_ENTRY cuDeviceGet(abi::Device* device, int number) {
  WW_BELOW(device, device, number);
  if (!is_device(world, number)) return kInvalidDevice;
  *device = number;
  return 0;
}
WW_ENTRY cuDeviceGetName(char* text, int length, abi::Device device) {
  WW_BELOW(device_name, text, length, device);
  if (!is_device(world, device)) return kInvalidDevice;
  if (length < 1) return kInvalidValue;
  std::strncpy(text, world.chips[size_t(device)].name.c_str(), size_t(length));
  text[length - 1] = '\0';
  return 0;
}
WW_ENTRY cuDeviceGetAttribute(int* value, int attribute, abi::Device device) {
  WW_BELOW(device_attribute, value, attribute, device);
  if (!is_device(world, device)) return kInvalidDevice;
  const Chip& chip = world.chips[size_t(device)];
  switch (attribute) {
    case abi::kMultiprocessorCount:
      *value = chip.multiprocessors;
      return 0;
    case kThreadsPerMultiprocessor:
      *value = chip.threads_per_multiprocessor;
      return 0;
    case kSharedPerMultiprocessor:
      *value = chip.shared_per_multiprocessor;
      return 0;
    case kBlocksPerMultiprocessor:
      *value = chip.blocks_per_multiprocessor;
      return 0;
    case abi::kL2CacheSize:
      *value = chip.l2_bytes;
      return 0;
    case abi::kComputeCapabilityMajor:
      *value = chip.major;
      return 0;
    case abi::kComputeCapabilityMinor:
      *value = chip.minor;
      return 0;
    case abi::kMaxSharedMemoryPerBlockOptin:
      *value = chip.shared_per_block;
      return 0;
  }
  return kInvalidValue;
}
WW_ENTRY cuDeviceTotalMem_v2(size_t* bytes, abi::Device device) {
  WW_BELOW(device_memory, bytes, device);
  if (!is_device(world, device)) return kInvalidDevice;
  *bytes = world.chips[size_t(device)].memory;
  return 0;
}

WW_ENTRY cuDevicePrimaryCtxRetain(abi::Context* context, abi::Device device) {
  WW_BELOW(primary_context, context, device);
  if (!is_device(world, device)) return kInvalidDevice;
  *context = context_of(device);
  return 0;
}
WW_ENTRY cuCtxGetCurrent(abi::Context* context) {
  WW_BELOW(context, context);
  *context = current_device < 0 ? nullptr : context_of(current_device);
  return 0;
}
WW_ENTRY cuCtxSetCurrent(abi::Context context) {
  WW_BELOW(set_context, context);
  const int device = int(reinterpret_cast<uintptr_t>(context)) - 1;
  if (context != nullptr && !is_device(world, device)) return abi::kErrorInvalidContext;
  current_device = device;
  return 0;
}
WW_ENTRY cuCtxGetDevice(abi::Device* device) {
  WW_BELOW(context_device, device);
  if (current_device < 0) return abi::kErrorInvalidContext;
  *device = current_device;
  return 0;
}
WW_ENTRY cuCtxSynchronize() {
  WW_BELOW(synchronize);
  if (world.breaks_capture()) return kCaptureUnsupported;
  return current_device < 0 ? abi::kErrorInvalidContext : 0;
}

WW_ENTRY cuMemGetInfo_v2(size_t* free, size_t* total) {
  WW_BELOW(memory_info, free, total);
  if (current_device < 0) return abi::kErrorInvalidContext;
  *free = *total = world.chips[size_t(current_device)].memory;
  return 0;
}
WW_ENTRY cuMemAlloc_v2(abi::Pointer* at, size_t bytes) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  if (!world.below) return world.breaks_capture() ? kCaptureUnsupported : take(world, at, bytes);
  const abi::Result answer = world.below->allocate(at, bytes);
  keep(world, answer, at, bytes);
  return answer;
}
WW_ENTRY cuMemFree_v2(abi::Pointer at) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  if (!world.below && world.breaks_capture()) return kCaptureUnsupported;
  const abi::Result answer = hand_back(world, at);
  return world.below ? world.below->free(at) : answer;
}
WW_ENTRY cuMemPoolCreate(abi::Pool* pool, const abi::PoolProperties* properties) {
  WW_BELOW_UNCAPTURED(pool_create, pool, properties);
  if (pool == nullptr || properties == nullptr || properties->allocation != abi::kAllocationPinned ||
      properties->location.type != abi::kLocationDevice || !is_device(world, properties->location.id)) {
    return kInvalidValue;
  }
  *pool = world.new_handle<abi::Pool>();
  return 0;
}
WW_ENTRY cuMemPoolSetAttribute(abi::Pool pool, int attribute, void* value) {
  WW_BELOW(pool_attribute, pool, attribute, value);
  return pool == nullptr || attribute != abi::kPoolReleaseThreshold || value == nullptr ? kInvalidValue : 0;
}
WW_ENTRY cuMemAllocFromPoolAsync(abi::Pointer* at, size_t bytes, abi::Pool pool, abi::Stream stream) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  if (!world.below) return pool == nullptr ? kInvalidValue : take(world, at, bytes);
  const abi::Result answer = world.below->allocate_from_pool(at, bytes, pool, stream);
  keep(world, answer, at, bytes);
  return answer;
}
WW_ENTRY cuMemFreeAsync(abi::Pointer at, abi::Stream stream) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  const abi::Result answer = hand_back(world, at);
  return world.below ? world.below->free_async(at, stream) : answer;
}
WW_ENTRY cuMemcpyHtoD_v2(abi::Pointer to, const void* from, size_t bytes) {
  WW_BELOW_UNCAPTURED(copy_to_device, to, from, bytes);
  return copy(host(world, to, bytes), static_cast<const uint8_t*>(from), bytes);
}
WW_ENTRY cuMemcpyDtoH_v2(void* to, abi::Pointer from, size_t bytes) {
  WW_BELOW_UNCAPTURED(copy_to_host, to, from, bytes);
  return copy(static_cast<uint8_t*>(to), host(world, from, bytes), bytes);
}
WW_ENTRY cuMemcpyDtoD_v2(abi::Pointer to, abi::Pointer from, size_t bytes) {
  WW_BELOW(copy_on_device, to, from, bytes);
  return copy(host(world, to, bytes), host(world, from, bytes), bytes);
}
WW_ENTRY cuMemcpyHtoDAsync_v2(abi::Pointer to, const void* from, size_t bytes, abi::Stream stream) {
  WW_BELOW(copy_to_device_async, to, from, bytes, stream);
  return copy(host(world, to, bytes), static_cast<const uint8_t*>(from), bytes);
}
WW_ENTRY cuMemcpyDtoDAsync_v2(abi::Pointer to, abi::Pointer from, size_t bytes, abi::Stream stream) {
  WW_BELOW(copy_on_device_async, to, from, bytes, stream);
  return copy(host(world, to, bytes), host(world, from, bytes), bytes);
}
WW_ENTRY cuMemsetD8_v2(abi::Pointer to, unsigned char value, size_t count) {
  WW_BELOW(set_bytes, to, value, count);
  return fill(world, to, value, 1, count);
}
WW_ENTRY cuMemsetD8Async(abi::Pointer to, unsigned char value, size_t count, abi::Stream stream) {
  WW_BELOW(set_bytes_async, to, value, count, stream);
  return fill(world, to, value, 1, count);
}
WW_ENTRY cuMemsetD32Async(abi::Pointer to, unsigned value, size_t count, abi::Stream stream) {
  WW_BELOW(set_words_async, to, value, count, stream);
  return fill(world, to, value, 4, count);
}

WW_ENTRY cuStreamCreate(abi::Stream* stream, unsigned flags) {
  WW_BELOW(stream_create, stream, flags);
  if (stream == nullptr || flags > abi::kStreamNonBlocking) return kInvalidValue;
  if (current_device < 0) return abi::kErrorInvalidContext;
  *stream = world.new_handle<abi::Stream>();
  return 0;
}
WW_ENTRY cuStreamDestroy_v2(abi::Stream stream) {
  WW_BELOW(stream_destroy, stream);
  world.captures.erase(stream);
  return 0;
}
WW_ENTRY cuStreamSynchronize(abi::Stream stream) {
  WW_BELOW_UNCAPTURED(stream_synchronize, stream);
  return 0;
}
WW_ENTRY cuStreamIsCapturing(abi::Stream stream, int* capturing) {
  WW_BELOW(stream_is_capturing, stream, capturing);
  const auto capture = world.captures.find(stream);
  constexpr int active = 1, invalidated = 2;
  *capturing = capture == world.captures.end() ? abi::kCaptureNone : capture->second.broken ? invalidated : active;
  return 0;
}
WW_ENTRY cuStreamWaitEvent(abi::Stream stream, abi::Event event, unsigned flags) {
  WW_BELOW(stream_wait, stream, event, flags);
  return event == nullptr ? kInvalidHandle : 0;
}
WW_ENTRY cuStreamBeginCapture_v2(abi::Stream stream, int mode) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  abi::Result answer = stream == nullptr                  ? kCaptureUnsupported
                       : world.captures.count(stream) > 0 ? kCaptureInvalidated
                                                          : 0;
  if (world.below) answer = world.below->begin_capture(stream, mode);
  if (answer == 0) world.captures[stream] = {mode, std::this_thread::get_id()};
  return answer;
}
WW_ENTRY cuStreamEndCapture(abi::Stream stream, abi::Graph* graph) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  const auto capture = world.captures.find(stream);
  const Capture ended = capture == world.captures.end() ? Capture{} : capture->second;
  abi::Result answer = capture == world.captures.end() ? kInvalidValue : ended.broken ? kCaptureInvalidated : 0;
  if (capture != world.captures.end()) world.captures.erase(capture);
  if (world.below) {
    answer = world.below->end_capture(stream, graph);
  } else if (answer == 0) {
    *graph = world.new_handle<abi::Graph>();
  } else {
    *graph = nullptr;
  }
  if (answer == 0) world.graphs[*graph] = ended.launches;
  return answer;
}
WW_ENTRY cuThreadExchangeStreamCaptureMode(int* mode) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  const int wanted = *mode;
  const abi::Result answer = world.below ? world.below->exchange_capture_mode(mode) : 0;
  if (answer != 0) return answer;
  if (!world.below) *mode = capture_mode;
  capture_mode = wanted;
  return 0;
}

WW_ENTRY cuEventCreate(abi::Event* event, unsigned flags) {
  WW_BELOW(event_create, event, flags);
  *event = world.new_handle<abi::Event>();
  return 0;
}
WW_ENTRY cuEventDestroy_v2(abi::Event event) {
  WW_BELOW(event_destroy, event);
  return 0;
}
WW_ENTRY cuEventRecord(abi::Event event, abi::Stream stream) {
  WW_BELOW(event_record, event, stream);
  world.events[event] = world.clock_us;
  return event == nullptr ? kInvalidHandle : 0;
}
WW_ENTRY cuEventRecordWithFlags(abi::Event event, abi::Stream stream, unsigned flags) {
  WW_BELOW(event_record_with_flags, event, stream, flags);
  world.events[event] = world.clock_us;
  return event == nullptr ? kInvalidHandle : 0;
}
WW_ENTRY cuEventSynchronize(abi::Event event) {
  WW_BELOW_UNCAPTURED(event_synchronize, event);
  return 0;
}
WW_ENTRY cuEventElapsedTime(float* milliseconds, abi::Event from, abi::Event to) {
  WW_BELOW(event_elapsed, milliseconds, from, to);
  *milliseconds = world.times.empty() ? 0.001f : float(world.events[to] - world.events[from]) / 1000;
  return 0;
}

WW_ENTRY cuGraphInstantiateWithFlags(abi::GraphExec* executable, abi::Graph graph, unsigned long long flags) {
  WW_BELOW(graph_instantiate, executable, graph, flags);
  *executable = world.new_handle<abi::GraphExec>();
  return 0;
}
WW_ENTRY cuGraphGetEdges_v2(abi::Graph graph, abi::GraphNode* from, abi::GraphNode* to, abi::GraphEdge* edges,
                            size_t* count) {
  WW_BELOW(graph_edges, graph, from, to, edges, count);
  // Captured on one stream: each launch follows the one before it.
  const auto found = world.graphs.find(graph);
  if (found == world.graphs.end()) return kInvalidValue;
  const size_t has = found->second > 1 ? size_t(found->second) - 1 : 0;
  for (size_t i = 0; edges != nullptr && i < has && i < *count; ++i) edges[i] = {};
  *count = has;
  return 0;
}
WW_ENTRY cuGraphLaunch(abi::GraphExec executable, abi::Stream stream) {
  WW_BELOW(graph_launch, executable, stream);
  return 0;
}
WW_ENTRY cuGraphDestroy(abi::Graph graph) {
  WW_BELOW(graph_destroy, graph);
  return world.graphs.erase(graph) > 0 ? 0 : kInvalidValue;
}
WW_ENTRY cuGraphExecDestroy(abi::GraphExec executable) {
  WW_BELOW(graph_exec_destroy, executable);
  return 0;
}

WW_ENTRY cuProfilerStart() {
  WW_BELOW(profiler_start);
  return 0;
}
WW_ENTRY cuProfilerStop() {
  WW_BELOW(profiler_stop);
  return 0;
}

}  // namespace recorder
