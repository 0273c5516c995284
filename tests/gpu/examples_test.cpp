// Every kernel of the catalogue that this GPU can run, at the sizes that `check` runs: results equal to the float64
// reference and to the bytes of the simulator, nothing written elsewhere, no hang. The Hopper instances run through the
// API, each by its name; the others as the tool runs them.
#include "simulate/examples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "catalog/instance.h"
#include "gpu/instance_names.h"
#include "gpu/needs_gpu.h"
#include "gpu/watchdog.h"
#include "measure/gemm_check.h"
#include "measure/gpu_memory.h"
#include "measure/grouped_check.h"
#include "reference/problem_workload.h"
#include "simulate/example.h"
#include "simulate/gpu_run.h"
#include "simulate/product.h"
#include "system/on_cores.h"

namespace warpwright::reference {

void PrintTo(const Case& c, std::ostream* out) { *out << c.m << "x" << c.n << "x" << c.k; }

}  // namespace warpwright::reference

namespace warpwright {
namespace {

std::string shape_text(reference::Case c) {
  return std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(c.k);
}

// Through the API, on a Hopper GPU, which also runs mma.sync.
bool by_api(const catalog::Instance& instance) {
  return simulate::behind_api(instance) && !is_cdna(catalog::arch_of(instance)) &&
         catalog::arch_of(instance) != Arch::sm100;
}
bool behind_the_api(const std::string& name) {
  const auto instance = catalog::parse_instance(name);
  return instance && by_api(*instance);
}

// The instances that are not part of the API, and run on a GPU all the same.
std::vector<const simulate::Example*> launchable() {
  std::vector<const simulate::Example*> list;
  for (const simulate::Example& e : simulate::examples())
    if (e.launch != nullptr && !behind_the_api(e.name)) list.push_back(&e);
  return list;
}
std::vector<std::string> kernels() {
  std::vector<std::string> list = names_where(by_api);
  for (const simulate::Example* e : launchable()) list.push_back(e->name);
  return list;
}

Status run_by_api(const std::string& name, reference::Case shape, reference::Data data, uint64_t seed,
                  simulate::GpuOutcome& out) {
  const catalog::Instance instance = instance_named(name);
  measure::GemmOutcome outcome;
  Status status;
  std::string wanted;
  if (simulate::is_dense(instance)) {
    const auto product = simulate::dense_case(instance, shape);
    if (!product) return product.status();
    wanted = catalog::name_of(product->instance());
    status = measure::check_gemm(product->problem, {.data = data, .seed = seed, .offset = product->offset}, outcome);
  } else {
    const auto run = simulate::grouped_case(instance, shape);
    if (!run) return run.status();
    wanted = catalog::name_of(run->instance());
    status = measure::check_grouped(run->problem, run->product, {.data = data, .seed = seed}, outcome);
  }
  if (!status) return status;
  if (outcome.instance != wanted) return Status(Code::failed, outcome.instance + " ran instead of " + wanted + ".");
  out.verdict = outcome.verdict;
  out.stray_bytes = outcome.stray_bytes;
  out.output = std::move(outcome.output);
  return {};
}

class EachKernel : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    WW_NEEDS_A_GPU();
    if (behind_the_api(GetParam())) {
      auto made = simulate::example_of(instance_named(GetParam()));
      ASSERT_TRUE(made) << made.status().message();
      example_ = std::move(*made);
    } else {
      example_ = *simulate::find_example(GetParam());
    }
  }
  bool multiplies() const { return example_.cases.front().k > 0; }

