// Memory of the device for the timestamps of one launch. Failures are thrown (gpu/require.h).
#pragma once
#include <cstddef>
#include <cstdint>

#include "gpu/memory.h"
#include "warpwright/record_file.h"

namespace warpwright::measure {

class RecordBuffers {
 public:
  RecordBuffers(size_t warps, uint32_t capacity);
  const record::Buffers& get() const { return buffers_; }
  // After the launch has ended.
  void fetch(record::Launch& launch) const;

 private:
  size_t count_;
  gpu::DeviceMemory warps_, events_;
  record::Buffers buffers_;
};

}  // namespace warpwright::measure
