// The variants of the Hopper GEMM on a GPU, on shapes that no alignment helps.
#include <gtest/gtest.h>

#include <random>

#include "runtime/example.h"
#include "runtime/gpu.h"
#include "runtime/gpu_run.h"

namespace warpwright::runtime {
namespace {

std::vector<const Example*> variants() {
  std::vector<const Example*> list;
  for (const Example& e : examples()) {
    // Kernels that take any m and k.
    if (e.launch != nullptr && e.arch == Arch::sm90 && !e.refuse({1, 16, 1}) && e.cases.front().k > 0)
      list.push_back(&e);
  }
  return list;
}

class Variant : public testing::TestWithParam<const Example*> {
 protected:
  void SetUp() override {
    if (list_gpus().empty()) GTEST_SKIP() << gpu_driver_problem().value_or("no GPU here");
  }
  // What the kernel does not take becomes the nearest shape that it does.
  std::vector<uint8_t> expect_right(Case c, Data data, uint64_t seed) {
    if (GetParam()->refuse(c)) c.n = (c.n + 15) / 16 * 16;
    if (GetParam()->refuse(c)) c.m = c.m % 13 + 1;
    EXPECT_FALSE(GetParam()->refuse(c));
    SCOPED_TRACE(std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(c.k));
    GpuOutcome outcome;
    const auto failure = check_on_gpu(*GetParam(), GetParam()->workload(c, data, seed), outcome);
    EXPECT_FALSE(failure) << *failure;
    EXPECT_EQ(outcome.verdict.wrong, 0u);
    EXPECT_EQ(outcome.verdict.unwritten, 0u);
    EXPECT_EQ(outcome.stray_bytes, 0u);
    return outcome.output;
  }
};

TEST_P(Variant, is_exact_on_shapes_of_any_size) {
  std::mt19937 random(3);
  const auto any = [&](int most) { return int64_t(random() % unsigned(most)) + 1; };
  for (int i = 0; i < 12; ++i) expect_right({any(500), any(500), any(700)}, Data::integers, uint64_t(i));
  for (const Case c : {Case{1, 1, 1}, Case{127, 255, 63}, Case{129, 257, 65}, Case{128, 256, 1}, Case{257, 1, 129}})
    expect_right(c, Data::integers, 5);
}

TEST_P(Variant, is_within_tolerance_on_normal_data) {
  expect_right({333, 517, 1001}, Data::normal, 7);
  expect_right({512, 768, 1024}, Data::normal, 8);
}

TEST_P(Variant, gives_the_same_bits_every_time) {
  const std::vector<uint8_t> first = expect_right({300, 500, 2000}, Data::normal, 9);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(expect_right({300, 500, 2000}, Data::normal, 9), first);
}

INSTANTIATE_TEST_SUITE_P(gpu, Variant, testing::ValuesIn(variants()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace warpwright::runtime
