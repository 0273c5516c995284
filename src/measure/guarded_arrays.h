// The arrays of a workload in device memory, each between red zones of NaN: a read beyond an array spoils the result, a
// write beyond it is counted. Failures are thrown (gpu/require.h).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/memory.h"
#include "reference/workload.h"

namespace warpwright::measure {

class GuardedArrays {
 public:
  explicit GuardedArrays(const reference::Workload& workload);

  const std::vector<void*>& pointers() const { return pointers_; }
  std::vector<uint8_t> output() const;
  // Bytes that changed although they must not be written: the red zones and the inputs.
  uint64_t stray_bytes(const reference::Workload& workload) const;

 private:
  struct Slot {
    gpu::DeviceMemory memory;
    size_t bytes;
  };
  std::vector<Slot> slots_;
  std::vector<void*> pointers_;
};

}  // namespace warpwright::measure
