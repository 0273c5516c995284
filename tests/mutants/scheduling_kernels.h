// Kernels of M17..M22: where roles learn which tile comes next, and who feeds them.
#pragma once
#include <array>
#include <vector>

#include "kernels_ab.h"

namespace warpwright::mutants::ab {

// M17. A dependent launch: the preceding kernel writes the sequence lengths, every role reads them for its trip counts.
struct DependentLaunch {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("dependent_launch", Arch::sm90);
    p.role("mma", 1).role("load", 1).role("epilogue", 1);
    add_input_ring(p, "mma", 1);
    add_hand_over(p, "accum", "accum.full", "accum.empty", "mma", "epilogue");
    return p;
  }();
  static constexpr int kSequences = 2;
  Index3 grid{1, 1, 1};
  Blocks x{};
  std::array<int, kSequences + 1> cu_seqlens{0, 3, 5};
  std::array<float, kSequences * kBlock> out{};
  std::vector<Buffer> buffers() {
    Buffer lengths = input("cu_seqlens", cu_seqlens);
    lengths.from_primary = true;
    return {input("x", x), lengths, output("out", out)};
  }
  void adjust(Options& o) { o.primary_pending = true; }

  int first(int sequence) { return read_global(cu_seqlens, sequence); }
  void load() {
    InputProducer ring(input_ring<DependentLaunch>());
    machine::grid_dependency_wait();
    for (int s = 0; s < kSequences; ++s)
      for (int i = first(s); i < first(s + 1); ++i) load_block<DependentLaunch>(ring, x, i);
  }
  void mma() {
    InputConsumer ring(input_ring<DependentLaunch>());
    Giver accum(hand_over_ring(plan.barrier("accum.full"), plan.barrier("accum.empty")));
    machine::grid_dependency_wait();
    for (int s = 0; s < kSequences; ++s)
      for (int i = first(s); i < first(s + 1); ++i)
        give(accum, plan.region("accum"), read_block<DependentLaunch>(ring));
  }
  void epilogue() {
    Taker accum(hand_over_ring(plan.barrier("accum.full"), plan.barrier("accum.empty")));
    machine::grid_dependency_wait();
    for (int s = 0; s < kSequences; ++s) {
      float sum = 0;
      for (int i = first(s); i < first(s + 1); ++i) sum += take(accum, plan.region("accum"));
      write_global(out, s * kBlock + lane(), sum);
    }
  }
  void body() {
    pipeline::set_up_barriers<DependentLaunch>(machine::shared_base());
    machine::grid_dependency_launch();
    if (plan.role("load").holds_warp(warp())) {
      if (machine::elect_one()) load();
    } else if (plan.role("mma").holds_warp(warp())) {
      mma();
    } else {
      epilogue();
    }
  }
};

// M18, M20. A uniform list of tiles of which some are invalid (padding of short sequences): both roles must skip the
// same.
struct PaddedTiles {
  enum class Bug { none, consumer_skips_alone, producer_empty };
  static constexpr BlockPlan plan = [] {
    BlockPlan p("padded_tiles", Arch::sm90);
    p.role("mma", 1).role("load", 1);
    add_input_ring(p, "mma", 1);
    return p;
  }();
  static constexpr int kTiles = 4;
  Bug bug = Bug::none;
  Index3 grid{1, 1, 1};
  Blocks x{};
  std::array<int, kTiles> valid{1, 0, 1, 1};
  std::array<float, kTiles * kBlock> out{};
  std::vector<Buffer> buffers() { return {input("x", x), input("valid", valid), output("out", out)}; }

  void load(InputProducer& ring) {
    for (int tile = 0; tile < kTiles; ++tile)
      if (read_global(valid, tile) != 0 || bug == Bug::consumer_skips_alone) load_block<PaddedTiles>(ring, x, tile);
  }
  void body() {
    pipeline::set_up_barriers<PaddedTiles>(machine::shared_base());
    if (plan.role("load").holds_warp(warp())) {
      if (!machine::elect_one()) return;
      InputProducer ring(input_ring<PaddedTiles>());
      if (bug != Bug::producer_empty) {
        load(ring);
        ring.drain();
      }
    } else {
      // Where a pass that splits the roles has left the loads on the consumer's side, under the producer's predicate.
      if (bug == Bug::producer_empty && plan.role("load").holds_warp(warp())) {
        InputProducer ring(input_ring<PaddedTiles>());
        load(ring);
      }
      InputConsumer ring(input_ring<PaddedTiles>());
      for (int tile = 0; tile < kTiles; ++tile)
        if (read_global(valid, tile) != 0) write_global(out, tile * kBlock + lane(), read_block<PaddedTiles>(ring));
    }
  }
};

