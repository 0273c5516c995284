// Without a GPU every call ends in a value that says so; with one, these tests have nothing to show.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "gpu/executor.h"
#include "warpwright/c_api.h"
#include "warpwright/gemm.h"

namespace warpwright {
namespace {

class Absent : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu::hopper_device()) GTEST_SKIP() << "this machine has a Hopper GPU";
  }
};

TEST_F(Absent, APlanCannotBeMade) {
  const auto plan = make_plan({.m = 128, .n = 128, .k = 128});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.status().code(), Code::missing);
  EXPECT_GT(plan.status().message().size(), 20u);
  EXPECT_EQ(plan.status().message().back(), '.');
}

TEST_F(Absent, BadProblemsAreStillToldApart) {
  EXPECT_EQ(make_plan({.m = -1, .n = 128, .k = 128}).status().code(), Code::invalid_argument);
  char memory[1];
  EXPECT_EQ(gemm({.m = 1, .n = 1, .k = 1}, {.a = memory, .b = memory, .d = memory}).code(), Code::missing);
}

TEST_F(Absent, ThreadsMayAskAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> codes(8, -1);
  for (size_t i = 0; i < codes.size(); ++i) {
    threads.emplace_back([&codes, i] {
      ww_gemm_problem problem;
      ww_gemm_problem_init(&problem);
      problem.m = problem.n = problem.k = int64_t(i + 1);
      ww_plan* plan = nullptr;
      codes[i] = ww_plan_create(&problem, &plan);
      ww_plan_destroy(plan);
    });
  }
  for (std::thread& t : threads) t.join();
  for (const int code : codes) EXPECT_EQ(code, WW_MISSING);
}

}  // namespace
}  // namespace warpwright
