// The smallest initiation interval, with its certificate, and the check of a modulo schedule.
#include "warpwright/schedule/mii.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "warpwright/schedule/bodies.h"
#include "warpwright/schedule/certificate.h"
#include "warpwright/schedule/legacy/accesses.h"
#include "warpwright/schedule/text.h"

namespace {
using namespace warpwright::schedule;
using namespace warpwright::schedule::legacy;

// The certificate must prove what it is for: each step is an edge, and the delays exceed the distances times II - 1.
void expect_certificate(const LoopBody& body, const Mii& mii) {
  ASSERT_FALSE(mii.cycle.empty());
  int delay = 0, distance = 0;
  for (size_t i = 0; i < mii.cycle.size(); ++i) {
    const int p = mii.cycle[i], c = mii.cycle[(i + 1) % mii.cycle.size()];
    int best_delay = -1, best_distance = 0;
    for (const DepEdge& e : body.edges) {
      const int weight = edge_delay(body, e) - (mii.recurrence - 1) * e.distance;
      if (e.producer == p && e.consumer == c &&
          (best_delay < 0 || weight > best_delay - (mii.recurrence - 1) * best_distance)) {
        best_delay = edge_delay(body, e);
        best_distance = e.distance;
      }
    }
    ASSERT_GE(best_delay, 0) << "no edge " << p << " to " << c;
    delay += best_delay;
    distance += best_distance;
  }
  EXPECT_GT(delay, (mii.recurrence - 1) * distance);
  EXPECT_LE(delay, mii.recurrence * distance);
}

TEST(Mii, of_the_reference_bodies_with_the_reference_edges) {
  for (const PingPong& p : {PingPong::fp8(), PingPong::bf16()}) {
    const LoopBody body = compile(p).body;
    const Mii mii = minimum_interval(body, targets::gfx950);
    EXPECT_TRUE(mii.error.ok());
    EXPECT_EQ(mii.resource, 128);
    EXPECT_EQ(mii.unit, ResourceKind::mma_unit);
    EXPECT_EQ(mii.recurrence, 220);
    EXPECT_EQ(mii.value(), 220);
    EXPECT_EQ(unit_load(body, ResourceKind::lds), 160);
    expect_certificate(body, mii);
  }
  const LoopBody single = compile(DefaultMatmul{2}).body;
  const Mii mii = minimum_interval(single, targets::gfx950);
  EXPECT_EQ(std::pair(mii.resource, mii.recurrence), std::pair(128, 40));
  EXPECT_EQ(unit_load(single, ResourceKind::lds), 60);
  expect_certificate(single, mii);
}

LoopBody chain(std::initializer_list<DepEdge> edges) {
  const auto op = [](int tag, int latency) {
    return OpDesc::op(Tag{uint8_t(tag)}, ResourceKind::mma_unit, latency, OpRole::compute);
  };
  LoopBody b({op(0, 10), op(1, 20), op(2, 5)});
  b.edges = edges;
  return b;
}
constexpr DepKind F = DepKind::flow;

TEST(Mii, recurrence_is_delay_over_distance_rounded_up) {
  EXPECT_EQ(minimum_interval(chain({{0, 1}, {1, 2}}), targets::gfx950).recurrence, 0);
  EXPECT_EQ(minimum_interval(chain({{0, 1}, {1, 0, F, 1}}), targets::gfx950).recurrence, 30);
  EXPECT_EQ(minimum_interval(chain({{0, 1}, {1, 0, F, 2}}), targets::gfx950).recurrence, 15);
  EXPECT_EQ(minimum_interval(chain({{0, 1}, {1, 2}, {2, 0, F, 2}}), targets::gfx950).recurrence, 18);
  EXPECT_EQ(minimum_interval(chain({{2, 2, F, 1}, {1, 1, F, 1}}), targets::gfx950).recurrence, 20);
  const Mii two = minimum_interval(chain({{0, 1}, {1, 0, F, 1}, {2, 2, F, 1}}), targets::gfx950);
  EXPECT_EQ(two.cycle.size(), 2u);
  EXPECT_EQ(two.resource, 35);
}

// Each number of the bound can be added up from the certificate, on every target.
TEST(Certificate, adds_up_to_the_smallest_interval) {
  using targets::gfx942, targets::gfx950, targets::sm80, targets::sm90a;
  for (const Pipeline& p : {compile(default_matmul(gfx942), gfx942), compile(default_matmul(gfx950), gfx950),
                            compile(ping_pong(gfx950), gfx950), compile(four_wave(gfx950), gfx950),
                            compile(copy_ring(sm80), sm80), compile(copy_ring(sm80), sm80, {.depth = 1}),
                            compile(tma_ring(sm90a), sm90a), compile(attention_ring(sm90a), sm90a)}) {
    SCOPED_TRACE(p.name.c_str());
    ASSERT_TRUE(p.ok());
    const Mii& mii = p.placement.mii;
    const Certificate c = certificate_of(p.body, p.target, mii);
    EXPECT_EQ(c.resource(), mii.resource);
    EXPECT_EQ(c.recurrence(), mii.recurrence);
    EXPECT_EQ(c.set_by_units() ? c.resource() : c.recurrence(), mii.value());
    ASSERT_FALSE(c.cycle.empty());
    EXPECT_EQ(c.cycle.back().to, c.cycle.front().from);
    EXPECT_EQ(units_text(c).find(word(mii.unit)), 0u) << units_text(c);
    EXPECT_NE(cycle_text(c).find(std::to_string(c.delay()) + " cycles in"), std::string::npos) << cycle_text(c);
  }
  const LoopBody two = chain({{0, 1}, {1, 0, F, 2}});
  const Certificate c = certificate_of(two, targets::gfx950, minimum_interval(two, targets::gfx950));
  EXPECT_EQ(units_text(c), "mma_unit is busy for 35 cycles of an iteration: tag0.00 10, tag1.00 20, tag2.00 5");
  EXPECT_EQ(cycle_text(c),
            "tag0.00 > tag1.00 takes 10 (FLOW), tag1.00 > tag0.00 of 2 iterations later takes 20 (FLOW): "
            "30 cycles in 2 iterations");
  EXPECT_TRUE(cycle_text(certificate_of(chain({{0, 1}}), targets::gfx950, {})).empty());
}

TEST(Mii, refuses_a_wrong_body) {
  EXPECT_EQ(minimum_interval(chain({{0, 1}, {1, 0}}), targets::gfx950).error.code, Code::graph_cycle);
}

TEST(CheckInterval, sees_broken_dependences_and_taken_units) {
  const LoopBody b = chain({{0, 1}, {1, 2}, {2, 0, F, 1}});
  const Target& t = targets::gfx950;
  EXPECT_TRUE(check_interval(b, t, {0, 10, 30}, 35).ok());
  const Diagnostic early = check_interval(b, t, {0, 9, 30}, 35);
  EXPECT_EQ(early.code, Code::order_flow);
  EXPECT_EQ(std::pair(early.have, early.need), std::pair(9, 10));
  EXPECT_EQ(check_interval(b, t, {0, 10, 30}, 34).code, Code::order_flow) << "the loop-carried edge";
  const LoopBody loose = chain({{0, 1}, {1, 2}});
  EXPECT_TRUE(check_interval(loose, t, {0, 10, 30}, 35).ok());
  const Diagnostic busy = check_interval(loose, t, {0, 10, 35}, 35);
  EXPECT_EQ(busy.code, Code::ii_infeasible);
  EXPECT_EQ(busy.b, Name("mma_unit"));
  EXPECT_EQ(check_interval(loose, t, {0, 10}, 35).code, Code::op_lost);
}

constexpr int ping_pong_mii() { return minimum_interval(compile(PingPong::fp8()).body, targets::gfx950).value(); }
static_assert(ping_pong_mii() == 220);

}  // namespace
