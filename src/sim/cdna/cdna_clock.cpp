// The clock of a CDNA workgroup: what its instructions take on the units of a CU that it has to itself. The numbers are
// those of the data sheets; none was measured by this project.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "cdna_engine.h"

namespace warpwright::simulator::cdna {
namespace {

// One instruction of 16 bytes a lane: LDS moves 128 bytes a cycle, the path from L2 64; stores are assumed as fast.
constexpr uint32_t kLdsCycles = 8, kMemoryCycles = 16, kStoreCycles = 16;

}  // namespace

uint64_t Engine::due(bool vm) {
  const uint64_t now = wave().time;
  return vm ? memory_.serve(now, kMemoryCycles) + timing_.global_load
            : lds_port_.serve(now, kLdsCycles) + timing_.shared_load;
}

// The CU goes to the next workgroup when the last wave has ended.
void Engine::account() {
  uint64_t last = 0;
  for (const auto& w : waves_) last = std::max({last, w->time, w->product_done});
  cu_[workgroup_ % cu_.size()] += last;
  for (const Server& s : simd_) result_.stats.tensor_busy_cycles += s.busy;
}

void Engine::multiply(uint32_t cycles) {
  Wave& w = wave();
  const int simd = w.index % 4;
  Server& unit = simd_[simd];
  const uint64_t begin = std::max(w.time, unit.free_at);
  w.product_done = unit.serve(w.time, cycles);
  constexpr const char* units[] = {"MFMA 0", "MFMA 1", "MFMA 2", "MFMA 3"};
  on_unit(w.products, units[simd], begin, w.product_done);
  w.time = begin + timing_.word_issue;
}

void Engine::enter(const Place& place) {
  Wave& w = wave();
  if (options_.timeline && w.place.slot >= 0) {
    const bool waits = w.place.op[0] == 'V' || std::strncmp(w.place.op, "LG", 2) == 0 || w.place.op[0] == 'B';
    if (w.time > w.entered) {
      const int span = bar(track(w), w.place.op, w.entered, w.time, waits);
      if (waits && w.released_by >= 0) result_.edges.push_back({w.released_by, span});
    }
  }
  w.entered = w.time;
  w.place = place;
  w.loads = w.reads = w.products = w.released_by = -1;
}

std::string Engine::track(const Wave& w) const {
  return fmt::format("workgroup {} / {} / wave {}", workgroup_, w.role ? w.role->name : "wave", w.index);
}

int Engine::bar(const std::string& track, std::string name, uint64_t begin, uint64_t end, bool waiting) {
  if (!options_.timeline) return -1;
  const uint64_t start = cu_[workgroup_ % cu_.size()] + timing_.launch;
  const Place& place = wave().place;
  std::string at =
      place.slot < 0 ? "outside the schedule" : fmt::format("{}[{}] of the schedule", place.phase, place.slot);
  result_.spans.push_back(
      {track, std::move(name), microseconds(start + begin), microseconds(start + end), std::move(at), waiting});
  return int(result_.spans.size()) - 1;
}

void Engine::on_unit(int& unit_bar, const char* unit, uint64_t begin, uint64_t end) {
  if (!options_.timeline || wave().place.slot < 0) return;
  if (unit_bar < 0) {
    unit_bar = bar(fmt::format("workgroup {} / {}", workgroup_, unit), wave().place.op, begin, end);
    result_.spans.back().by = track(wave());
    return;
  }
  const uint64_t start = cu_[workgroup_ % cu_.size()] + timing_.launch;
  Span& s = result_.spans[size_t(unit_bar)];
  s.end_us = std::max(s.end_us, microseconds(start + end));
}

void Engine::store() {
  await_products();
  wave().time += kStoreCycles;
}

}  // namespace warpwright::simulator::cdna
