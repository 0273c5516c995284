// Random products through the host API against a float64 reference on the GPU: every instance that was compiled ahead
// and some that are compiled on demand, on any extents, strides and alignments. Every trial also shows that nothing
// beside the result is written, and that what lies between and around the rows of the operands, all of it NaN, does not
// reach the result.
//
//   WARPWRIGHT_RANDOM_SHAPES    how many random products (3000)
//   WARPWRIGHT_RANDOM_KERNELS   how many instances compiled on demand take part (4)
//   WARPWRIGHT_RANDOM_SEED      another series (2026)
//   WARPWRIGHT_RANDOM_FIRST     the number of the first product: repeats one that a failure named (0)
//   WARPWRIGHT_LAUNCHES  launches beside a busy stream (2000)
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "choice/dense.h"
#include "gpu/busy_stream.h"
#include "gpu/executor.h"
#include "gpu/random_gemm.h"
#include "gpu/watchdog.h"
#include "problem/lower.h"

namespace warpwright {
namespace {

using catalog::Instance;
using device_check::Findings;
using gpu::Stream;
using gpu_random::Arena;
using gpu_random::PlacedTrial;
using gpu_random::Random;
using gpu_random::Trial;

constexpr int64_t kLargest = 5000;
constexpr size_t kArena = size_t(1) << 30;  // the largest product with its surroundings takes half of it

int64_t setting(const char* name, int64_t otherwise) {
  const char* const given = std::getenv(name);
  return given != nullptr ? std::atoll(given) : otherwise;
}
uint64_t seed() { return uint64_t(setting("WARPWRIGHT_RANDOM_SEED", 2026)); }

class GpuRandom : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto device = gpu::hopper_device(); !device) GTEST_SKIP() << device.status().message();
  }
};

// What a series has seen, for the line that it prints.
struct Tally {
  int64_t products = 0, exact = 0, by_choice = 0, odd_operands = 0, odd_results = 0, batched = 0, empty = 0;
  double flops = 0;
  std::map<int, double> worst;  // of what is allowed beyond the last rounding, by bits of the operands
  std::map<std::string, int64_t> types;
  std::set<std::string> plans;

  void add(const Trial& trial, const Findings& found, const std::string& plan) {
    const GemmProblem& p = trial.problem;
    const problem::GemmShape shape = problem::lower(p).shape;
    ++products;
    exact += trial.exact;
    by_choice += p.plan.empty();
    odd_operands += shape.load == Mover::threads;
    odd_results += shape.load == Mover::tma && shape.store == Mover::threads;
    batched += p.batch > 1;
    empty += p.m == 0 || p.n == 0 || p.k == 0 || p.batch == 0;
    flops += 2 * double(p.m) * double(p.n) * double(p.k) * double(p.batch);
    ++types[std::string(name(p.a.type)) +
            (p.a.type == p.b.type ? "" : std::string(" x ") + std::string(name(p.b.type)))];
    plans.insert(plan);
    if (!trial.exact) worst[bits(p.a.type)] = std::max(worst[bits(p.a.type)], found.worst);
  }
  void print(const char* what) const {
    std::string by_type;
    for (const auto& [type, count] : types) by_type += fmt::format("{}{} {}", by_type.empty() ? "" : ", ", count, type);
    const auto most = [&](int bits) { return worst.contains(bits) ? worst.at(bits) : 0.; };
    fmt::print(
        "{}: {} products ({}), {:.1f} Tflop, {} plan names, {} by the library's own choice; {} of whole numbers equal "
        "to the bit, {} of normal values within the bound (the sums at most {:.2f} of it for 16-bit operands, {:.2f} "
        "for "
        "8-bit ones); {} with operands and {} with results that the TMA cannot address, {} batched, {} with an extent "
        "of "
        "0\n",
        what, products, by_type, flops * 1e-12, plans.size(), by_choice, exact, products - exact, most(16), most(8),
        odd_operands, odd_results, batched, empty);
  }
};

// Runs one trial; false if it failed.
bool right(const Trial& trial, Arena& arena, const Stream& stream, Tally& tally) {
  arena.reset();
  const PlacedTrial placed(trial, arena);
  auto plan = make_plan(trial.problem);
  if (!plan) {
    ADD_FAILURE() << trial.text() << ": " << plan.status().message();
    return false;
  }
  placed.prepare(stream.get());
  if (const Status s = plan->run(placed.pointers(), stream.get()); !s) {
    ADD_FAILURE() << trial.text() << ": " << s.message();
    return false;
  }
  const Findings found = placed.check(stream.get());
  const auto complaint = placed.complaint(found);
  tally.add(trial, found, plan->name());
  if (complaint) ADD_FAILURE() << *complaint << " (" << plan->name() << ")";
  return !complaint;
}

