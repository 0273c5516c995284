// Device memory that a plan takes while it runs. On an AMD GPU that is a workspace alone: no kernel there needs more.
#pragma once
#include <cstddef>
#include <map>
#include <shared_mutex>

#include "gpu/driver_abi.h"
#include "warpwright/status.h"

namespace warpwright::gpu {

// NVIDIA: for one run, from a pool of the device that keeps what is handed back, in the order of the stream. In a
// captured run taking it and handing it back are nodes of the graph.
class RunMemory {
 public:
  RunMemory() = default;
  ~RunMemory();
  RunMemory(const RunMemory&) = delete;
  RunMemory& operator=(const RunMemory&) = delete;

  // Once for each object.
  Result<void*> take(int device, void* stream, size_t bytes);
  Result<void*> take_zeroed(int device, void* stream, size_t bytes);
  // Makes the pool, so that no run has to.
  static Status prepare(int device);

 private:
  abi::Pointer memory_ = 0;
  abi::Stream stream_ = nullptr;
};

// For partial sums, one for each stream: runs on two streams may overlap. Zeroed before its first run.
class Workspaces {
 public:
  Workspaces() = default;
  ~Workspaces();
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;

  // In a captured run, whose graph may outlive the plan, memory that the graph takes; unsupported for AMD, where a
  // graph takes none.
  Result<void*> get(int device, void* stream, size_t bytes, RunMemory& of_graph);

 private:
  std::shared_mutex mutex_;
  std::map<void*, void*> by_stream_;
};

}  // namespace warpwright::gpu
