// A launch with timestamps on the host, and as a file for `warpwright trace --recording FILE`.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "warpwright/core/block_plan.h"
#include "warpwright/core/record.h"

namespace warpwright::record {

// Copied from the device.
struct Launch {
  std::vector<Warp> warps;                 // by CTA
  std::vector<std::vector<Event>> events;  // for each warp, as many as there was room for
  std::map<uint64_t, std::string> files;   // names by their address
};

// How long a cycle of an SM is, from two launches of which the second followed at once: the median over the SMs that
// both used; 0 without any.
inline double ns_per_cycle(const std::vector<Warp>& before, const std::vector<Warp>& after) {
  const auto last_ticks = [](const std::vector<Warp>& warps) {
    std::map<uint32_t, const Warp*> last;  // by SM
    for (const Warp& w : warps) {
      if (w.written == 0) continue;
      const Warp*& of_sm = last[w.sm];
      if (of_sm == nullptr || w.tick_ns > of_sm->tick_ns) of_sm = &w;
    }
    return last;
  };
  const auto first = last_ticks(before);
  std::vector<double> rates;
  for (const auto& [sm, to] : last_ticks(after)) {
    const auto from = first.find(sm);
    if (from == first.end() || to->tick_clock <= from->second->tick_clock || to->tick_ns <= from->second->tick_ns) {
      continue;
    }
    rates.push_back(double(to->tick_ns - from->second->tick_ns) / double(to->tick_clock - from->second->tick_clock));
  }
  if (rates.empty()) return 0;
  std::nth_element(rates.begin(), rates.begin() + std::ptrdiff_t(rates.size() / 2), rates.end());
  return rates[rates.size() / 2];
}

// The first line of a recording.
inline constexpr const char* kFileMagic = "warpwright recording 1";

// Lines of words that describe the plan, then the lists as they lie in memory.
inline std::string file_bytes(const BlockPlan& plan, const std::string& device, double cycle_ns, const Launch& launch) {
  std::string text = std::string(kFileMagic) + "\n";
  const auto line = [&](const char* word, std::initializer_list<uint64_t> numbers, const std::string& name) {
    text += word;
    for (const uint64_t n : numbers) (text += ' ') += std::to_string(n);
    ((text += ' ') += name) += '\n';
  };
  line("kernel", {uint64_t(plan.cluster), uint64_t(plan.warps)}, plan.kernel);
  line("device", {uint64_t(cycle_ns * 1e9)}, device);
  for (int i = 0; i < plan.role_count; ++i) {
    line("role", {uint64_t(plan.roles[i].first_warp), uint64_t(plan.roles[i].warps)}, plan.roles[i].name);
  }
  for (int i = 0; i < plan.region_count; ++i) {
    const RegionSpec& r = plan.regions[i];
    line("region", {r.offset, r.stage_bytes, uint64_t(r.stages)}, r.name);
  }
  for (int i = 0; i < plan.barrier_count; ++i) {
    const BarrierSpec& b = plan.barriers[i];
    line("barrier", {b.offset, uint64_t(b.stages), uint64_t(b.count)}, b.name);
  }
  for (int i = 0; i < plan.named_count; ++i) {
    line("named", {uint64_t(plan.named[i].id), uint64_t(plan.named[i].threads)}, plan.named[i].name);
  }
  for (const auto& [address, name] : launch.files) line("file", {address}, name);
  line("warps", {launch.warps.size()}, "");
  const auto append = [&](const void* data, size_t bytes) { text.append(static_cast<const char*>(data), bytes); };
  for (size_t i = 0; i < launch.warps.size(); ++i) {
    const uint64_t count = launch.events[i].size();
    append(&launch.warps[i], sizeof(Warp));
    append(&count, sizeof count);
    append(launch.events[i].data(), count * sizeof(Event));
  }
  return text;
}

}  // namespace warpwright::record
