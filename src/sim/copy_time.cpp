#include "copy_time.h"

#include <algorithm>

namespace warpwright::simulator {

double ask_for_box(Engine& e, const model::TensorMapFields& m, const int32_t* coords) {
  const int64_t first = std::max(coords[0], 0), last = std::min(int64_t(coords[0]) + m.box[0], int64_t(m.dims[0]));
  if (first >= last) return 1;
  const int bits = model::element_bits(m.type);
  const uint64_t base = e.device_address(m.base);
  uint32_t i[5] = {};
  int rows = 0, outside = 0;
  while (true) {
    int64_t offset = first * bits / 8;
    bool inside = true;
    for (int d = 1; d < m.rank; ++d) {
      const int64_t at = int64_t(coords[d]) + i[d];
      inside &= at >= 0 && at < int64_t(m.dims[d]);
      offset += at * int64_t(m.strides[d]);
    }
    ++rows;
    outside += int(!inside);
    if (inside) e.timing.cached.ask(base + uint64_t(offset), uint64_t(last - first) * uint64_t(bits) / 8);
    int d = 1;
    while (d < m.rank && ++i[d] == m.box[d]) i[d++] = 0;
    if (d >= m.rank) return double(outside) / rows;
  }
}

StoreDone store_done(Engine& e, const Thread& t, uint32_t bytes) {
  const ChipTiming& c = e.timing.chip;
  const uint64_t read = t.cta->store.carry(t.time, bytes, c.tma_store_bytes_per_cycle) + c.tma_store_latency;
  e.timing.look_at_clock(t.time, e.stats.tensor_busy_cycles);
  e.timing.through_memory(t.time, bytes);  // written back at some time, to make room
  e.timing.written += bytes;
  return {read, read + c.tma_write_latency};
}

uint64_t cluster_copy_done(Engine& e, const Thread& t, uint32_t bytes) {
  const ChipTiming& c = e.timing.chip;
  return t.cta->peers.carry(t.time, bytes, c.cluster_bytes_per_cycle) + c.cluster_latency;
}

}  // namespace warpwright::simulator
