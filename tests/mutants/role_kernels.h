// Kernels of M10..M16: roles that must agree on how much work there is.
#pragma once
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "kernels_ab.h"

namespace warpwright::mutants::ab {

// M10. Each tile is one split of the keys; the work list packs the number of splits above the index of this one.
struct SplitKeys {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("split_keys", Arch::sm90);
    p.role("mma", 1).role("load", 1).role("softmax", 1);
    add_input_ring(p, "mma", 1);
    add_hand_over(p, "score", "score.full", "score.empty", "mma", "softmax");
    return p;
  }();
  static constexpr int kTiles = 3;
  bool mutated = false;  // load and MMA take the packed word for the index
  Index3 grid{1, 1, 1};
  Blocks x{};
  std::array<uint32_t, kTiles> work{3u << 16 | 0, 3u << 16 | 1, 3u << 16 | 2};
  std::array<float, kTiles * kBlock> out{};
  std::vector<Buffer> buffers() { return {input("x", x), input("work", work), output("out", out)}; }

  struct Range {
    int begin, end;
  };
  Range range(int tile, bool packed) {
    const uint32_t word = read_global(work, tile);
    const int splits = int(word >> 16), index = int(packed ? word : word & 0xffff);
    const int each = (kBlocks + splits - 1) / splits;
    return {index * each, std::min((index + 1) * each, kBlocks)};
  }
  void load() {
    InputProducer ring(input_ring<SplitKeys>());
    for (int tile = 0; tile < kTiles; ++tile) {
      const Range r = range(tile, mutated);
      for (int i = r.begin; i < r.end; ++i) load_block<SplitKeys>(ring, x, i);
    }
  }
  void mma() {
    InputConsumer ring(input_ring<SplitKeys>());
    Giver scores(hand_over_ring(plan.barrier("score.full"), plan.barrier("score.empty")));
    for (int tile = 0; tile < kTiles; ++tile) {
      const Range r = range(tile, mutated);
      for (int i = r.begin; i < r.end; ++i) give(scores, plan.region("score"), read_block<SplitKeys>(ring));
    }
  }
  void softmax() {
    Taker scores(hand_over_ring(plan.barrier("score.full"), plan.barrier("score.empty")));
    for (int tile = 0; tile < kTiles; ++tile) {
      const Range r = range(tile, false);
      float sum = 0;
      for (int i = r.begin; i < r.end; ++i) sum += take(scores, plan.region("score"));
      write_global(out, tile * kBlock + lane(), sum);
    }
  }
  void body() {
    pipeline::set_up_barriers<SplitKeys>(machine::shared_base());
    if (plan.role("load").holds_warp(warp())) {
      if (machine::elect_one()) load();
    } else if (plan.role("mma").holds_warp(warp())) {
      mma();
    } else {
      softmax();
    }
  }
};

// M11. Softmax hands probabilities to the MMA warp and statistics to the correction warp. An empty tile has statistics
// only: the MMA warp does not see it.
struct EmptyTiles {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("empty_tiles", Arch::sm90);
    p.role("mma", 1).role("softmax", 1).role("correction", 1);
    add_hand_over(p, "p", "p.full", "p.empty", "softmax", "mma");
    add_hand_over(p, "o", "o.full", "o.empty", "mma", "correction");
    add_hand_over(p, "stats", "stats.full", "stats.empty", "softmax", "correction");
    return p;
  }();
  static constexpr int kTiles = 5;
  bool mutated = false;  // the empty tile's path arrives on p.full as well
  Index3 grid{1, 1, 1};
  std::array<int, kTiles> keys{1, 0, 0, 1, 1};
  std::array<float, kTiles * kBlock> out{};
  std::vector<Buffer> buffers() { return {input("keys", keys), output("out", out)}; }

  void softmax() {
    Giver p(hand_over_ring(plan.barrier("p.full"), plan.barrier("p.empty")));
    Giver stats(hand_over_ring(plan.barrier("stats.full"), plan.barrier("stats.empty")));
    for (int tile = 0; tile < kTiles; ++tile) {
      if (read_global(keys, tile) > 0) {
        give(p, plan.region("p"), float(tile));
      } else if (mutated) {
        machine::mbarrier_arrive(shared_at<Mbarrier>(plan.barrier("p.full").offset));
      }
      give(stats, plan.region("stats"), 1.f);
    }
  }
  void mma() {
    Taker p(hand_over_ring(plan.barrier("p.full"), plan.barrier("p.empty")));
    Giver o(hand_over_ring(plan.barrier("o.full"), plan.barrier("o.empty")));
    for (int tile = 0; tile < kTiles; ++tile)
      if (read_global(keys, tile) > 0) give(o, plan.region("o"), 2 * take(p, plan.region("p")));
  }
  void correction() {
    Taker o(hand_over_ring(plan.barrier("o.full"), plan.barrier("o.empty")));
    Taker stats(hand_over_ring(plan.barrier("stats.full"), plan.barrier("stats.empty")));
    for (int tile = 0; tile < kTiles; ++tile) {
      const float scale = take(stats, plan.region("stats"));
      const float v = read_global(keys, tile) > 0 ? take(o, plan.region("o")) : 0.f;
      write_global(out, tile * kBlock + lane(), scale * v);
    }
  }
  void body() {
    pipeline::set_up_barriers<EmptyTiles>(machine::shared_base());
    if (plan.role("mma").holds_warp(warp())) {
      mma();
    } else if (plan.role("softmax").holds_warp(warp())) {
      softmax();
    } else {
      correction();
    }
  }
};

