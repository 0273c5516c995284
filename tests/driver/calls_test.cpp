// The recorder answers calls at the edges of the driver's rules as cuda.h states them. tests/gpu/recorder_test.cpp
// makes the same calls of a real driver.
#include "driver/calls.h"

#include <gtest/gtest.h>

#include "driver/session.h"

namespace warpwright {
namespace {

TEST(Recorder, answersAsTheRulesOfTheDriverSay) {
  recorded::begin("sm_90");
  recorded::set_device(0);
  const auto all = recorded::calls(recorded::make_fixture());
  int refused = 0;
  for (const recorded::Call& call : all) {
    EXPECT_EQ(call.make() == 0, call.accepted) << call.name;
    if (!call.accepted) ++refused;
  }
  EXPECT_GE(all.size(), 200u);
  EXPECT_GE(refused, 100);
}

}  // namespace
}  // namespace warpwright
