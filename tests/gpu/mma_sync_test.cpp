// The mma.sync GEMM on a GPU: the same source as in the simulator, and the same bytes on whole numbers.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "gpu/devices.h"
#include "gpu/driver.h"
#include "gpu/instance_names.h"
#include "sim/example_list.h"
#include "simulate/example.h"
#include "simulate/examples.h"
#include "simulate/gpu_run.h"

namespace warpwright {
namespace {

std::vector<const simulate::Example*> kernels() {
  std::vector<const simulate::Example*> list;
  for (const simulate::Example& e : simulate::examples())
    if (e.arch == Arch::sm80 && e.launch != nullptr) list.push_back(&e);
  return list;
}

class MmaSyncGemm : public testing::TestWithParam<const simulate::Example*> {
 protected:
  void SetUp() override {
    if (gpu::list_gpus().empty()) GTEST_SKIP() << "no GPU here. " << gpu::driver_status().message();
  }
  std::vector<uint8_t> expect_right(const reference::Workload& w) {
    SCOPED_TRACE(testing::Message() << w.shape.m << "x" << w.shape.n << "x" << w.shape.k);
    simulate::GpuOutcome outcome;
    const Status status = simulate::check_on_gpu(*GetParam(), w, outcome);
    EXPECT_TRUE(status) << status.message();
    EXPECT_EQ(outcome.verdict.wrong, 0u);
    EXPECT_EQ(outcome.verdict.unwritten, 0u);
    EXPECT_EQ(outcome.stray_bytes, 0u);
    return outcome.output;
  }
  // Odd rows of 4-byte copies are not this instance's.
  bool takes(reference::Case c) { return !GetParam()->name.ends_with("-by_words") || c.k % 2 == 0; }
};

TEST_P(MmaSyncGemm, gives_the_bytes_of_the_simulator_on_whole_numbers) {
  for (const reference::Case& c : GetParam()->cases) {
    const reference::Workload w = GetParam()->workload(c, reference::Data::integers, 11);
    simulator::Options o;
    o.landing = simulator::Landing::eager;
    const simulate::Outcome simulated = GetParam()->simulate(w, o, 0);
    ASSERT_TRUE(simulated.ok());
    EXPECT_EQ(expect_right(w), simulated.output) << c.m << "x" << c.n << "x" << c.k;
  }
}

TEST_P(MmaSyncGemm, is_exact_on_shapes_of_any_size) {
  std::mt19937 random(3);
  const auto any = [&](int most) { return int64_t(random() % unsigned(most)) + 1; };
  for (int i = 0; i < 12; ++i) {
    const reference::Case c{any(500), any(500), any(700)};
    if (takes(c)) expect_right(GetParam()->workload(c, reference::Data::integers, uint64_t(i)));
  }
}

TEST_P(MmaSyncGemm, is_within_tolerance_on_normal_data_and_repeats_its_bits) {
  const reference::Workload w = GetParam()->workload({333, 518, 1002}, reference::Data::normal, 7);
  const std::vector<uint8_t> first = expect_right(w);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(expect_right(w), first);
}

INSTANTIATE_TEST_SUITE_P(gpu, MmaSyncGemm, testing::ValuesIn(kernels()),
                         [](const auto& info) { return example_list::test_name(info.param->name); });

}  // namespace
}  // namespace warpwright