// M12. The last block of a tile is peeled off because it is masked: n - 1 plain iterations, then one. Tiles may be
// empty.
struct PeeledLast {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("peeled_last", Arch::sm90);
    p.role("mma", 1).role("load", 1);
    add_input_ring(p, "mma", 1);
    return p;
  }();
  static constexpr int kTiles = 3;
  bool mutated = false;  // an empty tile is not left early
  Index3 grid{1, 1, 1};
  Blocks x{};
  std::array<uint32_t, kTiles> blocks{3, 0, 2};
  std::array<float, kTiles * kBlock> out{};
  std::vector<Buffer> buffers() { return {input("x", x), input("blocks", blocks), output("out", out)}; }
  void adjust(Options& o) { o.step_limit = 3000; }  // the correct kernel takes a tenth of it

  void load() {
    InputProducer ring(input_ring<PeeledLast>());
    for (int tile = 0; tile < kTiles; ++tile) {
      const uint32_t n = read_global(blocks, tile);
      if (n == 0 && !mutated) continue;
      for (uint32_t i = 0; i < n - 1; ++i) load_block<PeeledLast>(ring, x, int(i % kBlocks));
      load_block<PeeledLast>(ring, x, int((n - 1) % kBlocks));
    }
  }
  void mma() {
    InputConsumer ring(input_ring<PeeledLast>());
    for (int tile = 0; tile < kTiles; ++tile) {
      const uint32_t n = read_global(blocks, tile);
      float sum = 0;
      if (n > 0 || mutated) {
        for (uint32_t i = 0; i < n - 1; ++i) sum += read_block<PeeledLast>(ring);
        const float last = read_block<PeeledLast>(ring);
        if (lane() < 16) sum += last;
      }
      write_global(out, tile * kBlock + lane(), sum);
    }
  }
  void body() {
    pipeline::set_up_barriers<PeeledLast>(machine::shared_base());
    if (plan.role("load").holds_warp(warp())) {
      if (machine::elect_one()) load();
    } else {
      mma();
    }
  }
};

