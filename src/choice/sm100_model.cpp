#include "choice/sm100_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "warpwright/core/ceil_div.h"

namespace warpwright::choice {
namespace {

constexpr BlackwellClock kClock = kBlackwellClock;
constexpr double kBlockCycles = 115;     // from the simulator: barriers of a block, allocation of tensor memory
constexpr double kMeetingCycles = 190;   // a cluster's barrier
constexpr double kQueryCycles = 240;     // the first answer of cluster launch control
constexpr double kHandOverCycles = 700;  // a fence, a counter and a thread that polls it
constexpr double kIssueCycles = 4;       // an ordinary instruction
// Sums that are left are written and read by threads, which hides as much; fitted to docs/evidence/sm100-split-fit.tsv.
constexpr double kSumsNotHidden = 0.7;

// One k tile of one CTA.
struct Step {
  double tensor = 0, issue = 0, load = 0, ring = 0;
  double cycles() const { return std::max({tensor, issue, load, ring}); }
};

Step step_of(const DenseGemmSm100Config& c, int busy_sms) {
  const ChipFigures chip = chip_figures(Arch::sm100);
  Step s;
  const int width = std::max(bits(c.first_type()), bits(c.second_type()));
  const double products = double(c.tile_m) * c.tile_n * c.tile_k() * c.k_group;
  s.tensor = 2 * products * width / 16 / kClock.flops_per_cycle;
  // An MMA takes 32 bytes along k.
  const int mmas = c.tile_k() * c.k_group * width / 8 / 32;
  s.issue = double(mmas) * kClock.mma_issue + 2 * kClock.barrier_arrive;
  const double bytes = (double(c.a_bytes()) + c.b_bytes()) * c.k_group;
  const double shared = kClock.l2_bytes_per_us / (chip.clock_ghz * 1e3) / busy_sms;
  s.load = bytes / std::min(kClock.load_bytes_per_cycle, shared);
  // A stage comes back when its MMAs are complete, and is full again a load later.
  const double round = s.load + kClock.load_latency + s.tensor + kClock.mma_tail + 2 * kClock.barrier_wake;
  s.ring = round / c.stages;
  return s;
}

// What one thread of the epilogue takes for a tile.
double finish_cycles(const DenseGemmSm100Config& c, int parts) {
  const double columns = c.group_columns();
  const double read = columns / 64 * kClock.tmem_read_64;
  const double vectors = columns / c.operands() * bits(c.out_type) / 128;
  double store = vectors * kClock.global_store;
  if (c.swap_ab) store = columns * kClock.global_store;
  // Into shared memory; the store warp works at the same time.
  if (c.store_stages > 0)
    store = vectors * kClock.shared_store + columns / c.step_columns() * 2 * kClock.barrier_arrive;
  double sums = 0;
  if (parts > 1) {
    // The others leave theirs, 16 bytes at a time, and say so; the last one reads them, the loads of a step in flight
    // together.
    const double steps = columns / c.step_columns(), vectors_of_step = double(c.step_columns()) / 4;
    sums = columns / 4 * kClock.global_store + kHandOverCycles +
           steps * (kClock.global_load + (parts - 1) * vectors_of_step * kIssueCycles);
  }
  return read + store + sums + kClock.barrier_wake + kClock.barrier_arrive;
}

}  // namespace

Sm100Time sm100_time(const DenseGemmSm100Config& c, const Sm100Work& work, int multiprocessors) {
  const ChipFigures chip = chip_figures(Arch::sm100);
  Sm100Time t;
  t.clusters = std::max(1, multiprocessors / c.cluster());
  t.waves = ceil_div(work.jobs, t.clusters);
  t.fill = t.waves > 0 ? double(work.jobs) / double(t.waves * t.clusters) : 0;
  const int busy = int(std::min<int64_t>(work.jobs, t.clusters)) * c.cluster();
  const Step step = step_of(c, std::max(1, busy));
  const double cycles = std::max(step.cycles(), work.step_cycles);
  t.step_set_by = cycles == work.step_cycles ? "promotion"
                  : cycles == step.tensor    ? "the tensor core"
                  : cycles == step.load      ? "the loads"
                  : cycles == step.issue     ? "the issue of MMAs"
                                             : "the depth of the ring";
  // Barriers are set up; a cluster meets on them, a pair after its allocation, and all at the exit.
  t.start = kBlockCycles + (c.cluster() > 1 ? 3 * kMeetingCycles : 0) + kClock.load_issue * 2 + kClock.load_latency +
            step.load + (c.source == TileSource::clc ? kQueryCycles : 0);
  t.multiply = work.steps * cycles;
  t.finish = finish_cycles(c, work.parts);
  const double per_us = chip.clock_ghz * 1e3;
  // What jobs leave to each other goes through device memory.
  const double sums = double(work.left) * c.fixup().ctas * double(c.fixup().cta_values()) * sizeof(float) /
                      (chip.bytes_per_us / per_us);
  // With one accumulator a tile is read out before the next one is begun; where threads promote the sums of every step
  // they finish no other job meanwhile.
  const bool overlaps = c.accumulators > 1 && (work.parts == 1 || work.step_cycles == 0);
  const double finish = t.finish + (t.waves > 1 ? sums / double(t.waves) : 0);
  const double job = overlaps ? std::max(t.multiply, finish) : t.multiply + finish;
  const double jobs = t.waves > 0 ? double(t.waves) - 1 : 0;
  // What the TMA stores arrives a latency later.
  const double written = c.store_stages > 0 ? kClock.load_latency : 0;
  const double all = t.start + t.multiply + jobs * job + kClock.mma_tail + t.finish + written +
                     (t.waves > 1 ? 0 : kSumsNotHidden * sums);
  t.tensor_us = t.waves * work.steps * step.tensor / per_us;
  t.memory_us = work.bytes / chip.bytes_per_us;
  t.us = (kClock.launch + std::max(all, t.memory_us * per_us + t.start + t.finish)) / per_us;
  return t;
}

std::string Sm100Time::text() const {
  return fmt::format("{} wave{} filled to {:.0f} %, {:.0f} cycles of MMAs a tile set by {}, {:.0f} to read it out",
                     waves, waves == 1 ? "" : "s", 100 * fill, multiply, step_set_by, finish);
}

}  // namespace warpwright::choice
