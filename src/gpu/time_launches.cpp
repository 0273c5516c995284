#include "gpu/time_launches.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>

#include "gpu/memory.h"

namespace warpwright::gpu {
namespace {

constexpr double kFailed = std::numeric_limits<double>::infinity();
constexpr int kRounds = 7;
constexpr double kRoundUs =
    100;  // how long a plan is launched for in a round, so that an event's grain does not matter
constexpr int kMostRepeats = 10;
constexpr std::chrono::milliseconds kBudget(200);

}  // namespace

std::vector<double> time_launches(const std::vector<Launch>& launches, void* stream) {
  const auto begin = std::chrono::steady_clock::now();
  const Event start, stop;
  const auto timed = [&](const Launch& launch, int repeats) {
    start.record(stream);
    for (int i = 0; i < repeats; ++i) {
      if (!launch()) return kFailed;
    }
    stop.record(stream);
    stop.synchronize();
    return stop.us_since(start) / repeats;
  };
  std::vector<double> first;
  for (const Launch& launch : launches) {
    // The first of all is slow: the driver brings the code to the device.
    first.push_back(timed(launch, 1) == kFailed ? kFailed : timed(launch, 1));
  }
  std::vector<std::vector<double>> rounds(launches.size());
  for (int round = 0; round < kRounds; ++round) {
    if (round > 0 && std::chrono::steady_clock::now() - begin > kBudget) break;
    for (size_t turn = 0; turn < launches.size(); ++turn) {
      // Forwards and backwards, so that none is always the one after the same other.
      const size_t i = round % 2 == 0 ? turn : launches.size() - 1 - turn;
      if (first[i] == kFailed) continue;
      const int repeats = int(std::clamp(kRoundUs / std::max(first[i], 1.0), 1.0, double(kMostRepeats)));
      rounds[i].push_back(timed(launches[i], repeats));
    }
  }
  std::vector<double> us;
  for (std::vector<double>& all : rounds) {
    const auto middle = all.begin() + std::ptrdiff_t(all.size() / 2);
    if (!all.empty()) std::nth_element(all.begin(), middle, all.end());
    us.push_back(all.empty() ? kFailed : *middle);
  }
  return us;
}

}  // namespace warpwright::gpu
