#include "gpu/run_memory.h"

#include <cstdint>
#include <mutex>

#include "gpu/driver.h"
#include "gpu/graph.h"
#include "gpu/maker.h"

namespace warpwright::gpu {
namespace {

// Too little memory is what the machine lacks, not a call that failed.
Status no_memory(abi::Result result, const char* what) {
  return Status(Code::missing, failure(result, what).message());
}

// Never destroyed: at exit the driver may be gone.
Result<abi::Pool> pool_of(int device) {
  static std::mutex mutex;
  static auto* const pools = new std::map<int, abi::Pool>;
  const std::lock_guard lock(mutex);
  if (const auto found = pools->find(device); found != pools->end()) return found->second;
  if (const auto current = current_nvidia_device(); !current) return current.status();
  abi::PoolProperties properties{};
  properties.allocation = abi::kAllocationPinned;
  properties.location.type = abi::kLocationDevice;
  properties.location.id = device;
  abi::Pool pool = nullptr;
  const RelaxedCapture relaxed;
  if (const abi::Result r = driver().pool_create(&pool, &properties); r != abi::kSuccess) {
    return failure(r, "making a memory pool");
  }
  // By default a pool gives everything back to the system whenever a stream is waited for.
  uint64_t kept = uint64_t(1) << 30;
  (void)driver().pool_attribute(pool, abi::kPoolReleaseThreshold, &kept);
  return pools->emplace(device, pool).first->second;
}

}  // namespace

RunMemory::~RunMemory() {
  if (memory_ != 0) (void)driver().free_async(memory_, stream_);
}

Result<void*> RunMemory::take(int device, void* stream, size_t bytes) {
  const auto pool = pool_of(device);
  if (!pool) return pool.status();
  stream_ = static_cast<abi::Stream>(stream);
  if (const abi::Result r = driver().allocate_from_pool(&memory_, bytes, *pool, stream_); r != abi::kSuccess) {
    memory_ = 0;
    return no_memory(r, "the allocation of memory for a run");
  }
  return pointer(memory_);
}

Result<void*> RunMemory::take_zeroed(int device, void* stream, size_t bytes) {
  auto memory = take(device, stream, bytes);
  if (!memory) return memory;
  if (const abi::Result r = driver().set_bytes_async(memory_, 0, bytes, stream_); r != abi::kSuccess) {
    return failure(r, "clearing the memory of a run");
  }
  return memory;
}

Status RunMemory::prepare(int device) { return pool_of(device).status(); }

Workspaces::~Workspaces() {
  if (by_stream_.empty()) return;
  // The last owner of a plan may be a thread that has no context.
  if (!current_device()) return;
  for (const auto& [stream, memory] : by_stream_) (void)driver().free(memory);
}

Result<void*> Workspaces::get(int device, void* stream, size_t bytes, RunMemory& of_graph) {
  if (const Status& s = driver_status(); !s) return s;
  const abi::Functions& cu = driver();
  const auto on = static_cast<abi::Stream>(stream);
  int capture = abi::kCaptureNone;
  if (const abi::Result r = cu.stream_is_capturing(on, &capture); r != abi::kSuccess) {
    return failure(r, "asking whether the stream is captured");
  }
  if (capture != abi::kCaptureNone) return of_graph.take_zeroed(device, stream, bytes);
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = by_stream_.find(stream); found != by_stream_.end()) return pointer(found->second);
  }
  const std::unique_lock lock(mutex_);
  // Another thread may have been faster.
  if (const auto found = by_stream_.find(stream); found != by_stream_.end()) return pointer(found->second);
  abi::Pointer memory = 0;
  const RelaxedCapture relaxed;  // another thread may capture a stream of its own
  if (const abi::Result r = cu.allocate(&memory, bytes); r != abi::kSuccess) {
    return no_memory(r, "the allocation of the workspace");
  }
  if (const abi::Result r = cu.set_bytes_async(memory, 0, bytes, on); r != abi::kSuccess) {
    (void)cu.free(memory);
    return failure(r, "clearing the workspace");
  }
  by_stream_.emplace(stream, memory);
  return pointer(memory);
}

}  // namespace warpwright::gpu
