// When TMA copies are done, in a timed run.
#pragma once
#include <algorithm>

#include "engine.h"
#include "model.h"

namespace warpwright::simulator {

// The rows of a box that lie inside the tensor: what a load reads from device memory. Returns the share of the box that
// lies outside.
double ask_for_box(Engine& e, const model::TensorMapFields& map, const int32_t* coords);

// When a load whose lines have been requested ends. `to` holds the destinations: anything with a
// `cta`.
template <class Destinations>
uint64_t load_done(Engine& e, const Thread& t, double bytes, const Destinations& to) {
  Timing& time = e.timing;
  const ChipTiming& c = time.chip;
  time.look_at_clock(t.time, e.stats.tensor_busy_cycles);
  uint64_t due = std::max(t.time, time.cached.latest());
  if (const uint64_t missing = time.cached.missing_bytes())
    due = std::max(due, time.through_memory(t.time, missing) + c.memory_latency);
  const uint64_t first = std::min(due, t.time + c.memory_latency);  // when bytes begin to leave the L2
  time.cached.came(due);
  const double rate = std::min(c.tma_bytes_per_cycle, time.l2_bytes_per_cycle_of_sm(e.ctas_at_once()));
  for (const auto& d : to) due = std::max(due, d.cta->ingest.carry(first, bytes, rate));
  return due + c.tma_latency;
}

struct StoreDone {
  uint64_t read = 0, written = 0;
};
StoreDone store_done(Engine& e, const Thread& t, uint32_t bytes);
// When a copy to the shared memory of another CTA of the cluster ends.
uint64_t cluster_copy_done(Engine& e, const Thread& t, uint32_t bytes);

}  // namespace warpwright::simulator
