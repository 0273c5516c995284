// Small kernels for the cases about phases, barriers' lives and proxies (sections C and D of the corpus), and what they
// share.
#pragma once
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "corpus.h"
#include "sim/model.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/ring.h"

namespace warpwright::mutants::cd {

using machine::Phase;
using simulator::Fault;
using simulator::Options;

using Line = Vec<uint32_t, 4>;                        // what one lane moves at once
inline constexpr uint32_t kTile = 32 * sizeof(Line);  // a tile, or stage: one line for each lane of a warp
inline constexpr int kTiles = 32;                     // of the input, and of the output

inline Phase at_lap(Phase first, int laps) {
  for (int i = 0; i < laps; ++i) first.advance();
  return first;
}

// Device memory of one run.
struct Arrays {
  Global<const Line> in;  // kTiles tiles
  Global<Line> out;       // kTiles tiles, for bulk stores
  Global<uint32_t> sums;  // one word for each thread of the launch
  const TensorMap* maps;  // read only; map i begins at tile i of the input, its box is one tile
  TensorMap* work_map;    // rewritten by the kernel
};

inline TensorMap encode_tile_map(void* base) {
  simulator::model::TensorMapFields f{};
  f.type = simulator::model::TensorElement::u32;
  f.rank = 2;
  f.base = base;
  f.dims[0] = 32;
  f.dims[1] = 4 * 8;  // eight tiles
  f.strides[0] = 4;
  f.strides[1] = 128;
  f.box[0] = 32;
  f.box[1] = kTile / 128;
  f.swizzle = Swizzle::none;
  TensorMap map;
  if (auto why = simulator::model::encode_tensor_map(f, map)) throw std::runtime_error(*why);
  return map;
}

using Body = std::function<void(const BlockPlan&, const Arrays&)>;

struct Grid {
  uint32_t ctas = 1;
  int resident_clusters = 0;
};

inline Run runner(const BlockPlan& plan, Grid grid, Body body, std::vector<Fault> faults = {}) {
  return [plan, grid, body = std::move(body), faults = std::move(faults)](const Options& options) {
    struct alignas(128) Tile {
      uint8_t bytes[kTile];
    };
    std::vector<Tile> in(kTiles), out(kTiles);
    for (int t = 0; t < kTiles; ++t) std::memset(in[size_t(t)].bytes, t + 1, kTile);
    std::vector<uint32_t> sums(grid.ctas * uint32_t(plan.threads()));
    std::vector<TensorMap> maps;
    for (int i = 0; i < 4; ++i) maps.push_back(encode_tile_map(&in[size_t(i)]));
    std::vector<TensorMap> work(1);
    simulator::Launch launch;
    launch.plan = &plan;
    launch.grid = {grid.ctas, 1, 1};
    using Use = simulator::Buffer::Use;
    launch.buffers = {{in.data(), kTiles * kTile, "in", Use::input, false},
                      {out.data(), kTiles * kTile, "out", Use::output, false},
                      {sums.data(), sums.size() * 4, "sums", Use::output, false},
                      {maps.data(), maps.size() * sizeof(TensorMap), "maps", Use::input, false},
                      {work.data(), sizeof(TensorMap), "work_map", Use::inout, false}};
    const Arrays arrays{{reinterpret_cast<const Line*>(in.data())},
                        {reinterpret_cast<Line*>(out.data())},
                        {sums.data()},
                        maps.data(),
                        work.data()};
    Options o = options;
    o.resident_clusters = grid.resident_clusters;
    o.faults.insert(o.faults.end(), faults.begin(), faults.end());
    return simulator::run(launch, o, [&] { body(plan, arrays); });
  };
}

// Word("mbarrier_arrive").on("empty").by("compute").drop()
class Word {
 public:
  explicit Word(std::string name) { fault_.word = std::move(name); }
  Word& on(std::string object) { return fault_.object = std::move(object), *this; }
  Word& by(std::string role) { return fault_.role = std::move(role), *this; }
  Word& in_cta(int rank) { return fault_.cta = rank, *this; }
  Fault drop() { return with(Fault::Action::drop, 0); }
  Fault alter(int64_t value = 0) { return with(Fault::Action::alter, value); }
  Fault postpone() { return with(Fault::Action::postpone, 0); }

