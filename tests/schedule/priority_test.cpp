// Priorities around MFMA clusters: where the compiler puts them, and what the check refuses.
#include "warpwright/schedule/priority.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "warpwright/schedule/bodies.h"
#include "warpwright/schedule/text.h"

namespace {
using namespace warpwright::schedule;

constexpr int raises(const EntryList& list) {
  int n = 0;
  for (const ScheduleEntry& e : list) n += e.op == OpDesc::set_prio(1);
  return n;
}

// Runs of MFMAs with nothing but waits between them.
int clusters(const EntryList& list) {
  int n = 0;
  bool inside = false;
  for (const ScheduleEntry& e : list) {
    if (e.op.role == OpRole::compute) n += !inside, inside = true;
    if (e.op.role != OpRole::compute && !e.op.is_wait()) inside = false;
  }
  return n;
}

TEST(Priorities, one_raise_and_one_lowering_for_each_cluster_of_every_derived_cdna_schedule) {
  const Pipeline all[] = {compile(default_matmul(targets::gfx942), targets::gfx942),
                          compile(default_matmul(targets::gfx950), targets::gfx950),
                          compile(ping_pong(targets::gfx950), targets::gfx950),
                          compile(four_wave(targets::gfx950), targets::gfx950),
                          compile(four_wave(targets::gfx950), targets::gfx950, {.unroll = 2})};
  for (const Pipeline& p : all) {
    SCOPED_TRACE(p.name.c_str());
    ASSERT_TRUE(p.ok()) << to_text(p.error);
    const auto check = [&](const EntryList& list) {
      EXPECT_TRUE(check_priorities(list).ok()) << to_text(check_priorities(list));
      EXPECT_EQ(count_waits(list).set_prio, 2 * raises(list));
      EntryList bare;
      for (const ScheduleEntry& e : list)
        if (e.op.tag != tags::set_prio) bare.push_back(e);
      EXPECT_EQ(raises(list), clusters(bare));
      for (size_t i = 0; i < list.size(); ++i) EXPECT_EQ(list[i].time_slot, int(i));
    };
    EXPECT_GT(raises(p.schedule.kernel), 0);
    check(p.schedule.prologue);
    check(p.schedule.kernel);
    check(p.schedule.epilogue);
    for (const Schedule& s : p.short_runs) check(s.prologue);
  }
}

TEST(Priorities, only_where_the_target_has_them_and_they_are_wanted) {
  EXPECT_EQ(raises(compile(copy_ring(targets::sm80), targets::sm80).schedule.kernel), 0);
  EXPECT_EQ(raises(compile(tma_ring(targets::sm90a), targets::sm90a).schedule.kernel), 0);
  const Pipeline with = compile(ping_pong(targets::gfx950), targets::gfx950);
  const Pipeline without = compile(ping_pong(targets::gfx950), targets::gfx950, {.priorities = false});
  EXPECT_EQ(raises(without.schedule.kernel), 0);
  // A hint and nothing else: without it the entries are the same, and so is what is proven.
  EntryList rest;
  for (const ScheduleEntry& e : with.schedule.kernel)
    if (e.op.tag != tags::set_prio) rest.push_back(e);
  ASSERT_EQ(rest.size(), without.schedule.kernel.size());
  for (size_t i = 0; i < rest.size(); ++i) EXPECT_EQ(rest[i].op, without.schedule.kernel[i].op);
  for (int n = 0; n <= 6; ++n) EXPECT_TRUE(verify(without, n).empty());
}

// Every single change of a priority, and every one left out or doubled, is reported.
TEST(Priorities, any_change_is_reported) {
  const Pipeline p = compile(ping_pong(targets::gfx950), targets::gfx950);
  int changed = 0;
  for (size_t i = 0; i < p.schedule.kernel.size(); ++i) {
    if (p.schedule.kernel[i].op.tag != tags::set_prio) continue;
    Pipeline removed = p, flipped = p, doubled = p;
    removed.schedule.kernel.erase(i);
    flipped.schedule.kernel[i].op.wait_value ^= 1;
    EntryList twice;
    for (size_t j = 0; j < p.schedule.kernel.size(); ++j) {
      twice.push_back(p.schedule.kernel[j]);
      if (j == i) twice.push_back(p.schedule.kernel[j]);
    }
    doubled.schedule.kernel = twice;
    for (const Pipeline& mutant : {removed, flipped, doubled}) {
      EXPECT_EQ(count_of(verify(mutant, 4), Code::priority_balance), 1) << "entry " << i;
    }
    ++changed;
  }
  EXPECT_EQ(changed, 4);
}

TEST(Priorities, refusal_names_the_entry) {
  const auto list = [](std::initializer_list<OpDesc> ops) {
    EntryList out;
    for (const OpDesc& op : ops) append(out, op, Phase::kernel);
    return out;
  };
  OpDesc mma = OpDesc::logical(body_tags::mma, -1, 0, 0);
  mma.role = OpRole::compute;
  const OpDesc up = OpDesc::set_prio(1), down = OpDesc::set_prio(0);
  EXPECT_TRUE(check_priorities(list({up, mma, OpDesc::wait_lgkm(0), mma, down})).ok());
  EXPECT_EQ(check_priorities(list({up, OpDesc::barrier(), mma, down})).a, Name("BAR"));
  EXPECT_EQ(check_priorities(list({up, mma, up, mma, down})).a, Name("PR1"));
  EXPECT_EQ(check_priorities(list({up, down, mma})).a, Name("PR0"));
  EXPECT_EQ(check_priorities(list({mma, down})).a, Name("PR0"));
  const Diagnostic left = check_priorities(list({mma, up, mma}));
  EXPECT_EQ(left.a, Name("PR1"));
  EXPECT_EQ(left.have, 1);
  EXPECT_EQ(left.code, Code::priority_balance);
}

constexpr int ping_pong_raises() {
  return raises(compile(ping_pong(targets::gfx950), targets::gfx950).schedule.kernel);
}
static_assert(ping_pong_raises() == 2);

}  // namespace
