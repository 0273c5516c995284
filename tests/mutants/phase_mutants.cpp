// Phases: waits that pass too early, too late or on the wrong barrier.
#include <vector>

#include "kernels_cd.h"

namespace warpwright::mutants {
namespace cd {
namespace {

// A persistent kernel that hears of its next tile from a scheduler; the operand of a tile comes through one slot.
constexpr BlockPlan scheduled_plan() {
  BlockPlan plan("scheduled", Arch::sm90);
  plan.role("scheduler", 1).role("load", 1).role("mma", 1);
  plan.region("q", kTile, 1, 128).region("mailbox", 16, 1, 16);
  plan.barrier("q.full", 1, 1, "mma", {"load", 1});
  plan.barrier("q.empty", 1, 1, "load", {"mma", 1});
  plan.barrier("mail.full", 1, 1, "mma", {"scheduler", 1});
  plan.barrier("mail.empty", 1, 1, "scheduler", {"mma", 1});
  return plan;
}

void scheduled(const BlockPlan& plan, const Arrays& a, bool restart_phase) {
  constexpr int tiles = 4;
  const Block b(plan);
  b.set_up();
  const auto q_full = b.barrier("q.full"), q_empty = b.barrier("q.empty");
  const auto mail_full = b.barrier("mail.full"), mail_empty = b.barrier("mail.empty");
  const auto mailbox = b.region("mailbox").as<uint32_t>();
  if (b.is("scheduler")) {
    if (!machine::elect_one()) return;
    Phase phase = Phase::producer();
    for (uint32_t tile = 0; tile <= tiles; ++tile, phase.advance()) {
      machine::mbarrier_wait(mail_empty, phase);
      machine::store(mailbox, tile);  // `tiles` itself says that the work is over
      machine::mbarrier_arrive(mail_full);
    }
  } else if (b.is("load")) {
    if (!machine::elect_one()) return;
    Phase phase = Phase::producer();
    for (int tile = 0; tile < tiles; ++tile, phase.advance()) {
      machine::mbarrier_wait(q_empty, phase);
      machine::mbarrier_arrive_expect_tx(q_full, kTile);
      machine::bulk_load(b.region("q"), a.in + tile * 32, kTile, q_full);
    }
  } else {
    Phase mail = Phase::consumer(), operand = Phase::consumer();
    uint32_t sum = 0;
    for (;; mail.advance()) {
      machine::mbarrier_wait(mail_full, mail);
      const uint32_t tile = machine::load(mailbox);
      machine::sync_warp();
      if (lane() == 0) machine::mbarrier_arrive(mail_empty);
      if (tile == tiles) break;
      if (restart_phase) operand = Phase::consumer();
      machine::mbarrier_wait(q_full, operand);
      sum += machine::load(b.region("q") + lane())[0];
      machine::fence_proxy_async<ProxySpace::shared_cta>();
      machine::sync_warp();
      if (lane() == 0) machine::mbarrier_arrive(q_empty);
      operand.advance();
    }
    machine::store(my_sum(a), sum);
  }
}

// Six steps a tile through two stages: three laps, so that the parity at the start of a tile alternates.
struct PersistentLaw : RingLaw {
  bool from_inner_step;
  static constexpr int kSteps = 6;
  int lap(int k) const { return (from_inner_step ? k % kSteps : k) / stages; }
  void wait_full(int k) const { machine::mbarrier_wait(full(k), at_lap(Phase::consumer(), lap(k))); }
  void wait_empty(int k) const { machine::mbarrier_wait(empty(k), at_lap(Phase::producer(), lap(k))); }
};

// One slot, one barrier that completes in every step; the wait is written with a bare parity.
struct SingleSlotLaw : RingLaw {
  bool parity_of_ring;
  static constexpr int kStagesElsewhere = 2;
  void wait_full(int k) const {
    machine::mbarrier_wait(full(k), Phase::of_parity(uint32_t(parity_of_ring ? k / kStagesElsewhere : k) % 2));
  }
};

// One slot, but a barrier for each step, used once.
struct BarrierPerStepLaw : RingLaw {
  bool phase_of_step;
  Shared<Mbarrier> full(int k) const { return b.barrier("full", k); }
  void wait_full(int k) const { machine::mbarrier_wait(full(k), at_lap(Phase::consumer(), phase_of_step ? k : 0)); }
};

// A quick look first, then a loop. The loop must poll the barrier of this step.
struct SpinLaw : RingLaw {
  bool poll_first_stage;
  void wait_full(int k) const {
    const Phase phase = at_lap(Phase::consumer(), k / stages);
    if (machine::mbarrier_test_wait(full(k), phase)) return;
    while (!machine::mbarrier_try_wait(poll_first_stage ? full(0) : full(k), phase)) {
    }
  }
};

struct FewBarriersLaw : RingLaw {
  int barriers;
  Shared<Mbarrier> full(int k) const { return b.barrier("full", k % barriers); }
  void wait_full(int k) const { machine::mbarrier_wait(full(k), at_lap(Phase::consumer(), k / barriers)); }
};

// Two math warps take turns with one staging buffer, a store warp empties it and says so.
constexpr BlockPlan turns_plan() {
  BlockPlan plan("turns", Arch::sm90);
  plan.role("math0", 1).role("math1", 1).role("store", 1);
  plan.region("o", kTile, 1, 128);
  plan.barrier("full0", 1, 32, "store", {"math0", 32});
  plan.barrier("full1", 1, 32, "store", {"math1", 32});
  plan.barrier("free", 2, 1, "math0", {"store", 1});
  return plan;
}

void turns(const BlockPlan& plan, const Arrays& a, bool share_free_barrier) {
  constexpr int rounds = 3;
  const Block b(plan);
  b.set_up();
  const Shared<Mbarrier> full[2] = {b.barrier("full0"), b.barrier("full1")};
  if (b.is("store")) {
    if (!machine::elect_one()) return;
    for (int n = 0; n < 2 * rounds; ++n) {
      machine::mbarrier_wait(full[n % 2], at_lap(Phase::consumer(), n / 2));
      machine::bulk_store(a.out + n * 32, b.region("o"), kTile);
      machine::bulk_commit();
      machine::bulk_wait_read<0>();
      machine::mbarrier_arrive(b.barrier("free", share_free_barrier ? 0 : (n + 1) % 2));
    }
    machine::bulk_wait<0>();
  } else {
    const int mine = b.is("math0") ? 0 : 1;
    for (int n = mine; n < 2 * rounds; n += 2) {
      // Turn n may begin when the tile of turn n - 1 has left.
      if (n > 0) {
        if (share_free_barrier) {
          machine::mbarrier_wait(b.barrier("free"), at_lap(Phase::consumer(), n - 1));
        } else {
          machine::mbarrier_wait(b.barrier("free", mine), at_lap(Phase::consumer(), (n - 1) / 2));
        }
      }
      machine::store(b.region("o") + lane(), Line{{uint32_t(n), 0, 0, 0}});
      machine::fence_proxy_async<ProxySpace::shared_cta>();
      machine::mbarrier_arrive(full[mine]);
    }
  }
}

// A consumer of two warps: both wait for a stage, the leader reads it and arrives for both.
constexpr BlockPlan pair_plan() {
  BlockPlan plan("pair", Arch::sm90);
  plan.role("leader", 1).role("follower", 1).role("load", 1);
  plan.region("stage", kTile, 2, 128);
  plan.barrier("full", 2, 1, "leader", {"load", 1});
  plan.barrier("empty", 2, 1, "load", {"leader", 1});
  plan.named_barrier("both.passed", 64);
  return plan;
}

void pair_of_warps(const BlockPlan& plan, const Arrays& a) {
  constexpr int n = 6;
  const Block b(plan);
  const RingLaw law{b, 2};
  b.set_up();
  if (b.is("load")) {
    if (machine::elect_one()) stream_load(a, n, law);
    return;
  }
  uint32_t sum = 0;
  for (int k = 0; k < n; ++k) {
    law.wait_full(k);
    if (b.is("leader")) {
      sum += machine::load(law.slot(k) + lane())[0];
      machine::fence_proxy_async<ProxySpace::shared_cta>();
    }
    machine::named_barrier_sync(1, 64);
    machine::sync_warp();
    if (b.is("leader") && lane() == 0) machine::mbarrier_arrive(law.empty(k));
  }
  machine::store(my_sum(a), sum);
}

// A rendezvous of two CTAs made of mbarriers: one thread arrives at the peer's, everybody waits at his own. The slow
// warp of CTA 1 uses the time between the two for a copy.
constexpr BlockPlan rendezvous_plan() {
  BlockPlan plan("rendezvous", Arch::sm90, 2);
  plan.role("fast", 1).role("slow", 1);
  plan.region("data", kTile, 1, 128);
  plan.barrier("meet", 2, 1, "fast", {"fast", 1});
  plan.barrier("data.full", 1, 1, "slow", {"slow", 1});
  return plan;
}

void rendezvous(const BlockPlan& plan, const Arrays& a, bool one_barrier) {
  constexpr int meetings = 4;
  const Block b(plan);
  b.set_up();
  const uint32_t rank = machine::cluster_rank();
  const bool busy = rank == 1 && b.is("slow");
  const auto data = b.barrier("data.full");
  for (int r = 0; r < meetings; ++r) {
    const Shared<Mbarrier> meet = b.barrier("meet", one_barrier ? 0 : r % 2);
    machine::sync_block();
    if (machine::thread_index() == 0) machine::mbarrier_arrive<Scope::cluster>(machine::map_to_rank(meet, rank ^ 1));
    if (busy) {
      if (lane() == 0) {
        machine::mbarrier_arrive_expect_tx(data, kTile);
        machine::bulk_load(b.region("data"), a.in + r * 32, kTile, data);
      }
      machine::mbarrier_wait(data, at_lap(Phase::consumer(), r));
    }
    machine::mbarrier_wait<Scope::cluster>(meet, at_lap(Phase::consumer(), one_barrier ? r : r / 2));
  }
  machine::cluster_sync();
}

}  // namespace
}  // namespace cd

void add_phase_mutants(std::vector<Mutant>& all) {
  using namespace cd;
  all.push_back(by_flag(
      {"M23", "the peeled first MMA of each tile waits for phase 0", "phase restarted at each tile", {"phase.*"}},
      scheduled_plan(), {}, scheduled));
  all.push_back(by_flag({"M24",
                         "phase not carried across the persistent loop",
                         "phase computed from the inner step only",
                         {"phase.*", "race*"}},
                        stream_plan(2, 2, 2), {}, [](const BlockPlan& p, const Arrays& a, bool mutated) {
                          const Block b(p);
                          stream(b, a, 3 * PersistentLaw::kSteps, PersistentLaw{{b, 2}, mutated});
                        }));
  all.push_back(by_flag({"M25",
                         "parity of a ring applied to a barrier that completes in every step",
                         "parity (k / stages) % 2 instead of k % 2",
                         {"phase.*", "race*"}},
                        stream_plan(1, 1, 1), {}, [](const BlockPlan& p, const Arrays& a, bool mutated) {
                          const Block b(p);
                          stream(b, a, 6, SingleSlotLaw{{b, 1}, mutated});
                        }));
  all.push_back(by_flag({"M26",
                         "parity from the loop index on a barrier that is another one in each iteration",
                         "phase k on barrier k, which is used once",
                         {"phase.*"}},
                        stream_plan(1, 6, 1), {}, [](const BlockPlan& p, const Arrays& a, bool mutated) {
                          const Block b(p);
                          stream(b, a, 6, BarrierPerStepLaw{{b, 1}, mutated});
                        }));
  all.push_back(by_flag({"M27",
                         "the slow path of a spin-wait polls the first stage's barrier",
                         "stale barrier pointer in the retry loop",
                         {"phase.*"}},
                        stream_plan(3, 3, 3), {}, [](const BlockPlan& p, const Arrays& a, bool mutated) {
                          const Block b(p);
                          stream(b, a, 9, SpinLaw{{b, 3}, mutated});
                        }));
  all.push_back(by_flag({"M28",
                         "two warpgroups take turns and wait on one free-barrier",
                         "the free-barrier of the staging buffer shared",
                         {"phase.alias", "phase.missed"}},
                        turns_plan(), {}, turns));
  all.push_back(by_fault({"M29",
                          "the elected warp arrives before the other warps have finished polling",
                          "barrier of the consumer's warps before the arrive dropped",
                          {"phase.alias", "phase.missed", "deadlock*"}},
                         pair_plan(), {}, pair_of_warps, Word("named_barrier_sync").on("1").drop()));
  all.push_back(by_flag({"M30",
                         "back-to-back rendezvous on one mbarrier: a delayed warp misses a phase",
                         "one barrier instead of two in turn",
                         {"phase.alias", "phase.missed"}},
                        rendezvous_plan(), {2}, rendezvous));
  all.push_back(by_flag({"M31",
                         "fewer barriers than loads in flight",
                         "three full barriers for four stages",
                         {"mbarrier.over_arrival", "mbarrier.role_arrivals", "mbarrier.missing_wait", "phase.*"}},
                        stream_plan(4, 4, 4), {}, [](const BlockPlan& p, const Arrays& a, bool mutated) {
                          const Block b(p);
                          stream(b, a, 8, FewBarriersLaw{{b, 4}, mutated ? 3 : 4});
                        }));
  add_mbarrier_mutants(all);
}

}  // namespace warpwright::mutants
