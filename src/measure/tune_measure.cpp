#include "measure/tune_measure.h"

#include <algorithm>

#include "measure/bench_stats.h"

namespace warpwright::measure {

namespace {

// Without those that a glance shows to be far behind: no clock makes up for that, and they would take most of the time.
std::vector<size_t> hopeful(const std::vector<LaunchSet>& all, int sets, const gpu::Stream& stream) {
  constexpr double far = 1.5, glance_s = 0.004;
  std::vector<double> us;
  for (const LaunchSet& one : all) us.push_back(brief_us(one, sets, stream, glance_s));
  std::vector<size_t> kept;
  for (size_t i = 0; i < all.size(); ++i) {
    if (us[i] <= far * *std::min_element(us.begin(), us.end())) kept.push_back(i);
  }
  return kept;
}

}  // namespace

Fastest fastest_of(const LaunchSet& current, const std::vector<LaunchSet>& others, int sets, const TuneOptions& options,
                   const gpu::Stream& stream) {
  constexpr double long_us = 50;  // from here on the sustained figure counts
  Fastest best;
  best.mode = brief_us(current, sets, stream, 0.01) > long_us ? BenchMode::sustained : BenchMode::cool;
  const auto brief = [&](const LaunchSet& one) {
    if (best.mode == BenchMode::cool) return CoolLaunch(one, sets, stream).several(9, 0.001);
    // The clock follows the power drawn in the last tens of milliseconds: those of the plan before do not count.
    (void)brief_us(one, sets, stream, 0.03);
    return brief_us(one, sets, stream, 0.03);
  };
  std::vector<size_t> order = hopeful(others, sets, stream);
  const auto measured = there_and_back(int(order.size()), [&](int i) { return brief(others[order[size_t(i)]]); });
  std::vector<double> times(others.size());
  for (size_t i = 0; i < order.size(); ++i) times[order[i]] = measured[i];
  std::sort(order.begin(), order.end(), [&](size_t x, size_t y) { return times[x] < times[y]; });
  if (order.size() > size_t(options.finalists)) order.resize(size_t(options.finalists));

  for (const size_t i : order) {
    BenchRow pair;
    summarize(pair, measure_pair(others[i], current, sets, best.mode, options.protocol, stream));
    if (best.current_us == 0) best.us = best.current_us = pair.peer_us;
    if (pair.ratio_lo <= 1 || pair.ratio <= best.ratio) continue;
    best.winner = int(i);
    best.us = pair.us;
    best.current_us = pair.peer_us;
    best.ratio = pair.ratio;
    best.ratio_lo = pair.ratio_lo;
    best.ratio_hi = pair.ratio_hi;
  }
  if (best.us == 0) best.us = best.current_us = brief(current);
  return best;
}

}  // namespace warpwright::measure