// M19. Group 0 takes blocks from the load warp's ring and hands results to group 1 through a ring of its own. A
// producer waits at the end until its stages have come back, each for its own ring.
struct TwoGroups {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("two_groups", Arch::sm90);
    p.role("group0", 1).role("load", 1).role("group1", 1);
    add_input_ring(p, "group0", 1);
    add_hand_over(p, "result", "result.full", "result.empty", "group0", "group1");
    return p;
  }();
  bool mutated = false;  // group 0 closes the load warp's ring as well
  Index3 grid{1, 1, 1};
  Blocks x{};
  std::array<float, kBlocks * kBlock> out{};
  std::vector<Buffer> buffers() { return {input("x", x), output("out", out)}; }
  void body() {
    pipeline::set_up_barriers<TwoGroups>(machine::shared_base());
    if (plan.role("load").holds_warp(warp())) {
      if (!machine::elect_one()) return;
      InputProducer ring(input_ring<TwoGroups>());
      for (int i = 0; i < kBlocks; ++i) load_block<TwoGroups>(ring, x, i);
      ring.drain();
    } else if (plan.role("group0").holds_warp(warp())) {
      InputConsumer ring(input_ring<TwoGroups>());
      Giver result(hand_over_ring(plan.barrier("result.full"), plan.barrier("result.empty")));
      for (int i = 0; i < kBlocks; ++i) give(result, plan.region("result"), read_block<TwoGroups>(ring));
      result.drain();
      if (mutated) InputProducer(input_ring<TwoGroups>()).drain();
    } else {
      Taker result(hand_over_ring(plan.barrier("result.full"), plan.barrier("result.empty")));
      for (int i = 0; i < kBlocks; ++i) write_global(out, i * kBlock + lane(), take(result, plan.region("result")));
    }
  }
};

// M21. A scheduler warp leaves the next tile in a mailbox; every role reads it there and says so.
struct Mailbox {
  static constexpr int kReaders = 2;  // warps
  static constexpr BlockPlan plan = [] {
    BlockPlan p("mailbox", Arch::sm90);
    p.role("mma", 1).role("load", 1).role("scheduler", 1);
    add_input_ring(p, "mma", 1);
    p.region("mailbox", 4, 1, 16);
    p.barrier("mailbox.full", 1, 1, "load", {"scheduler", 1});
    p.barrier("mailbox.free", 1, kReaders, "scheduler", {"load", 1}, {"mma", 1});
    return p;
  }();
  static constexpr int kTiles = 4;
  Index3 grid{1, 1, 1};
  Blocks x{};
  std::array<float, kTiles * kBlock> out{};
  std::vector<Buffer> buffers() { return {input("x", x), output("out", out)}; }

  void schedule() {
    machine::Phase phase = machine::Phase::producer();
    for (int turn = 0; turn <= kTiles; ++turn, phase.advance()) {
      machine::mbarrier_wait(shared_at<Mbarrier>(plan.barrier("mailbox.free").offset), phase);
      machine::store(shared_at<int>(plan.region("mailbox").offset), turn < kTiles ? kTiles - 1 - turn : -1);
      machine::mbarrier_arrive(shared_at<Mbarrier>(plan.barrier("mailbox.full").offset));
    }
  }
  // By a whole warp; -1: no more.
  int next_tile(machine::Phase& phase, machine::here at = {}) {
    machine::mbarrier_wait(shared_at<Mbarrier>(plan.barrier("mailbox.full").offset), phase, at);
    phase.advance();
    const int tile = machine::load(shared_at<int>(plan.region("mailbox").offset), at);
    machine::sync_warp(machine::kFullMask, at);
    if (lane() == 0) machine::mbarrier_arrive(shared_at<Mbarrier>(plan.barrier("mailbox.free").offset), 1, at);
    return tile;
  }
  void body() {
    pipeline::set_up_barriers<Mailbox>(machine::shared_base());
    machine::Phase phase = machine::Phase::consumer();
    if (plan.role("scheduler").holds_warp(warp())) {
      if (machine::elect_one()) schedule();
    } else if (plan.role("load").holds_warp(warp())) {
      InputProducer ring(input_ring<Mailbox>());
      for (int tile = next_tile(phase); tile >= 0; tile = next_tile(phase))
        if (lane() == 0) load_block<Mailbox>(ring, x, tile);
    } else {
      InputConsumer ring(input_ring<Mailbox>());
      for (int tile = next_tile(phase); tile >= 0; tile = next_tile(phase))
        write_global(out, tile * kBlock + lane(), read_block<Mailbox>(ring));
    }
  }
};

