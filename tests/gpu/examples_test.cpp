// The kernels on a GPU: results equal to the float64 reference and to the simulator, nothing written elsewhere, no
// hang.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "device/launch.h"
#include "gpu/needs_gpu.h"
#include "gpu/watchdog.h"
#include "runtime/example.h"
#include "runtime/gpu.h"
#include "runtime/gpu_memory.h"
#include "runtime/gpu_run.h"
#include "runtime/host_kernels.h"

namespace warpwright::runtime {

void PrintTo(const Case& c, std::ostream* out) { *out << c.m << "x" << c.n << "x" << c.k; }

namespace {

std::vector<const Example*> launchable() {
  std::vector<const Example*> list;
  for (const Example& e : examples())
    if (e.launch != nullptr) list.push_back(&e);
  return list;
}

std::string shape_text(Case c) { return std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(c.k); }

// The run itself must succeed, the result be right and nothing else touched.
GpuOutcome expect_right(const Example& example, const Workload& workload) {
  SCOPED_TRACE(std::string(example.name) + " " + shape_text(workload.shape));
  GpuOutcome outcome;
  const auto failure = check_on_gpu(example, workload, outcome);
  EXPECT_FALSE(failure) << *failure;
  EXPECT_TRUE(outcome.verdict.ok);
  EXPECT_EQ(outcome.verdict.wrong, 0u);
  EXPECT_EQ(outcome.verdict.unwritten, 0u);
  EXPECT_EQ(outcome.stray_bytes, 0u);
  return outcome;
}

// Every compiled instance of the dense GEMM, also those that are no example of their own.
template <int I>
std::optional<std::string> launch_instance(const Workload& w, const std::vector<void*>& p, void* stream) {
  DenseGemmArgs args;
  if (auto why = fill(args, device::kDenseGemmSm90[I], p[0], p[1], p[2], int(w.shape.m), int(w.shape.n), int(w.shape.k),
                      float(w.alpha), EncodeForGpu{}))
    return why;
  return device::launch_dense_gemm_sm90(I, args, stream);
}
struct Instance {
  Example example;
  DType type;
};
std::vector<Instance> instances() {
  std::vector<Instance> list;
  const auto each = [&]<int... I>(std::integer_sequence<int, I...>) {
    const auto add = [&](int i, auto launch) {
      Example e{};
      e.name = "dense_gemm";
      e.launch = launch;
      list.push_back({e, device::kDenseGemmSm90[i].type});
    };
    (add(I, launch_instance<I>), ...);
  };
  each(std::make_integer_sequence<int, int(std::size(device::kDenseGemmSm90))>{});
  return list;
}

// Every compiled instance of the skinny GEMM.
template <int I>
std::optional<std::string> launch_skinny(const Workload& w, const std::vector<void*>& p, void* stream) {
  SkinnyGemmArgs args;
  if (auto why = fill(args, device::kSkinnyGemmSm90[I], p[0], p[1], p[2], int(w.shape.m), int(w.shape.n),
                      int(w.shape.k), float(w.alpha), EncodeForGpu{}))
    return why;
  // Half of the instances as a dependent launch: it must give the same result with nothing ahead of it.
  args.weights_are_constant = I % 2 == 1;
  return device::launch_skinny_gemm_sm90(I, args, stream, 0, I % 2 == 1);
}
struct SkinnyInstance {
  Example example;
  SkinnyGemmConfig config;
};
std::vector<SkinnyInstance> skinny_instances() {
  std::vector<SkinnyInstance> list;
  const auto each = [&]<int... I>(std::integer_sequence<int, I...>) {
    const auto add = [&](int i, auto launch) {
      Example e{};
      e.name = "skinny_gemm";
      e.launch = launch;
      list.push_back({e, device::kSkinnyGemmSm90[i]});
    };
    (add(I, launch_skinny<I>), ...);
  };
  each(std::make_integer_sequence<int, int(std::size(device::kSkinnyGemmSm90))>{});
  return list;
}

class Shapes {
 public:
  explicit Shapes(unsigned seed) : random_(seed) {}
  Case gemm() { return {any(1, 700), 8 * any(1, 87), 8 * any(1, 87)}; }
  Case matrix() { return {any(1, 700), 8 * any(1, 87), 0}; }
  // One or two tiles along the tokens, and deep enough for every part of a split.
  Case skinny(int tokens) { return {any(1, 2 * tokens), 8 * any(1, 400), 8 * any(1, 300)}; }
  Case of(const Example& e) {
    for (;;) {
      const Case c = e.cases.front().k > 0 ? gemm() : matrix();
      if (!e.refuse(c)) return c;
    }
  }

