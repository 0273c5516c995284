// The words of sm_80 in the simulator, and the mma.sync GEMM with each of its synchronizations left out or weakened.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <type_traits>

#include "catalog/instance.h"
#include "sim/rules.h"
#include "simulate/example.h"
#include "simulate/examples.h"
#include "warpwright/core/numeric.h"

namespace warpwright {
namespace {

using reference::Data;
using simulate::Example;
using simulate::Outcome;
using simulator::Fault;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;
namespace m = machine;

// D = A * B^T of one warp, operands from shared memory by ldmatrix, sums written to device memory.
template <DType T>
void expect_product() {
  using Element = storage_t<T>;
  using Sum = std::conditional_t<T == DType::s8, int32_t, float>;
  constexpr int k = 32 / int(sizeof(Element));
  struct alignas(16) Operands {
    Element a[16][k], b[8][k];
    Sum d[16][8];
  } host;
  std::mt19937 random(7);
  const auto small = [&] {
    const int v = int(random() % 15) - 7;
    if constexpr (T == DType::s8) {
      return int8_t(v);
    } else {
      return from_float<Element>(float(v));
    }
  };
  for (auto& row : host.a)
    for (Element& x : row) x = small();
  for (auto& row : host.b)
    for (Element& x : row) x = small();
  BlockPlan plan = rules::block(1, Arch::sm80);
  simulator::Launch launch;
  launch.plan = &plan;
  launch.buffers = {{&host, sizeof host, "operands", simulator::Buffer::Use::inout}};
  const simulator::Result r = simulator::run(launch, {}, [&] {
    const int lane = int(m::lane_index());
    const Shared<uint8_t> a{m::shared_base() + 1024}, b = a.plus_bytes(16 * 32);
    const Global<const uint8_t> from{reinterpret_cast<const uint8_t*>(&host)};
    for (int i = lane; i < (16 + 8) * 2; i += 32) m::cp_async<16>(a.plus_bytes(uint32_t(i) * 16), from + i * 16, 16);
    m::cp_async_commit();
    m::cp_async_wait<0>();
    m::sync_warp();
    uint32_t x[4], y[2];
    m::ldmatrix(x, a.as<Vec<uint32_t, 4>>().plus_bytes(uint32_t(lane % 16 * 32 + lane / 16 * 16)));
    m::ldmatrix(y, b.as<Vec<uint32_t, 4>>().plus_bytes(uint32_t(lane % 8 * 32 + lane / 8 % 2 * 16)));
    Sum d[4] = {};
    for (int repeat = 0; repeat < 2; ++repeat) m::mma_sync<T>(d, x, y);
    for (int i = 0; i < 4; ++i)
      m::store(Global<Sum>{&host.d[0][0]} + ((lane / 4 + 8 * (i / 2)) * 8 + 2 * (lane % 4) + i % 2), d[i]);
  });
  ASSERT_TRUE(r.ok()) << r.findings.front().text();
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      double want = 0;
      for (int i = 0; i < k; ++i) {
        if constexpr (T == DType::s8) {
          want += 2.0 * host.a[row][i] * host.b[column][i];
        } else {
          want += 2.0 * double(to_float(host.a[row][i])) * double(to_float(host.b[column][i]));
        }
      }
      EXPECT_EQ(double(host.d[row][column]), want) << name(T) << " " << row << " " << column;
    }
}

TEST(MmaSync, multiplies_every_type_as_ldmatrix_lays_it_out) {
  expect_product<DType::bf16>();
  expect_product<DType::fp16>();
  expect_product<DType::e4m3>();
  expect_product<DType::e5m2>();
  expect_product<DType::s8>();
}

TEST(MmaSync, wants_the_whole_warp) {
  const auto kernel = [](bool all) {
    return [all] {
      float d[4] = {};
      const uint32_t a[4] = {}, b[2] = {};
      if (all || m::lane_index() != 3) m::mma_sync<DType::bf16>(d, a, b);
      if (!all && m::lane_index() == 3) m::sync_warp();
    };
  };
  EXPECT_EQ(rules::verdict(rules::block(1, Arch::sm80), kernel(false)), "warp.diverged");
  EXPECT_EQ(rules::verdict(rules::block(1, Arch::sm80), kernel(true)), "");
}

// Whatever follows the valid bytes becomes zero, no matter what was there.
TEST(CpAsync, fills_with_zeros_behind_the_valid_bytes) {
  rules::Device d;
  for (uint8_t& x : d.bytes) x = 0x55;
  const auto check = [&]<int Bytes>(std::integral_constant<int, Bytes>) {
    for (uint32_t valid = 0; valid <= uint32_t(Bytes); ++valid) {
      const auto kernel = [&] {
        if (m::thread_index() != 0) return;
        m::cp_async<Bytes>(rules::data(), d.as<const uint8_t>(), valid);
        m::cp_async_commit();
        m::cp_async_wait<0>();
        for (uint32_t i = 0; i < uint32_t(Bytes); ++i)
          if (m::load(rules::data(i)) != (i < valid ? 0x55 : 0)) m::trap("a byte is wrong");
      };
      EXPECT_EQ(rules::verdict(rules::block(1, Arch::sm80), kernel, {d.buffer(rules::Buffer::Use::input)}), "");
    }
  };
  check(std::integral_constant<int, 4>{});
  check(std::integral_constant<int, 8>{});
  check(std::integral_constant<int, 16>{});
}

// wait_group counts the groups of the waiting thread, oldest first, and nothing of another thread.
TEST(CpAsync, groups_are_counted_for_each_thread) {
  rules::Device d;
  const auto kernel = [&](int committed_behind, bool barrier) {
    return [&d, committed_behind, barrier] {
      const uint32_t own = 64 * m::thread_index();
      m::cp_async<16>(rules::data(own), d.as<const uint8_t>(), 16);
      m::cp_async_commit();
      for (int i = 0; i < committed_behind; ++i) {
        m::cp_async<16>(rules::data(own + 16 * uint32_t(i + 1)), d.as<const uint8_t>(), 16);
        m::cp_async_commit();
      }
      m::cp_async_wait<1>();
      if (barrier) m::sync_block();
      m::load(rules::data(64 * (m::thread_index() ^ 1)));
      m::cp_async_wait<0>();
    };
  };
  const auto verdict = [&](int behind, bool barrier) {
    return rules::verdict(rules::block(1, Arch::sm80), kernel(behind, barrier), {d.buffer(rules::Buffer::Use::input)});
  };
  EXPECT_EQ(verdict(1, true), "");
  EXPECT_EQ(verdict(2, true), "");
  EXPECT_NE(verdict(0, true), "") << "one group in flight is allowed to stay";
  EXPECT_NE(verdict(1, false), "") << "the other thread's group is known to that thread only";
}

Fault left_out(const char* word, int nth = 0) {
  Fault f;
  f.word = word;
  f.nth = nth;
  return f;
}

struct Found {
  bool reported = false;
  std::string rule, text;
  uint32_t line = 0;
};

Found first_report(const Example& e, const reference::Workload& w, const Fault& fault, int ctas) {
  for (Landing landing : {Landing::late, Landing::eager, Landing::seeded}) {
    for (Scheduling scheduling : {Scheduling::fifo, Scheduling::random, Scheduling::pct}) {
      Options o;
      o.landing = landing;
      o.scheduling = scheduling;
      o.faults = {fault};
      const Outcome out = e.simulate(w, o, ctas);
      if (!out.sim.ok()) {
        const simulator::Finding& f = out.sim.findings.front();
        return {true, f.rule, f.text(), f.line};
      }
      EXPECT_TRUE(out.verdict.ok) << "a silent wrong result: " << fault.word << " " << fault.nth;
    }
  }
  return {};
}

// How often each word occurs in a run of one tile of D.
struct EntryCounts {
  int waits = 0, barriers = 0;
};
EntryCounts counts_of_run(const MmaSyncGemmConfig& c, int iterations) {
  const schedule::Pipeline p = mma_sync_pipeline(c.order());
  EntryCounts n;
  const auto add = [&](const schedule::EntryList& list, int times) {
    for (const schedule::ScheduleEntry& e : list) {
      n.waits += times * (e.op.tag == schedule::tags::wait_copy);
      n.barriers += times * e.op.is_barrier();
    }
  };
  add(p.schedule.prologue, 1);
  add(p.schedule.kernel, iterations - (p.stages() - 1));
  add(p.schedule.epilogue, 1);
  return n;
}

class Mutants : public testing::Test {
 protected:
  const catalog::Instance instance = *catalog::parse_instance("sm80/mma-64x64-w2x2-d5-p2-l1200-b4/bf16");
  const MmaSyncGemmConfig& config = *instance.as<MmaSyncGemmConfig>();
  const Example& example = *simulate::find_example(catalog::name_of(instance));
  // One tile, nine tiles of K.
  const reference::Workload one = example.workload({64, 64, 9 * config.tile_k()}, Data::integers, 3);
  const EntryCounts counts = counts_of_run(config, 9);

