// What the benchmark reports of its rounds.
#include "measure/bench_stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace warpwright::measure {
namespace {

TEST(Median, IsTheMiddle) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
}

// Coverage of (i-th least, i-th greatest) of n is 1 - 2 * P(binomial(n, 1/2) < i).
TEST(MedianInterval, IsTheClosestPairWith95Percent) {
  const auto first = [](int n) {
    std::vector<double> values;
    for (int i = 0; i < n; ++i) values.push_back(i);
    return int(median_interval(values).low);
  };
  EXPECT_EQ(first(5), 0);   // not even all of them are certain enough
  EXPECT_EQ(first(6), 0);   // 96.9 %
  EXPECT_EQ(first(8), 0);   // 99.2 %; the next pair has 93.0 %
  EXPECT_EQ(first(9), 1);   // 96.1 %
  EXPECT_EQ(first(12), 2);  // 96.1 %
  EXPECT_EQ(first(20), 5);  // 95.9 %
  const Interval i = median_interval({5, 1, 4, 2, 3, 6, 9, 8, 7});
  EXPECT_DOUBLE_EQ(i.low, 2);
  EXPECT_DOUBLE_EQ(i.high, 8);
}

TEST(Summarize, TakesRatiosRoundByRound) {
  BenchRow row;
  row.shape = {4096, 4096, 4096};
  // The clock falls from round to round; the ratio does not.
  summarize(row, {{100, 110}, {110, 121}, {120, 132}, {130, 143}});
  EXPECT_DOUBLE_EQ(row.us, 115);
  EXPECT_NEAR(row.ratio, 1.1, 1e-12);
  EXPECT_NEAR(row.ratio_lo, 1.1, 1e-12);
  EXPECT_NEAR(row.ratio_hi, 1.1, 1e-12);
  EXPECT_NEAR(row.tflops, 2 * std::pow(4096.0, 3) / 115 * 1e-6, 1e-6);
  EXPECT_FALSE(row.memory_bound);
  row.shape = {1, 7168, 16384};
  summarize(row, {{100, 110}});
  EXPECT_TRUE(row.memory_bound);
}

TEST(Report, CountsTheModeThatMatters) {
  BenchReport report;
  const auto add = [&](double us, double sustained, double cool) {
    const size_t first = report.rows.size();
    for (const auto& [mode, ratio] : {std::pair{BenchMode::sustained, sustained}, {BenchMode::cool, cool}}) {
      BenchRow row;
      row.mode = mode;
      row.us = us;
      row.ratio = ratio;
      report.rows.push_back(row);
    }
    mark_counting(report.rows, first);
  };
  add(500, 2, 0.1);  // long: sustained counts
  add(10, 0.1, 8);   // short: cool counts
  summarize(report);
  EXPECT_DOUBLE_EQ(report.geomean, 4);
  EXPECT_DOUBLE_EQ(report.min, 2);
  report.rows[0].wrong = true;
  summarize(report);
  EXPECT_DOUBLE_EQ(report.geomean, 8);
  EXPECT_FALSE(report.ok());
}

}  // namespace
}  // namespace warpwright::measure
