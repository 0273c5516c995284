// Random group tables, legal and wrong, through the host API against a float64 reference on the GPU. What a product may
// not read is NaN: rows of no group with their scales, matrices of no group, everything around the operands. Rows of no
// group, and what is around the result, must keep their contents.
//
//   WARPWRIGHT_RANDOM_TABLES   how many tables (500); one in four is wrong in some way
//   WARPWRIGHT_RANDOM_SEED     another series (2026)
//   WARPWRIGHT_RANDOM_FIRST    the number of the first table: repeats one that a failure named (0)
//   WARPWRIGHT_LAUNCHES        launches beside a busy stream (2000)
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gpu/busy_stream.h"
#include "gpu/executor.h"
#include "gpu/random_grouped.h"
#include "gpu/watchdog.h"

namespace warpwright {
namespace {

using gpu::Stream;
using gpu_random::Arena;
using gpu_random::GroupedFindings;
using gpu_random::GroupedTrial;
using gpu_random::Modes;
using gpu_random::PlacedGrouped;
using gpu_random::Random;
using gpu_random::Tables;

int64_t setting(const char* name, int64_t otherwise) {
  const char* const given = std::getenv(name);
  return given != nullptr ? std::atoll(given) : otherwise;
}
uint64_t seed() { return uint64_t(setting("WARPWRIGHT_RANDOM_SEED", 2026)); }

class GroupedRandom : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto device = gpu::hopper_device(); !device) GTEST_SKIP() << device.status().message();
  }
};

struct Kind {
  Groups groups;
  DType type;
  const char* name;
};
constexpr Kind kGrouped[] = {{Groups::contiguous, DType::e4m3, "contiguous e4m3"},
                             {Groups::contiguous, DType::bf16, "contiguous bf16"},
                             {Groups::masked, DType::e4m3, "masked e4m3"},
                             {Groups::masked, DType::bf16, "masked bf16"}};
// What fused epilogues, scales of each row of B and groups along k have kernels for.
constexpr Kind kFused[] = {
    {Groups::contiguous, DType::e4m3, "contiguous e4m3"}, {Groups::masked, DType::e4m3, "masked e4m3"},
    {Groups::none, DType::e4m3, "one product e4m3"},      {Groups::contiguous, DType::bf16, "contiguous bf16"},
    {Groups::by_depth, DType::e4m3, "by depth e4m3"},     {Groups::by_depth, DType::bf16, "by depth bf16"}};

// Each kind of mistake is made on purpose.
TEST_F(GroupedRandom, TheCheckSeesEveryKindOfMistake) {
  Arena arena(size_t(1) << 26);
  const Stream stream;
  for (const Kind& kind : kGrouped) {
    for (const bool exact : {true, false}) {
      SCOPED_TRACE(kind.name);
      GroupedTrial trial;
      trial.exact = exact;
      GroupedProblem& p = trial.problem;
      p = {.groups = kind.groups, .m = 120, .n = 72, .k = 160, .group_count = 3, .matrix_count = 4, .type = kind.type};
      const bool contiguous = kind.groups == Groups::contiguous;
      // Rows 5 to 25 with matrix 2, 40 to 50 with matrix 0; or, with room for 40 in each group, 0 to 20 and 80 to 90.
      const int64_t last_row = contiguous ? 49 : 89;
      trial.rows = contiguous ? std::vector<uint32_t>{5, 25, 40, 50} : std::vector<uint32_t>{20, 15, 10};
      trial.matrices = {2, -1, 0};
      arena.reset();
      const PlacedGrouped placed(trial, arena);
      const auto plan = make_plan(p);
      ASSERT_TRUE(plan) << plan.status().message();
      const auto flip = [](const void* matrix, int64_t element, uint16_t bits) {
        auto* const at = static_cast<uint16_t*>(const_cast<void*>(matrix)) + element;
        uint16_t value = 0;
        gpu::require(cudaMemcpy(&value, at, sizeof value, cudaMemcpyDeviceToHost), "cudaMemcpy");
        value ^= bits;
        gpu::require(cudaMemcpy(at, &value, sizeof value, cudaMemcpyHostToDevice), "cudaMemcpy");
      };
      const auto complaint = [&](auto spoil, bool run = true) {
        placed.prepare(stream.get());
        if (run && !plan->run(placed.pointers(), stream.get())) ADD_FAILURE() << "the plan does not run";
        stream.synchronize();
        spoil();
        return placed.complaint(placed.check(stream.get())).value_or("");
      };
      const auto expect = [](const std::string& text, const char* part) {
        EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" does not say: " << part;
      };
      const GroupedPointers& at = placed.pointers();
      EXPECT_EQ(complaint([] {}), "");
      // The last bit of whole numbers, the sign of others.
      expect(complaint([&] { flip(at.d, 72 * last_row + 71, exact ? 1 : 0x8000); }), "1 elements are wrong");
      expect(complaint([&] { flip(at.d, 72 * 30, 1); }), "1 elements of no group changed");
      expect(complaint([&] { flip(at.d, -1, 1); }), "1 elements of no group changed");
      expect(complaint([&] { flip(at.d, 72 * 120, 1); }), "1 elements of no group changed");
      // Matrix 1, which no group reads.
      expect(complaint([&] { flip(at.b, 72 * 160 * bits(kind.type) / 16, 1); }), "an operand changed");
      expect(complaint([&] { flip(at.status, 0, 4); }), "the status word is 0x4 instead of 0");
      expect(complaint([] {}, false), "2160 elements are wrong, 2160 of them unwritten");
    }
  }
}

