#include "measure/bench_measure.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace warpwright::measure {

double early_share(const LaunchSet& launch, int sets, const gpu::Stream& stream) {
  const gpu::Graph graph(stream, [&] {
    for (int i = 0; i < 4; ++i) launch(i % sets, stream);
  });
  return graph.early_share();
}

double brief_us(const LaunchSet& launch, int sets, const gpu::Stream& stream, double seconds) {
  constexpr int batch = 8;
  const gpu::Event start, stop;
  int launched = 0;
  double us = 0;
  launch(0, stream);
  start.record(stream);
  do {
    for (int i = 0; i < batch; ++i, ++launched) launch(launched % sets, stream);
    stop.record(stream);
    stop.synchronize();
    us = stop.us_since(start);
  } while (us < seconds * 1e6);
  return us / launched;
}

namespace {
constexpr int kMostNodes = 4096;
constexpr int kMostCoolGraphs = 64;
}  // namespace

Burst::Burst(const LaunchSet& launch, int sets, double us, const gpu::Stream& stream, double graph_us)
    : stream_(stream),
      launches_(sets * std::clamp(int(graph_us / (us * sets)), 1, std::max(1, kMostNodes / sets))),
      graph_(gpu::Graph(stream, [&] {
        for (int i = 0; i < launches_; ++i) launch(i % sets, stream);
      })) {}

double Burst::run(double seconds) const {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  start_.record(stream_);
  int replays = 0;
  for (; std::chrono::steady_clock::now() < until || replays < 2; ++replays) {
    if (replays >= 2) queued_[replays % 2].synchronize();
    graph_.replay(stream_);
    queued_[replays % 2].record(stream_);
  }
  stop_.record(stream_);
  stop_.synchronize();
  return stop_.us_since(start_) / (double(replays) * launches_);
}

CoolLaunch::CoolLaunch(const LaunchSet& launch, int sets, const gpu::Stream& stream) : stream_(stream) {
  for (int set = 0; set < std::min(sets, kMostCoolGraphs); ++set) {
    graphs_.emplace_back(gpu::Graph(stream, [&] {
      start_.record_in_graph(stream);
      launch(set, stream);
      stop_.record_in_graph(stream);
    }));
  }
}

double CoolLaunch::run(double gap_s) {
  std::this_thread::sleep_for(std::chrono::duration<double>(gap_s));
  graphs_[size_t(next_++) % graphs_.size()].replay(stream_);
  stream_.synchronize();
  return stop_.us_since(start_);
}

double CoolLaunch::several(int count, double gap_s) {
  std::vector<double> us;
  for (int i = 0; i < count; ++i) us.push_back(run(gap_s));
  return median(us);
}

std::vector<Round> measure_pair(const LaunchSet& ours, const LaunchSet& peer, int sets, BenchMode mode,
                                const BenchOptions& options, const gpu::Stream& stream) {
  const auto rounds_of = [&](const std::function<double(int)>& measure) {
    std::vector<Round> rounds;
    for (int round = 0; round <= options.rounds; ++round) {
      double us[2] = {};
      for (int i = 0; i < 2; ++i) {
        const int who = (i + round) % 2;
        us[who] = measure(who);
      }
      if (round > 0) rounds.push_back({us[0], us[1]});
    }
    return rounds;
  };
  if (mode == BenchMode::sustained) {
    const double us = brief_us(ours, sets, stream, 0.01);
    const Burst bursts[2] = {{ours, sets, us, stream}, {peer, sets, us, stream}};
    return rounds_of([&](int who) { return bursts[who].run(options.burst_s); });
  }
  CoolLaunch singles[2] = {{ours, sets, stream}, {peer, sets, stream}};
  return rounds_of([&](int who) { return singles[who].several(options.cool_launches, options.cool_gap_s); });
}

std::vector<double> there_and_back(int choices, const std::function<double(int)>& measure) {
  std::vector<double> us(size_t(choices), 0);
  for (int i = 0; i < 2 * choices; ++i) {
    const int choice = i < choices ? i : 2 * choices - 1 - i;
    us[size_t(choice)] += measure(choice) / 2;
  }
  return us;
}

double copy_gbps(const gpu::Stream& stream) {
  constexpr size_t bytes = size_t(1) << 30;
  const gpu::DeviceMemory from(bytes), to(bytes);
  const LaunchSet copy = [&](int, const gpu::Stream& s) {
    gpu::copy_on_device(to.data(), from.data(), bytes, s.get());
  };
  std::vector<double> us;
  for (int i = 0; i < 5; ++i) us.push_back(brief_us(copy, 1, stream, 0.02));
  return 2 * double(bytes) / median(us) * 1e-3;
}

}  // namespace warpwright::measure
