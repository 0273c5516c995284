// The time of a launch without its results: a timed run in which the TMA copies
// no tiles and MMAs compute nothing.
#pragma once
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "warpwright/sim/simulator.h"

namespace warpwright::simulator {

struct Prediction {
  uint64_t cycles = 0;  // from the start of the first CTA to the end of the last
  double tensor_busy = 0,
         memory_busy = 0;  // shares of those in which they are busy: the tensor cores of all SMs,
                           // and device memory
  double us = 0;           // per launch, of many in a graph, one after the other
  double early_us = 0;     // the same where each may start before the one ahead has ended
  double single_us = 0;    // of the kernel alone, after a rest
  Result result;           // findings and statistics
};

// Lanes that come to a wgmma at one time need not meet there, which is faster. Those that load or poll on the way do.
enum class Lanes { meet, pass };

// Operands that only the TMA moves need addresses but no memory behind them. What is `warm` is in the L2 before the
// launch.
Prediction predict(const Launch& launch, const std::function<void()>& body, Lanes lanes = Lanes::pass,
                   std::span<const Buffer> warm = {});

template <class K>
Prediction predict_kernel(const typename K::Args& args, Index3 grid, std::vector<Buffer> buffers) {
  const Launch launch{&K::plan, grid, uint32_t(K::plan.threads()), K::plan.shared_bytes, std::move(buffers)};
  return predict(launch, [&args] { K::body(args); });
}

}  // namespace warpwright::simulator
