// Section A: named barriers, block and cluster barriers, collectives (M01..M09, M71).
#include <algorithm>
#include <array>
#include <vector>

#include "kernels_ab.h"

namespace warpwright::mutants {
using namespace ab;
namespace {

// M01. A tile's query is loaded into one buffer; at the end of a tile, empty or not, a barrier hands the buffer back.
struct QueryPerTile {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("query_per_tile", Arch::sm90);
    p.role("compute", 2).role("load", 1);
    p.region("query", kBlockBytes, 1, 128);
    p.barrier("query.full", 1, 1, "compute", {"load", 1});
    p.named_barrier("tile_end", p.threads());
    return p;
  }();
  static constexpr int kTiles = 4;
  Index3 grid{1, 1, 1};
  Blocks x{};
  std::array<int, kTiles> rows{kBlock, 0, 0, kBlock};
  std::array<float, kTiles * 64> out{};
  std::vector<Buffer> buffers() { return {input("x", x), input("rows", rows), output("out", out)}; }

  void load() {
    constexpr NamedBarrierSpec end = plan.named_barrier("tile_end");
    const Shared<Mbarrier> full = shared_at<Mbarrier>(plan.barrier("query.full").offset);
    for (int tile = 0; tile < kTiles; ++tile) {
      if (read_global(rows, tile) > 0 && machine::elect_one()) {
        machine::mbarrier_arrive_expect_tx(full, kBlockBytes);
        machine::bulk_load(shared_at<float>(plan.region("query").offset), Global<const float>{x.data() + tile * kBlock},
                           kBlockBytes, full);
      }
      machine::named_barrier_sync(end.id, end.threads);
    }
  }
  void compute() {
    constexpr NamedBarrierSpec end = plan.named_barrier("tile_end");
    const Shared<Mbarrier> full = shared_at<Mbarrier>(plan.barrier("query.full").offset);
    machine::Phase phase = machine::Phase::consumer();
    for (int tile = 0; tile < kTiles; ++tile) {
      const int at = tile * 64 + int(machine::thread_index());
      if (read_global(rows, tile) == 0) {
        write_global(out, at, 0.f);
        machine::named_barrier_sync(end.id, end.threads);
        continue;
      }
      machine::mbarrier_wait(full, phase);
      phase.advance();
      write_global(out, at, machine::load(shared_at<float>(plan.region("query").offset) + lane()));
      machine::fence_proxy_async<ProxySpace::shared_cta>();
      machine::named_barrier_sync(end.id, end.threads);
    }
  }
  void body() {
    pipeline::set_up_barriers<QueryPerTile>(machine::shared_base());
    plan.role("load").holds_warp(warp()) ? load() : compute();
  }
};

// M02. Math warps announce a finished tile with bar.arrive and go on, the io warps wait with bar.sync. Two slots, so
// two announcements can be under way: each slot has its own barrier id.
struct TwoSlots {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("two_slots", Arch::sm90);
    p.role("math", 4).role("io", 2);
    p.region("slot", 512, 2, 128);
    p.barrier("slot.free", 2, 2, "math", {"io", 2});
    p.named_barrier("slot0.full", p.threads()).named_barrier("slot1.full", p.threads());
    return p;
  }();
  static constexpr int kTiles = 5;
  Index3 grid{1, 1, 1};
  std::array<float, kTiles * 128> out{};
  std::vector<Buffer> buffers() { return {output("out", out)}; }
  static constexpr int id(int slot) { return plan.named[slot].id; }
  static Shared<float> data(int slot) { return shared_at<float>(plan.region("slot").offset) + slot * 128; }

  void math() {
    const Shared<Mbarrier> free = shared_at<Mbarrier>(plan.barrier("slot.free").offset);
    pipeline::RingPosition<2> at(machine::Phase::producer());
    for (int tile = 0; tile < kTiles; ++tile, at.advance()) {
      machine::mbarrier_wait(free + at.stage(), at.phase());
      machine::store(data(at.stage()) + int(machine::thread_index()), float(tile));
      machine::named_barrier_arrive(id(at.stage()), plan.threads());
    }
  }
  void io() {
    const Shared<Mbarrier> free = shared_at<Mbarrier>(plan.barrier("slot.free").offset);
    const int thread = int(machine::thread_index()) - plan.role("io").first_thread();
    pipeline::RingPosition<2> at(machine::Phase::consumer());
    for (int tile = 0; tile < kTiles; ++tile, at.advance()) {
      machine::named_barrier_sync(id(at.stage()), plan.threads());
      for (int i = thread; i < 128; i += 64) write_global(out, tile * 128 + i, machine::load(data(at.stage()) + i));
      machine::sync_warp();
      if (lane() == 0) machine::mbarrier_arrive(free + at.stage());
    }
  }
  void body() {
    pipeline::set_up_barriers<TwoSlots>(machine::shared_base());
    plan.role("io").holds_warp(warp()) ? io() : math();
  }
};