// M13. Every instruction of a small interpreter gets a page, and must give it back even if its range of keys is empty.
struct PagePerInstruction {
  enum class Bug { none, released_on_equal_only, released_twice };
  static constexpr BlockPlan plan = [] {
    BlockPlan p("page_per_instruction", Arch::sm90);
    p.role("attend", 1).role("load", 1);
    p.region("page", kBlockBytes, 1, 128);
    p.barrier("page.full", 1, 1, "attend", {"load", 1});
    p.barrier("page.free", 1, 1, "load", {"attend", 1});
    return p;
  }();
  static constexpr int kInstructions = 4;
  Bug bug = Bug::none;
  Index3 grid{1, 1, 1};
  Blocks x{};
  std::array<int, kInstructions> start{0, 5, 2, 0}, end{4, 3, 2, 8};
  std::array<float, kInstructions * kBlock> out{};
  std::vector<Buffer> buffers() {
    return {input("x", x), input("start", start), input("end", end), output("out", out)};
  }
  void load() {
    const Shared<Mbarrier> full = shared_at<Mbarrier>(plan.barrier("page.full").offset);
    machine::Phase phase = machine::Phase::producer();
    for (int i = 0; i < kInstructions; ++i, phase.advance()) {
      machine::mbarrier_wait(shared_at<Mbarrier>(plan.barrier("page.free").offset), phase);
      machine::mbarrier_arrive_expect_tx(full, kBlockBytes);
      machine::bulk_load(shared_at<float>(plan.region("page").offset), Global<const float>{x.data() + i * kBlock},
                         kBlockBytes, full);
    }
  }
  void give_back(machine::here at = {}) {
    if (lane() == 0) machine::mbarrier_arrive(shared_at<Mbarrier>(plan.barrier("page.free").offset), 1, at);
  }
  void attend() {
    machine::Phase phase = machine::Phase::consumer();
    for (int i = 0; i < kInstructions; ++i, phase.advance()) {
      const int first = read_global(start, i), last = read_global(end, i);
      machine::mbarrier_wait(shared_at<Mbarrier>(plan.barrier("page.full").offset), phase);
      float v = 0;
      if (first < last) {
        v = machine::load(shared_at<float>(plan.region("page").offset) + lane());
        machine::fence_proxy_async<ProxySpace::shared_cta>();
        machine::sync_warp();
      }
      write_global(out, i * kBlock + lane(), v);
      const bool empty = bug == Bug::released_on_equal_only ? first == last : first >= last;
      if (empty) give_back();  // the early path of an instruction without keys: nothing was read
      if (first < last || bug == Bug::released_twice) give_back();
    }
  }
  void body() {
    pipeline::set_up_barriers<PagePerInstruction>(machine::shared_base());
    if (plan.role("load").holds_warp(warp())) {
      if (machine::elect_one()) load();
    } else {
      attend();
    }
  }
};

// M14. When the epilogue needs C, its loads are ordered after the first loads of the main loop.
struct OrderedLoads {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("ordered_loads", Arch::sm90);
    p.role("mma", 1).role("load", 1).role("epilogue_load", 1);
    add_input_ring(p, "mma", 1);
    p.region("c", kBlockBytes, 1, 128);
    p.barrier("load_order", 1, 1, "epilogue_load", {"load", 1});
    p.barrier("c.full", 1, 1, "mma", {"epilogue_load", 1});
    return p;
  }();
  bool mutated = false;  // the wait is outside the guard
  bool needs_c = false;
  Index3 grid{1, 1, 1};
  Blocks x{};
  std::array<float, kBlock> out{};
  std::vector<Buffer> buffers() { return {input("x", x), output("out", out)}; }
  void body() {
    pipeline::set_up_barriers<OrderedLoads>(machine::shared_base());
    const Shared<Mbarrier> order = shared_at<Mbarrier>(plan.barrier("load_order").offset);
    const Shared<Mbarrier> c_full = shared_at<Mbarrier>(plan.barrier("c.full").offset);
    if (plan.role("load").holds_warp(warp())) {
      if (!machine::elect_one()) return;
      InputProducer ring(input_ring<OrderedLoads>());
      for (int i = 0; i < kBlocks; ++i) {
        load_block<OrderedLoads>(ring, x, i);
        if (i == 0 && needs_c) machine::mbarrier_arrive(order);
      }
    } else if (plan.role("epilogue_load").holds_warp(warp())) {
      if (!machine::elect_one()) return;
      if (needs_c || mutated) machine::mbarrier_wait(order, machine::Phase::consumer());
      if (needs_c) {
        machine::mbarrier_arrive_expect_tx(c_full, kBlockBytes);
        machine::bulk_load(shared_at<float>(plan.region("c").offset), Global<const float>{x.data()}, kBlockBytes,
                           c_full);
      }
    } else {
      InputConsumer ring(input_ring<OrderedLoads>());
      float sum = 0;
      for (int i = 0; i < kBlocks; ++i) sum += read_block<OrderedLoads>(ring);
      if (needs_c) {
        machine::mbarrier_wait(c_full, machine::Phase::consumer());
        sum += machine::load(shared_at<float>(plan.region("c").offset) + lane());
      }
      write_global(out, lane(), sum);
    }
  }
};

