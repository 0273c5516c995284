// Mode 2: each broken rule reaches the hook with its sentence, and correct programs never do.
#define WW_LINEAR_MODE 2
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "warpwright/core/linear.h"
#include "warpwright/core/linear_overlap.h"
#include "warpwright/core/linear_owned.h"

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wconsumed"  // the violations below are what it would refuse
#endif

namespace {

namespace linear = warpwright::linear;

std::vector<std::string> broken;

struct Stage {
  using Here = linear::Nowhere;
  int* freed;
  static void release(Stage& stage, Here) { ++*stage.freed; }
};

class LinearTrap : public ::testing::Test {
 protected:
  void SetUp() override {
    broken.clear();
    linear::on_violation = [](const char* rule) { broken.push_back(rule); };
  }
  void TearDown() override { linear::on_violation = nullptr; }

  linear::Owned<Stage> acquire() { return linear::Owned<Stage>(Stage{&freed}); }

  int freed = 0;
};

using Rules = std::vector<std::string>;

TEST_F(LinearTrap, CorrectProgramsAreSilent) {
  linear::scope(Stage{&freed}, [](auto stage) { return std::move(stage).release(); });
  for (int n : {0, 1, 2, 5}) {
    linear::overlap(
        n, [&] { return Stage{&freed}; }, [](auto current) { return std::move(current).keep(); },
        [](auto previous, auto current) { return std::move(previous).release_keep(std::move(current)); },
        [](auto previous) { return std::move(previous).release(); });
  }
  auto stage = acquire();
  auto moved = std::move(stage);
  std::move(moved).release();
  moved = acquire();
  std::move(moved).release();
  EXPECT_EQ(broken, Rules{});
  EXPECT_EQ(freed, 1 + 8 + 2);
}

TEST_F(LinearTrap, LeakIsReportedWhenTheHandleDies) {
  {
    auto stage = acquire();
    EXPECT_EQ(broken, Rules{});
  }
  EXPECT_EQ(broken, Rules{"linear: a handle left its scope without release()"});
}

TEST_F(LinearTrap, LeakThroughAMemberIsReported) {
  { std::optional<linear::Owned<Stage>> stage(acquire()); }
  EXPECT_EQ(broken, Rules{"linear: a handle left its scope without release()"});
}

TEST_F(LinearTrap, SecondReleaseIsReported) {
  auto stage = acquire();
  std::move(stage).release();
  std::move(stage).release();  // NOLINT(bugprone-use-after-move): what is tested
  EXPECT_EQ(broken, Rules{"linear: release() was called twice on one handle"});
}

TEST_F(LinearTrap, UseAfterReleaseIsReported) {
  auto stage = acquire();
  std::move(stage).release();
  EXPECT_EQ(stage->freed, &freed);  // NOLINT(bugprone-use-after-move): what is tested
  EXPECT_EQ(broken, Rules{"linear: a handle was used after its release()"});
}

TEST_F(LinearTrap, OverwritingALiveHandleIsReported) {
  auto stage = acquire();
  stage = acquire();
  std::move(stage).release();
  EXPECT_EQ(broken, Rules{"linear: a handle was overwritten before its release()"});
}

TEST_F(LinearTrap, ALocalThatUsesTheHandleAfterTheReturnExpressionIsReported) {
  linear::scope(Stage{&freed}, [&](auto stage) {
    struct Late {
      decltype(stage)& handle;
      ~Late() { ++*handle->freed; }
    } late{stage};
    return std::move(stage).release();
  });
  EXPECT_EQ(broken, Rules{"linear: a handle was used after its release()"});
}

TEST_F(LinearTrap, WithoutAHookTheProgramStops) {
  linear::on_violation = nullptr;
  EXPECT_DEATH({ auto stage = acquire(); }, "");
}

}  // namespace
