// Shared by the tests of the PTX rules: a minimal kernel that breaks one rule, its nearest legal neighbour, and what
// the checker says about each.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "warpwright/core/descriptor.h"
#include "warpwright/machine/machine.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::rules {

namespace m = machine;
using simulator::Buffer;
using simulator::Options;

inline BlockPlan block(int warps, Arch arch = Arch::sm90, int cluster = 1, uint32_t shared_bytes = 16384) {
  BlockPlan p("rule", arch, cluster);
  p.role("warps", warps).region("shared", shared_bytes, 1, 1024);
  return p;
}

// 4 KiB of device memory.
struct alignas(128) Device {
  uint8_t bytes[4096] = {};
  template <class T = uint32_t>
  Global<T> as(int64_t byte = 0) {
    return {reinterpret_cast<T*>(bytes + byte)};
  }
  Buffer buffer(Buffer::Use use, bool from_primary = false) {
    return {bytes, sizeof bytes, "device", use, from_primary};
  }
};

// docs/rules.md shows what the rules say: the test of that page names a file here and collects it.
inline void collect(const simulator::Finding& finding) {
  if (const char* file = std::getenv("WARPWRIGHT_RULE_REPORTS")) {
    std::ofstream(file, std::ios::app) << finding.rule << ": " << finding.message << "\n";
  }
}

// The rule of the first finding, "" when every mode is silent.
inline std::string verdict(const BlockPlan& plan, const std::function<void()>& body, std::vector<Buffer> buffers = {},
                           const Options& base = {}) {
  using simulator::Landing;
  using simulator::Scheduling;
  struct Mode {
    Landing landing;
    Scheduling scheduling;
  };
  for (Mode mode : {Mode{Landing::eager, Scheduling::fifo},
                    {Landing::late, Scheduling::fifo},
                    {Landing::timed, Scheduling::fifo},
                    {Landing::eager, Scheduling::lanes},
                    {Landing::seeded, Scheduling::random},
                    {Landing::seeded, Scheduling::pct}}) {
    Options o = base;
    o.landing = mode.landing;
    o.scheduling = mode.scheduling;
    simulator::Launch l;
    l.plan = &plan;
    l.grid = {uint32_t(plan.cluster), 1, 1};
    l.buffers = buffers;
    const simulator::Result r = simulator::run(l, o, body);
    if (!r.ok()) {
      collect(r.findings.front());
      return r.findings.front().rule;
    }
  }
  return "";
}

// Shared memory of the tests: barriers in the first KiB, then data.
inline Shared<Mbarrier> bar(int i = 0) { return Shared<Mbarrier>{m::shared_base()} + i; }
inline Shared<uint32_t> word(int i = 0) { return Shared<uint32_t>{m::shared_base() + 1024} + i; }
inline Shared<uint8_t> data(uint32_t byte = 0) { return {m::shared_base() + 1024 + byte}; }

inline uint32_t thread() { return m::thread_index(); }
inline uint32_t warp() { return m::warp_index(); }
inline uint32_t rank() { return m::cluster_rank(); }

// For all threads: `n` barriers of that count, usable by the whole cluster afterwards.
inline void init(int n, uint32_t count) {
  if (thread() == 0) {
    for (int i = 0; i < n; ++i) m::mbarrier_init(bar(i), count);
    m::fence_mbarrier_init();
  }
  if (m::cluster_size() > 1) {
    m::cluster_sync();
  } else {
    m::sync_block();
  }
}

inline void wait(int i = 0, m::here at = {}) { m::mbarrier_wait(bar(i), m::Phase::consumer(), at); }

}  // namespace warpwright::rules