 private:
  int64_t any(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(random_); }
  std::mt19937_64 random_;
};

// The float64 reference takes longer than the GPU: several are made at a time.
template <class Make>
std::vector<Workload> make_workloads(int count, Make&& make) {
  std::vector<Workload> list(static_cast<size_t>(count));
  std::atomic<int> next{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([&] {
      for (int i; (i = next++) < count;) list[size_t(i)] = make(i);
    });
  }
  for (std::thread& t : threads) t.join();
  return list;
}

class EachExample : public testing::TestWithParam<const Example*> {};

TEST_P(EachExample, equals_the_simulator_to_the_byte_on_integers) {
  WW_NEEDS_A_GPU();
  const Example& example = *GetParam();
  for (const Case& shape : example.cases) {
    const Workload workload = example.workload(shape, Data::integers, 7);
    const GpuOutcome gpu = expect_right(example, workload);
    simulator::Options options;
    options.landing = simulator::Landing::eager;
    const Outcome simulated = example.simulate(workload, options, 0);
    EXPECT_TRUE(simulated.ok()) << example.name << " " << shape_text(shape);
    EXPECT_EQ(gpu.output, simulated.output) << example.name << " " << shape_text(shape);
  }
}

TEST_P(EachExample, is_within_tolerance_on_normal_data) {
  WW_NEEDS_A_GPU();
  const Example& example = *GetParam();
  for (const Case& shape : example.cases) expect_right(example, example.workload(shape, Data::normal, 11));
}

TEST_P(EachExample, is_exact_on_random_shapes) {
  WW_NEEDS_A_GPU();
  const Example& example = *GetParam();
  Shapes shapes(5);
  std::vector<Case> cases(40);
  for (Case& c : cases) {
    c = shapes.of(example);
    ASSERT_FALSE(example.refuse(c));
  }
  for (const Workload& w : make_workloads(
           int(cases.size()), [&](int i) { return example.workload(cases[size_t(i)], Data::integers, uint64_t(i)); }))
    expect_right(example, w);
}

// One launch on a shape with tails in every direction: short enough for compute-sanitizer.
TEST_P(EachExample, one_small_shape) {
  WW_NEEDS_A_GPU();
  const Example& example = *GetParam();
  const bool gemm = example.cases.front().k > 0;
  // Few rows for the kernels that take no more, whole 16-byte rows of 8-bit elements, or whole blocks with a scale, for
  // those that need them.
  const std::vector<Case> shapes =
      gemm ? std::vector<Case>{{300, 272, 328}, {7, 272, 328}, {300, 272, 336}, {7, 272, 336}, {300, 512, 384}}
           : std::vector<Case>{{100, 136, 0}};
  const auto shape = std::find_if(shapes.begin(), shapes.end(), [&](Case c) { return !example.refuse(c); });
  ASSERT_NE(shape, shapes.end()) << *example.refuse(shapes.front());
  expect_right(example, example.workload(*shape, Data::integers, 3));
}

INSTANTIATE_TEST_SUITE_P(gpu, EachExample, testing::ValuesIn(launchable()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(EachGemmInstance, is_exact_on_a_hundred_random_shapes) {
  WW_NEEDS_A_GPU();
  for (const DType type : {DType::bf16, DType::fp16}) {
    Shapes shapes(17);
    std::vector<Case> cases(100);
    for (Case& c : cases) c = shapes.gemm();
    // A power of two keeps every result exact; half of the runs take the path without a factor.
    const auto workloads = make_workloads(int(cases.size()), [&](int i) {
      return gemm_workload(cases[size_t(i)], type, type, i % 2 ? 0.5 : 1, Data::integers, uint64_t(i));
    });
    for (const Instance& instance : instances()) {
      if (instance.type != type) continue;
      for (const Workload& w : workloads) expect_right(instance.example, w);
    }
  }
}

TEST(EachGemmInstance, is_within_tolerance_on_normal_data) {
  WW_NEEDS_A_GPU();
  for (const Instance& instance : instances())
    for (const Case shape : {Case{512, 768, 1024}, Case{333, 520, 1000}, Case{1, 8, 2048}, Case{257, 8, 8}})
      expect_right(instance.example, gemm_workload(shape, instance.type, instance.type, 1.25, Data::normal, 23));
}

TEST(EachSkinnyInstance, is_exact_on_random_shapes) {
  WW_NEEDS_A_GPU();
  for (const SkinnyInstance& instance : skinny_instances()) {
    SCOPED_TRACE(std::to_string(instance.config.tokens) + " tokens, split " + std::to_string(instance.config.split));
    Shapes shapes(41);
    std::vector<Case> cases(24);
    for (Case& c : cases) c = shapes.skinny(instance.config.tokens);
    for (const Workload& w : make_workloads(int(cases.size()), [&](int i) {
           const DType type = instance.config.type;
           return gemm_workload(cases[size_t(i)], type, type, i % 2 ? 0.5 : 1, Data::integers, uint64_t(i));
         }))
      expect_right(instance.example, w);
  }
}

// The parts of a split are added in the order of the ranks: timing must not show in the result.
TEST(EachSkinnyInstance, gives_the_same_bits_every_time) {
  WW_NEEDS_A_GPU();
  for (const SkinnyInstance& instance : skinny_instances()) {
    const DType type = instance.config.type;
    const Workload w = gemm_workload({instance.config.tokens, 1032, 2056}, type, type, 1, Data::normal, 43);
    const std::vector<uint8_t> first = expect_right(instance.example, w).output;
    for (int i = 0; i < 5; ++i) EXPECT_EQ(expect_right(instance.example, w).output, first);
  }
}

// WARPWRIGHT_LAUNCHES: how many, 2000 otherwise.
TEST(Streams, launches_beside_a_busy_stream_end_and_are_right) {
  WW_NEEDS_A_GPU();
  struct Work {
    Example example;
    Workload workload;
  };
  std::vector<Work> work;
  Shapes shapes(29);
  for (const Example* e : launchable()) {
    if (std::string(e->name).starts_with("grouped_k")) continue;  // adds to what is there: a second launch is another sum
    for (int i = 0; i < 4; ++i) work.push_back({*e, e->workload(shapes.of(*e), Data::integers, uint64_t(i))});
  }
  for (const Instance& instance : instances())
    for (int i = 0; i < 4; ++i)
      work.push_back({instance.example,
                      gemm_workload(shapes.gemm(), instance.type, instance.type, 1, Data::integers, uint64_t(i))});

  for (const SkinnyInstance& instance : skinny_instances())
    work.push_back({instance.example, gemm_workload(shapes.skinny(instance.config.tokens), instance.config.type,
                                                    instance.config.type, 1, Data::integers, 1)});

  const Stream stream, busy;
  std::vector<GuardedArrays> arrays;
  for (const Work& w : work) arrays.emplace_back(w.workload);
  // The second stream copies, and multiplies with the largest tile: its CTAs take SMs away in the middle of a grid.
  const Workload load = gemm_workload({1024, 1024, 512}, DType::bf16, DType::bf16, 1, Data::integers, 1);
  const GuardedArrays load_arrays(load);
  constexpr size_t copied = size_t(64) << 20;
  const DeviceMemory from(copied), to(copied);
  require(cudaMemset(from.data(), 1, copied), "cudaMemset");

  std::mt19937 random(31);
  const char* const given = std::getenv("WARPWRIGHT_LAUNCHES");
  const int launches = std::max(int(work.size()), given != nullptr ? std::atoi(given) : 2000);
  const Watchdog watchdog("the launches beside a busy stream", std::chrono::seconds(60 + launches / 100));
  for (int i = 0; i < launches; ++i) {
    // Each at least once.
    const size_t which = size_t(i) < work.size() ? size_t(i) : random() % work.size();
    ASSERT_FALSE(work[which].example.launch(work[which].workload, arrays[which].pointers(), stream.get()));
    if (i % 4 == 0) {
      ASSERT_FALSE(launch_instance<0>(load, load_arrays.pointers(), busy.get()));
    }
    if (i % 16 == 0) {
      require(cudaMemcpyAsync(to.data(), from.data(), copied, cudaMemcpyDeviceToDevice, busy.get()), "cudaMemcpy");
    }
  }
  stream.synchronize();
  busy.synchronize();
  for (size_t i = 0; i < work.size(); ++i) {
    const Verdict verdict = judge(work[i].workload, arrays[i].output());
    EXPECT_EQ(verdict.wrong, 0u) << work[i].example.name << " " << shape_text(work[i].workload.shape);
    EXPECT_EQ(arrays[i].stray_bytes(work[i].workload), 0u) << work[i].example.name;
  }
  EXPECT_TRUE(judge(load, load_arrays.output()).ok);
}

}  // namespace
}  // namespace warpwright::runtime
