#include "gpu/run_memory.h"

#include <fmt/format.h>

#include <cstdint>
#include <mutex>
#include <optional>

#include "gpu/door.h"
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
  for (const auto& [stream, memory] : by_stream_) (void)door().free(memory);
}

Result<void*> Workspaces::get(int device, void* stream, size_t bytes, RunMemory& of_graph) {
  const bool nvidia = maker() == Maker::nvidia;
  if (const Status& s = driver_status(); nvidia && !s) return s;
  const auto failed = [](Code code, int answer, const char* what) {
    return Status(code, fmt::format("{} failed: {}.", what, door().error_text(answer)));
  };
  int capturing = 0;
  if (const int r = door().stream_is_capturing(stream, &capturing); r != 0) {
    return failed(Code::failed, r, "asking whether the stream is captured");
  }
  if (capturing != 0 && nvidia) return of_graph.take_zeroed(device, stream, bytes);
  if (capturing != 0) {
    return Status(Code::unsupported,
                  fmt::format("workspace = null: a captured run on an AMD GPU is given one, of {} bytes.", bytes));
  }
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = by_stream_.find(stream); found != by_stream_.end()) return found->second;
  }
  const std::unique_lock lock(mutex_);
  // Another thread may have been faster.
  if (const auto found = by_stream_.find(stream); found != by_stream_.end()) return found->second;
  void* memory = nullptr;
  std::optional<RelaxedCapture> relaxed;  // another thread may capture a stream of its own
  if (nvidia) relaxed.emplace();
  if (const int r = door().allocate(&memory, bytes); r != 0) {
    return failed(Code::missing, r, "the allocation of the workspace");
  }
  if (const int r = door().set_bytes(memory, 0, bytes, stream); r != 0) {
    (void)door().free(memory);
    return failed(Code::failed, r, "clearing the workspace");
  }
  by_stream_.emplace(stream, memory);
  return memory;
}

}  // namespace warpwright::gpu
