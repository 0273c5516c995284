// The certificate: one run that proves all interleavings, or says what it cannot exclude.
#include <string>

#include "sim/blackwell_kernel.h"
#include "sim/generated.h"
#include "sim/rules.h"

namespace warpwright::blackwell {
namespace {

namespace m = machine;
using simulator::Certificate;
using simulator::Landing;
using simulator::Options;
using simulator::Result;
using simulator::Scheduling;

Options certified() {
  Options o;
  o.certify = true;
  o.landing = Landing::eager;
  return o;
}

// A ring of one stage between a producer and two readers; `freeing` of them hand the stage back.
Result one_stage(int freeing, bool reader_waits = true, bool producer_waits = true) {
  BlockPlan plan("one_stage", Arch::sm90);
  plan.role("producer", 1).role("readers", 2).region("data", 8, 1, 8);
  plan.barrier("full", 1, 1, "readers", {"producer", 1}).barrier("empty", 1, freeing, "producer", {"readers", freeing});
  simulator::Launch launch;
  launch.plan = &plan;
  return simulator::run(launch, certified(), [&] {
    const Shared<Mbarrier> full{m::shared_base() + 8}, empty = full + 1;
    if (rules::thread() == 0) {
      m::mbarrier_init(full, 1);
      m::mbarrier_init(empty, uint32_t(freeing));
      m::fence_mbarrier_init();
    }
    m::sync_block();
    m::Phase producer = m::Phase::producer(), reader = m::Phase::consumer();
    for (int i = 0; i < 6; ++i) {
      if (rules::warp() == 0) {
        if (producer_waits) m::mbarrier_wait(empty, producer);
        if (m::elect_one()) m::mbarrier_arrive(full);
        producer.advance();
      } else {
        if (reader_waits || rules::warp() == 1) m::mbarrier_wait(full, reader);
        if (m::elect_one() && int(rules::warp()) <= freeing) m::mbarrier_arrive(empty);
        reader.advance();
      }
    }
  });
}

TEST(Certificate, IsProvenForARingWhoseReadersAllHandBack) {
  const Result r = one_stage(2);
  ASSERT_TRUE(r.ok()) << r.findings[0].text();
  EXPECT_TRUE(r.certificate.proven()) << r.certificate.gaps.front();
}

// The reader that hands nothing back keeps up in this run. In another the stage is refilled twice before it looks.
TEST(Certificate, SeesAReaderThatCanBeOvertaken) {
  const Result r = one_stage(1);
  ASSERT_TRUE(r.ok()) << r.findings[0].text();
  ASSERT_FALSE(r.certificate.proven());
  bool named = false;
  for (const std::string& gap : r.certificate.gaps)
    named |= gap.find("readers (cta 0 warp 2") != std::string::npos && gap.find("full") != std::string::npos;
  EXPECT_TRUE(named) << r.certificate.gaps.front();
}

// The reader that does not wait arrives in time here; it could hand back the stage of the previous round.
TEST(Certificate, SeesAnArrivalThatCanFallIntoAnOlderPhase) {
  const Result r = one_stage(2, false);
  EXPECT_FALSE(r.ok() && r.certificate.proven());
}

TEST(Certificate, IsNotGivenWhereAnAnswerDecides) {
  BlockPlan plan("polls", Arch::sm90);
  plan.role("a", 1).barrier("bar", 1, 1, "a", {"a", 1});
  simulator::Launch launch;
  launch.plan = &plan;
  const Result r = simulator::run(launch, certified(), [] {
    const Shared<Mbarrier> bar{m::shared_base()};
    if (rules::thread() == 0) {
      m::mbarrier_init(bar, 1);
      m::mbarrier_arrive(bar);
      while (!m::mbarrier_try_wait(bar, m::Phase::consumer())) {
      }
    }
  });
  ASSERT_TRUE(r.ok()) << r.findings[0].text();
  EXPECT_TRUE(r.certificate.gaps.empty());
  EXPECT_FALSE(r.certificate.proven());
}

TEST(Certificate, IsOnlyThereWhenAskedFor) {
  EXPECT_FALSE(execute<Case{.form = Form::scoped}>({}).run.certificate.proven());
}

template <Case C>
void expect_proven() {
  const Outcome out = execute<C>(certified(), 5, 3);
  ASSERT_TRUE(out.run.ok()) << out.text();
  EXPECT_EQ(out.wrong, 0);
  EXPECT_TRUE(out.run.certificate.gaps.empty()) << out.run.certificate.gaps.front();
  EXPECT_EQ(out.run.certificate.proven(), C.form != Form::linear) << "that form asks with try_acquire";
}
TEST(Certificate, IsProvenForTheBlackwellWarps) {
  expect_proven<Case{.form = Form::linear, .cta_group = 2}>();
  expect_proven<Case{.form = Form::scoped}>();
  expect_proven<Case{.form = Form::k_scaled}>();
  expect_proven<Case{.form = Form::scoped, .cta_group = 2, .pairs = 2}>();
  expect_proven<Case{.form = Form::k_scaled, .cta_group = 2}>();
}

// What one run proves, no exploration refutes; and where exploration finds something, a run that happens to be silent
// proves nothing.
template <Case C>
void expect_consistent() {
  Options list = certified();
  list.list_fault_sites = true;
  const auto mutants = generated::mutants_of(Kernel<C>::plan, execute<C>(list, 4, 3).run.fault_sites);
  int silent = 0, proven = 0;
  for (const simulator::Fault& f : mutants) {
    Options o = certified();
    o.faults = {f};
    const Outcome one = execute<C>(o, 4, 3);
    if (!one.run.ok()) continue;
    ++silent;
    if (!one.run.certificate.proven()) continue;
    ++proven;
    const Outcome all = explore<C>({f}, 4, 3);
    EXPECT_TRUE(all.run.ok()) << generated::describe(f) << " was proven right, but: " << all.text();
  }
  EXPECT_LE(proven, silent);
}
TEST(Certificate, AgreesWithExplorationOnEveryGeneratedMutant) {
  expect_consistent<Case{.form = Form::k_scaled}>();
  expect_consistent<Case{.form = Form::scoped, .cta_group = 2}>();
}

}  // namespace
}  // namespace warpwright::blackwell
