#include "measure/bench_stats.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace warpwright::measure {

bool BenchReport::ok() const {
  return std::none_of(rows.begin(), rows.end(), [](const BenchRow& row) { return row.wrong; });
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Interval median_interval(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  // The number of values below the median is binomial: outside the pair (i, n-1-i) with twice the chance of i or fewer.
  size_t taken = 0;
  double tail = 0, term = std::pow(0.5, double(n));
  for (size_t i = 0; 2 * i + 1 < n; ++i) {
    tail += term;
    if (2 * tail > 0.05) break;
    taken = i;
    term *= double(n - i) / double(i + 1);
  }
  return {values[taken], values[n - 1 - taken]};
}

void summarize(BenchRow& row, const std::vector<Round>& rounds) {
  std::vector<double> ours, peers, ratios;
  for (const Round& r : rounds) {
    ours.push_back(r.us);
    peers.push_back(r.peer_us);
    ratios.push_back(r.peer_us / r.us);
  }
  row.us = median(ours);
  row.peer_us = median(peers);
  row.ratio = row.peer_us / row.us;
  const Interval interval = median_interval(ratios);
  // The quotient of medians may be slightly outside the interval of the median of quotients.
  row.ratio_lo = std::min(interval.low, row.ratio);
  row.ratio_hi = std::max(interval.high, row.ratio);
  const choice::Floor floor = choice::floor_of(row.shape);
  row.tflops = floor.flops / row.us * 1e-6;
  row.gbps = floor.bytes / row.us * 1e-3;
  row.memory_bound = floor.memory_us > floor.tensor_us;
}

void mark_counting(std::vector<BenchRow>& rows, size_t first) {
  constexpr double long_us = 50;
  const bool is_long = std::any_of(rows.begin() + std::ptrdiff_t(first), rows.end(),
                                   [](const BenchRow& r) { return r.mode == BenchMode::sustained && r.us > long_us; });
  const bool alone = rows.size() - first == 1;
  for (size_t i = first; i < rows.size(); ++i)
    rows[i].counts = alone || (rows[i].mode == BenchMode::sustained) == is_long;
}

void summarize(BenchReport& report) {
  double logs = 0;
  int measured = 0;
  report.geomean = report.min = 0;
  for (const BenchRow& r : report.rows) {
    if (r.wrong || !r.counts) continue;
    logs += std::log(r.ratio);
    report.min = measured++ == 0 ? r.ratio : std::min(report.min, r.ratio);
  }
  if (measured > 0) report.geomean = std::exp(logs / measured);
}

}  // namespace warpwright::measure
