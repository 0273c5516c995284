// The virtual clock: what each word costs, in SM cycles, and the units that asynchronous work queues on. Numbers are
// those published for H100/H200 and B200 (DESIGN.md, section "Time"); a run in Landing::timed follows them.
#pragma once
#include <algorithm>
#include <cstdint>

#include "warpwright/core/address.h"

namespace warpwright::simulator {

struct ChipTiming {
  // The chip is limited by power: its clock falls from `clock_ghz` by `clock_drop_ghz` as the tensor cores of all SMs
  // go from idle to always busy.
  double clock_ghz;
  double clock_drop_ghz;
  uint32_t word_issue;  // an ordinary instruction
  uint32_t shared_load, shared_store, global_load, global_store;
  uint32_t barrier_arrive, barrier_wake, named_barrier;
  uint32_t cluster_barrier;
  uint32_t tma_issue;            // the issuing thread
  uint32_t tma_latency;          // first byte
  uint32_t tma_bytes_per_cycle;  // of one SM
  uint32_t tma_store_latency;
  uint32_t chip_bytes_per_cycle;  // L2 to all SMs together
  uint32_t mma_issue, mma_tail;
  uint32_t mma_flop_per_cycle;  // 16-bit, one SM (2 * MAC)
  uint32_t tmem_load, tmem_store;
  uint32_t launch;  // cycles before the first instruction
  int sms;
  static ChipTiming of(Arch);
  double clock_at(double tensor_busy) const { return clock_ghz - clock_drop_ghz * std::min(1.0, tensor_busy); }
};

// A unit that serves one request after another.
struct Server {
  uint64_t free_at = 0;
  uint64_t busy = 0;
  // Returns when the request ends; it occupies the unit for `cycles` from max(now, free).
  uint64_t serve(uint64_t now, uint64_t cycles) {
    const uint64_t start = std::max(now, free_at);
    free_at = start + cycles;
    busy += cycles;
    return free_at;
  }
};

struct Timing {
  ChipTiming chip{};
  Server memory;  // L2 and HBM, shared by all SMs
};

}  // namespace warpwright::simulator
