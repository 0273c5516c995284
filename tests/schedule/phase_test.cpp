// Producer and consumer as programs of their own: waits, parities, arrivals and releases, and what each mistake is
// called.
#include "warpwright/schedule/phase.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "warpwright/schedule/bodies.h"
#include "warpwright/schedule/text.h"

namespace {
using namespace warpwright::schedule;
using targets::sm90a;

Pipeline ring(int depth = 0) { return compile(tma_ring(sm90a), sm90a, {.depth = depth}); }
Pipeline attention() { return compile(attention_ring(sm90a), sm90a); }
std::string text(const Pipeline& p, const EntryList& list) { return to_text(list, p.costs); }
const Schedule& producer(const Pipeline& p) { return p.programs[kProducer].schedule; }
const Schedule& consumer(const Pipeline& p) { return p.programs[kConsumer].schedule; }

bool has(const Diagnostics& found, Code code) { return count_of(found, code) > 0; }

// --- what is derived

TEST(RoleSplit, tma_ring_has_the_known_steady_state) {
  const Pipeline p = ring();
  EXPECT_EQ(text(p, producer(p).kernel), "empty0.wait full0.arrive LA LB");
  EXPECT_TRUE(producer(p).prologue.empty() && producer(p).epilogue.empty());
  EXPECT_EQ(text(p, consumer(p).prologue), "full0.wait WF MMA WC");
  EXPECT_EQ(text(p, consumer(p).kernel), "full0.wait WF MMA WC WG1 empty0.arrive");
  EXPECT_EQ(text(p, consumer(p).epilogue), "WG0 empty0.arrive");
  EXPECT_EQ(p.interval(), 1024);
  // The slot that is handed back is that of the tile before.
  EXPECT_EQ(consumer(p).kernel[0].shift, 1);
  EXPECT_EQ(consumer(p).kernel[5].shift, 0);
  EXPECT_TRUE(p.schedule.kernel.empty());
}

TEST(RoleSplit, barriers_count_bytes_of_the_tile_and_one_arrival_for_each_warpgroup) {
  const Pipeline p = ring();
  ASSERT_EQ(p.rings.size(), 1u);
  EXPECT_EQ(p.rings[0].tile_bytes, (128 + 256) * 64 * 2);
  EXPECT_EQ(p.rings[0].full_arrivals, 1);
  EXPECT_EQ(p.rings[0].empty_arrivals, 2);
  EXPECT_EQ(p.programs[kConsumer].copies, 2);
  EXPECT_EQ(p.rings[0].slots, 3);
  const Pipeline two = attention();
  ASSERT_EQ(two.rings.size(), 2u);
  EXPECT_EQ(two.rings[1].name, Name("V"));
}

// A wait for the tile's own phase in the consumer; in the producer for the phase before, so that the first turn passes.
TEST(PhaseParity, follows_from_the_tile) {
  const Pipeline p = ring(4);
  const OpDesc full = consumer(p).kernel[0].op, empty = producer(p).kernel[0].op;
  for (int tile = 0; tile < 40; ++tile) {
    EXPECT_EQ(full.phase_slot(tile), tile % 4);
    EXPECT_EQ(full.phase_parity(tile), tile / 4 % 2);
    EXPECT_EQ(empty.phase_slot(tile), tile % 4);
    EXPECT_EQ(empty.phase_parity(tile), 1 - tile / 4 % 2);
  }
  for (int tile = 0; tile < 4; ++tile) EXPECT_EQ(empty.phase_parity(tile), 1) << "a barrier begins in phase 0";
}

TEST(RoleSplit, depth_covers_copy_and_release_and_has_a_slot_to_spare) {
  for (const int latency : {100, 1000, 1500, 3000, 5000}) {
    BodySpec s = tma_ring(sm90a, {128, 64, 64, 2});
    for (OpNode& n : s.loop.ops)
      if (n.op.role == OpRole::global_load) n.latency = latency;
    const Pipeline p = compile(s, sm90a);
    ASSERT_TRUE(p.ok()) << to_text(p.error);
    const int interval = 256, release = 256;
    const int wanted = (latency + release + interval - 1) / interval + 1;
    const int fits = sm90a.shared_bytes / ((128 + 64) * 64 * 2);
    EXPECT_EQ(p.rings[0].slots, std::min(wanted, fits)) << latency;
    EXPECT_TRUE(prove(p).empty());
  }
}

TEST(RoleSplit, every_depth_and_unrolling_is_proven) {
  for (const int depth : {1, 2, 3, 4}) {
    for (const int unroll : {1, 2, 3}) {
      const Pipeline p = compile(tma_ring(sm90a), sm90a, {.depth = depth, .unroll = unroll});
      ASSERT_TRUE(p.ok()) << to_text(p.error);
      const Diagnostics found = prove(p);
      EXPECT_TRUE(found.empty()) << depth << " " << unroll << " " << to_text(found.front());
    }
  }
}

// --- wgmma groups

// QK, PV and softmax of FlashAttention-3, with the dependences as given: both products in flight, the scores waited for
// with one group left, the result with none.
TEST(WgmmaWaits, of_the_attention_graph) {
  const auto op = [](Tag tag, ResourceKind unit, OpRole role, int latency, const char* name) {
    OpNode n(OpDesc::op(tag, unit, latency, role));
    n.name = name;
    return n;
  };
  namespace t = body_tags;
  LoopBody b;
  b.ops = {op(t::mma, ResourceKind::mma_unit, OpRole::compute, 512, "QK"),
           op(t::mma_second, ResourceKind::mma_unit, OpRole::compute, 512, "PV"),
           op(t::softmax, ResourceKind::valu, OpRole::valu_compute, 300, "SMAX"),
           op(t::scale, ResourceKind::valu, OpRole::valu_compute, 100, "SCALE")};
  b.edges = {{0, 2}, {2, 1, DepKind::flow, 1}, {1, 3}, {3, 1, DepKind::flow, 1}};
  // One iteration at a time: two products, and the scaling when the second is done.
  const Placement placed = modulo_schedule(b, sm90a, Identity{}, {512 + 512 + 100, 512 + 512 + 100});
  ASSERT_TRUE(placed.ok()) << to_text(placed.error);
  const KernelOrder order = kernel_order(placed.start, placed.interval);
  const List<SyncDep> deps = edge_deps(b, sm90a);
  ASSERT_EQ(deps.size(), 2u);
  Peeler peeler(b, sm90a, order, deps, {});
  const Checked<Schedule> s = peeler.schedule();
  ASSERT_TRUE(s.ok());
  const TargetCostModel names = attention_ring(sm90a).costs;
  EXPECT_EQ(to_text(s.value.kernel, names), "WF QK WC WF PV WC WG1 SMAX WG0 SCALE");
}

TEST(WgmmaWaits, of_the_attention_body) {
  const Pipeline p = attention();
  ASSERT_TRUE(p.ok()) << to_text(p.error);
  // The products of two tiles overlap the softmax and the scaling of others: each wait leaves the group just issued.
  EXPECT_EQ(text(p, consumer(p).kernel),
            "full0.wait WF QK WC WG1 empty1.arrive SCALE full1.wait WF PV WC WG1 empty0.arrive SMAX");
  EXPECT_EQ(text(p, producer(p).kernel), "empty0.wait full0.arrive LK empty1.wait full1.arrive LV");
  EXPECT_EQ(p.interval(), p.mii());
  EXPECT_TRUE(prove(p).empty());
  // With one set of registers for P the softmax must wait for the product that reads the other tile.
  BodySpec one = attention_ring(sm90a);
  one.register_depths = {};
  const Pipeline q = compile(one, sm90a);
  ASSERT_TRUE(q.ok());
  EXPECT_TRUE(prove(q).empty());
  EXPECT_NE(text(q, consumer(q).kernel), text(p, consumer(p).kernel));
}

TEST(WgmmaWaits, one_group_for_ops_that_are_needed_together) {
  BodySpec s = tma_ring(sm90a);
  // Two products of one tile that are issued and done together.
  OpNode second = s.loop.ops[2];
  second.accesses.list[2] = detail::accumulate(1);
  second.occupancy = 0;
  s.loop.ops.push_back(second);
  for (OpNode& n : s.loop.ops)
    if (n.op.role == OpRole::compute) n.op.vgpr_def = 64;
  const Pipeline p = compile(s, sm90a);
  ASSERT_TRUE(p.ok()) << to_text(p.error);
  EXPECT_TRUE(prove(p).empty());
  EXPECT_EQ(text(p, consumer(p).kernel), "full0.wait WF MMA MMA WC WG1 empty0.arrive");
}

// --- mistakes

TEST(PhaseParity, wrong_parity_is_reported_by_both_validators) {
  for (const int role : {kProducer, kConsumer}) {
    Pipeline p = ring();
    p.programs[size_t(role)].schedule.kernel[0].op.wait_value ^= 1;
    Diagnostics found;
    for (int n = 0; n <= proven_iterations(p); ++n) found.append(verify(p, n));
    const Diagnostic d = first_of(found, Code::phase_parity);
    EXPECT_EQ(d.a, role == kProducer ? Name("empty0.wait") : Name("full0.wait"));
    EXPECT_EQ(d.b, Name("parity"));
    EXPECT_EQ(d.have, 1 - d.need);
    // The run itself goes wrong, too: a wait that never passes, or a tile that is read before it is there.
    EXPECT_TRUE(has(found, Code::deadlock) || has(found, Code::version_mismatch) || has(found, Code::op_lost));
  }
}

TEST(PhaseParity, ring_that_is_deeper_or_shallower_than_the_parity_tracks_is_reported) {
  for (const int role : {kProducer, kConsumer}) {
    for (const int change : {-1, 1}) {
      Pipeline p = ring();
      for (EntryList* list : {&p.programs[size_t(role)].schedule.prologue, &p.programs[size_t(role)].schedule.kernel}) {
        for (ScheduleEntry& e : *list)
          if (e.op.tag == tags::phase_wait) e.op.stage = uint8_t(e.op.stage + change);
      }
      Diagnostics found;
      for (int n = 0; n <= proven_iterations(p); ++n) found.append(verify(p, n));
      EXPECT_TRUE(has(found, Code::phase_parity)) << role << " " << change;
    }
    // The memory has other slots than the barriers.
    Pipeline p = ring();
    for (BufferDepth& d : p.depths) ++d.depth;
    EXPECT_FALSE(verify(p, 12).empty());
  }
}

// A consumer that skips a phase of a slot cannot tell the next from the one after.
TEST(PhaseParity, phase_that_was_not_seen_is_reported) {
  Pipeline p = ring(1);
  EntryList& kernel = p.programs[kConsumer].schedule.kernel;
  kernel[0].op.wait_value = 0;
  Pipeline q = p;
  // The producer does not wait for the consumer, so the barrier may be two phases ahead.
  q.programs[kProducer].schedule.kernel.erase(0);
  const Diagnostics found = verify(q, 4);
  bool ahead = false;
  for (const Diagnostic& d : found) ahead = ahead || (d.code == Code::phase_parity && d.b == Name("runs ahead"));
  EXPECT_TRUE(ahead);
  EXPECT_TRUE(has(found, Code::hazard_war));
}

TEST(Release, before_the_wgmma_is_retired_is_a_hazard) {
  Pipeline p = ring();
  EntryList& kernel = p.programs[kConsumer].schedule.kernel;
  std::swap(kernel[4], kernel[5]);  // empty0.arrive before WG1
  const Diagnostics found = verify(p, 8);
  const Diagnostic d = first_of(found, Code::hazard_war);
  EXPECT_EQ(std::pair(d.a, d.b), std::pair(Name("MMA"), Name("LA")));
  // A wait that leaves one group too many is the same mistake.
  Pipeline weak = ring();
  weak.programs[kConsumer].schedule.kernel[4].op.wait_value = 2;
  EXPECT_TRUE(has(verify(weak, 8), Code::hazard_war));
}

TEST(WgmmaWaits, more_groups_than_can_be_in_flight_is_vacuous) {
  Pipeline p = ring();
  EXPECT_TRUE(find_vacuous_waits(p).empty());
  p.programs[kConsumer].schedule.kernel[4].op.wait_value = 5;
  const Diagnostic d = first_of(find_vacuous_waits(p), Code::sync_vacuous);
  EXPECT_EQ(d.a, Name("WG5"));
  EXPECT_EQ(d.have, 5);
  EXPECT_LT(d.need, 5);
  EXPECT_EQ(check_wait(sm90a, OpDesc::wait_wgmma(8)).code, Code::counter_range);
}

TEST(Arrivals, are_counted) {
  Pipeline one = ring();
  one.rings[0].empty_arrivals = 1;
  const Diagnostic many = first_of(verify(one, 8), Code::arrival_count);
  EXPECT_EQ(many.a, Name("empty0.arrive"));
  EXPECT_EQ(std::pair(many.have, many.need), std::pair(2, 1));
  Pipeline three = ring();
  three.rings[0].empty_arrivals = 3;
  EXPECT_TRUE(has(verify(three, 8), Code::arrival_count));
  EXPECT_TRUE(has(verify(three, 8), Code::deadlock)) << "the producer waits for an arrival that does not come";
  Pipeline bytes = ring();
  bytes.rings[0].tile_bytes += 16;
  EXPECT_EQ(first_of(verify(bytes, 2), Code::arrival_count).a, Name("bytes"));
  EXPECT_TRUE(has(verify(bytes, 2), Code::deadlock));
  Pipeline kept = ring();
  kept.programs[kConsumer].schedule.epilogue.erase(1);
  EXPECT_TRUE(has(verify(kept, 2), Code::arrival_count)) << "the last slot is never handed back";
}

TEST(WgmmaFence, is_required_for_each_group) {
  Pipeline p = attention();
  EntryList& kernel = p.programs[kConsumer].schedule.kernel;
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (kernel[i].op.tag != tags::wgmma_fence) continue;
    Pipeline q = p;
    q.programs[kConsumer].schedule.kernel.erase(i);
    EXPECT_TRUE(has(verify(q, 6), Code::fence_missing)) << i;
  }
}

