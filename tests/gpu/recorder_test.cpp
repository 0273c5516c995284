// The recorder above a real driver: for every instance that this GPU runs both accept every call, and the launch is the
// simulator's; calls at the edges of the rules are accepted by both or refused by both. Needs an H200, for which the
// simulator chooses. A program of its own: it points the library to the recorder before the driver is opened.
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "driver/calls.h"
#include "driver/same_launch.h"
#include "driver/session.h"
#include "gpu/executor.h"
#include "gpu/instance_names.h"
#include "simulate/product.h"

namespace warpwright {
namespace {

using recorded::Comparison;
using recorded::Images;

bool begin() {
  static const bool there = [] {
    recorded::begin_above(recorded::Below::driver);
    return bool(gpu::hopper_device());
  }();
  return there;
}

class AboveTheDriver : public testing::Test {
 protected:
  void SetUp() override {
    if (!recorded::has_driver() || !begin()) GTEST_SKIP() << "no Hopper GPU";
  }
};

TEST_F(AboveTheDriver, callsAtTheEdgesOfTheRulesAreAnsweredAlike) {
  const auto all = recorded::calls(recorded::make_fixture());
  EXPECT_GE(all.size(), 200u);
  int other_code = 0;
  for (const recorded::Call& call : all) {
    (void)recorded::lines();
    const int answer = call.make();
    const auto lines = recorded::lines();
    for (const auto& line : recorded::disagreements(lines)) ADD_FAILURE() << call.name << ": " << line.dump();
    EXPECT_EQ(answer == 0, call.accepted) << call.name << ": the driver answers " << answer;
    for (const auto& line : lines) {
      if (!line.contains("answer") || line["answer"] == line["by_rules"] || line["answer"] == 0) continue;
      ++other_code;
      std::cout << call.name << ": error " << line["answer"] << ", by the rules " << line["by_rules"] << "\n";
    }
  }
  std::cout << all.size() << " calls, " << other_code << " refused with another error than the rules name\n";
}

class EachInstance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!recorded::has_driver() || !begin()) GTEST_SKIP() << "no Hopper GPU";
  }
};

TEST_P(EachInstance, isLaunchedAsTheSimulatorHasItAndBothDriversAgree) {
  const catalog::Instance instance = instance_named(GetParam());
  const auto example = simulate::example_of(instance);
  ASSERT_TRUE(example) << example.status().message();
  for (const reference::Case& c : example->cases) {
    for (const int sm_limit : {0, 8}) {
      const Comparison compared = recorded::compare(instance, c, sm_limit, Images::compiled);
      EXPECT_EQ(compared.difference, "") << c.m << "x" << c.n << "x" << c.k << ", " << sm_limit << " SMs";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(gpu, EachInstance, testing::ValuesIn(names_where([](const catalog::Instance& i) {
                           return simulate::behind_api(i) && !is_cdna(catalog::arch_of(i)) &&
                                  catalog::arch_of(i) != Arch::sm100;
                         })),
                         test_name);

}  // namespace
}  // namespace warpwright