  // The run itself must succeed, the result be right and nothing else touched. May be called by several threads.
  std::vector<uint8_t> expect_right(reference::Case shape, reference::Data data, uint64_t seed) const {
    simulate::GpuOutcome outcome;
    const Status status = behind_the_api(GetParam())
                              ? run_by_api(GetParam(), shape, data, seed, outcome)
                              : simulate::check_on_gpu(example_, example_.workload(shape, data, seed), outcome);
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    SCOPED_TRACE(shape_text(shape));
    EXPECT_TRUE(status) << status.message();
    EXPECT_TRUE(outcome.verdict.ok);
    EXPECT_EQ(outcome.verdict.wrong, 0u);
    EXPECT_EQ(outcome.verdict.unwritten, 0u);
    EXPECT_EQ(outcome.stray_bytes, 0u);
    return std::move(outcome.output);
  }

  // The smallest two in which something is multiplied: the simulator takes longer than everything else here.
  std::vector<reference::Case> smallest_cases() const {
    std::vector<reference::Case> list;
    for (const reference::Case& c : example_.cases)
      if (c.k > 0 || !multiplies()) list.push_back(c);
    const auto size = [](const reference::Case& c) { return c.m * c.n * std::max<int64_t>(c.k, 1); };
    std::sort(list.begin(), list.end(),
              [&](const reference::Case& a, const reference::Case& b) { return size(a) < size(b); });
    if (list.size() > 2) list.resize(2);
    return list;
  }

  // Any extents that the kernel takes: some want whole blocks, or few rows.
  std::vector<reference::Case> random_cases(int count, unsigned seed) const {
    std::mt19937 random(seed);
    const auto up_to = [&](unsigned most) { return int64_t(random() % most) + 1; };
    const auto round_up = [](int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; };
    std::vector<reference::Case> list;
    for (int tries = 0; tries < 100 * count && int(list.size()) < count; ++tries) {
      const int64_t blocks = tries % 4 == 3 ? 256 : tries % 4 == 2 ? 16 : 1;
      reference::Case c{up_to(500), round_up(up_to(500), blocks), multiplies() ? round_up(up_to(700), blocks) : 0};
      if (tries % 3 == 1) c.m = round_up(c.m, 4);
      if (tries % 3 == 2) c.m = c.m % 128 + 1;
      if (tries % 5 == 4) c.m = c.m % 8 + 1;
      if (example_.takes(c)) list.push_back(c);
    }
    return list;
  }

  simulate::Example example_;
};

TEST_P(EachKernel, equals_the_simulator_to_the_byte_on_integers) {
  for (const reference::Case& shape : smallest_cases()) {
    const std::vector<uint8_t> bytes = expect_right(shape, reference::Data::integers, 7);
    simulator::Options options;
    options.landing = simulator::Landing::eager;
    options.check = false;
    const simulate::Outcome simulated =
        example_.simulate(example_.workload(shape, reference::Data::integers, 7), options, 0);
    EXPECT_TRUE(simulated.ok()) << shape_text(shape);
    EXPECT_EQ(bytes, simulated.output) << shape_text(shape);
  }
}

TEST_P(EachKernel, is_exact_on_integers) {
  for (const reference::Case& shape : example_.cases) expect_right(shape, reference::Data::integers, 5);
  const std::vector<reference::Case> more = random_cases(12, 3);
  ASSERT_FALSE(more.empty());
  // The float64 reference takes longer than the GPU.
  system::on_cores(more.size(), 0,
                   [&](size_t i) { expect_right(more[i], reference::Data::integers, uint64_t(more[i].m)); });
}

TEST_P(EachKernel, is_within_tolerance_on_normal_data_and_repeats_its_bits) {
  for (const reference::Case& shape : example_.cases) {
    if (shape.k > 0 || !multiplies()) expect_right(shape, reference::Data::normal, 11);
  }
  const reference::Case shape = example_.cases.front();
  const std::vector<uint8_t> first = expect_right(shape, reference::Data::normal, 9);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(expect_right(shape, reference::Data::normal, 9), first);
}

