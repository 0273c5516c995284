// The virtual clock: what each word costs, in SM cycles, and the units that asynchronous work queues on. timing.cpp
// says where each number comes from; a run in Landing::timed follows them.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "warpwright/core/address.h"

namespace warpwright::simulator {

struct ChipTiming {
  // The chip is limited by power: its clock falls from `clock_ghz` by `clock_drop_ghz` as the tensor cores of all SMs
  // go from idle to always busy, and by `memory_drop_ghz` as device memory does.
  double clock_ghz;
  double clock_drop_ghz;
  double memory_drop_ghz;
  double single_drop_ghz;  // instead of clock_drop_ghz for one launch after a
                           // rest, which power does not limit yet
  uint32_t word_issue;     // an ordinary instruction
  uint32_t shared_load, shared_store, global_load, global_store;
  uint32_t l1_load, l2_load;  // of a plain load by a thread, by where its bytes are; 0: global_load for all
  uint32_t shuffle;           // lanes exchange a register
  double sum_read;            // computing with one sum of an MMA in registers
  double sum_read_beside;     // the same while MMAs of another warpgroup run
  uint32_t matrix_store;      // stmatrix, with the conversion of what it stores
  uint32_t barrier_init, barrier_arrive, barrier_wake, named_barrier;
  uint32_t proxy_fence;  // fence.proxy.async
  uint32_t set_registers;
  uint32_t cluster_barrier, cluster_latency;
  uint32_t cluster_release;        // what a release at the scope of the cluster adds
  double cluster_bytes_per_cycle;  // for ordinary stores out of one SM to its peers
  uint32_t tma_issue;              // for the thread that issues a load
  uint32_t tma_store_issue;
  uint32_t tma_latency;        // first byte, from L2
  double tma_bytes_per_cycle;  // into one SM
  double tma_outside;          // cost of a byte of a row beyond the matrix, relative to one inside
  uint32_t tma_store_latency;  // until the source was read, beside its bytes
  uint32_t tma_write_latency;  // after that, until the result is visible
  double tma_store_bytes_per_cycle;
  double l2_gbps;           // to all SMs together; a multicast counts for each of its
                            // destinations
  uint32_t memory_latency;  // of a miss, in addition to tma_latency
  double memory_gbps;
  double memory_write;  // cost of writing a byte back, relative to reading one; launches that follow wait for it
  double memory_start_bytes,
      memory_start_share;  // the first bytes of a launch come at this share of
                           // the rate
  uint32_t mma_issue, mma_tail;
  uint32_t mma_flop_per_cycle;   // 16-bit, one SM (2 * MAC)
  uint32_t mma_bytes_per_cycle;  // of operands in shared memory
  uint32_t tmem_load, tmem_store;
  uint32_t launch;         // from the end of one kernel of a graph to the start of the
                           // CTAs of the next
  uint32_t start;          // from there to a CTA's first instruction
  uint32_t cluster_start;  // how much later that is in a cluster
  uint32_t fetch;          // of code that a CTA executes for the first time
  uint32_t dependency;     // from the end of a kernel to the next one's first word after griddepcontrol.wait
  int sms;
  static ChipTiming of(Arch);
  double clock_at(double tensor_busy, double memory_busy) const {
    return clock_ghz - clock_drop_ghz * std::min(1.0, tensor_busy) - memory_drop_ghz * std::min(1.0, memory_busy);
  }
  double single_clock_at(double tensor_busy, double memory_busy) const {
    return clock_ghz - single_drop_ghz * std::min(1.0, tensor_busy) - memory_drop_ghz * std::min(1.0, memory_busy);
  }
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

// A path for a given number of bytes per cycle, one request after another.
struct Path {
  double free_at = 0;
  double busy = 0;
  uint64_t carry(uint64_t now, double bytes, double bytes_per_cycle) {
    const double cycles = bytes_per_cycle > 0 ? bytes / bytes_per_cycle : 0;
    free_at = std::max(free_at, double(now)) + cycles;
    busy += cycles;
    return uint64_t(std::ceil(free_at));
  }
};

// What the L2 holds of device memory: nothing at the start of a launch, then whatever was touched. Nothing is
// evicted.
class CachedLines {
 public:
  static constexpr uint64_t kLine = 256;  // a miss brings two lines: the tensor maps ask for that (L2Promotion::b256)
  // Notes the lines of [address, address + bytes) that are missing, until came(); those on their way count from when
  // they arrive.
  void ask(uint64_t address, uint64_t bytes) {
    if (bytes == 0) return;
    for (uint64_t line = address / kLine; line <= (address + bytes - 1) / kLine; ++line) {
      auto& block = blocks_[line / kLinesOfBlock];
      if (!block) block = std::make_unique<Block>();
      uint32_t& arrival = (*block)[line % kLinesOfBlock];
      if (arrival == 0) {
        missing_.push_back(&arrival);
        arrival = 1;
      } else {
        latest_ = std::max<uint64_t>(latest_, arrival);
      }
    }
  }
  uint64_t missing_bytes() const { return missing_.size() * kLine; }
  uint64_t latest() const { return latest_; }  // arrival of what was requested and is not missing
  void came(uint64_t time) {
    for (uint32_t* line : missing_) *line = uint32_t(time);
    missing_.clear();
    latest_ = 0;
  }

 private:
  static constexpr uint64_t kLinesOfBlock = 512;
  using Block = std::array<uint32_t, kLinesOfBlock>;  // when each line arrived, in cycles;
                                                      // 0: not asked for
  std::unordered_map<uint64_t, std::unique_ptr<Block>> blocks_;
  std::vector<uint32_t*> missing_;
  uint64_t latest_ = 0;
};

struct Timing {
  ChipTiming chip{};
  // Shared by all SMs. The L2 and device memory have clocks of their own: how much they carry in a cycle of the SMs
  // follows from the SMs' clock, which is taken from how busy the chip has been so far.
  Path memory;
  CachedLines cached;
  double clock_ghz = 0;
  double written = 0;          // bytes
  uint64_t stored_at = 0;      // when the last bytes that threads have stored are there: a kernel ends then
  uint64_t dependency_at = 0;  // when the last thread of the first CTAs came to griddepcontrol.wait

  void look_at_clock(uint64_t now, uint64_t tensor_busy_cycles) {
    const double cycles = double(std::max<uint64_t>(now, 1));
    clock_ghz = chip.clock_at(double(tensor_busy_cycles) / (cycles * chip.sms), memory.busy / cycles);
  }
  // All SMs that run a CTA get the same.
  double l2_bytes_per_cycle_of_sm(int ctas) const { return chip.l2_gbps / clock_ghz / std::min(ctas, chip.sms); }
  uint64_t through_memory(uint64_t now, uint64_t bytes) {
    const double share = moved_ < chip.memory_start_bytes ? chip.memory_start_share : 1;
    moved_ += double(bytes);
    return memory.carry(now, double(bytes), chip.memory_gbps / clock_ghz * share);
  }

 private:
  double moved_ = 0;  // bytes of device memory
};

}  // namespace warpwright::simulator
