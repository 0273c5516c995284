// What linear handles do when they run, in the mode that ships: order, exactly once, values, locations.
#include "warpwright/core/linear.h"

#include <gtest/gtest.h>

#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "warpwright/core/linear_overlap.h"
#include "warpwright/core/linear_owned.h"

namespace {

namespace linear = warpwright::linear;

// Remembers the line of the call in which it is a default argument.
struct CallerLine {
  std::source_location location;
  constexpr CallerLine(std::source_location here = std::source_location::current()) : location(here) {}
};

struct Log {
  std::vector<std::string> events;
  std::vector<unsigned> lines;
  int taken = 0;
};

struct Stage {
  using Here = CallerLine;
  Log* log;
  int index;
  static void release(Stage& stage, Here at) {
    stage.log->events.push_back("release " + std::to_string(stage.index));
    stage.log->lines.push_back(at.location.line());
  }
};

Stage take(Log& log) {
  Stage stage{&log, log.taken++};
  log.events.push_back("take " + std::to_string(stage.index));
  return stage;
}

using Events = std::vector<std::string>;

TEST(LinearScope, ReleasesOnceAfterTheBody) {
  Log log;
  linear::scope(take(log), [&](auto stage) {
    log.events.push_back("body " + std::to_string(stage->index));
    return std::move(stage).release();
  });
  EXPECT_EQ(log.events, (Events{"take 0", "body 0", "release 0"}));
}

TEST(LinearScope, EachPathReleasesOnce) {
  for (bool early : {false, true}) {
    Log log;
    linear::scope(take(log), [&](auto stage) {
      if (early) return std::move(stage).release();
      log.events.push_back("body");
      return std::move(stage).release();
    });
    EXPECT_EQ(log.events, early ? (Events{"take 0", "release 0"}) : (Events{"take 0", "body", "release 0"}));
  }
}

TEST(LinearScope, NestedHandlesReleaseInnerFirst) {
  Log log;
  linear::scope(take(log), [&](auto outer) {
    linear::scope(take(log), [&](auto inner) { return std::move(inner).release(); });
    return std::move(outer).release();
  });
  EXPECT_EQ(log.events, (Events{"take 0", "take 1", "release 1", "release 0"}));
}

TEST(LinearScope, CarriesAValueOutAndReturnsVoidWithoutOne) {
  Log log;
  auto with_value = [&](auto stage) {
    int index = (*stage).index;
    return std::move(stage).release(index + 41);
  };
  auto without = [&](auto stage) { return std::move(stage).release(); };
  linear::scope(take(log), without);
  EXPECT_EQ(linear::scope(take(log), with_value), 42);
  static_assert(std::is_void_v<decltype(linear::scope(take(log), without))>);
  static_assert(std::is_same_v<decltype(linear::scope(take(log), with_value)), int>);
}

TEST(LinearScope, CarriesOutAValueThatCanOnlyBeMoved) {
  Log log;
  std::unique_ptr<int> out =
      linear::scope(take(log), [&](auto stage) { return std::move(stage).release(std::make_unique<int>(7)); });
  EXPECT_EQ(*out, 7);
}

TEST(LinearScope, HandsTheCallersLineToRelease) {
  Log log;
  unsigned line = 0;
  linear::scope(take(log), [&](auto stage) {
    line = __LINE__ + 1;
    return std::move(stage).release();
  });
  EXPECT_EQ(log.lines.back(), line);
  linear::scope(take(log), [&](auto stage) {
    line = __LINE__ + 1;
    return std::move(stage).release(1);
  });
  EXPECT_EQ(log.lines.back(), line);
}

TEST(LinearScope, ForwardsALocationThatIsGiven) {
  Log log;
  CallerLine here;
  linear::scope(take(log), [&](auto stage) { return std::move(stage).release(here); });
  linear::scope(take(log), [&](auto stage) { return std::move(stage).release(true, here); });
  EXPECT_EQ(log.lines, (std::vector<unsigned>{here.location.line(), here.location.line()}));
}

TEST(LinearScope, HandlesAndReceiptsCannotBeCopiedOrMoved) {
  Log log;
  linear::scope(take(log), [](auto stage) {
    using H = decltype(stage);
    using R = decltype(std::move(stage).release());
    static_assert(!std::is_copy_constructible_v<H> && !std::is_move_constructible_v<H>);
    static_assert(!std::is_copy_assignable_v<H> && !std::is_move_assignable_v<H>);
    static_assert(!std::is_copy_constructible_v<R> && !std::is_move_constructible_v<R>);
    static_assert(!std::is_default_constructible_v<R> && !std::is_default_constructible_v<H>);
    static_assert(sizeof(H) == sizeof(Stage), "a handle adds no data to its Impl");
    static_assert(std::is_same_v<decltype(*stage), const Stage&>, "the content cannot be replaced");
    return std::move(stage).release();
  });
}

struct OverlapRun {
  Log log;
  std::vector<unsigned> expected_lines;
};

OverlapRun overlapped(int n) {
  OverlapRun run;
  unsigned step_line = 0, last_line = 0;
  linear::overlap(
      n, [&] { return take(run.log); },
      [&](auto current) {
        run.log.events.push_back("first " + std::to_string(current->index));
        return std::move(current).keep();
      },
      [&](auto previous, auto current) {
        run.log.events.push_back("step " + std::to_string(previous->index) + " " + std::to_string(current->index));
        step_line = __LINE__ + 1;
        return std::move(previous).release_keep(std::move(current));
      },
      [&](auto previous) {
        run.log.events.push_back("last " + std::to_string(previous->index));
        last_line = __LINE__ + 1;
        return std::move(previous).release();
      });
  for (int i = 0; i < n; ++i) run.expected_lines.push_back(i + 1 < n ? step_line : last_line);
  return run;
}

TEST(LinearOverlap, NothingRunsWithoutStages) { EXPECT_EQ(overlapped(0).log.events, Events{}); }

TEST(LinearOverlap, OneStageIsFirstAndLast) {
  EXPECT_EQ(overlapped(1).log.events, (Events{"take 0", "first 0", "last 0", "release 0"}));
}

TEST(LinearOverlap, PreviousIsReleasedAfterTheStepThatTookTheNext) {
  EXPECT_EQ(overlapped(2).log.events,
            (Events{"take 0", "first 0", "take 1", "step 0 1", "release 0", "last 1", "release 1"}));
}

TEST(LinearOverlap, EveryStageIsReleasedOnceInOrder) {
  Events expected{"take 0", "first 0"};
  for (int i = 1; i < 5; ++i) {
    std::string previous = std::to_string(i - 1), current = std::to_string(i);
    for (const std::string& event : {"take " + current, "step " + previous + " " + current, "release " + previous}) {
      expected.push_back(event);
    }
  }
  expected.push_back("last 4");
  expected.push_back("release 4");
  EXPECT_EQ(overlapped(5).log.events, expected);
}

TEST(LinearOverlap, HandsTheCallersLineToRelease) {
  OverlapRun run = overlapped(3);
  EXPECT_EQ(run.log.lines, run.expected_lines);
}

TEST(LinearOverlap, WorkBehindTheReleaseSeesTheStageThatIsKept) {
  Log log;
  linear::overlap(
      3, [&] { return take(log); }, [](auto current) { return std::move(current).keep(); },
      [&](auto previous, auto current) {
        return std::move(previous).release_keep_then(std::move(current), [&](const Stage& kept) {
          log.events.push_back("work on " + std::to_string(kept.index));
        });
      },
      [](auto previous) { return std::move(previous).release(); });
  EXPECT_EQ(log.events,
            (Events{"take 0", "take 1", "release 0", "work on 1", "take 2", "release 1", "work on 2", "release 2"}));
}

TEST(LinearOverlap, CountMayBeUnsigned) {
  Log log;
  linear::overlap(
      0u, [&] { return take(log); }, [](auto current) { return std::move(current).keep(); },
      [](auto previous, auto current) { return std::move(previous).release_keep(std::move(current)); },
      [](auto previous) { return std::move(previous).release(); });
  EXPECT_TRUE(log.events.empty());
}

WW_LINEAR_MAKES linear::Owned<Stage> acquire(Log& log) { return linear::Owned<Stage>(take(log)); }

TEST(LinearOwned, ReleasesOnceWhereItIsToldTo) {
  Log log;
  auto first = acquire(log);
  auto second = acquire(log);
  std::move(first).release();
  unsigned line = __LINE__ + 1;
  std::move(second).release();
  EXPECT_EQ(log.events, (Events{"take 0", "take 1", "release 0", "release 1"}));
  EXPECT_EQ(log.lines.back(), line);
}

TEST(LinearOwned, TheDutyMovesWithTheHandle) {
  Log log;
  auto previous = acquire(log);
  for (int i = 0; i < 2; ++i) {
    auto current = acquire(log);
    std::move(previous).release();
    previous = std::move(current);
  }
  EXPECT_EQ(previous->index, 2);
  std::move(previous).release();
  EXPECT_EQ(log.events, (Events{"take 0", "take 1", "release 0", "take 2", "release 1", "release 2"}));
  static_assert(sizeof(linear::Owned<Stage>) == sizeof(Stage), "a handle adds no data to its Impl");
}

// The layer is usable while compiling, too.
struct Counter {
  using Here = linear::Nowhere;
  int* count;
  static constexpr void release(Counter& counter, Here) { ++*counter.count; }
};

constexpr int released_in_a_constant_expression() {
  int count = 0;
  int value = linear::scope(Counter{&count}, [](auto handle) { return std::move(handle).release(10); });
  linear::overlap(
      3, [&] { return Counter{&count}; }, [](auto current) { return std::move(current).keep(); },
      [](auto previous, auto current) { return std::move(previous).release_keep(std::move(current)); },
      [](auto previous) { return std::move(previous).release(); });
  return value + count;
}
static_assert(released_in_a_constant_expression() == 14);

}  // namespace
