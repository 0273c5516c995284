#include "predict.h"

#include <algorithm>
#include <functional>

#include "engine.h"

namespace warpwright::simulator {

Prediction predict(const Launch& launch, const std::function<void()>& body, Lanes lanes) {
  Options options;
  options.check = false;
  options.step_limit = ~0ull >> 1;
  Engine engine(launch, options, body);
  engine.data = false;
  engine.meets = lanes == Lanes::meet;
  Prediction p;
  p.result = engine.run();
  const ChipTiming& chip = engine.timing.chip;
  p.us = p.result.stats.predicted_us;
  p.cycles = p.result.stats.predicted_cycles - chip.launch;
  p.tensor_busy = double(p.result.stats.tensor_busy_cycles) / (double(p.cycles) * chip.sms);
  p.memory_busy = engine.timing.memory.busy / double(p.cycles);
  // Device memory takes as long at any clock of the SMs; the rest follows the clock.
  const double sustained = chip.clock_at(p.tensor_busy, p.memory_busy);
  const double clocks = sustained / chip.single_clock_at(p.tensor_busy, p.memory_busy);
  const double by_memory = std::min(1.0, p.memory_busy);
  p.single_us = double(p.cycles) * 1e-3 / sustained * (by_memory + (1 - by_memory) * clocks);
  return p;
}

}  // namespace warpwright::simulator
