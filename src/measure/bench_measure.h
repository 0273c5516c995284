// How launches are timed. Failures are thrown (gpu/require.h).
#pragma once
#include <chrono>
#include <functional>
#include <vector>

#include "gpu/graph.h"
#include "gpu/memory.h"
#include "measure/bench_gpu.h"
#include "measure/bench_stats.h"

namespace warpwright::measure {

// Seconds for a run; 0: as many as it takes.
class Budget {
 public:
  explicit Budget(double seconds) : seconds_(seconds) {}
  bool spent() const {
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begin_;
    return seconds_ > 0 && since.count() > seconds_;
  }

 private:
  double seconds_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Puts the product of one set of operands on a stream.
using LaunchSet = std::function<void(int set, const gpu::Stream&)>;

// The share of edges between launches that follow each other on a stream across which the next may start before the
// last has ended.
double early_share(const LaunchSet& launch, int sets, const gpu::Stream& stream);

// Time of one launch when launches follow each other for about `seconds`.
double brief_us(const LaunchSet& launch, int sets, const gpu::Stream& stream, double seconds);

// One competitor running without a pause: graphs of about 10 ms, the next one queued before the last has ended.
class Burst {
 public:
  // `us`: about how long a launch takes; `graph_us`: how long a graph should.
  Burst(const LaunchSet& launch, int sets, double us, const gpu::Stream& stream, double graph_us = 1e4);
  // Time of one launch.
  double run(double seconds) const;

 private:
  const gpu::Stream& stream_;
  int launches_;
  gpu::ExecutableGraph graph_;
  gpu::Event start_, stop_, queued_[2];
};

// Single launches after a pause, timed by event nodes inside the graph, which the host's wake-up cannot disturb.
class CoolLaunch {
 public:
  CoolLaunch(const LaunchSet& launch, int sets, const gpu::Stream& stream);
  double run(double gap_s);
  // Median of several.
  double several(int count, double gap_s);

 private:
  const gpu::Stream& stream_;
  gpu::Event start_, stop_;
  std::vector<gpu::ExecutableGraph> graphs_;
  int next_ = 0;
};

// Two competitors in turn, the first to go swapped every round; one more round first, not counted.
std::vector<Round> measure_pair(const LaunchSet& ours, const LaunchSet& peer, int sets, BenchMode mode,
                                const BenchOptions& options, const gpu::Stream& stream);

// Measures every choice forwards and then backwards, since the chip warms up on the way; the mean for each.
std::vector<double> there_and_back(int choices, const std::function<double(int)>& measure);

// Bytes read plus written by a device-to-device copy of 1 GiB, back to back, in GB/s.
double copy_gbps(const gpu::Stream& stream);

}  // namespace warpwright::measure