TEST_F(GroupedRandom, WithoutAnythingToDoTheStatusWordIsZeroAndDStays) {
  const Stream stream;
  uint32_t* words = nullptr;
  gpu::require(cudaMalloc(&words, 2 * sizeof *words), "cudaMalloc");
  const std::unique_ptr<uint32_t, decltype(&cudaFree)> owner(words, cudaFree);
  const auto after = [&](const GroupedProblem& p) {
    const auto plan = make_plan(p);
    if (!plan) ADD_FAILURE() << plan.status().message();
    const uint32_t before[2] = {7, 7};
    // A copy from pageable memory may still be under way when it returns, and this stream does not wait for it.
    gpu::require(cudaMemcpy(words, before, sizeof before, cudaMemcpyHostToDevice), "cudaMemcpy");
    gpu::require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    if (plan && !plan->run({.d = words + 1, .status = words}, stream.get())) ADD_FAILURE() << "it does not run";
    stream.synchronize();
    std::array<uint32_t, 2> now{};
    gpu::require(cudaMemcpy(now.data(), words, sizeof now, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return now;
  };
  const std::array<uint32_t, 2> nothing = {0, 7};
  for (Groups groups : {Groups::contiguous, Groups::masked, Groups::by_depth}) {
    GroupedProblem p{.groups = groups, .m = 64, .n = 64, .k = 64, .group_count = 2, .type = DType::bf16};
    if (groups == Groups::by_depth) p.out = DType::fp32;
    for (int64_t GroupedProblem::*extent : {&GroupedProblem::m, &GroupedProblem::n, &GroupedProblem::group_count}) {
      GroupedProblem empty = p;
      empty.*extent = 0;
      EXPECT_EQ(after(empty), nothing) << int(groups);
    }
  }
}

struct Tally {
  int64_t products = 0, exact = 0, by_choice = 0, groups = 0, empty_groups = 0, faulty = 0;
  double flops = 0;
  std::map<std::string, int64_t> kinds;
  std::map<int, double> worst;
  std::set<std::string> plans;
  std::set<uint32_t> faults;

  void add(const GroupedTrial& trial, const PlacedGrouped& placed, const GroupedFindings& found, const char* kind,
           const std::string& plan) {
    const GroupedProblem& p = trial.problem;
    ++products;
    exact += trial.exact;
    by_choice += p.plan.empty();
    groups += p.group_count;
    empty_groups += p.group_count - int64_t(placed.meant().spans.size());
    faulty += placed.meant().faults != 0;
    for (const auto& s : placed.meant().spans) flops += 2 * double(s.count) * double(p.n) * double(s.end_k - s.first_k);
    ++kinds[kind];
    plans.insert(plan);
    faults.insert(placed.meant().faults);
    if (!trial.exact) worst[bits(p.type)] = std::max(worst[bits(p.type)], found.worst);
  }
  void print() {
    std::string by_kind, words;
    for (const auto& [name, number] : kinds)
      by_kind += fmt::format("{}{} {}", by_kind.empty() ? "" : ", ", number, name);
    for (const uint32_t f : faults) words += fmt::format("{}{}", words.empty() ? "" : " ", f);
    fmt::print(
        "random tables: {} ({}), {} groups, {} of them without rows or matrix, {:.2f} Tflop, {} plan names, {} by the "
        "library's own choice; {} of whole numbers equal to the bit, {} of normal values within the bound (the sums at "
        "most {:.2f} of it for bf16, {:.2f} for e4m3); {} tables were wrong, status words {}\n",
        products, by_kind, groups, empty_groups, flops * 1e-12, plans.size(), by_choice, exact, products - exact,
        worst[16], worst[8], faulty, words);
  }
};

// Runs `count` tables of these kinds in turn; every fourth round of them is wrong.
template <size_t Kinds>
Tally run_tables(const Kind (&kinds)[Kinds], Modes modes, int64_t first, int64_t count) {
  Arena arena(size_t(3) << 30);
  const Stream stream;
  Tally tally;
  int failures = 0;
  for (int64_t i = first; i < first + count && failures < 5; ++i) {
    Random random(seed() + uint64_t(i) * 0x9e3779b97f4a7c15ull);
    const Kind& kind = kinds[size_t(i) % Kinds];
    const Tables tables = i / int64_t(Kinds) % 4 == 3 ? Tables::wrong : Tables::legal;
    const GroupedTrial trial = gpu_random::draw_grouped(kind.groups, kind.type, tables, modes, random);
    arena.reset();
    const PlacedGrouped placed(trial, arena);
    const auto plan = make_plan(trial.problem);
    if (!plan) {
      ADD_FAILURE() << trial.text() << ": " << plan.status().message();
      return tally;
    }
    placed.prepare(stream.get());
    if (const Status s = plan->run(placed.pointers(), stream.get()); !s) {
      ADD_FAILURE() << trial.text() << ": " << s.message();
      return tally;
    }
    const GroupedFindings found = placed.check(stream.get());
    tally.add(trial, placed, found, kind.name, plan->name());
    if (const auto complaint = placed.complaint(found)) {
      ++failures;
      ADD_FAILURE() << *complaint << " (" << plan->name() << ", seed " << seed()
                    << "); repeat with WARPWRIGHT_RANDOM_FIRST=" << i << " WARPWRIGHT_RANDOM_TABLES=1";
    }
  }
  tally.print();
  return tally;
}

TEST_F(GroupedRandom, TablesGiveWhatTheFloat64ReferenceGives) {
  const int64_t count = setting("WARPWRIGHT_RANDOM_TABLES", 500), first = setting("WARPWRIGHT_RANDOM_FIRST", 0);
  const Watchdog watchdog("the series of random tables", std::chrono::seconds(60 + count / 5));
  const Tally tally = run_tables(kGrouped, Modes::plain, first, count);
  if (count >= 500) {
    EXPECT_GE(tally.faulty, count / 10);
    // Each fault of these tables, and all together.
    for (const uint32_t f : {0u, 1u, 2u, 4u, 7u}) EXPECT_TRUE(tally.faults.contains(f)) << "status " << f;
  }
}

// Plans on one stream, and a second one whose kernels take some SMs away for a while, and which multiplies too.
template <size_t Kinds>
void launch_beside_a_busy_stream(const Kind (&kinds)[Kinds], Modes modes) {
  const int64_t launches = setting("WARPWRIGHT_LAUNCHES", 2000);
  struct Work {
    PlacedGrouped placed;
    GroupedPlan plan;
    int64_t launches = 0;
  };
  Arena arena(size_t(40) << 30);
  Random random(seed());
  const Stream stream, busy;
  std::set<std::string> names;
  const auto make = [&](int each) {
    std::vector<std::unique_ptr<Work>> work;
    for (const Kind& kind : kinds) {
      for (int i = 0; i < each; ++i) {
        const Tables tables = i % 8 == 7 ? Tables::wrong : Tables::legal;
        const GroupedTrial trial = gpu_random::draw_grouped(kind.groups, kind.type, tables, modes, random);
        // A result that is read and written changes with every launch.
        if (trial.problem.accumulate) continue;
        auto plan = make_plan(trial.problem);
        if (!plan) {
          ADD_FAILURE() << trial.text() << ": " << plan.status().message();
          continue;
        }
        names.insert(plan->name());
        work.push_back(std::make_unique<Work>(Work{PlacedGrouped(trial, arena), std::move(*plan)}));
        work.back()->placed.prepare(stream.get());
      }
    }
    return work;
  };
  const auto work = make(16), beside = make(4);
  stream.synchronize();

  gpu_random::BusyStream busy_stream;
  busy_stream.launch(work, beside, launches, stream, busy, random);
  if (testing::Test::HasFatalFailure()) return;
  fmt::print(
      "{} launches of {} tables by {} plan names on one stream; on the other {} kernels that held 1 to 132 SMs and {} "
      "products by groups; all ended, {} results compared\n",
      launches, work.size(), names.size(), busy_stream.held, busy_stream.multiplied, busy_stream.checked);
}

TEST_F(GroupedRandom, LaunchesBesideABusyStreamEndAndAreRight) {
  constexpr Kind kinds[] = {
      kGrouped[0], kGrouped[1], kGrouped[2], kGrouped[3], {Groups::none, DType::e4m3, "one product e4m3"}};
  launch_beside_a_busy_stream(kinds, Modes::plain);
}

TEST_F(GroupedRandom, TablesOfFusedProductsAndOfGroupsAlongKGiveWhatTheFloat64ReferenceGives) {
  const int64_t count = setting("WARPWRIGHT_RANDOM_TABLES", 500), first = setting("WARPWRIGHT_RANDOM_FIRST", 0);
  const Watchdog watchdog("the series of random tables", std::chrono::seconds(60 + count / 5));
  const Tally tally = run_tables(kFused, Modes::any, first, count);
  const bool unaligned =
      std::any_of(tally.faults.begin(), tally.faults.end(), [](uint32_t f) { return f & kDepthUnaligned; });
  EXPECT_TRUE(count < 500 || unaligned) << "all offsets along k were aligned";
}

TEST_F(GroupedRandom, LaunchesOfFusedProductsBesideABusyStreamEndAndAreRight) {
  launch_beside_a_busy_stream(kFused, Modes::any);
}

}  // namespace
}  // namespace warpwright