  void expect_race(const Fault& fault, const reference::Workload& w) {
    const Found found = first_report(example, w, fault, 1);
    EXPECT_TRUE(found.reported) << fault.word << " number " << fault.nth << " is not missed";
    EXPECT_EQ(found.rule.rfind("race", 0), 0u) << found.text;
    EXPECT_GT(found.line, 0u);
    EXPECT_NE(found.text.find("input"), std::string::npos) << found.text;
    EXPECT_NE(found.text.find("dense_"), std::string::npos) << found.text;
  }
};

TEST_F(Mutants, every_wait_left_out_is_a_race) {
  ASSERT_GT(counts.waits, 6);
  for (int nth = 1; nth <= counts.waits; ++nth) expect_race(left_out("cp_async_wait", nth), one);
}

TEST_F(Mutants, every_barrier_left_out_is_a_race) {
  ASSERT_GT(counts.barriers, 6);
  for (int nth = 1; nth <= counts.barriers; ++nth) expect_race(left_out("sync_block", nth), one);
}

// Each wait by itself, and all of the loop at once.
TEST_F(Mutants, every_wait_for_one_group_less_is_a_race) {
  const auto weaker = [](int nth, int count) {
    Fault f = left_out("cp_async_wait", nth);
    f.action = Fault::Action::alter;
    f.value = count + 1;
    return f;
  };
  const schedule::Pipeline p = mma_sync_pipeline(config.order());
  int nth = 0;
  const auto each = [&](const schedule::EntryList& list) {
    for (const schedule::ScheduleEntry& e : list)
      if (e.op.tag == schedule::tags::wait_copy) expect_race(weaker(++nth, e.op.wait_count()), one);
  };
  each(p.schedule.prologue);
  for (int i = 0; i < 9 - (p.stages() - 1); ++i) each(p.schedule.kernel);
  each(p.schedule.epilogue);
  EXPECT_EQ(nth, counts.waits);
  for (const schedule::ScheduleEntry& e : p.schedule.kernel)
    if (e.op.tag == schedule::tags::wait_copy) expect_race(weaker(0, e.op.wait_count()), one);
}

TEST_F(Mutants, a_group_that_is_not_committed_is_a_race) {
  expect_race(left_out("cp_async_commit", 1), one);
  expect_race(left_out("cp_async_commit"), one);
}

// The next tile of D may not be copied over slots that a slower warp still reads.
TEST_F(Mutants, the_barrier_between_two_tiles_left_out_is_a_race) {
  // The last tile of K lies in slot 0, which the first copies of the next tile of D fill.
  const int tiles = 2 * mma_sync_pipeline(config.order()).depths[0].depth + 1;
  const reference::Workload two = example.workload({128, 64, tiles * config.tile_k()}, Data::integers, 3);
  expect_race(left_out("sync_block", counts_of_run(config, tiles).barriers + 1), two);
}

TEST_F(Mutants, the_warps_own_staging_memory_needs_its_two_meetings) {
  for (int nth : {2, 3}) {
    const Found found = first_report(example, one, left_out("sync_warp", nth), 1);
    EXPECT_TRUE(found.reported) << nth;
    EXPECT_NE(found.text.find("output"), std::string::npos) << found.text;
  }
}

// The same for the forms whose copies or walks differ: an operand along m, tiles of few rows where not every thread
// copies, parts of the depth.
class MutantsOfForms : public testing::TestWithParam<const char*> {
 protected:
  const catalog::Instance instance = *catalog::parse_instance(GetParam());
  const MmaSyncGemmConfig& config = *instance.as<MmaSyncGemmConfig>();
  const Example& example = *simulate::find_example(catalog::name_of(instance));
  const int parts = config.split == DepthSplit::split_k ? 3 : 1;
  const reference::Workload one =
      example.workload({config.tile_m, config.tile_n, 9 * parts* config.tile_k()}, Data::integers, 3);