// M15. In each role lane 0 reads the next tile and broadcasts its index and whether it is valid.
struct BroadcastTile {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("broadcast_tile", Arch::sm90);
    p.role("mma", 1).role("load", 1).role("epilogue", 1);
    add_input_ring(p, "mma", 1);
    add_hand_over(p, "accum", "accum.full", "accum.empty", "mma", "epilogue");
    return p;
  }();
  static constexpr int kTiles = 4;
  Index3 grid{1, 1, 1};
  Blocks x{};
  std::array<int, kTiles + 1> list{0, 1, 2, 3, -1};
  std::array<float, kTiles * kBlock> out{};
  std::vector<Buffer> buffers() { return {input("x", x), input("list", list), output("out", out)}; }

  bool next_tile(int turn, int& tile) {
    const int v = lane() == 0 ? read_global(list, turn) : 0;
    tile = machine::shuffle(v, 0);
    return machine::shuffle(int(lane() == 0 && v >= 0), 0) != 0;
  }
  void body() {
    pipeline::set_up_barriers<BroadcastTile>(machine::shared_base());
    int tile = 0;
    if (plan.role("load").holds_warp(warp())) {
      InputProducer ring(input_ring<BroadcastTile>());
      for (int turn = 0; next_tile(turn, tile); ++turn)
        if (lane() == 0) load_block<BroadcastTile>(ring, x, tile);
    } else if (plan.role("mma").holds_warp(warp())) {
      InputConsumer ring(input_ring<BroadcastTile>());
      Giver accum(hand_over_ring(plan.barrier("accum.full"), plan.barrier("accum.empty")));
      for (int turn = 0; next_tile(turn, tile); ++turn)
        give(accum, plan.region("accum"), read_block<BroadcastTile>(ring));
    } else {
      Taker accum(hand_over_ring(plan.barrier("accum.full"), plan.barrier("accum.empty")));
      for (int turn = 0; next_tile(turn, tile); ++turn)
        write_global(out, tile * kBlock + lane(), take(accum, plan.region("accum")));
    }
  }
};

// M16. Groups differ in K. The CTAs of a pair multicast their halves of a block to each other, so they must work on one
// group.
struct GroupedK {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("grouped_k", Arch::sm90, 2);
    p.role("compute", 1).role("load", 1);
    p.region("input", kBlockBytes, kStages, 128);
    p.barrier("input.full", kStages, 1, "compute", {"load", 1});
    p.barrier("input.empty", kStages, 2, "load", {"compute", 2});
    return p;
  }();
  static constexpr uint32_t kCtas = 6;
  bool mutated = false;  // three tiles a group: the second pair straddles two groups
  Index3 grid{kCtas, 1, 1};
  Blocks x{};
  std::array<int, 3> blocks_of_group{5, 3, 4};
  std::array<float, kCtas * kBlock> out{};
  std::vector<Buffer> buffers() {
    return {input("x", x), input("blocks_of_group", blocks_of_group), output("out", out)};
  }

  int trips() { return read_global(blocks_of_group, int(machine::block_index().x) / (mutated ? 3 : 2)); }
  void load() {
    pipeline::Producer<kStages, pipeline::PublishByTma, Scope::cluster> ring(input_ring<GroupedK>());
    const int half = int(machine::cluster_rank()) * kBlock / 2;
    for (int i = 0, n = trips(); i < n; ++i) {
      ring.produce([&](auto stage) {
        stage->expect_bytes(kBlockBytes);  // both halves come here
        const Shared<float> to = shared_at<float>(plan.region("input").offset) + (stage->index() * kBlock + half);
        machine::bulk_load_multicast(to, Global<const float>{x.data() + i * kBlock + half}, kBlockBytes / 2,
                                     stage->full(), 3);
        return std::move(stage).release();
      });
    }
  }
  void compute() {
    pipeline::Consumer<kStages, pipeline::ReleaseToCluster<2, pipeline::Readers::threads>> ring(input_ring<GroupedK>());
    float sum = 0;
    for (int i = 0, n = trips(); i < n; ++i) {
      ring.consume([&](auto stage) {
        sum += machine::load(shared_at<float>(plan.region("input").offset) + (stage->index() * kBlock + lane()));
        return std::move(stage).release();
      });
    }
    write_global(out, int(machine::block_index().x) * kBlock + lane(), sum);
  }
  void body() {
    pipeline::set_up_barriers<GroupedK>(machine::shared_base());
    if (plan.role("load").holds_warp(warp())) {
      if (machine::elect_one()) load();
    } else {
      compute();
    }
    pipeline::leave_cluster<GroupedK>();
  }
};

}  // namespace warpwright::mutants::ab
