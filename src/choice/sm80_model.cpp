#include "choice/sm80_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace warpwright::choice {
namespace {

// Device memory answers after 789 to 900 cycles (B300 pipe catalogue); from one launch to the next, of an H200
// (src/sim/timing.cpp).
constexpr double kLoadLatency = 900, kLaunch = 1400;
// Bytes that an SM gets from L2 in a cycle (NVIDIA A100 whitepaper: 5120 for all of its SMs), reads of shared memory
// (128 there), and stores.
constexpr double kLoadBytes = 48, kFragmentBytes = 128, kStoreBytes = 32;
// A copy of 4 bytes moves a quarter of what one of 16 does, and elements through registers an eighth or less: not
// measured, but an aligned instance must come first.
constexpr double kCopyFactor[] = {1, 2, 6};
// Barrier and waits of a step; a fence, a counter and a thread that polls it.
constexpr double kStepCycles = 60, kSumsCycles = 700;
// A block takes 1 KiB of shared memory in addition to its own.
constexpr uint32_t kReserved = 1024;
constexpr int kThreadsOfSm = 1536;

// One tile of K of one block, where this many blocks share the SM. Units hold each other up, and device memory holds up
// the SMs, which a root of squares expresses: choose_sm80_test.cpp compares it with what was measured on an H200
// (docs/evidence/sm80-log.md).
struct TileStep {
  double tensor = 0, load = 0, fragments = 0;
  double ring = 0;  // how long a slot takes to come back, of all slots but the one that is read
  int slots = 0;

  double busy() const { return std::sqrt(tensor * tensor + load * load + fragments * fragments); }
  // The first slots are filled at once.
  double waiting(int steps) const { return std::max((steps - slots + 1) * ring, steps * kStepCycles); }
  double cycles(int steps) const { return std::max(steps * busy(), waiting(steps)); }
  const char* set_by(int steps) const {
    if (waiting(steps) > steps * busy()) return "the depth of the ring";
    const double most = std::max({tensor, load, fragments});
    return most == tensor ? "the tensor cores" : most == load ? "the copies" : "the reads of shared memory";
  }
};
TileStep tile_step(const MmaSyncGemmConfig& c, double flops_per_cycle, int slots, int blocks) {
  TileStep s;
  // 8-bit operands have twice the depth in a row, at twice the rate.
  const double products = double(c.tile_m) * c.tile_n * schedule::kMmaSyncRowBytes / 2;
  s.tensor = blocks * 2 * products / flops_per_cycle;
  s.load = blocks * c.slot_bytes() / kLoadBytes * kCopyFactor[int(c.copy)];
  // Every warp reads its own rows of A and its own columns of B.
  const double rows = double(c.warps_n) * c.tile_m + double(c.warps_m) * c.tile_n;
  s.fragments = blocks * rows * schedule::kMmaSyncRowBytes / kFragmentBytes;
  s.slots = slots;
  s.ring = (kLoadLatency + s.load + s.tensor) / std::max(1, slots - 1);
  return s;
}

// For a tile: results to memory and, where its depth is shared, what the others left.
double store_cycles(const MmaSyncGemmConfig& c, int parts, int blocks) {
  const double elements = double(c.tile_m) * c.tile_n;
  const double store = blocks * elements * bits(c.out_type()) / 8 / kStoreBytes;
  if (parts == 1) return store;
  const double sums = blocks * elements * 4;
  return store + kSumsCycles + sums / kStoreBytes + (parts - 1) * (sums / kLoadBytes + kLoadLatency * c.warp_m() / 16);
}

}  // namespace

Sm80Time sm80_time(const MmaSyncGemmConfig& c, const TileWork& work, const ChipFigures& chip, int multiprocessors,
                   uint32_t block_bytes, uint32_t shared_bytes) {
  const double flops_per_cycle = chip.flops_per_us / chip.multiprocessors / (chip.clock_ghz * 1e3);
  const int slots = int(block_bytes / c.slot_bytes());
  const auto room = int((shared_bytes + kReserved) / (block_bytes + kReserved));
  Sm80Time t;
  t.blocks = std::max(1, std::min({c.blocks_per_sm, room, kThreadsOfSm / c.threads()}));
  t.clusters = int64_t(multiprocessors) * t.blocks;
  t.waves = ceil_div(work.jobs, t.clusters);
  t.fill = t.waves > 0 ? double(work.jobs) / double(t.waves * t.clusters) : 0;
  // In the last wave fewer blocks share an SM.
  const int64_t rest = t.waves > 0 ? work.jobs - (t.waves - 1) * t.clusters : 0;
  const int last = int(std::max<int64_t>(1, ceil_div(rest, multiprocessors)));
  const auto step = [&](int blocks) { return tile_step(c, flops_per_cycle, slots, blocks); };
  const auto job = [&](int blocks) { return step(blocks).cycles(work.steps) + store_cycles(c, work.parts, blocks); };
  const int usual = t.waves > 1 ? t.blocks : last;
  t.multiply = step(usual).cycles(work.steps);
  t.finish = store_cycles(c, work.parts, usual);
  t.step_set_by = step(usual).set_by(work.steps);
  const double full = t.waves > 0 ? double(t.waves) - 1 : 0;
  const double all = full * job(t.blocks) + (t.waves > 0 ? job(last) : 0);
  const double per_us = chip.clock_ghz * 1e3;
  t.tensor_us = double(work.jobs) * work.steps * step(1).tensor / multiprocessors / per_us;
  t.memory_us = work.bytes / chip.bytes_per_us;
  t.us = (kLaunch + kLoadLatency) / per_us + std::hypot(all / per_us, t.memory_us);
  return t;
}

std::string Sm80Time::text() const {
  return fmt::format(
      "{} wave{} filled to {:.0f} % with {} block{} on an SM, {:.0f} cycles for the depth of a tile set "
      "by {}, {:.0f} to store it",
      waves, waves == 1 ? "" : "s", 100 * fill, blocks, blocks == 1 ? "" : "s", multiply, step_set_by, finish);
}

}  // namespace warpwright::choice