  Found report(const Fault& fault) { return first_report(example, one, fault, parts); }
};

TEST_P(MutantsOfForms, every_wait_and_barrier_left_out_is_a_race) {
  const EntryCounts counts = counts_of_run(config, 9);
  ASSERT_GT(counts.waits, 6);
  ASSERT_GE(counts.barriers, counts.waits);
  const auto expect_race = [&](const Fault& fault) {
    const Found found = report(fault);
    EXPECT_TRUE(found.reported) << fault.word << " number " << fault.nth << " is not missed";
    EXPECT_EQ(found.rule.rfind("race", 0), 0u) << found.text;
    EXPECT_NE(found.text.find("input"), std::string::npos) << found.text;
  };
  for (int nth = 1; nth <= counts.waits; ++nth) expect_race(left_out("cp_async_wait", nth));
  // A barrier after the last wait guards a slot that is never filled again.
  for (int nth = 1; nth <= counts.waits; ++nth) expect_race(left_out("sync_block", nth));
  expect_race(left_out("cp_async_commit"));
}

INSTANTIATE_TEST_SUITE_P(sm80, MutantsOfForms,
                         testing::Values("sm80/mma-64x64-w2x2-d5-p2-l1200-b4/bf16-tt",
                                         "sm80/mma-64x64-w2x2-d5-p2-l1200-b4-splitk/bf16",
                                         "sm80/mma-16x128-w1x4-d6-p1-l600-b2-splitk/bf16",
                                         "sm80/mma-16x128-w1x4-d6-p1-l600-b2-splitk/s8"),
                         [](const auto& info) { return "number_" + std::to_string(info.index); });

// Parts hand over their sums by a counter for each warp.
TEST(MutantsOfParts, every_step_of_the_hand_over_is_needed) {
  const Example& example = *simulate::find_example("sm80/mma-16x128-w1x4-d6-p1-l600-b2-splitk/bf16");
  const reference::Workload w = example.workload({16, 128, 320}, Data::integers, 3);
  const auto report = [&](const char* word, Fault::Action action, int value = 0) {
    Fault f = left_out(word);
    f.object = word == std::string("sync_warp") ? "" : "workspace";
    f.action = action;
    f.value = value;
    return first_report(example, w, f, 3);
  };
  using enum Fault::Action;
  EXPECT_NE(report("atomic_add", drop).rule.find("deadlock"), std::string::npos);
  EXPECT_EQ(report("atomic_add", alter).rule.rfind("race", 0), 0u) << "an addition that does not release";
  EXPECT_EQ(report("load_acquire", drop).rule.rfind("race", 0), 0u) << "a wait that does not acquire";
  EXPECT_EQ(report("load_acquire", alter, 2).rule.rfind("race", 0), 0u) << "a wait that reads what it wants to";
  EXPECT_TRUE(report("sync_warp", drop).reported) << "one lane speaks for its warp";
}

// The rows of an ldmatrix, and the chunks that a quarter of a warp copies, lie in different banks.
TEST(Swizzle, of_64_byte_rows_has_no_bank_conflicts) {
  for (uint32_t chunk = 0; chunk < 4; ++chunk) {
    uint32_t banks = 0;
    for (uint32_t row = 0; row < 8; ++row) banks |= 1u << (swizzle(Swizzle::b64, row * 64 + chunk * 16) % 128 / 16);
    EXPECT_EQ(banks, 0xffu) << chunk;
  }
}
// For an operand along m or n the eight rows are those of k.
TEST(Swizzle, of_rows_along_m_has_no_bank_conflicts) {
  for (const int tile : {16, 32, 64, 128, 256}) {
    MmaSyncGemmConfig c;
    c.tile_m = tile;
    c.a_major = Major::MN;
    for (int chunk = 0; chunk < tile / 8; ++chunk) {
      uint32_t banks = 0;
      for (int k = 0; k < 8; ++k) banks |= 1u << (c.a_slot().offset(chunk * 8, k) % 128 / 16);
      EXPECT_EQ(banks, 0xffu) << tile << " " << chunk;
    }
    EXPECT_EQ(c.a_slot().bytes(), uint32_t(tile) * 64);
  }
}

}  // namespace
}  // namespace warpwright