// M03. Two correction groups reduce over their own warps, each through its own scratch and its own barrier.
struct TwoReductions {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("two_reductions", Arch::sm90);
    p.role("correction0", 2).role("correction1", 2);
    p.region("scratch", 2 * sizeof(float), 2, 8);
    p.named_barrier("reduce0", 64).named_barrier("reduce1", 64);
    return p;
  }();
  Index3 grid{1, 1, 1};
  std::array<float, 4> out{};
  std::vector<Buffer> buffers() { return {output("out", out)}; }
  void body() {
    const int group = warp() / 2, member = warp() % 2;
    const NamedBarrierSpec barrier = plan.named[group];
    const Shared<float> scratch = shared_at<float>(plan.region("scratch").offset) + group * 2;
    float sum = 0;
    for (int round = 0; round < 3; ++round) {
      if (lane() == 0) machine::store(scratch + member, float(round));
      machine::named_barrier_sync(barrier.id, barrier.threads);
      sum += machine::load(scratch) + machine::load(scratch + 1);
      machine::named_barrier_sync(barrier.id, barrier.threads);
    }
    if (lane() == 0) write_global(out, warp(), sum);
  }
};

// M04. The epilogue's loads start after the load warps have issued theirs: four arrive, one waits.
struct EpilogueLoadOrder {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("epilogue_load_order", Arch::sm90);
    p.role("load", 4).role("epilogue_load", 1).role("epilogue", 2);
    p.region("a", kBlockBytes, 4, 128).region("c", kBlockBytes, 1, 128);
    p.barrier("a.full", 1, 4, "epilogue", {"load", 4}).barrier("c.full", 1, 1, "epilogue", {"epilogue_load", 1});
    p.named_barrier("loads_issued", (4 + 1) * 32);
    return p;
  }();
  Index3 grid{1, 1, 1};
  Blocks x{};
  std::array<float, 64> out{};
  std::vector<Buffer> buffers() { return {input("x", x), output("out", out)}; }

  void fetch(uint32_t region, int block, Shared<Mbarrier> full, machine::here at = {}) {
    if (!machine::elect_one(at)) return;
    machine::mbarrier_arrive_expect_tx(full, kBlockBytes, at);
    machine::bulk_load(shared_at<float>(region), Global<const float>{x.data() + block * kBlock}, kBlockBytes, full, at);
  }
  void body() {
    constexpr NamedBarrierSpec issued = plan.named_barrier("loads_issued");
    pipeline::set_up_barriers<EpilogueLoadOrder>(machine::shared_base());
    const Shared<Mbarrier> a_full = shared_at<Mbarrier>(plan.barrier("a.full").offset);
    const Shared<Mbarrier> c_full = shared_at<Mbarrier>(plan.barrier("c.full").offset);
    if (plan.role("load").holds_warp(warp())) {
      fetch(plan.region("a").offset + uint32_t(warp()) * kBlockBytes, warp(), a_full);
      machine::named_barrier_arrive(issued.id, issued.threads);
    } else if (plan.role("epilogue_load").holds_warp(warp())) {
      machine::named_barrier_sync(issued.id, issued.threads);
      fetch(plan.region("c").offset, 4, c_full);
    } else {
      machine::mbarrier_wait(a_full, machine::Phase::consumer());
      machine::mbarrier_wait(c_full, machine::Phase::consumer());
      float sum = machine::load(shared_at<float>(plan.region("c").offset) + lane());
      for (int i = 0; i < 4; ++i)
        sum += machine::load(shared_at<float>(plan.region("a").offset) + (i * kBlock + lane()));
      write_global(out, int(machine::thread_index()) - plan.role("epilogue").first_thread(), sum);
    }
  }
};

