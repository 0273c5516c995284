// The pictures of a kernel iteration: everything that is in the schedule is in them, in the lane of its role and unit.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "warpwright/schedule/bodies.h"
#include "warpwright/schedule/timeline_svg.h"

namespace {
using namespace warpwright::schedule;

int occurrences(const std::string& text, const std::string& what) {
  int n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(Timeline, shows_every_entry_of_the_kernel_once) {
  for (const Pipeline& p :
       {compile(ping_pong(targets::gfx950), targets::gfx950), compile(copy_ring(targets::sm80), targets::sm80),
        compile(tma_ring(targets::sm90a), targets::sm90a), compile(attention_ring(targets::sm90a), targets::sm90a)}) {
    const Timeline t = timeline_of(p);
    int ops = 0, marks = 0;
    const auto count = [&](const EntryList& kernel) {
      for (const ScheduleEntry& e : kernel) ++(e.op.tag.is_data() ? ops : marks);
    };
    count(p.schedule.kernel);
    for (const RoleProgram& r : p.programs) count(r.schedule.kernel);
    EXPECT_EQ(int(t.bars.size()), ops);
    EXPECT_EQ(int(t.marks.size()), marks);
    const std::string svg = to_svg(t);
    for (const Timeline::Bar& b : t.bars) EXPECT_NE(svg.find(b.name.c_str()), std::string::npos) << b.name.c_str();
    EXPECT_EQ(occurrences(svg, "class=\"pill\""), marks);
    for (const Timeline::Bar& b : t.bars) EXPECT_TRUE(b.begin >= 0 && b.begin < t.length && b.length <= t.length);
  }
}

TEST(Timeline, has_lanes_for_roles_and_says_what_sets_the_interval) {
  const Pipeline p = compile(attention_ring(targets::sm90a), targets::sm90a);
  const Timeline t = timeline_of(p);
  EXPECT_EQ(t.roles, (std::vector<std::string>{"producer", "consumer x2"}));
  for (const Timeline::Bar& b : t.bars) EXPECT_EQ(b.role, b.unit == ResourceKind::global_mem ? 0 : 1);
  const std::string text = to_ascii(t);
  EXPECT_LT(text.find("producer"), text.find("consumer x2"));
  EXPECT_NE(text.find("II 2048, MII 2048: units 2048 (mma_unit), recurrence 1536 ("), std::string::npos) << text;
  EXPECT_NE(text.find("ring 1 (V): 2 slots"), std::string::npos);
}

TEST(Timeline, marks_the_cycle_that_sets_the_interval) {
  const Timeline t = timeline_of(compile(default_matmul(targets::gfx950), targets::gfx950));
  int critical = 0;
  for (const Timeline::Bar& b : t.bars) {
    critical += b.critical >= 0;
    EXPECT_EQ(b.critical >= 0, b.name == Name("LD") || b.name == Name("ST")) << b.name.c_str();
  }
  EXPECT_EQ(critical, 2);
  EXPECT_GE(occurrences(to_svg(t), "marker-end"), 2);
  // Units set it here, so no cycle is marked.
  for (const Timeline::Bar& b : timeline_of(compile(copy_ring(targets::sm80), targets::sm80)).bars) {
    EXPECT_EQ(b.critical, -1);
  }
}

TEST(Timeline, is_drawn_of_a_pipeline_at_once) {
  const Pipeline p = compile(copy_ring(targets::sm80), targets::sm80);
  EXPECT_EQ(to_ascii(p), to_ascii(timeline_of(p)));
  EXPECT_EQ(to_svg(p), to_svg(timeline_of(p)));
}

TEST(Timeline, lists_hazards) {
  const Timeline t = timeline_of(compile(copy_ring(targets::sm80), targets::sm80));
  EXPECT_EQ(to_svg(t).find("class=\"hazard\""), std::string::npos);
  const Diagnostics found = {{.code = Code::hazard_war, .a = "FA<0>", .b = "LA"}};
  const std::string svg = to_svg(t, found);
  EXPECT_EQ(occurrences(svg, "class=\"hazard\""), 1);
  EXPECT_NE(svg.find("FA&lt;0&gt;"), std::string::npos);
}

}  // namespace
