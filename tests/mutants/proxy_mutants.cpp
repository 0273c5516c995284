// Proxy fences, and shared memory or tensor maps that are reused before their readers are done.
#include <string>
#include <vector>

#include "kernels_cd.h"
#include "warpwright/core/descriptor.h"
#include "warpwright/core/instr_descriptor.h"

namespace warpwright::mutants {
namespace cd {
namespace {

// Two compute warps fill a tile and one of their threads stores it. A tile without work is stored as zeros.
constexpr BlockPlan zeroed_plan() {
  BlockPlan plan("zeroed", Arch::sm90);
  plan.role("compute", 2);
  plan.region("o", 2 * kTile, 1, 128);
  return plan;
}

void zeroed(const BlockPlan& plan, const Arrays& a, bool fence_in_loop) {
  constexpr int work[] = {2, 0, 1};  // steps of each tile
  const Block b(plan);
  const Shared<Line> mine = b.region("o") + int(machine::thread_index());
  for (int tile = 0; tile < 3; ++tile) {
    machine::store(mine, Line{});
    for (int k = 0; k < work[tile]; ++k) {
      Line v = machine::load(mine);
      v[0] += uint32_t(k + 1);
      machine::store(mine, v);
      if (fence_in_loop) machine::fence_proxy_async<ProxySpace::shared_cta>();
    }
    if (!fence_in_loop) machine::fence_proxy_async<ProxySpace::shared_cta>();
    machine::sync_block();
    if (machine::thread_index() == 0) {
      machine::bulk_store(a.out + tile * 64, b.region("o"), 2 * kTile);
      machine::bulk_commit();
      machine::bulk_wait_read<0>();
    }
    machine::sync_block();
  }
  if (machine::thread_index() == 0) machine::bulk_wait<0>();
}

// Four warps write operands, or scale factors, for the tensor core.
enum class Reader { mma, copy };
constexpr int kRows = 128, kColumns = 16;
constexpr BlockPlan operands_plan() {
  BlockPlan plan("operands", Arch::sm100);
  plan.role("write", 4).role("mma", 1);
  plan.region("a", kRows * 32, 1, 1024).region("b", kColumns * 32, 1, 1024).region("scales", kTile, 1, 1024);
  plan.region("tmem.address", 4, 1, 16);
  plan.barrier("done", 1, 1, "mma", {"mma", 1});
  plan.tensor_memory("accumulator", kColumns).tensor_memory("scales", 4);
  return plan;
}

template <Reader R>
void operands(const BlockPlan& plan, const Arrays&) {
  const Block b(plan);
  const auto slot = b.region("tmem.address").as<uint32_t>();
  const auto a = b.region("a"), w = b.region("b"), scales = b.region("scales");
  if (b.is("write")) {
    const int thread = int(machine::thread_index());
    machine::store(a + thread, Line{});
    machine::store(a + (kRows + thread), Line{});
    if (thread < 2 * kColumns) machine::store(w + thread, Line{});
    if (thread < 32) machine::store(scales + thread, Line{});
    machine::fence_proxy_async<ProxySpace::shared_cta>();
  } else {
    machine::tcgen05_alloc<1>(slot, plan.tmem_columns);
  }
  b.set_up();
  if (b.is("write")) return;
  const Tmem memory{machine::load(slot)};
  if (machine::elect_one()) {
    if (R == Reader::mma) {
      constexpr uint32_t shape = encode_idesc(InstrDesc{.m = kRows, .n = kColumns});
      machine::tcgen05_mma<machine::MmaKind::f16, 1>(
          memory, encode_sm100(k_major_desc(DType::bf16, Swizzle::none, kRows, a.address)),
          encode_sm100(k_major_desc(DType::bf16, Swizzle::none, kColumns, w.address)), shape, false);
    } else {
      // 32 rows of 16 bytes, eight of them to a core matrix of 128 bytes.
      machine::tcgen05_cp<machine::TmemCopy::s32x128b_warpx4, 1>(
          memory.column(plan.tmem[1].column), encode_sm100(MatrixDesc{scales.address, 0, 128, Swizzle::none, 0}));
    }
    machine::tcgen05_commit<1>(b.barrier("done"));
  }
  machine::sync_warp();
  machine::tcgen05_relinquish<1>();
  machine::mbarrier_wait(b.barrier("done"), Phase::consumer());
  machine::tcgen05_fence_after();
  machine::tcgen05_dealloc<1>(memory, plan.tmem_columns);
}

// Compute warps fill tiles, a store warp sends them. Each tile has its own buffer.
constexpr BlockPlan handed_plan() {
  BlockPlan plan("handed", Arch::sm90);
  plan.role("compute", 2).role("store", 1);
  plan.region("o", 2 * kTile, 2, 128);
  plan.named_barrier("filled", 96);
  return plan;
}

void handed(const BlockPlan& plan, const Arrays& a, bool fence_after_barrier) {
  const Block b(plan);
  for (int tile = 0; tile < 2; ++tile) {
    if (b.is("compute")) {
      machine::store(b.region("o", tile) + int(machine::thread_index()), Line{{uint32_t(tile), 0, 0, 0}});
      if (!fence_after_barrier) machine::fence_proxy_async<ProxySpace::shared_cta>();
      machine::named_barrier_sync(1, 96);
      if (fence_after_barrier) machine::fence_proxy_async<ProxySpace::shared_cta>();
    } else {
      machine::named_barrier_sync(1, 96);
      if (machine::elect_one()) {
        machine::bulk_store(a.out + tile * 64, b.region("o", tile), 2 * kTile);
        machine::bulk_commit();
        machine::bulk_wait<0>();
      }
      machine::sync_warp();
    }
  }
}

// The store warp keeps one bulk store in flight and hands back the stage before it.
constexpr BlockPlan store_ring_plan() {
  BlockPlan plan("store_ring", Arch::sm90);
  plan.role("compute", 1).role("store", 1);
  plan.region("output", kTile, kRingStages, 128);
  plan.barrier("full", kRingStages, 32, "store", {"compute", 32});
  plan.barrier("empty", kRingStages, 1, "compute", {"store", 1});
  return plan;
}

void store_ring(const BlockPlan& plan, const Arrays& a) {
  constexpr int tiles = 6;
  const Block b(plan);
  b.set_up();
  const auto ring = b.ring<kRingStages>("full", "empty");
  if (b.is("compute")) {
    pipeline::Producer<kRingStages, pipeline::PublishByThread<pipeline::To::async>> output(ring);
    for (int tile = 0; tile < tiles; ++tile)
      output.produce([&](auto stage) {
        machine::store(b.region("output", stage->index()) + lane(), Line{{uint32_t(tile), 0, 0, 0}});
        return stdx::move(stage).release();
      });
    return;
  }
  if (!machine::elect_one()) return;
  pipeline::Consumer<kRingStages, pipeline::ReleaseByThread<pipeline::Readers::async>> output(ring);
  int tile = 0;
  const auto send = [&](int stage) {
    machine::bulk_store(a.out + tile++ * 32, b.region("output", stage), kTile);
    machine::bulk_commit();
  };
  output.consume_overlapped(
      tiles,
      [&](auto current) {
        send(current->index());
        return stdx::move(current).keep();
      },
      [&](auto previous, auto current) {
        send(current->index());
        machine::bulk_wait_read<1>();
        return stdx::move(previous).release_keep(stdx::move(current));
      },
      [&](auto previous) {
        machine::bulk_wait_read<0>();
        return stdx::move(previous).release();
      });
  machine::bulk_wait<0>();
}

// A persistent epilogue with one staging tile: the storing thread waits for its store, then lets the others write.
constexpr BlockPlan epilogue_plan() {
  BlockPlan plan("epilogue", Arch::sm90);
  plan.role("epilogue", 2);
  plan.region("c", 2 * kTile, 1, 128);
  plan.named_barrier("free", 64).named_barrier("filled", 64);
  return plan;
}

void epilogue(const BlockPlan& plan, const Arrays& a) {
  const Block b(plan);
  const int thread = int(machine::thread_index());
  for (int tile = 0; tile < 4; ++tile) {
    if (thread == 0) machine::bulk_wait_read<0>();
    machine::named_barrier_sync(1, 64);
    machine::store(b.region("c") + thread, Line{{uint32_t(tile), 0, 0, 0}});
    machine::fence_proxy_async<ProxySpace::shared_cta>();
    machine::named_barrier_sync(2, 64);
    if (thread == 0) {
      machine::bulk_store(a.out + tile * 64, b.region("c"), 2 * kTile);
      machine::bulk_commit();
    }
  }
  if (thread == 0) machine::bulk_wait<0>();
}

// A grouped kernel that points one tensor map in device memory at each group in turn.
constexpr BlockPlan grouped_plan() {
  BlockPlan plan("grouped", Arch::sm90);
  plan.role("load", 1).role("compute", 1);
  plan.region("stage", kTile, 2, 128);
  plan.barrier("full", 2, 1, "compute", {"load", 1});
  plan.barrier("empty", 2, 1, "load", {"compute", 1});
  return plan;
}

struct MapBug {
  bool rewritten_at_once = false, no_acquire = false;
};
void grouped(const BlockPlan& plan, const Arrays& a, MapBug bug) {
  constexpr int groups = 4;
  const Block b(plan);
  const RingLaw law{b, 2};
  b.set_up();
  if (b.is("compute")) {
    machine::store(my_sum(a), stream_compute(groups, law));
    return;
  }
  if (!machine::elect_one()) return;
  for (int g = 0; g < groups; ++g) {
    law.wait_empty(g);
    if (g > 0 && !bug.rewritten_at_once) law.wait_full(g - 1);  // no load uses the map any more
    for (int i = 0; i < int(sizeof(TensorMap) / sizeof(Line)); ++i)
      machine::store(Global<TensorMap>{a.work_map}.as<Line>() + i,
                     machine::load(Global<const TensorMap>{a.maps + g}.as<const Line>() + i));
    machine::fence_tensormap_release();
    if (!bug.no_acquire) machine::fence_tensormap_acquire(a.work_map);
    machine::mbarrier_arrive_expect_tx(law.full(g), kTile);
    machine::tma_load(law.slot(g), a.work_map, machine::Coords{0, 0}, law.full(g));
  }
}
Run grouped_run(MapBug bug) {
  return runner(grouped_plan(), {}, [bug](const BlockPlan& p, const Arrays& a) { grouped(p, a, bug); });
}

// Load and compute warps without a pipeline: one operand buffer, a barrier when it is filled, a barrier when it was
// read.
constexpr BlockPlan lockstep_plan() {
  BlockPlan plan("lockstep", Arch::sm90);
  plan.role("load", 1).role("compute", 1);
  plan.region("operand", kTile, 1, 128);
  plan.named_barrier("filled", 64).named_barrier("read", 64);
  return plan;
}

void lockstep(const BlockPlan& plan, const Arrays& a) {
  const Block b(plan);
  uint32_t sum = 0;
  for (int k = 0; k < 4; ++k) {
    const Shared<Line> operand = b.region("operand");
    if (b.is("load")) machine::store(operand + lane(), machine::load(a.in + (k * 32 + lane())));
    machine::named_barrier_sync(1, 64);
    if (b.is("compute")) sum += machine::load(operand + (lane() ^ 1))[0];
    machine::named_barrier_sync(2, 64);
  }
  machine::store(my_sum(a), sum);
}

}  // namespace
}  // namespace cd

void add_proxy_mutants(std::vector<Mutant>& all) {
  using namespace cd;
  const std::vector<std::string> proxy = {"race.proxy"}, unfinished = {"race.in_flight", "race.completion"};
  const Fault no_fence = Word("fence_proxy_async").drop();
  const Body zeroed_tiles = [](const BlockPlan& p, const Arrays& a) { zeroed(p, a, false); };

  all.push_back(by_fault(
      {"M42", "ordinary loads of a stage, then the TMA refills it", "proxy fence before the release dropped", proxy},
      ring_plan(), {}, ring_kernel, Word("fence_proxy_async").by("compute").drop()));
  all.push_back(by_fault({"M43.no_fence", "ordinary stores, then a TMA store, with __syncthreads only",
                          "proxy fence before the store dropped", proxy},
                         zeroed_plan(), {}, zeroed_tiles, no_fence));
  all.push_back(by_flag({"M43.empty_tile", "a tile without work skips the loop that holds the fence",
                         "fence inside the loop over the work", proxy},
                        zeroed_plan(), {}, zeroed));
  all.push_back(by_fault(
      {"M44", "ordinary stores, then the tensor core reads them", "proxy fence before tcgen05.mma dropped", proxy},
      operands_plan(), {}, operands<Reader::mma>, no_fence));
  all.push_back(
      by_flag({"M45", "the fence stands after the barrier that hands over", "fence and barrier swapped", proxy},
              handed_plan(), {}, handed));
  all.push_back(by_fault(
      {"M46", "ordinary stores of scale factors, then tcgen05.cp", "proxy fence before tcgen05.cp dropped", proxy},
      operands_plan(), {}, operands<Reader::copy>, no_fence));
  all.push_back(by_fault({"M47",
                          "a fence for the CTA's own shared memory before a multicast from another CTA",
                          "fence narrowed to shared::cta",
                          {"race.proxy_scope"}},
                         multicast_plan(), {2},
                         multicast_kernel<pipeline::ReleaseToCluster<2, pipeline::Readers::threads>>,
                         Word("fence_proxy_async").alter(int64_t(ProxySpace::shared_cta))));
  all.push_back(by_fault(
      {"M48", "a stage is handed back while the bulk store still reads it", "wait_group.read N + 1", unfinished},
      store_ring_plan(), {}, store_ring, Word("bulk_wait").by("store").alter(2)));
  all.push_back(by_fault({"M49",
                          "only the storing thread knows that the store has read the tile",
                          "barrier of the group after the wait dropped",
                          {"race", "race.in_flight", "race.completion"}},
                         epilogue_plan(), {}, epilogue, Word("named_barrier_sync").on("1").drop()));
  all.push_back(describe({"M50.in_flight",
                          "a tensor map is rewritten in place while loads use it",
                          "map rewritten before the loads are complete",
                          {"tma.map_in_flight"}},
                         grouped_plan(), grouped_run({}), grouped_run({.rewritten_at_once = true})));
  all.push_back(describe({"M50.no_acquire",
                          "a rewritten tensor map is used without the tensor-map proxy's acquire",
                          "fence.proxy.tensormap acquire dropped",
                          {"tma.map_stale"}},
                         grouped_plan(), grouped_run({}), grouped_run({.no_acquire = true})));
  all.push_back(by_fault(
      {"M51", "no barrier at the end of the loop over a shared operand", "loop-back barrier dropped", {"race"}},
      lockstep_plan(), {}, lockstep, Word("named_barrier_sync").on("2").drop()));
}

}  // namespace warpwright::mutants
