// F: lifecycles. Tensor memory, clusters, registers and dependent launches: who may come, and who may go.
#include <string>
#include <vector>

#include "kernels_ef.h"

namespace warpwright::mutants {
using namespace ef;
namespace {

namespace m = machine;
using pipeline::Consumer;
using pipeline::Producer;
using pipeline::PublishByTma;
using pipeline::Readers;

// Tensor memory of a pair of CTAs: a warp of each allocates, the epilogues write and read it, both warps free it.
struct PairMemory {
  struct Steps {
    bool peer_has_started = true;       // a cluster barrier before the allocation
    bool peer_has_allocated = true;     // one after it
    bool peer_has_finished = true;      // one before the deallocation
    bool follower_frees_first = false;  // CTA 1 frees before that barrier, CTA 0 after it
  };
  static constexpr uint32_t kColumns = 32;
  static constexpr BlockPlan plan = [] {
    BlockPlan p("pair_memory", Arch::sm100, 2);
    p.role("epilogue", 4).role("mma", 1).region("tmem.address", 4, 1, 16);
    return p;
  }();
  static void meet(bool cluster, m::here at = {}) { cluster ? m::cluster_sync(at) : m::sync_block(at); }
  static void body(Global<float> out, Steps s) {
    const Shared<uint32_t> slot{m::shared_base()};
    const bool owner = m::warp_index() == 4;
    meet(s.peer_has_started);
    if (owner) {
      m::tcgen05_alloc<2>(slot, kColumns);
      m::tcgen05_relinquish<2>();
    }
    meet(s.peer_has_allocated);
    const Tmem memory{m::load(slot)};
    if (!owner) {
      const Tmem lanes = memory.lane(m::warp_index() * 32);
      m::TmemRegisters<1> r;
      r.set(0, 1.f);
      m::tcgen05_st<m::TmemShape::b32x32, 1>(lanes, r);
      m::tcgen05_wait_st();
      m::tcgen05_ld<m::TmemShape::b32x32, 1>(r, lanes);
      m::tcgen05_wait_ld();
      m::store(out + int64_t(m::cluster_rank() * 128 + m::thread_index()), r.get(0));
      m::tcgen05_fence_before();
    }
    const auto free = [&](m::here at = {}) {
      if (!owner) return;
      m::tcgen05_fence_after(at);
      m::tcgen05_dealloc<2>(memory, kColumns, at);
    };
    if (s.follower_frees_first && m::cluster_rank() == 1) {
      m::sync_block();
      free();
      m::cluster_sync();
    } else {
      meet(s.peer_has_finished);
      free();
    }
  }
  static Run with(Steps s) {
    return [s](const Options& o) {
      Memory out(256 * 4);
      return launch(plan, {out.buffer("out", Buffer::Use::output)}, o, [&] { body(out.as<float>(), s); });
    };
  }
};

// Attention over `keys` blocks; the epilogue frees the tensor memory, also when there is no key at all.
struct EmptyPath {
  static constexpr uint32_t kColumns = 32;
  static constexpr BlockPlan plan = [] {
    BlockPlan p("empty_path", Arch::sm100);
    p.role("mma", 1).role("epilogue", 1).region("tmem.address", 4, 1, 16);
    p.named_barrier("tmem.allocated", 64);
    return p;
  }();
  static void body(Global<float> out, int keys, bool publish_always) {
    const Shared<uint32_t> slot{m::shared_base()};
    const auto published = [&](m::here at = {}) {
      if (publish_always || keys > 0) m::named_barrier_sync(plan.named_barrier("tmem.allocated").id, 64, at);
    };
    if (m::warp_index() == 0) {
      m::tcgen05_alloc<1>(slot, kColumns);
      m::tcgen05_relinquish<1>();
      published();
    } else {
      published();
      const Tmem memory{m::load(slot)};
      m::store(out + m::lane_index(), 0.f);
      m::tcgen05_dealloc<1>(memory, kColumns);
    }
  }
  static Run with(bool publish_always) {
    return [=](const Options& o) {
      Memory out(32 * 4);
      return launch(plan, {out.buffer("out", Buffer::Use::output)}, o,
                    [&] { body(out.as<float>(), 0, publish_always); });
    };
  }
};

// One warp allocates twice: accumulators, then scale factors.
struct TwoAllocations {
  struct Request {
    uint32_t first = 256, second = 256;
    bool relinquish_between = false;
  };
  static constexpr BlockPlan plan = [] {
    BlockPlan p("two_allocations", Arch::sm100);
    p.role("mma", 1).region("tmem.address", 4, 2, 16);
    return p;
  }();
  static void body(Request r) {
    const Shared<uint32_t> slot{m::shared_base()};
    m::tcgen05_alloc<1>(slot, r.first);
    if (r.relinquish_between) m::tcgen05_relinquish<1>();
    m::tcgen05_alloc<1>(slot + 1, r.second);
    if (!r.relinquish_between) m::tcgen05_relinquish<1>();
    m::sync_warp();
    m::tcgen05_dealloc<1>(Tmem{m::load(slot + 1)}, r.second);
    m::tcgen05_dealloc<1>(Tmem{m::load(slot)}, r.first);
  }
  static Run with(Request r) {
    return [r](const Options& o) { return launch(plan, {}, o, [&] { body(r); }); };
  }
};

// Each CTA reads a value out of its neighbour's shared memory.
struct Neighbour {
  static constexpr BlockPlan plan = [] {
    BlockPlan p("neighbour", Arch::sm90, 2);
    p.role("compute", 1).region("value", 4, 32, 16);
    return p;
  }();
  static void body(Global<uint32_t> out, bool leave_together) {
    const Shared<uint32_t> mine = Shared<uint32_t>{m::shared_base()} + int(m::lane_index());
    m::store(mine, m::cluster_rank());
    m::cluster_sync();
    const uint32_t other = m::load(m::map_to_rank(mine, m::cluster_rank() ^ 1));
    m::store(out + int64_t(m::cluster_rank() * 32 + m::lane_index()), other);
    if (leave_together) m::cluster_sync();
  }
  static Run with(bool leave_together) {
    return [=](const Options& o) {
      Memory out(64 * 4);
      return launch(plan, {out.buffer("out", Buffer::Use::output)}, o,
                    [&] { body(out.as<uint32_t>(), leave_together); });
    };
  }
};

constexpr DenseGemmConfig kPairGemm{.tile_m = 64, .tile_n = 64, .stages = 2, .cluster = 2};
Result pair_gemm(const Options& o) { return run_dense_gemm<kPairGemm>(o, 128, 64, 128); }

// Each CTA loads half of a tile into both. AllFree: it waits for the consumers of both, otherwise only for its own.
template <bool AllFree>
struct MulticastRing {
  static constexpr int kTiles = 6;
  static constexpr uint32_t kBytes = 512;
  static constexpr BlockPlan plan = [] {
    BlockPlan p("multicast_ring", Arch::sm90, 2);
    p.role("load", 1).role("compute", 1).region("tile", kBytes, 2, 128);
    p.barrier("full", 2, 1, "compute", {"load", 1});
    p.barrier("empty", 2, AllFree ? 2 : 1, "load", {"compute", AllFree ? 2 : 1});
    return p;
  }();
  using Free = stdx::conditional_t<AllFree, pipeline::ReleaseToCluster<2, Readers::threads>,
                                   pipeline::ReleaseByWarp<Readers::threads>>;
  static void body(Global<const uint8_t> in, Global<uint32_t> out) {
    const uint32_t base = m::shared_base();
    pipeline::set_up_barriers<MulticastRing>(base);
    const auto ring = pipeline::ring_at<2>(base, plan.barrier("full").offset, plan.barrier("empty").offset);
    const auto tile = [&](int stage) { return Shared<uint8_t>{base + kBytes * uint32_t(stage)}; };
    if (m::warp_index() == 0) {
      if (m::elect_one()) {
        Producer<2, PublishByTma, Scope::cluster> input(ring);
        for (int i = 0; i < kTiles; ++i)
          input.produce([&](auto stage) {
            stage->expect_bytes(kBytes);
            const uint32_t half = kBytes / 2 * m::cluster_rank();
            m::bulk_load_multicast(tile(stage->index()).plus_bytes(half), in + half, kBytes / 2, stage->full(), 0b11);
            return stdx::move(stage).release();
          });
      }
    } else {
      Consumer<2, Free> input(ring);
      uint32_t sum = 0;
      for (int i = 0; i < kTiles; ++i)
        input.consume([&](auto stage) {
          sum += m::load(tile(stage->index()).template as<uint32_t>() + int(m::lane_index()));
          return stdx::move(stage).release();
        });
      m::store(out + int64_t(m::cluster_rank() * 32 + m::lane_index()), sum);
    }
    m::cluster_sync();
  }
  static Result run(const Options& o) {
    Memory in(kBytes), out(64 * 4);
    return launch(plan, {in.buffer("in", Buffer::Use::input), out.buffer("out", Buffer::Use::output)}, o,
                  [&] { body(in.as<const uint8_t>(), out.as<uint32_t>()); });
  }
};

constexpr DenseGemmConfig kTwoGroups{.tile_m = 128, .tile_n = 64, .stages = 2, .cluster = 1};
Result two_groups(const Options& o) { return run_dense_gemm<kTwoGroups>(o, 128, 64, 64); }

// Two load roles of a dependent launch: A and its scale factors, both written by the preceding kernel.
struct DependentLoads {
  static constexpr uint32_t kBytes = 512;
  static constexpr BlockPlan plan = [] {
    BlockPlan p("dependent_loads", Arch::sm90);
    p.role("load_a", 1).role("load_sf", 1).role("compute", 1);
    p.region("a", kBytes, 1, 128).region("sf", kBytes, 1, 128);
    p.barrier("a.full", 1, 1, "compute", {"load_a", 1}).barrier("sf.full", 1, 1, "compute", {"load_sf", 1});
    return p;
  }();
  static void body(Global<const uint8_t> a, Global<const uint8_t> sf, Global<uint32_t> out) {
    const uint32_t base = m::shared_base(), sf_at = base + plan.region("sf").offset;
    const Shared<Mbarrier> a_full{base + plan.barrier("a.full").offset}, sf_full{base + plan.barrier("sf.full").offset};
    pipeline::set_up_barriers<DependentLoads>(base);
    const auto fetch = [&](uint32_t to, Global<const uint8_t> from, Shared<Mbarrier> full, m::here at = {}) {
      m::grid_dependency_wait(at);
      if (!m::elect_one(at)) return;
      m::mbarrier_arrive_expect_tx(full, kBytes, at);
      m::bulk_load(Shared<uint8_t>{to}, from, kBytes, full, at);
    };
    switch (m::warp_index()) {
      case 0:
        fetch(base, a, a_full);
        break;
      case 1:
        fetch(sf_at, sf, sf_full);
        break;
      default:
        m::mbarrier_wait(a_full, m::Phase::consumer());
        m::mbarrier_wait(sf_full, m::Phase::consumer());
        const int lane = int(m::lane_index());
        m::store(out + lane, m::load(Shared<uint32_t>{base} + lane) * m::load(Shared<uint32_t>{sf_at} + lane));
    }
  }
  static Result run(const Options& options) {
    Options o = options;
    o.primary_pending = true;
    Memory a(kBytes), sf(kBytes), out(32 * 4);
    return launch(plan,
                  {a.buffer("A", Buffer::Use::input, true), sf.buffer("SF", Buffer::Use::input, true),
                   out.buffer("out", Buffer::Use::output)},
                  o, [&] { body(a.as<const uint8_t>(), sf.as<const uint8_t>(), out.as<uint32_t>()); });
  }
};

void add_tensor_memory(std::vector<Mutant>& list) {
  const std::vector<std::string> pair_roles{"epilogue", "mma"}, one{"mma"};
  using Steps = PairMemory::Steps;
  list.push_back({"M62",
                  "tensor memory of a pair was allocated before the peer was known to run",
                  "drop the cluster barrier before tcgen05.alloc",
                  {"tmem.peer"},
                  pair_roles,
                  PairMemory::with({}),
                  PairMemory::with(Steps{.peer_has_started = false})});
  list.push_back({"M63",
                  "a CTA freed the pair's tensor memory before its peer had allocated",
                  "drop the cluster barrier between alloc and dealloc",
                  {"tmem.peer"},
                  pair_roles,
                  PairMemory::with(Steps{.peer_has_allocated = false}),
                  PairMemory::with(Steps{.peer_has_allocated = false, .peer_has_finished = false})});
  list.push_back({"M64",
                  "tcgen05.dealloc and the cluster barrier came in different order in the CTAs of a pair",
                  "swap them in CTA 1",
                  {"deadlock.tmem"},
                  pair_roles,
                  PairMemory::with({}),
                  PairMemory::with(Steps{.follower_frees_first = true})});
  list.push_back({"M65",
                  "without keys the epilogue read the tensor-memory address unsynchronised",
                  "skip the publication on the empty path",
                  {"race"},
                  {"mma", "epilogue"},
                  EmptyPath::with(true),
                  EmptyPath::with(false)});
  using Request = TwoAllocations::Request;
  const Run two = TwoAllocations::with({});
  list.push_back({"M66.capacity",
                  "more columns were requested than there are: a silent hang",
                  "512 + 32 columns",
                  {"tmem.capacity"},
                  one,
                  two,
                  TwoAllocations::with(Request{.first = 512, .second = 32})});
  list.push_back({"M66.columns",
                  "a number of columns was requested that is not a power of two",
                  "544 columns",
                  {"tmem.columns"},
                  one,
                  two,
                  with_faults(two, {fault(Action::alter, "tcgen05_alloc", "mma", {}, 544, 1)})});
  list.push_back({"M66.leak",
                  "tensor memory was never freed: the next kernel hangs",
                  "drop tcgen05.dealloc",
                  {"tmem.leak"},
                  one,
                  two,
                  with_faults(two, {fault(Action::drop, "tcgen05_dealloc", "mma", {}, 0, 1)})});
  list.push_back({"M66.double_free",
                  "tensor memory was freed twice",
                  "duplicate tcgen05.dealloc",
                  {"tmem.free"},
                  one,
                  two,
                  with_faults(two, {fault(Action::duplicate, "tcgen05_dealloc", "mma", {}, 0, 2)})});
  list.push_back({"M66.after_relinquish",
                  "a CTA allocated after it had given up the permit",
                  "relinquish between the allocations",
                  {"tmem.permit"},
                  one,
                  two,
                  TwoAllocations::with(Request{.relinquish_between = true})});
  list.push_back({"M66.growth",
                  "a later allocation was larger than an earlier one",
                  "64 columns, then 128",
                  {"tmem.growth"},
                  one,
                  two,
                  TwoAllocations::with(Request{.first = 64, .second = 128})});
}

}  // namespace

void add_lifecycle_mutants(std::vector<Mutant>& list) {
  add_tensor_memory(list);
  const std::vector<std::string> exits{"cluster.exited", "cluster.exit_order"};
  list.push_back({"M67.read",
                  "a CTA returned while its peer still read its shared memory",
                  "drop the exit cluster barrier",
                  exits,
                  {"compute"},
                  Neighbour::with(true),
                  Neighbour::with(false)});
  list.push_back({"M67.ring",
                  "a CTA returned while its peer still handed stages back to it",
                  "the loader leaves without waiting for the last stages to come back",
                  exits,
                  {"mma", "load", "store"},
                  pair_gemm,
                  with_faults(pair_gemm, {fault(Action::drop, "mbarrier_wait", "load", "input.empty", 0, 3),
                                          fault(Action::drop, "mbarrier_wait", "load", "input.empty", 0, 4)})});
  list.push_back({"M68",
                  "a multicast was issued before the receiver's stage was free",
                  "each CTA waits for its own consumers only",
                  {"race", "race.completion", "race.in_flight"},
                  {"load", "compute"},
                  MulticastRing<true>::run,
                  MulticastRing<false>::run});
  list.push_back({"M69.raise",
                  "the warpgroups asked for more registers than the pool has",
                  "232 becomes 240 registers",
                  {"deadlock.registers"},
                  {"mma", "load", "store"},
                  two_groups,
                  with_faults(two_groups, {fault(Action::alter, "registers_increase", "mma", {}, 240)})});
  std::vector<Fault> keep;
  for (const char* role : {"load", "store", "idle"}) keep.push_back(fault(Action::drop, "registers_decrease", role));
  list.push_back({"M69.no_decrease",
                  "the load warpgroup kept its registers",
                  "drop setmaxnreg.dec",
                  {"deadlock.registers"},
                  {"mma", "load", "store"},
                  two_groups,
                  with_faults(two_groups, keep)});
  list.push_back({"M70",
                  "one load role of a dependent launch did not wait for the preceding kernel",
                  "drop griddepcontrol.wait in the scale-factor role",
                  {"dependent_launch.stale"},
                  {"load_a", "load_sf", "compute"},
                  DependentLoads::run,
                  with_faults(DependentLoads::run, {fault(Action::drop, "grid_dependency_wait", "load_sf")})});
}

}  // namespace warpwright::mutants