// M05. All threads stage the bias, a block barrier publishes it, then the roles part.
struct SharedBias {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("shared_bias", Arch::sm90);
    p.role("compute", 2).role("load", 1);
    p.region("bias", 96 * sizeof(float), 1, 16);
    add_input_ring(p, "compute", 2);
    return p;
  }();
  bool mutated = false;
  Index3 grid{1, 1, 1};
  Blocks x{};
  std::array<float, 96> bias{};
  std::array<float, 64> out{};
  std::vector<Buffer> buffers() { return {input("x", x), input("bias", bias), output("out", out)}; }
  void body() {
    pipeline::set_up_barriers<SharedBias>(machine::shared_base());
    const int thread = int(machine::thread_index());
    const Shared<float> staged = shared_at<float>(plan.region("bias").offset);
    machine::store(staged + thread, read_global(bias, thread));
    if (!mutated) machine::sync_block();
    if (plan.role("load").holds_warp(warp())) {
      if (!machine::elect_one()) return;
      InputProducer ring(input_ring<SharedBias>());
      for (int i = 0; i < kBlocks; ++i) load_block<SharedBias>(ring, x, i);
    } else {
      if (mutated) machine::sync_block();
      InputConsumer ring(input_ring<SharedBias>());
      float sum = machine::load(staged + (thread + 32));
      for (int i = 0; i < kBlocks; ++i) sum += read_block<SharedBias>(ring);
      write_global(out, thread, sum);
    }
  }
};

// M06. Two roles meet in one named barrier, each in its own branch.
struct RolesMeet {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("roles_meet", Arch::sm90);
    p.role("mma", 1).role("epilogue", 1);
    p.region("accum", kBlockBytes, 1, 128);
    p.named_barrier("accum.full", 64).named_barrier("accum.empty", 64);
    return p;
  }();
  static constexpr int kTiles = 3;
  bool mutated = false;
  Index3 grid{1, 1, 1};
  std::array<float, kTiles * kBlock> out{};
  std::vector<Buffer> buffers() { return {output("out", out)}; }
  void meet(NamedBarrierSpec b, machine::here at = {}) {
    mutated ? machine::named_barrier_sync_aligned(b.id, b.threads, at)
            : machine::named_barrier_sync(b.id, b.threads, at);
  }
  void body() {
    const Shared<float> accum = shared_at<float>(plan.region("accum").offset) + lane();
    for (int tile = 0; tile < kTiles; ++tile) {
      if (plan.role("mma").holds_warp(warp())) {
        machine::store(accum, float(tile));
        meet(plan.named_barrier("accum.full"));
        meet(plan.named_barrier("accum.empty"));
      } else {
        meet(plan.named_barrier("accum.full"));
        write_global(out, tile * kBlock + lane(), machine::load(accum));
        meet(plan.named_barrier("accum.empty"));
      }
    }
  }
};

// M07. The MMA warp of each CTA sends a partial sum to the first CTA; a barrier of the whole cluster publishes the
// sums.
struct ClusterSum {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("cluster_sum", Arch::sm90, 2);
    p.role("mma", 1).role("load", 1).role("epilogue", 1);
    p.region("partial", kBlockBytes, 2, 128);
    add_input_ring(p, "mma", 1);
    p.barrier("accum.full", 1, 32, "epilogue", {"mma", 32});
    return p;
  }();
  bool mutated = false;  // the cluster barrier is in the branch of one role
  Index3 grid{2, 1, 1};
  Blocks x{};
  std::array<float, kBlock> out{};
  std::vector<Buffer> buffers() { return {input("x", x), output("out", out)}; }

  void mma() {
    InputConsumer ring(input_ring<ClusterSum>());
    float sum = 0;
    for (int i = 0; i < kBlocks; ++i) sum += read_block<ClusterSum>(ring);
    const Shared<float> mine = shared_at<float>(plan.region("partial").offset) + int(machine::cluster_rank()) * kBlock;
    machine::store(machine::map_to_rank(mine + lane(), 0), sum);
    machine::cluster_sync();
    machine::mbarrier_arrive(shared_at<Mbarrier>(plan.barrier("accum.full").offset));
  }
  void epilogue() {
    if (!mutated) machine::cluster_sync();
    machine::mbarrier_wait(shared_at<Mbarrier>(plan.barrier("accum.full").offset), machine::Phase::consumer());
    if (machine::cluster_rank() != 0) return;
    const Shared<float> partial = shared_at<float>(plan.region("partial").offset) + lane();
    write_global(out, lane(), machine::load(partial) + machine::load(partial + kBlock));
  }
  void load() {
    if (machine::elect_one()) {
      InputProducer ring(input_ring<ClusterSum>());
      for (int i = 0; i < kBlocks; ++i) load_block<ClusterSum>(ring, x, i);
    }
    if (!mutated) machine::cluster_sync();
  }
  void body() {
    pipeline::set_up_barriers<ClusterSum>(machine::shared_base());
    if (plan.role("mma").holds_warp(warp())) {
      mma();
    } else if (plan.role("load").holds_warp(warp())) {
      load();
    } else {
      epilogue();
    }
  }
};

