#include "predict.h"

#include <algorithm>
#include <functional>
#include <span>

#include "engine.h"

namespace warpwright::simulator {

Prediction predict(const Launch& launch, const std::function<void()>& body, Lanes lanes, std::span<const Buffer> warm) {
  Options options;
  options.check = false;
  options.step_limit = ~0ull >> 1;
  Engine engine(launch, options, body);
  engine.data = false;
  engine.meets = lanes == Lanes::meet;
  for (const Buffer& b : warm) engine.timing.cached.ask(engine.device_address(b.data), b.bytes);
  engine.timing.cached.came(1);
  Prediction p;
  p.result = engine.run();
  const ChipTiming& chip = engine.timing.chip;
  p.cycles = p.result.stats.predicted_cycles - chip.launch;
  p.tensor_busy = double(p.result.stats.tensor_busy_cycles) / (double(p.cycles) * chip.sms);
  p.memory_busy = engine.timing.memory.busy / double(p.cycles);
  // Device memory takes as long at any clock of the SMs; the rest follows the clock.
  const double sustained = chip.clock_at(p.tensor_busy, p.memory_busy);
  const double clocks = sustained / chip.single_clock_at(p.tensor_busy, p.memory_busy);
  const double by_memory = std::min(1.0, p.memory_busy);
  // What a launch writes is written back while the next ones run.
  const Timing& time = engine.timing;
  const double again = chip.memory_write == 0 ? 0
                                              : time.memory.busy + time.written * (chip.memory_write - 1) *
                                                                       time.clock_ghz / chip.memory_gbps;
  const double us_per_cycle = p.result.stats.predicted_us / double(p.result.stats.predicted_cycles);
  const auto us_of = [&](uint64_t cycles) { return std::max(double(cycles), again) * us_per_cycle; };
  p.us = us_of(p.cycles + chip.launch);
  // A CTA does whatever comes before its wait for the launch ahead while that launch ends.
  const uint64_t before = engine.timing.dependency_at > 0 ? engine.timing.dependency_at - chip.launch : 0;
  p.early_us = before > 0 ? us_of(p.cycles - std::min(p.cycles, before) + chip.dependency) : p.us;
  p.single_us = double(p.cycles) * 1e-3 / sustained * (by_memory + (1 - by_memory) * clocks);
  return p;
}

}  // namespace warpwright::simulator
