// For every instance of the catalogue that the host API runs: what it hands to the driver is what the simulator was
// given. The driver is the recorder, which also holds every call against the rules of the real one. Instances that this
// build did not compile have a stand-in for their image (stand_in.h).
#include "driver/same_launch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "driver/session.h"
#include "simulate/product.h"

namespace warpwright {
namespace {

using recorded::Comparison;
using recorded::Images;

class EveryInstance : public testing::Test {
 protected:
  static void SetUpTestSuite() { recorded::begin("sm_90"); }
};

// Sizes at which the reference of the workload is cheap.
std::vector<reference::Case> small_cases(const catalog::Instance& instance) {
  std::vector<reference::Case> list;
  const auto example = simulate::example_of(instance);
  if (!example) return list;
  for (const reference::Case& c : example->cases)
    if (c.m * c.n * c.k <= int64_t(1) << 24) list.push_back(c);
  return list;
}

TEST_F(EveryInstance, ofHopperIsLaunchedAsTheSimulatorHasIt) {
  int instances = 0, launches = 0;
  for (const catalog::Instance& instance : catalog::ahead()) {
    if (!simulate::behind_api(instance)) continue;
    ++instances;
    const auto cases = small_cases(instance);
    EXPECT_FALSE(cases.empty()) << catalog::name_of(instance);
    for (const reference::Case& c : cases) {
      for (const int sm_limit : {0, 8}) {
        const Comparison compared = recorded::compare(instance, c, sm_limit, Images::stand_in);
        EXPECT_EQ(compared.difference, "")
            << catalog::name_of(instance) << " " << c.m << "x" << c.n << "x" << c.k << ", " << sm_limit << " SMs";
        launches += compared.launches;
      }
    }
  }
  EXPECT_GT(instances, 100);
  EXPECT_GT(launches, 2 * instances);
}

TEST_F(EveryInstance, isLaunchedAfterTheCopyOfItsOperandsWhereTheTmaCannotReadThem) {
  const auto instance = catalog::parse_instance("sm90/dense-128x128-c1-s6/bf16-nt");
  ASSERT_TRUE(instance);
  for (const int sm_limit : {0, 8}) {
    const Comparison compared = recorded::compare_packed(*instance, {200, 136, 1001}, sm_limit, Images::stand_in);
    EXPECT_EQ(compared.difference, "") << sm_limit << " SMs";
    EXPECT_EQ(compared.launches, 2);
  }
}

}  // namespace
}  // namespace warpwright