// A build may have compiled only some of them ahead.
std::vector<Instance> ahead() {
  std::vector<Instance> list = gpu_random::ahead();
  if (const Status s = gpu::compile(list); !s) ADD_FAILURE() << s.message();
  return list;
}

std::vector<Instance> instances(int more) {
  std::vector<Instance> list = ahead();
  const auto compiled = gpu_random::on_demand(more, seed());
  if (!compiled) {
    fmt::print("only instances that were compiled ahead: {}\n", compiled.status().message());
    return list;
  }
  list.insert(list.end(), compiled->begin(), compiled->end());
  return list;
}

// What the tests below rely on: each kind of mistake is made on purpose. D has 136 columns.
void expect_mistakes_seen(const GemmProblem& of, bool exact) {
  Arena arena(size_t(1) << 26);
  const Stream stream;
  Trial trial;
  trial.exact = exact;
  GemmProblem& p = trial.problem;
  p = of;
  p.m = 100;
  p.k = 72;
  p.a.stride = p.b.stride = 80;
  p.d.stride = 144;
  arena.reset();
  const PlacedTrial placed(trial, arena);
  GemmProblem deeper = p;
  deeper.k = 80;
  const auto plan = make_plan(p), reads_padding = make_plan(deeper);
  ASSERT_TRUE(plan && reads_padding);
  const auto flip = [](const void* matrix, int64_t element, uint16_t bits) {
    auto* const at = static_cast<uint16_t*>(const_cast<void*>(matrix)) + element;
    uint16_t value = 0;
    gpu::require(cudaMemcpy(&value, at, sizeof value, cudaMemcpyDeviceToHost), "cudaMemcpy");
    value ^= bits;
    gpu::require(cudaMemcpy(at, &value, sizeof value, cudaMemcpyHostToDevice), "cudaMemcpy");
  };
  const auto complaint = [&](auto spoil, const GemmPlan* run) {
    placed.prepare(stream.get());
    if (run != nullptr && !run->run(placed.pointers(), stream.get())) ADD_FAILURE() << "a plan does not run";
    stream.synchronize();
    spoil();
    return placed.complaint(placed.check(stream.get())).value_or("");
  };
  const auto expect = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" does not say: " << part;
  };
  const GemmPointers& at = placed.pointers();
  const auto nothing = [] {};
  EXPECT_EQ(complaint(nothing, &*plan), "");
  // The last bit of whole numbers, the last but one of others.
  expect(complaint([&] { flip(at.d, 144 * 99 + 135, exact ? 1 : 2); }, &*plan), "1 elements are wrong");
  expect(complaint([&] { flip(at.d, 136, 1); }, &*plan), "1 elements beside the result changed");
  expect(complaint([&] { flip(at.d, -1, 1); }, &*plan), "1 elements beside the result changed");
  expect(complaint([&] { flip(at.d, 144 * 100, 1); }, &*plan), "1 elements beside the result changed");
  expect(complaint([&] { flip(at.b, 75, 1); }, &*plan), "an operand changed");
  expect(complaint(nothing, nullptr), "13600 elements are wrong, 13600 of them unwritten");
  expect(complaint(nothing, &*reads_padding), "13600 elements are wrong, 13600 of them unwritten");
}

TEST_F(GpuRandom, TheCheckSeesEveryKindOfMistake) {
  expect_mistakes_seen({.n = 136}, true);
  expect_mistakes_seen({.n = 136}, false);
  // For pairs, with as many columns of D.
  const GemmProblem pairs{.n = 272, .epilogue = {.activation = Activation::swiglu}};
  expect_mistakes_seen(pairs, true);
  expect_mistakes_seen(pairs, false);
}