// Handed back before the wait, read before the wait, announced before the wait.
TEST(RoleSplit, no_entry_that_comes_before_its_wait_passes_unseen) {
  for (Pipeline p : {ring(), ring(1), ring(4)}) {
    for (RoleProgram& r : p.programs) {
      EntryList& kernel = r.schedule.kernel;
      const EntryList whole = kernel;
      for (size_t i = 0; i + 1 < whole.size(); ++i) {
        const OpDesc &a = whole[i].op, &b = whole[i + 1].op;
        const bool released_early = a.is_wait() && b.tag == tags::phase_arrive;
        const bool read_early = a.tag == tags::phase_wait && b.tag == tags::wgmma_fence;
        const bool filled_early = a.tag == tags::phase_wait && b.tag == tags::phase_arrive;
        if (!released_early && !read_early && !filled_early) continue;
        kernel = whole;
        std::swap(kernel[i], kernel[i + 1]);
        if (read_early) std::swap(kernel[i + 1], kernel[i + 2]);
        bool seen = false;
        for (int n = 0; n <= proven_iterations(p); ++n) seen = seen || !verify(p, n).empty();
        EXPECT_TRUE(seen) << r.name.c_str() << " " << i << " " << op_name(a).c_str();
      }
      kernel = whole;
    }
  }
}

// --- at compile time

constexpr Diagnostics constant_ring() { return verify(compile(tma_ring(sm90a), sm90a), 4); }
static_assert(require<constant_ring>());
constexpr Code constant_parity() {
  Pipeline p = compile(tma_ring(sm90a), sm90a);
  p.programs[kConsumer].schedule.kernel[0].op.wait_value = 1;
  return first_of(verify(p, 4), Code::phase_parity).code;
}
static_assert(constant_parity() == Code::phase_parity);

}  // namespace
