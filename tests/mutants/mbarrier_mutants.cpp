// The life of a barrier: initialised, announced to, arrived on, released, reused.
#include <string>
#include <vector>

#include "kernels_cd.h"

namespace warpwright::mutants::cd {
namespace {

// A pipeline whose barriers live for one use: set up, run, taken down, set up again.
constexpr BlockPlan two_uses_plan() {
  BlockPlan plan = ring_plan();
  plan.named_barrier("barriers.ready", 64);
  return plan;
}

void two_uses(const BlockPlan& plan, const Arrays& a, bool leave_at_once) {
  constexpr int uses = 2, n = 4;
  const Block b(plan);
  const auto ring = b.ring<kRingStages>("full", "empty");
  uint32_t sum = 0;
  for (int use = 0; use < uses; ++use) {
    if (b.is("load") && machine::elect_one()) {
      b.init_barriers();
      machine::fence_mbarrier_init();
    }
    machine::named_barrier_sync(1, 64);
    if (b.is("load")) {
      if (machine::elect_one()) {
        pipeline::Producer<kRingStages, pipeline::PublishByTma> input(ring);
        for (int k = 0; k < n; ++k)
          input.produce([&](auto stage) {
            stage->expect_bytes(kTile);
            machine::bulk_load(b.region("stage", stage->index()), a.in + (use * n + k) * 32, kTile, stage->full());
            return stdx::move(stage).release();
          });
        if (!leave_at_once) input.drain();
        for (int s = 0; s < kRingStages; ++s) {
          machine::mbarrier_invalidate(ring.full + s);
          machine::mbarrier_invalidate(ring.empty + s);
        }
      }
      machine::sync_warp();
    } else {
      pipeline::Consumer<kRingStages, ReleaseElected> input(ring);
      for (int k = 0; k < n; ++k)
        input.consume([&](auto stage) {
          sum += machine::load(b.region("stage", stage->index()) + lane())[0];
          return stdx::move(stage).release();
        });
    }
  }
  machine::store(my_sum(a), sum);
}

// Two pairs of CTAs; the loads of both CTAs of a pair complete on the leader's barrier, and the leader works on both
// tiles.
constexpr BlockPlan pairs_plan() {
  BlockPlan plan("pairs", Arch::sm100, 4);
  plan.role("load", 1).role("mma", 1);
  plan.region("tile", kTile, 2, 128);
  plan.barrier("full", 2, 1, "mma", {"load", 1});
  return plan;
}

void pairs(const BlockPlan& plan, const Arrays& a) {
  constexpr int stages = 2, ctas_in_pair = 2;
  const Block b(plan);
  b.set_up();
  const uint32_t rank = machine::cluster_rank();
  const bool leader = rank % ctas_in_pair == 0;
  if (b.is("load")) {
    if (machine::elect_one()) {
      machine::fence_tensormap_acquire(&a.maps[rank]);
      for (int s = 0; s < stages; ++s) {
        if (leader) machine::mbarrier_arrive_expect_tx(b.barrier("full", s), ctas_in_pair * kTile);
        machine::tma_load_pair(b.region("tile", s), &a.maps[rank], machine::Coords{0, 4 * s},
                               machine::map_to_leader(b.barrier("full", s)));
      }
    }
  } else if (leader) {
    uint32_t sum = 0;
    for (int s = 0; s < stages; ++s) {
      machine::mbarrier_wait(b.barrier("full", s), Phase::consumer());
      for (uint32_t r = rank; r < rank + ctas_in_pair; ++r)
        sum += machine::load(machine::map_to_rank(b.region("tile", s) + lane(), r))[0];
    }
    machine::store(my_sum(a), sum);
  }
  machine::cluster_sync();
}

// Work handed out by cluster launch control: one CTA asks, the answer goes to both. All who have read it say so to the
// scheduler that asks.
constexpr BlockPlan granted_plan() {
  BlockPlan plan("granted", Arch::sm100, 2);
  plan.role("scheduler", 1).role("work", 1);
  plan.region("response", 16, 1, 16);
  plan.barrier("response.full", 1, 1, "work", {"scheduler", 1});
  plan.barrier("response.empty", 1, 4, "scheduler", {"scheduler", 2}, {"work", 2});
  return plan;
}

void granted(const BlockPlan& plan, const Arrays& a) {
  const Block b(plan);
  b.set_up();
  const auto full = b.barrier("response.full"), empty = b.barrier("response.empty");
  const auto response = b.region("response").as<machine::ClcResponse>();
  if (machine::elect_one()) {
    Phase free = Phase::producer(), answered = Phase::consumer();
    uint32_t sum = machine::block_index().x;
    for (bool more = true; more; free.advance(), answered.advance()) {
      if (b.is("scheduler")) {
        const bool asks = machine::cluster_rank() == 0;
        if (asks) machine::mbarrier_wait<Scope::cluster>(empty, free);
        machine::mbarrier_arrive_expect_tx(full, 16);
        if (asks) machine::clc_try_cancel_multicast(response, full);
      }
      machine::mbarrier_wait(full, answered);
      const machine::ClcResponse r = machine::load(response);
      more = machine::clc_is_canceled(r);
      if (more) sum += machine::clc_first_ctaid(r).x;
      machine::fence_proxy_async<ProxySpace::shared_cluster>();
      machine::mbarrier_arrive<Scope::cluster>(machine::map_to_rank(empty, 0));
    }
    machine::store(my_sum(a), sum);
  }
  machine::cluster_sync();
}

// The barriers' initialisation, made visible by the thread that did it or, wrongly, by another one.
void fence_elsewhere(const BlockPlan& plan, const Arrays& a, bool mutated) {
  const Block b(plan);
  if (machine::thread_index() == 0) b.init_barriers();
  if (machine::thread_index() == (mutated ? 32u : 0u)) machine::fence_mbarrier_init();
  machine::sync_block();
  ring_roles(b, a, 6);
}

// The compute warp passes its sums around through scratch memory at the end, while the load warp may still be in the
// ring.
void shuffle_through_scratch(const BlockPlan& plan, const Arrays& a, bool on_barriers) {
  constexpr int n = 4;
  const Block b(plan);
  const RingLaw law{b, 2};
  b.set_up();
  if (b.is("load")) {
    if (machine::elect_one()) stream_load(a, n, law);
    return;
  }
  const uint32_t sum = stream_compute(n, law);
  const Shared<uint32_t> scratch = b.region("scratch").as<uint32_t>().plus_bytes(on_barriers ? 32 : 0);
  machine::store(scratch + lane(), sum);
  machine::sync_warp();
  machine::store(my_sum(a), machine::load(scratch + (lane() ^ 1)));
}

// pipeline::ReleaseToCluster, with the form of arrive that is for the CTA's own barriers.
struct ReleaseByLocalForm {
  static void acquired(machine::here) {}
  static void release(Shared<Mbarrier> empty, machine::here at) {
    machine::fence_proxy_async<ProxySpace::shared_cluster>(at);
    machine::sync_warp(machine::kFullMask, at);
    const uint32_t rank = machine::lane_index();
    if (rank < 2) machine::mbarrier_arrive(Shared<Mbarrier>{machine::map_to_rank(empty, rank).address}, 1, at);
  }
};

}  // namespace

void add_mbarrier_mutants(std::vector<Mutant>& all) {
  const std::vector<std::string> surplus = {"mbarrier.over_arrival", "mbarrier.role_arrivals", "mbarrier.missing_wait"};
  const BlockPlan ring = ring_plan();

  all.push_back(by_flag({"M32",
                         "a pipeline is left before all its arrivals are in, its barriers are reused",
                         "drain of the ring dropped",
                         {"mbarrier.inval_in_use", "mbarrier.invalid", "phase.*"}},
                        two_uses_plan(), {}, two_uses));
  all.push_back(by_fault({"M33",
                          "the elected lane arrives while other lanes still read",
                          "__syncwarp before the elected arrive dropped",
                          {"race"}},
                         ring, {}, ring_kernel, Word("sync_warp").by("compute").drop()));
  all.push_back(
      by_fault({"M34", "bytes are announced but nobody arrives", "arrive.expect_tx became expect_tx", {"deadlock*"}},
               ring, {}, ring_kernel, Word("mbarrier_arrive_expect_tx").on("full").postpone()));
  all.push_back(by_fault(
      {"M35.half", "fewer bytes announced than the copy delivers", "half the bytes expected", {"mbarrier.tx_*"}}, ring,
      {}, ring_kernel, Word("mbarrier_arrive_expect_tx").on("full").alter(kTile / 2)));
  all.push_back(by_fault(
      {"M35.double", "more bytes announced than the copy delivers", "twice the bytes expected", {"deadlock.bytes"}},
      ring, {}, ring_kernel, Word("mbarrier_arrive_expect_tx").on("full").alter(kTile * 2)));
  all.push_back(by_fault({"M36",
                          "expected bytes multiplied by the cluster's size instead of the pair's",
                          "expect bytes * 4 instead of * 2",
                          {"deadlock.bytes"}},
                         pairs_plan(), {4}, pairs, Word("mbarrier_arrive_expect_tx").on("full").alter(kTile * 4)));
  all.push_back(by_fault({"M37",
                          "a multicast answer is expected by CTA 0 only, the others hang",
                          "expect_tx on rank 0 only",
                          {"deadlock.bytes"}},
                         granted_plan(), {8, 1}, granted,
                         Word("mbarrier_arrive_expect_tx").on("response.full").in_cta(1).drop()));
  all.push_back(by_fault({"M38.no_fence",
                          "initialised barriers are not made visible to the async proxy",
                          "fence.mbarrier_init dropped",
                          {"mbarrier.init_fence"}},
                         ring, {}, ring_kernel, Word("fence_mbarrier_init").drop()));
  all.push_back(by_fault({"M38.no_sync",
                          "barriers are used before the others know that they are initialised",
                          "__syncthreads after init dropped",
                          {"mbarrier.init_order"}},
                         ring, {}, ring_kernel, Word("sync_block").drop()));
  all.push_back(by_flag({"M38.other_thread",
                         "the init fence is executed by a thread that did not initialise",
                         "fence.mbarrier_init in another warp",
                         {"mbarrier.init_fence"}},
                        ring, {}, fence_elsewhere));
  all.push_back(by_flag({"M39",
                         "epilogue scratch overlaps live barriers",
                         "scratch begins 32 bytes late and ends on the ring's barriers",
                         {"mbarrier.overwritten"}},
                        stream_plan(2, 2, 2), {}, shuffle_through_scratch));
  all.push_back(describe(
      {"M40",
       "the local form of arrive on an address of another CTA",
       "arrive.shared::cta on a mapped address",
       {"mbarrier.remote"}},
      multicast_plan(),
      runner(multicast_plan(), {2}, multicast_kernel<pipeline::ReleaseToCluster<2, pipeline::Readers::threads>>),
      runner(multicast_plan(), {2}, multicast_kernel<ReleaseByLocalForm>)));
  all.push_back(
      by_fault({"M41", "all lanes of a warp arrive on a barrier that counts one", "the arrive is not elected", surplus},
               ring, {}, ring_kernel, Word("elect_one").by("compute").alter()));
}

}  // namespace warpwright::mutants::cd