TEST_F(GpuRandom, ProductsEqualTheFloat64Reference) {
  const int64_t count = setting("WARPWRIGHT_RANDOM_SHAPES", 3000), first = setting("WARPWRIGHT_RANDOM_FIRST", 0);
  const std::vector<Instance> list = instances(int(setting("WARPWRIGHT_RANDOM_KERNELS", 4)));
  const auto device = gpu::hopper_device();
  const Watchdog watchdog("the series of random products", std::chrono::seconds(60 + count / 20));
  Arena arena(kArena);
  const Stream stream;
  Tally tally;
  int failures = 0;
  fmt::print("{} instances, {} of them compiled on demand\n", list.size(), list.size() - gpu_random::ahead().size());
  for (int64_t i = first; i < first + count && failures < 5; ++i) {
    Random random(seed() + uint64_t(i) * 0x9e3779b97f4a7c15ull);
    auto trial = gpu_random::draw(list[size_t(i) % list.size()], kLargest, random);
    ASSERT_TRUE(trial) << "no product for " << catalog::plan_name(list[size_t(i) % list.size()]);
    // What the library would choose itself, unless that has to be compiled first.
    if (random() % 2 == 0) {
      const auto choice =
          choice::choose(problem::lower(trial->problem).shape, choice::Chip{device->name, device->multiprocessors});
      if (choice && std::any_of(list.begin(), list.end(),
                                [&](const Instance& known) { return known.config == choice->instance.config; })) {
        trial->problem.plan.clear();
        trial->problem.sm_limit = 0;
      }
    }
    if (!right(*trial, arena, stream, tally)) {
      ++failures;
      ADD_FAILURE() << "repeat with WARPWRIGHT_RANDOM_FIRST=" << i << " WARPWRIGHT_RANDOM_SHAPES=1";
    }
  }
  tally.print("random products");
}

TEST_F(GpuRandom, EveryInstanceIsRightAtTheEdgesOfItsTile) {
  const std::vector<Instance> list = ahead();
  const Watchdog watchdog("the edges of all tiles", std::chrono::seconds(240));
  Arena arena(kArena);
  const Stream stream;
  Tally tally;
  Random random(seed());
  int failures = 0;
  for (const Instance& instance : list) {
    const gpu_random::TileExtents tile = gpu_random::tile_of(instance);
    const int64_t unit = tile.n_unit;
    for (const int64_t m : {int64_t(1), tile.m - 1, tile.m, tile.m + 1}) {
      for (const int64_t n : {unit, tile.n - unit, tile.n, tile.n + unit})
        for (const int64_t k : {int64_t(1), tile.k - 1, tile.k, tile.k + 1}) {
          // What the instance cannot be asked for, more rows than it takes for example, is another instance's.
          const auto trial = gpu_random::draw(instance, kLargest, random, reference::Case{m, n, k});
          if (trial && failures < 5) failures += !right(*trial, arena, stream, tally);
        }
    }
    for (const reference::Case c :
         {reference::Case{0, tile.n, tile.k}, {tile.m, 0, tile.k}, {tile.m, tile.n, 0}, {1, unit, 0}}) {
      const auto trial = gpu_random::draw(instance, kLargest, random, c);
      if (trial && failures < 5) failures += !right(*trial, arena, stream, tally);
    }
  }
  tally.print("edges of tiles");
  EXPECT_GT(tally.products, int64_t(30 * list.size()));
}

// Plans on one stream, and a second one whose kernels take some SMs away for a while, and which multiplies too.
TEST_F(GpuRandom, LaunchesBesideABusyStreamEndAndAreRight) {
  const int64_t launches = setting("WARPWRIGHT_LAUNCHES", 2000);
  const std::vector<Instance> list = instances(int(setting("WARPWRIGHT_RANDOM_KERNELS", 4)));
  struct Work {
    Trial trial;
    PlacedTrial placed;
    GemmPlan plan;
    int64_t launches = 0;
  };
  Arena arena(size_t(24) << 30);
  Random random(seed());
  const Stream stream, busy;
  const auto make = [&](int each) {
    std::vector<std::unique_ptr<Work>> work;
    for (const Instance& instance : list) {
      for (int made = 0, tries = 0; made < each && tries < 100; ++tries) {
        auto trial = gpu_random::draw(instance, 1200, random);
        // A result that is read and written changes with every launch.
        if (!trial || trial->in_place || trial->problem.m == 0 || trial->problem.n == 0) continue;
        auto plan = make_plan(trial->problem);
        if (!plan) {
          ADD_FAILURE() << trial->text() << ": " << plan.status().message();
          continue;
        }
        work.push_back(std::make_unique<Work>(Work{*trial, PlacedTrial(*trial, arena), std::move(*plan)}));
        work.back()->placed.prepare(stream.get());
        ++made;
      }
    }
    return work;
  };
  const auto work = make(3), beside = make(1);
  ASSERT_GE(work.size(), 2 * list.size());
  stream.synchronize();

  gpu_random::BusyStream busy_stream;
  busy_stream.launch(work, beside, launches, stream, busy, random);
  if (testing::Test::HasFatalFailure()) return;
  fmt::print(
      "{} launches of {} plans on one stream; on the other {} kernels that held 1 to 132 SMs and {} products by {} "
      "plans; all ended, {} results compared\n",
      launches, work.size(), busy_stream.held, busy_stream.multiplied, beside.size(), busy_stream.checked);
}

}  // namespace
}  // namespace warpwright
