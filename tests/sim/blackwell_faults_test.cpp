// Each method of the four reference pages synchronizes something: break it, and the simulator says what is wrong.
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "sim/blackwell_kernel.h"

namespace warpwright::blackwell {

using simulator::Fault;
using Action = Fault::Action;
using Rules = std::set<std::string>;

struct Broken {
  const char* what;
  Fault fault;
  Rules rules;          // any of these is a right diagnosis
  int only = 0;         // 1 or 2: only with this cta_group
  bool scales = false;  // only in the forms whose epilogue reads the input ring
};

Fault fault(const char* word, const char* object, const char* role, Action action, int64_t value = 0, int cta = -1) {
  return {word, object, role, action, value, 0, cta};
}

const std::vector<Broken>& broken() {
  static const std::vector<Broken> list = {
      // acquire_for_mma and everything that waits for accum.empty.
      {"MMA does not wait for the epilogue",
       fault("mbarrier_wait", "accum.empty", "mma", Action::drop),
       {"race.completion", "race.tcgen_fence"}},
      {"MMA waits for the wrong parity",
       fault("mbarrier_wait", "accum.empty", "mma", Action::alter, 0),
       {"phase.missed"}},
      {"MMA does not order itself after the reads",
       fault("tcgen05_fence_after", "", "mma", Action::drop),
       {"race.tcgen_fence"}},
      // release_from_mma.
      {"no commit to accum.full", fault("tcgen05_commit", "accum.full", "mma", Action::drop), {"deadlock"}},
      {"commit arrives before the MMAs are complete",
       fault("tcgen05_commit", "accum.full", "mma", Action::postpone),
       {"race.completion"}},
      {"the peer's epilogue is not told",
       fault("tcgen05_commit", "accum.full", "mma", Action::alter, 1),
       {"deadlock"},
       2},
      // acquire_for_epilogue.
      {"epilogue does not wait for the MMA",
       fault("mbarrier_wait", "accum.full", "epilogue", Action::drop),
       {"race.completion", "race.in_flight", "uninitialised.tmem"}},
      {"epilogue waits for the wrong parity",
       fault("mbarrier_wait", "accum.full", "epilogue", Action::alter, 1),
       {"phase.alias"}},
      {"epilogue does not order itself after the commit",
       fault("tcgen05_fence_after", "", "epilogue", Action::drop),
       {"race.tcgen_fence"}},
      // release_from_epilogue.
      {"no arrival on accum.empty", fault("mbarrier_arrive", "accum.empty", "epilogue", Action::drop), {"deadlock"}},
      {"the peer does not arrive at the leader",
       fault("mbarrier_arrive", "accum.empty", "epilogue", Action::drop, 0, 1),
       {"deadlock"},
       2},
      {"two arrivals of a thread",
       fault("mbarrier_arrive", "accum.empty", "epilogue", Action::duplicate),
       {"mbarrier.missing_wait"}},
      {"arrival before the reads are ordered",
       fault("tcgen05_fence_before", "", "epilogue", Action::drop),
       {"race.tcgen_fence"}},
      {"accum.empty counts one thread less",
       fault("mbarrier_init", "accum.empty", "", Action::alter, 127),
       {"mbarrier.missing_wait"}},
      {"accum.full counts two", fault("mbarrier_init", "accum.full", "", Action::alter, 2), {"deadlock"}},
      // per_k_epilogue and EpilogueWarp::per_k_stage.
      {"scales are not handed back",
       fault("mbarrier_arrive", "input.empty", "epilogue", Action::drop),
       {"deadlock"},
       0,
       true},
      {"scales are overtaken by the next TMA",
       fault("fence_proxy_async", "", "epilogue", Action::drop),
       {"race.proxy"},
       0,
       true},
      // MmaWarp::create and EpilogueWarp::create.
      {"the MMA warp does not say that it has allocated",
       fault("named_barrier_arrive", "", "mma", Action::drop),
       {"deadlock.named"}},
      {"the epilogue reads the address before the barrier",
       fault("named_barrier_sync", "", "epilogue", Action::postpone),
       {"race.unordered", "uninitialised.shared"}},
      {"the barrier counts the epilogue alone",
       fault("named_barrier_sync", "", "epilogue", Action::alter, 128),
       {"named.count", "uninitialised.shared"}},
      {"the leader does not wait for the peer's allocation",
       fault("mbarrier_wait", "tmem.peer", "mma", Action::drop),
       {"tmem.peer"},
       2},
      {"the peer does not say that it has allocated",
       fault("mbarrier_arrive", "tmem.peer", "mma", Action::drop),
       {"deadlock"},
       2},
      {"the peer says it twice",
       fault("mbarrier_arrive", "tmem.peer", "mma", Action::duplicate),
       {"mbarrier.missing_wait"},
       2},
      // MmaWarp::release and EpilogueWarp::release.
      {"freed without waiting for the epilogue",
       fault("mbarrier_wait", "tmem.done", "mma", Action::drop),
       {"race.completion", "race.tcgen_fence", "tmem.peer"}},
      {"waits for the phase after the last",
       fault("mbarrier_wait", "tmem.done", "mma", Action::alter, 1),
       {"phase.alias"}},
      {"never freed", fault("tcgen05_dealloc", "", "mma", Action::drop), {"tmem.leak"}},
      {"freed twice", fault("tcgen05_dealloc", "", "mma", Action::duplicate), {"tmem.free"}},
      {"the epilogue does not say that it is done",
       fault("mbarrier_arrive", "tmem.done", "epilogue", Action::drop),
       {"deadlock.role_exited", "deadlock.cluster"}},
      {"the epilogue of one CTA says nothing",
       fault("mbarrier_arrive", "tmem.done", "epilogue", Action::drop, 0, 1),
       {"deadlock.cluster"},
       2},
      {"tmem.done counts one CTA of the pair",
       fault("mbarrier_init", "tmem.done", "", Action::alter, 128),
       {"mbarrier.missing_wait"},
       2},
  };
  return list;
}

template <Case C>
void expect_reported() {
  for (const Broken& b : broken()) {
    if ((b.only && b.only != C.cta_group) || (b.scales && !is_scaled(C.form))) continue;
    const Outcome out = explore<C>({b.fault}, 4, 3);
    EXPECT_TRUE(b.rules.count(out.rule()))
        << "form " << int(C.form) << ", cta_group " << C.cta_group << ", " << b.what << ": " << out.text();
    // A hang is explained by the barrier on which nobody arrives, whoever was found waiting first.
    if (out.rule().rfind("deadlock", 0) == 0 && b.fault.object.rfind("input", 0) != 0) {
      EXPECT_NE(out.text().find(b.fault.object), std::string::npos) << b.what << ": " << out.text();
    }
  }
}

TEST(BlackwellFaults, AcquireForMmaAndForEpilogue) {
  expect_reported<Case{.form = Form::raw}>();
  expect_reported<Case{.form = Form::raw, .cta_group = 2}>();
}
TEST(BlackwellFaults, ProducerAndConsumer) {
  expect_reported<Case{.form = Form::scoped}>();
  expect_reported<Case{.form = Form::scoped, .cta_group = 2}>();
}
TEST(BlackwellFaults, AcquireMmaLinearAndEpilogueLinear) {
  expect_reported<Case{.form = Form::linear}>();
  expect_reported<Case{.form = Form::linear, .cta_group = 2}>();
}
TEST(BlackwellFaults, AcquireKStageLinear) {
  expect_reported<Case{.form = Form::k_linear}>();
  expect_reported<Case{.form = Form::k_linear, .cta_group = 2}>();
}
TEST(BlackwellFaults, PerK) {
  expect_reported<Case{.form = Form::k_views}>();
  expect_reported<Case{.form = Form::k_views, .cta_group = 2}>();
}
TEST(BlackwellFaults, PerKStage) {
  expect_reported<Case{.form = Form::k_scaled}>();
  expect_reported<Case{.form = Form::k_scaled, .cta_group = 2}>();
}
TEST(BlackwellFaults, PerKEpilogue) {
  expect_reported<Case{.form = Form::k_scaled_raw}>();
  expect_reported<Case{.form = Form::k_scaled_raw, .cta_group = 2}>();
}

// No schedule in which the peer comes late is needed.
TEST(BlackwellFaults, MultiplyingBeforeThePeerHasAllocatedIsSeenInAnyRun) {
  simulator::Options o;
  o.faults = {fault("mbarrier_wait", "tmem.peer", "mma", Action::drop)};
  EXPECT_EQ((execute<Case{.form = Form::linear, .cta_group = 2}>(o).rule()), "tmem.peer");
  EXPECT_EQ((execute<Case{.form = Form::scoped, .cta_group = 2, .pairs = 2}>(o).rule()), "tmem.peer");
}

// Mistakes in a whole kernel that no type prevents.
TEST(BlackwellMistakes, DoubleCommitToAccumFull) {
  const Outcome out = explore<Case{.form = Form::raw, .commits_twice = true}>();
  EXPECT_EQ(out.rule(), "mbarrier.missing_wait") << out.text();
}
TEST(BlackwellMistakes, ConstantMaskInAClusterOfTwoPairs) {
  constexpr Case two_pairs{.form = Form::scoped, .cta_group = 2, .pairs = 2};
  const Outcome out = explore<two_pairs>({fault("tcgen05_commit", "accum.full", "mma", Action::alter, 0b11, 2)});
  EXPECT_TRUE((Rules{"mbarrier.missing_wait", "deadlock"}.count(out.rule()))) << out.text();
}
TEST(BlackwellMistakes, PeerSkipsTheLoadLoop) {
  const Outcome out = explore<Case{.form = Form::scoped, .cta_group = 2, .peer_skips_load = true}>();
  EXPECT_EQ(out.rule(), "deadlock.bytes") << out.text();
}
TEST(BlackwellMistakes, CtaOfAPairLeavesEarly) {
  const Outcome out = explore<Case{.form = Form::scoped, .cta_group = 2, .leaves_early = true}>();
  EXPECT_TRUE((Rules{"cluster.exited", "cluster.exit_order"}.count(out.rule()))) << out.text();
}

}  // namespace warpwright::blackwell