// M08. The correction warpgroup rescales its output only if a row of the tile asks for it. That takes a barrier of the
// warpgroup, so all four warps must decide alike.
struct Correction {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("correction", Arch::sm90);
    p.role("correction", 4).role("softmax", 1);
    p.region("scale", 512, 1, 128).region("rows", 512, 1, 128).region("votes", 16, 1, 16);
    p.barrier("scale.full", 1, 32, "correction", {"softmax", 32});
    p.barrier("scale.empty", 1, 4, "softmax", {"correction", 4});
    p.named_barrier("votes", 128).named_barrier("rescaled", 128);
    return p;
  }();
  static constexpr int kTiles = 3;
  bool mutated = false;  // each warp decides for itself
  Index3 grid{1, 1, 1};
  std::array<float, 128> out{};
  std::vector<Buffer> buffers() { return {output("out", out)}; }

  void softmax() {
    pipeline::RingPosition<1> at(machine::Phase::producer());
    for (int tile = 0; tile < kTiles; ++tile, at.advance()) {
      machine::mbarrier_wait(shared_at<Mbarrier>(plan.barrier("scale.empty").offset), at.phase());
      for (int row = lane(); row < 128; row += 32)
        machine::store(shared_at<float>(plan.region("scale").offset) + row, tile == 1 && row < 32 ? 0.5f : 1.f);
      machine::mbarrier_arrive(shared_at<Mbarrier>(plan.barrier("scale.full").offset));
    }
  }
  bool somebody_rescales(bool mine) {
    const uint32_t in_warp = machine::ballot(mine);
    if (mutated) return in_warp != 0;
    const Shared<uint32_t> votes = shared_at<uint32_t>(plan.region("votes").offset);
    if (lane() == 0) machine::store(votes + warp(), in_warp);
    machine::named_barrier_sync(plan.named_barrier("votes").id, plan.named_barrier("votes").threads);
    const Vec<uint32_t, 4> all = machine::load(votes.as<Vec<uint32_t, 4>>());
    return (all[0] | all[1] | all[2] | all[3]) != 0;
  }
  void correction() {
    const int row = int(machine::thread_index());
    const Shared<float> rows = shared_at<float>(plan.region("rows").offset);
    pipeline::RingPosition<1> at(machine::Phase::consumer());
    float result = 1;
    for (int tile = 0; tile < kTiles; ++tile, at.advance()) {
      machine::mbarrier_wait(shared_at<Mbarrier>(plan.barrier("scale.full").offset), at.phase());
      const float scale = machine::load(shared_at<float>(plan.region("scale").offset) + row);
      if (somebody_rescales(scale != 1)) {
        machine::store(rows + row, result * scale);
        machine::named_barrier_sync(plan.named_barrier("rescaled").id, plan.named_barrier("rescaled").threads);
        result = machine::load(rows + (row ^ 1));
      }
      machine::sync_warp();
      if (lane() == 0) machine::mbarrier_arrive(shared_at<Mbarrier>(plan.barrier("scale.empty").offset));
    }
    write_global(out, row, result);
  }
  void body() {
    pipeline::set_up_barriers<Correction>(machine::shared_base());
    plan.role("softmax").holds_warp(warp()) ? softmax() : correction();
  }
};

// M09. Four groups of eight lanes reduce one row each; the rows differ in length.
struct RaggedRows {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("ragged_rows", Arch::sm90);
    p.role("reduce", 1);
    p.region("sums", 4 * sizeof(float), 1, 16);
    return p;
  }();
  bool mutated = false;  // a group leaves the loop at the end of its own row
  Index3 grid{1, 1, 1};
  std::array<int, 4> length{8, 24, 16, 32};
  Blocks x{};
  std::array<float, 1> out{};
  std::vector<Buffer> buffers() { return {input("length", length), input("x", x), output("out", out)}; }
  void body() {
    const int group = lane() / 8, column = lane() % 8;
    const int mine = read_global(length, group);
    int trips = (mine + 7) / 8;
    if (!mutated)
      for (int other = 0; other < 4; ++other)
        trips = std::max(trips, machine::shuffle((mine + 7) / 8, uint32_t(other * 8)));
    float sum = 0;
    for (int i = 0; i < trips; ++i) {
      float v = i * 8 + column < mine ? read_global(x, group * kBlock + i * 8 + column) : 0.f;
      for (uint32_t step = 4; step > 0; step /= 2) v += machine::shuffle_xor(v, step);
      sum += v;
    }
    const Shared<float> sums = shared_at<float>(plan.region("sums").offset);
    if (column == 0) machine::store(sums + group, sum);
    machine::sync_warp();
    const Vec<float, 4> all = machine::load(sums.as<Vec<float, 4>>());
    if (lane() == 0) write_global(out, 0, all[0] + all[1] + all[2] + all[3]);
  }
};