 private:
  Fault with(Fault::Action action, int64_t value) {
    fault_.action = action;
    fault_.value = value;
    return fault_;
  }
  Fault fault_;
};

// What a case says about itself.
struct Story {
  const char* id;
  const char* bug;
  const char* mutation;
  std::vector<std::string> expected;
};

inline Mutant describe(const Story& s, const BlockPlan& plan, Run correct, Run mutated) {
  Mutant m{s.id, s.bug, s.mutation, s.expected, {}, std::move(correct), std::move(mutated)};
  for (int i = 0; i < plan.role_count; ++i) m.roles.push_back(plan.roles[i].name);
  return m;
}
// The bug is a word of a correct kernel gone wrong ...
inline Mutant by_fault(const Story& s, const BlockPlan& plan, Grid grid, const Body& body, const Fault& fault) {
  return describe(s, plan, runner(plan, grid, body), runner(plan, grid, body, {fault}));
}
// ... or a kernel written in another way.
inline Mutant by_flag(const Story& s, const BlockPlan& plan, Grid grid,
                      const std::function<void(const BlockPlan&, const Arrays&, bool)>& body) {
  auto with = [&](bool mutated) {
    return runner(plan, grid, [body, mutated](const BlockPlan& p, const Arrays& a) { body(p, a, mutated); });
  };
  return describe(s, plan, with(false), with(true));
}

// Where the plan put things in the executing CTA.
class Block {
 public:
  explicit Block(const BlockPlan& plan) : plan_(&plan), base_(machine::shared_base()) {}
  Shared<Mbarrier> barrier(const char* name, int stage = 0) const {
    for (int i = 0; i < plan_->barrier_count; ++i)
      if (warpwright::detail::same_text(plan_->barriers[i].name, name))
        return Shared<Mbarrier>{base_ + plan_->barriers[i].offset} + stage;
    throw std::logic_error(name);
  }
  Shared<Line> region(const char* name, int stage = 0) const {
    for (int i = 0; i < plan_->region_count; ++i)
      if (warpwright::detail::same_text(plan_->regions[i].name, name))
        return {base_ + plan_->regions[i].offset + plan_->regions[i].stage_bytes * uint32_t(stage)};
    throw std::logic_error(name);
  }
  template <int Stages>
  pipeline::Ring<Stages> ring(const char* full, const char* empty) const {
    return {barrier(full), barrier(empty)};
  }
  bool is(const char* role) const {
    for (int i = 0; i < plan_->role_count; ++i)
      if (plan_->roles[i].holds_warp(int(machine::warp_index())))
        return warpwright::detail::same_text(plan_->roles[i].name, role);
    return false;
  }
  void init_barriers() const {
    for (int i = 0; i < plan_->barrier_count; ++i)
      for (int s = 0; s < plan_->barriers[i].stages; ++s)
        machine::mbarrier_init(barrier(plan_->barriers[i].name, s), uint32_t(plan_->barriers[i].count));
  }
  // By all threads.
  void set_up() const {
    if (machine::thread_index() == 0) {
      init_barriers();
      machine::fence_mbarrier_init();
    }
    sync();
  }
  void sync() const {
    if (plan_->cluster > 1) {
      machine::cluster_sync();
    } else {
      machine::sync_block();
    }
  }

