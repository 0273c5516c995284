// What the benchmark makes of its measurements. Needs no GPU.
#pragma once
#include <cstdint>
#include <vector>

#include "measure/bench_gpu.h"

namespace warpwright::measure {

double median(std::vector<double> values);

struct Interval {
  double low = 0, high = 0;
};
// Where the median of what the rounds are drawn from lies with 95 % certainty, whatever their distribution: between two
// of the sorted values, the closest such pair. Fewer than six rounds cannot be that certain: their least and greatest.
Interval median_interval(std::vector<double> values);

// One figure of each competitor, taken in turn with each other.
struct Round {
  double us = 0, peer_us = 0;
};
// Fills the times, the ratio with its interval, and the rates of a row.
void summarize(BenchRow& row, const std::vector<Round>& rounds);

// Short products are usually called one at a time, long ones back to back: that mode counts. A mode measured alone
// counts whatever it is. `first`: the rows of one shape, from there to the end.
void mark_counting(std::vector<BenchRow>& rows, size_t first);

// Geometric mean and least ratio of the rows that count.
void summarize(BenchReport& report);

}  // namespace warpwright::measure