// One launch on a shape with tails in every direction: short enough for compute-sanitizer.
TEST_P(EachKernel, one_small_shape) {
  // Few rows for the kernels that take no more, whole 16-byte rows of 8-bit elements, or whole blocks with a scale, for
  // those that need them.
  const std::vector<reference::Case> shapes =
      multiplies() ? std::vector<reference::Case>{{300, 272, 328}, {7, 272, 328},   {300, 272, 336},
                                                  {7, 272, 336},   {100, 272, 336}, {300, 512, 384}}
                   : std::vector<reference::Case>{{100, 136, 0}};
  const auto shape =
      std::find_if(shapes.begin(), shapes.end(), [&](reference::Case c) { return example_.takes(c).ok(); });
  ASSERT_NE(shape, shapes.end()) << example_.takes(shapes.front()).message();
  expect_right(*shape, reference::Data::integers, 3);
}

INSTANTIATE_TEST_SUITE_P(gpu, EachKernel, testing::ValuesIn(kernels()), test_name);

// Kernels that are not part of the API; random_test.cpp and grouped_random_test.cpp do the same with the others.
// WARPWRIGHT_LAUNCHES: how many, 2000 otherwise.
TEST(Streams, launches_beside_a_busy_stream_end_and_are_right) {
  WW_NEEDS_A_GPU();
  struct Work {
    const simulate::Example* example;
    reference::Workload workload;
  };
  std::vector<Work> work;
  for (const simulate::Example* e : launchable()) {
    for (const reference::Case& shape : e->cases) work.push_back({e, e->workload(shape, reference::Data::integers, 1)});
  }
  if (work.empty()) GTEST_SKIP() << "every kernel of this build is part of the API";
  const gpu::Stream stream, busy;
  std::vector<measure::GuardedArrays> arrays;
  for (const Work& w : work) arrays.emplace_back(w.workload);
  // The second stream copies, and multiplies with the largest tile: its CTAs take SMs away in the middle of a grid.
  const GemmProblem product{.m = 1024, .n = 1024, .k = 512, .plan = "dense-128x256-c2-s4"};
  const reference::Workload load =
      workload_of(reference::with_packed_addends(product), 0, reference::Data::integers, 1);
  const measure::GuardedArrays load_arrays(load);
  const GemmPointers pointers = reference::pointers_of(product, 0, load, load_arrays.pointers());
  const auto plan = make_plan(product);
  ASSERT_TRUE(plan) << plan.status().message();
  constexpr size_t copied = size_t(64) << 20;
  const gpu::DeviceMemory from(copied), to(copied);
  gpu::set_bytes(from.data(), 1, copied);

  std::mt19937 random(31);
  const char* const given = std::getenv("WARPWRIGHT_LAUNCHES");
  const int launches = std::max(int(work.size()), given != nullptr ? std::atoi(given) : 2000);
  const Watchdog watchdog("the launches beside a busy stream", std::chrono::seconds(60 + launches / 100));
  for (int i = 0; i < launches; ++i) {
    // Each at least once.
    const size_t which = size_t(i) < work.size() ? size_t(i) : random() % work.size();
    ASSERT_TRUE(work[which].example->launch(work[which].workload, arrays[which].pointers(), stream.get()));
    if (i % 4 == 0) {
      ASSERT_TRUE(plan->run(pointers, busy.get()));
    }
    if (i % 16 == 0) {
      gpu::copy_on_device(to.data(), from.data(), copied, busy.get());
    }
  }
  stream.synchronize();
  busy.synchronize();
  for (size_t i = 0; i < work.size(); ++i) {
    const reference::Verdict verdict = reference::judge(work[i].workload, arrays[i].output());
    EXPECT_EQ(verdict.wrong, 0u) << work[i].example->name << " " << shape_text(work[i].workload.shape);
    EXPECT_EQ(arrays[i].stray_bytes(work[i].workload), 0u) << work[i].example->name;
  }
  EXPECT_TRUE(reference::judge(load, load_arrays.output()).ok);
}

}  // namespace
}  // namespace warpwright