// M71. Two warps multiply in turns; one lane of each looks for its turn.
struct TurnsOfOneLane {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("turns_of_one_lane", Arch::sm90);
    p.role("math", 2);
    p.barrier("turn", 2, 1, "math", {"math", 1});
    return p;
  }();
  static constexpr int kTiles = 3;
  Index3 grid{1, 1, 1};
  std::array<float, 64> out{};
  std::vector<Buffer> buffers() { return {output("out", out)}; }

  void body() {
    pipeline::set_up_barriers<TurnsOfOneLane>(machine::shared_base());
    const Shared<Mbarrier> turn = shared_at<Mbarrier>(plan.barrier("turn").offset);
    // The first warp has the first turn: for it the phase before the first counts as complete.
    machine::Phase phase = warp() == 0 ? machine::Phase::producer() : machine::Phase::consumer();
    constexpr uint32_t ones = 0x3f80'3f80;  // two of bf16
    const uint32_t a[4] = {ones, ones, ones, ones}, b[2] = {ones, ones};
    float sums[4] = {};
    for (int tile = 0; tile < kTiles; ++tile, phase.advance()) {
      if (lane() == 0) machine::mbarrier_wait(turn + warp(), phase);
      machine::sync_warp();
      machine::mma_sync<DType::bf16>(sums, a, b);
      if (lane() == 0) machine::mbarrier_arrive(turn + (1 - warp()));
    }
    write_global(out, int(machine::thread_index()), sums[0]);
  }
};

}  // namespace

void add_barrier_mutants(std::vector<Mutant>& all) {
  using Action = Fault::Action;
  add_by_fault<QueryPerTile>(all, "M01", "an empty tile is left through bar.arrive; the next one laps the load warp",
                             "bar.sync becomes bar.arrive on the empty-tile path", {"named.lap"},
                             {{"named_barrier_sync", "1", "compute", Action::postpone, 0, 2}});
  add_by_fault<TwoSlots>(all, "M02",
                         "math warps run a tile ahead and arrive twice on the barrier that io has not reached",
                         "the ids that alternate by tile parity collapse to one", {"named.lap"},
                         {{"named_barrier_arrive", "2", "math", Action::duplicate, 1},
                          {"named_barrier_sync", "2", "io", Action::duplicate, 1}});
  add_by_fault<TwoReductions>(all, "M03", "two groups reduce through the same named barrier and release each other",
                              "the second group takes the id of the first", {"named.over"},
                              {{"named_barrier_sync", "2", "correction1", Action::duplicate, 1}});
  add_by_fault<EpilogueLoadOrder>(all, "M04.small", "the count is written for one load warp, four arrive",
                                  "64 threads instead of 160", {"named.over"},
                                  {{"named_barrier_arrive", "1", "load", Action::alter, 64},
                                   {"named_barrier_sync", "1", "epilogue_load", Action::alter, 64}});
  add_by_fault<EpilogueLoadOrder>(all, "M04.large", "the count includes a warp that never comes",
                                  "192 threads instead of 160", {"deadlock.named"},
                                  {{"named_barrier_arrive", "1", "load", Action::alter, 192},
                                   {"named_barrier_sync", "1", "epilogue_load", Action::alter, 192}});
  add_by_flag<SharedBias>(all, "M05", "__syncthreads in the branch of some warps",
                          "the block barrier moves into the compute branch", {"deadlock.named"});
  add_by_flag<RolesMeet>(all, "M06",
                         "an aligned bar.sync is executed by different instructions in the branches of roles",
                         "barrier.sync becomes bar.sync (aligned)", {"named.aligned"});
  add_by_flag<ClusterSum>(all, "M07", "the cluster barrier is emitted in one partition only",
                          "barrier.cluster by the MMA role alone", {"deadlock.cluster"});
  add_by_flag<Correction>(all, "M08", "a vote of one warp decides about a barrier of its warpgroup",
                          "the warpgroup's vote becomes each warp's own", {"deadlock.named"});
  add_by_flag<RaggedRows>(all, "M09", "lane groups leave a loop around a shuffle after different trip counts",
                          "each lane group iterates to the end of its own row",
                          {"warp.diverged", "deadlock.partial_warp"});
  add_by_fault<TurnsOfOneLane>(all, "M71", "31 lanes multiply while the one that looks for the warp's turn still waits",
                               "__syncwarp behind the wait of one lane dropped", {"warp.parted"},
                               {{"sync_warp", "", "math", Action::drop}});
}

}  // namespace warpwright::mutants