 private:
  const BlockPlan* plan_;
  uint32_t base_;
};

inline int lane() { return int(machine::lane_index()); }
inline Global<uint32_t> my_sum(const Arrays& a) {
  return a.sums + int64_t(machine::block_index().x * machine::block_threads() + machine::thread_index());
}

// One load warp and one compute warp around a ring whose law (which barrier, which phase) is the case's. Law has
//   slot(k), full(k), empty(k), wait_full(k), wait_empty(k).
constexpr BlockPlan stream_plan(int slots, int full, int empty) {
  BlockPlan plan("stream", Arch::sm90);
  plan.role("load", 1).role("compute", 1);
  plan.region("stage", kTile, slots, 128).region("scratch", 32 * 4, 1, 128);
  plan.barrier("full", full, 1, "compute", {"load", 1});
  plan.barrier("empty", empty, 1, "load", {"compute", 1});
  return plan;
}

template <class Law>
void stream_load(const Arrays& a, int n, const Law& law) {  // one thread
  for (int k = 0; k < n; ++k) {
    law.wait_empty(k);
    machine::mbarrier_arrive_expect_tx(law.full(k), kTile);
    machine::bulk_load(law.slot(k), a.in + k * 32, kTile, law.full(k));
  }
}
template <class Law>
uint32_t stream_compute(int n, const Law& law) {  // one warp
  uint32_t sum = 0;
  for (int k = 0; k < n; ++k) {
    law.wait_full(k);
    sum += machine::load(law.slot(k) + lane())[0];
    machine::fence_proxy_async<ProxySpace::shared_cta>();
    machine::sync_warp();
    if (lane() == 0) machine::mbarrier_arrive(law.empty(k));
  }
  return sum;
}
template <class Law>
void stream(const Block& b, const Arrays& a, int n, const Law& law) {
  b.set_up();
  if (b.is("load")) {
    if (machine::elect_one()) stream_load(a, n, law);
  } else {
    machine::store(my_sum(a), stream_compute(n, law));
  }
}

// The lawful ring, to derive from.
struct RingLaw {
  Block b;
  int stages;
  Shared<Line> slot(int k) const { return b.region("stage", k % stages); }
  Shared<Mbarrier> full(int k) const { return b.barrier("full", k % stages); }
  Shared<Mbarrier> empty(int k) const { return b.barrier("empty", k % stages); }
  void wait_full(int k) const { machine::mbarrier_wait(full(k), at_lap(Phase::consumer(), k / stages)); }
  void wait_empty(int k) const { machine::mbarrier_wait(empty(k), at_lap(Phase::producer(), k / stages)); }
};

// One lane, elected, arrives for its warp.
struct ReleaseElected {
  static void acquired(machine::here) {}
  static void release(Shared<Mbarrier> empty, machine::here at) {
    machine::fence_proxy_async<ProxySpace::shared_cta>(at);
    machine::sync_warp(machine::kFullMask, at);
    if (machine::elect_one(at)) machine::mbarrier_arrive(empty, 1, at);
  }
};

// The same traffic through the project's rings.
inline constexpr int kRingStages = 2;
inline void ring_roles(const Block& b, const Arrays& a, int n) {
  const auto ring = b.ring<kRingStages>("full", "empty");
  if (b.is("load")) {
    if (!machine::elect_one()) return;
    pipeline::Producer<kRingStages, pipeline::PublishByTma> input(ring);
    for (int k = 0; k < n; ++k)
      input.produce([&](auto stage) {
        stage->expect_bytes(kTile);
        machine::bulk_load(b.region("stage", stage->index()), a.in + k * 32, kTile, stage->full());
        return stdx::move(stage).release();
      });
  } else {
    pipeline::Consumer<kRingStages, ReleaseElected> input(ring);
    uint32_t sum = 0;
    for (int k = 0; k < n; ++k)
      input.consume([&](auto stage) {
        sum += machine::load(b.region("stage", stage->index()) + lane())[0];
        return stdx::move(stage).release();
      });
    machine::store(my_sum(a), sum);
  }
}
constexpr BlockPlan ring_plan() { return stream_plan(kRingStages, kRingStages, kRingStages); }
inline void ring_kernel(const BlockPlan& plan, const Arrays& a) {
  const Block b(plan);
  b.set_up();
  ring_roles(b, a, 6);
}

// Each of two CTAs sends half of every tile to both; each consumer releases its stage to both. `Release` is the law of
// the hand-back.
constexpr BlockPlan multicast_plan() {
  BlockPlan plan("multicast", Arch::sm90, 2);
  plan.role("load", 1).role("compute", 1);
  plan.region("stage", kTile, kRingStages, 128);
  plan.barrier("full", kRingStages, 1, "compute", {"load", 1});
  plan.barrier("empty", kRingStages, 2, "load", {"compute", 2});
  return plan;
}
template <class Release>
void multicast_kernel(const BlockPlan& plan, const Arrays& a) {
  constexpr int n = 6;
  const Block b(plan);
  b.set_up();
  const auto ring = b.ring<kRingStages>("full", "empty");
  if (b.is("load")) {
    if (machine::elect_one()) {
      pipeline::Producer<kRingStages, pipeline::PublishByTma, Scope::cluster> input(ring);
      for (int k = 0; k < n; ++k)
        input.produce([&](auto stage) {
          stage->expect_bytes(kTile);
          const int half = 16 * int(machine::cluster_rank());
          machine::bulk_load_multicast(b.region("stage", stage->index()) + half, a.in + (k * 32 + half), kTile / 2,
                                       stage->full(), 0b11);
          return stdx::move(stage).release();
        });
    }
  } else {
    pipeline::Consumer<kRingStages, Release> input(ring);
    uint32_t sum = 0;
    for (int k = 0; k < n; ++k)
      input.consume([&](auto stage) {
        sum += machine::load(b.region("stage", stage->index()) + lane())[0];
        return stdx::move(stage).release();
      });
    machine::store(my_sum(a), sum);
  }
  machine::cluster_sync();
}

void add_mbarrier_mutants(std::vector<Mutant>&);  // M32..M41

}  // namespace warpwright::mutants::cd