// M22. Tiles come from clusterlaunchcontrol. The response is written by the async proxy and read with ordinary loads,
// so each reader fences before it hands the slot back; a second slot lets the next request go out while one is read.
struct LaunchControl {
  enum class Bug { none, one_slot };
  static constexpr int kReaders = 3;  // warps: compute and the scheduler itself
  static constexpr BlockPlan plan = [] {
    BlockPlan p("launch_control", Arch::sm100);
    p.role("compute", 2).role("scheduler", 1);
    p.region("response", 16, 2, 16);
    p.barrier("response.full", 2, 1, "compute", {"scheduler", 1});
    p.barrier("response.empty", 2, kReaders, "scheduler", {"compute", 2}, {"scheduler", 1});
    return p;
  }();
  static constexpr uint32_t kTiles = 6;
  Bug bug = Bug::none;
  Index3 grid{kTiles, 1, 1};
  std::array<float, kTiles * 64> out{};
  std::vector<Buffer> buffers() { return {output("out", out)}; }
  void adjust(Options& o) { o.resident_clusters = 1; }

  using Response = machine::ClcResponse;
  using Position = pipeline::RingPosition<2>;
  Shared<Response> slot(int stage) {
    return shared_at<Response>(plan.region("response").offset) + (bug == Bug::one_slot ? 0 : stage);
  }
  // By a whole warp.
  bool next_tile(Position& at, uint32_t& tile, machine::here line = {}) {
    const int stage = at.stage();
    machine::mbarrier_wait(shared_at<Mbarrier>(plan.barrier("response.full").offset) + stage, at.phase(), line);
    at.advance();
    const Response r = machine::load(slot(stage), line);
    machine::fence_proxy_async<ProxySpace::shared_cta>(line);
    machine::sync_warp(machine::kFullMask, line);
    if (lane() == 0)
      machine::mbarrier_arrive(shared_at<Mbarrier>(plan.barrier("response.empty").offset) + stage, 1, line);
    if (!machine::clc_is_canceled(r, line)) return false;
    tile = machine::clc_first_ctaid(r, line).x;
    return true;
  }
  void schedule() {
    Position asked(machine::Phase::producer()), read(machine::Phase::consumer());
    uint32_t tile = 0;
    do {
      if (lane() == 0) {
        const Shared<Mbarrier> full = shared_at<Mbarrier>(plan.barrier("response.full").offset) + asked.stage();
        machine::mbarrier_wait(shared_at<Mbarrier>(plan.barrier("response.empty").offset) + asked.stage(),
                               asked.phase());
        machine::mbarrier_arrive_expect_tx(full, sizeof(Response));
        machine::clc_try_cancel(slot(asked.stage()), full);
      }
      asked.advance();
    } while (next_tile(read, tile));
  }
  void compute() {
    Position read(machine::Phase::consumer());
    uint32_t tile = machine::block_index().x;
    do {
      write_global(out, int(tile * 64 + machine::thread_index()), float(tile));
    } while (next_tile(read, tile));
  }
  void body() {
    pipeline::set_up_barriers<LaunchControl>(machine::shared_base());
    plan.role("scheduler").holds_warp(warp()) ? schedule() : compute();
  }
};

}  // namespace warpwright::mutants::ab
