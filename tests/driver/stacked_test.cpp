// The recorder above another driver, as on a machine with a GPU (gpu.recorder); here that driver is a recorder too.
// Every call goes through, both agree on each, and launches are written down as they are without a driver below.
#include <gtest/gtest.h>

#include <initializer_list>

#include "catalog/instance.h"
#include "driver/calls.h"
#include "driver/same_launch.h"
#include "driver/session.h"
#include "driver/stand_in.h"

namespace warpwright {
namespace {

using recorded::Images;

class Stacked : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    recorded::begin_above(recorded::Below::recorder);
    recorded::set_device(0);
  }
};

TEST_F(Stacked, bothAnswerEveryCallAlike) {
  int answered = 0;
  for (const recorded::Call& call : recorded::calls(recorded::make_fixture())) {
    (void)recorded::lines();
    EXPECT_EQ(call.make() == 0, call.accepted) << call.name;
    const auto lines = recorded::lines();
    for (const auto& line : recorded::disagreements(lines)) ADD_FAILURE() << call.name << ": " << line.dump();
    for (const auto& line : lines) answered += line.contains("answer");
  }
  EXPECT_GE(answered, 200);
}

TEST_F(Stacked, launchesAreThoseOfTheSimulator) {
  if (!recorded::put_images(Arch::sm80)) GTEST_SKIP() << "this build has no device code, and there is no compiler";
  const struct {
    const char* instance;
    reference::Case shape;
  } cases[] = {{"sm90/dense-128x256-c2-s4/bf16-nt", {200, 144, 256}},
               {"sm90/dense-128x128-c1-s6-splitk/bf16-nt", {200, 144, 512}},
               {"sm80/mma-128x256-w2x4/bf16", {200, 144, 256}},
               {"sm90/skinny-64x16-split4-s20/bf16-nt", {16, 144, 256}},
               {"sm90/grouped-128x256-c2-s4/bf16-contiguous", {200, 144, 256}}};
  for (const auto& c : cases) {
    for (const int sm_limit : {0, 8}) {
      const auto compared =
          recorded::compare(*catalog::parse_instance(c.instance), c.shape, sm_limit, Images::stand_in);
      EXPECT_EQ(compared.difference, "") << c.instance;
      EXPECT_EQ(compared.launches, 1) << c.instance;
    }
  }
}

}  // namespace
}  // namespace warpwright
