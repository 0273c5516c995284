// Timestamps of kernels on a GPU: every role is seen, in order, on one time axis, and the result stays the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catalog/instance.h"
#include "gpu/needs_gpu.h"
#include "gpu/watchdog.h"
#include "measure/record_gpu.h"

namespace warpwright::reference {

void PrintTo(const Case& c, std::ostream* out) { *out << c.m << "x" << c.n << "x" << c.k; }

}  // namespace warpwright::reference

namespace warpwright {
namespace {

using record::Kind;

// Two clocks agree to this.
constexpr double kSkewNs = 200;

struct Recorded {
  timeline::GpuRecording gpu;
  timeline::RecordedTimes times;
};

// The events on the stream come before and after the launch.
bool close_to_events(const Recorded& r) {
  return r.times.end / 1e3 <= r.gpu.recorded_us + 1 && r.times.end / 1e3 >= 0.5 * r.gpu.recorded_us - 3;
}

// A name that can be one of a file.
std::string file_word(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

Recorded record_instance(const std::string& name, reference::Case shape) {
  const Watchdog watchdog(name, std::chrono::seconds(60));
  Recorded r;
  const auto instance = catalog::parse_instance(name);
  EXPECT_TRUE(instance) << instance.status().message();
  Status status;
  // Another program on the GPU may have its turn between the events and the kernel.
  for (int attempt = 0; attempt < 5 && status && !(attempt > 0 && close_to_events(r)); ++attempt) {
    status = measure::record_on_gpu(*instance, shape, 1, r.gpu);
    if (status) r.times = timeline::times_of(r.gpu.plan, r.gpu.recording, r.gpu.ns_per_cycle);
  }
  EXPECT_TRUE(status) << status.message();
  std::printf("%s %ldx%ldx%ld: %.1f us in the kernel, %.1f us by events, %.1f us without timestamps, %.4f ns a cycle\n",
              name.c_str(), long(shape.m), long(shape.n), long(shape.k), r.times.end / 1e3, r.gpu.recorded_us,
              r.gpu.plain_us, r.gpu.ns_per_cycle);
  // For `trace --recording`, on a machine without a GPU.
  if (const char* folder = std::getenv("WARPWRIGHT_RECORD_FOLDER"); folder != nullptr && status) {
    std::ofstream(std::string(folder) + "/" + file_word(name) + "-" + std::to_string(shape.m) + ".record",
                  std::ios::binary)
        << record::file_bytes(r.gpu.plan, r.gpu.device, r.gpu.ns_per_cycle, r.gpu.recording);
  }
  return r;
}

std::string role_of(const BlockPlan& plan, int warp) {
  for (int i = 0; i < plan.role_count; ++i) {
    if (plan.roles[i].holds_warp(warp)) return plan.roles[i].name;
  }
  return "";
}

void expect_in_order(const Recorded& r) {
  std::vector<double> passed;
  for (const timeline::RecordedTimes::Warp& w : r.times.warps) {
    SCOPED_TRACE("cta " + std::to_string(w.cta) + " warp " + std::to_string(w.warp));
    EXPECT_EQ(w.lost, 0u);
    EXPECT_LE(w.begin, w.end);
    double last = w.begin;
    for (const timeline::RecordedEvent& e : w.events) {
      ASSERT_NE(e.kind, Kind::none);
      ASSERT_LE(last, e.begin + 1) << e.at;
      ASSERT_LE(e.begin, e.end + 1) << e.at;
      ASSERT_LE(e.end, w.end + 1) << e.at;
      ASSERT_EQ(e.at.find('?'), std::string::npos) << "a line without a file";
      last = e.begin;
      if (e.kind == Kind::wait_mbarrier) passed.push_back(e.end - e.begin);
    }
  }
  std::sort(passed.begin(), passed.end());
  if (!passed.empty()) {
    const auto at = [&](double share) {
      return passed[size_t(share * double(passed.size() - 1))] / r.gpu.ns_per_cycle;
    };
    std::printf("  waits for mbarriers, cycles: least %.0f, 10 %% %.0f, 25 %% %.0f, half %.0f, 75 %% %.0f, most %.0f\n",
                at(0), at(.1), at(.25), at(.5), at(.75), at(1));
  }
}

void expect_roles(const Recorded& r) {
  std::map<std::string, std::set<Kind>> seen;
  for (const timeline::RecordedTimes::Warp& w : r.times.warps) {
    for (const timeline::RecordedEvent& e : w.events) seen[role_of(r.gpu.plan, w.warp)].insert(e.kind);
  }
  for (const Kind k : {Kind::wait_mbarrier, Kind::arrive_expect}) EXPECT_TRUE(seen["load"].count(k));
  EXPECT_TRUE(seen["load"].count(Kind::load) || seen["load"].count(Kind::load_multicast));
  for (const Kind k : {Kind::wait_mbarrier, Kind::wait_wgmma, Kind::commit_wgmma, Kind::arrive}) {
    EXPECT_TRUE(seen["mma"].count(k)) << int(k);
  }
  for (const Kind k : {Kind::wait_mbarrier, Kind::store, Kind::commit_bulk, Kind::wait_bulk, Kind::arrive}) {
    EXPECT_TRUE(seen["store"].count(k)) << int(k);
  }
}

// A stage is filled, then handed back by all that read it, then filled again.
void expect_fills_and_drains_alternate(const Recorded& r, int fills_of_a_cta) {
  const BlockPlan& plan = r.gpu.plan;
  const auto barrier = [&](const std::string& name) -> const BarrierSpec& {
    for (int i = 0; i < plan.barrier_count; ++i)
      if (name == plan.barriers[i].name) return plan.barriers[i];
    ADD_FAILURE() << name;
    return plan.barriers[0];
  };
  const BarrierSpec &full = barrier("input.full"), &empty = barrier("input.empty");
  struct Change {
    double time;
    int fills;  // 1, or less a share of a drain
  };
  std::map<std::pair<int, int>, std::vector<Change>> slots;
  for (const timeline::RecordedTimes::Warp& w : r.times.warps) {
    for (const timeline::RecordedEvent& e : w.events) {
      const auto slot = [&](const BarrierSpec& b) { return int(e.object - b.offset) / 8; };
      const auto within = [&](const BarrierSpec& b) {
        return e.object >= b.offset && e.object < b.offset + 8 * uint32_t(b.stages);
      };
      if (e.kind == Kind::arrive_expect && within(full)) slots[{w.cta, slot(full)}].push_back({e.begin, empty.count});
      if (e.kind == Kind::arrive && within(empty)) slots[{w.cta, slot(empty)}].push_back({e.begin, -int(e.detail)});
      if (e.kind == Kind::arrive_remote && within(empty)) {
        const int cta = w.cta - w.cta % plan.cluster + int(e.detail);
        slots[{cta, slot(empty)}].push_back({e.begin, -1});
      }
    }
  }
  ASSERT_FALSE(slots.empty());
  std::map<int, int> fills;
  for (auto& [key, changes] : slots) {
    SCOPED_TRACE("cta " + std::to_string(key.first) + " slot " + std::to_string(key.second));
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.time < b.time; });
    int level = 0;
    double fill = 0;
    for (const Change& c : changes) {
      if (c.fills > 0) {
        ASSERT_EQ(level, 0) << "filled before all have handed it back, at " << c.time;
        fill = c.time;
        ++fills[key.first];
      } else {
        ASSERT_GE(c.time, fill - kSkewNs);
      }
      level += c.fills;
      ASSERT_GE(level, 0) << "handed back before it was filled, at " << c.time;
    }
    EXPECT_EQ(level, 0) << "the last fill was read";
  }
  if (fills_of_a_cta > 0) {
    for (const auto& [cta, n] : fills) EXPECT_EQ(n, fills_of_a_cta) << "cta " << cta;
  }
}

void expect_time(const Recorded& r) {
  EXPECT_GT(r.gpu.ns_per_cycle, 0.4);
  EXPECT_LT(r.gpu.ns_per_cycle, 1.5);
  EXPECT_TRUE(close_to_events(r)) << r.times.end / 1e3 << " us in the kernel, " << r.gpu.recorded_us << " us by events";
}

void expect_arrows(const Recorded& r) {
  const timeline::RecordedTimeline t = timeline::timeline_of(r.gpu.plan, r.gpu.recording, r.gpu.ns_per_cycle, 8);
  const timeline::TimelineModel m = timeline::model_of(t.result);
  std::set<int> released;
  for (const timeline::TimelineArrow& a : m.arrows) released.insert(a.to);
  int waits = 0, explained = 0;
  for (size_t i = 0; i < m.bars.size(); ++i) {
    if (m.bars[i].kind != timeline::BarKind::wait || m.bars[i].ring.empty()) continue;
    ++waits;
    explained += released.count(int(i)) > 0;
  }
  std::printf("  %d waits for a ring drawn of %d CTAs, %d of them with an arrow; %zu arrows\n", waits, t.shown,
              explained, m.arrows.size());
  EXPECT_GT(waits, 0);
  EXPECT_GE(explained * 10, waits * 8) << "most waits have a reason";
  EXPECT_FALSE(m.critical.empty());
}

TEST(Record, TheDemosKernel) {
  WW_NEEDS_A_GPU();
  const Recorded r = record_instance("sm90/dense-128x256-c2-s4/bf16-nt", {512, 512, 512});
  if (HasFailure()) return;
  EXPECT_TRUE(r.gpu.same) << "timestamps must not change a result";
  // Two tiles of 256 columns across, four of 128 rows down.
  EXPECT_EQ(r.times.warps.size(), 8 * size_t(r.gpu.plan.warps));
  expect_in_order(r);
  expect_roles(r);
  expect_fills_and_drains_alternate(r, 8);
  expect_time(r);
  expect_arrows(r);
}

TEST(Record, AWholeChipOfTiles) {
  WW_NEEDS_A_GPU();
  const Recorded r = record_instance("sm90/dense-128x256-c2-s4/bf16-nt", {2048, 4096, 1024});
  if (HasFailure()) return;
  EXPECT_TRUE(r.gpu.same);
  EXPECT_GE(r.times.warps.size(), 100 * size_t(r.gpu.plan.warps));
  expect_in_order(r);
  expect_roles(r);
  expect_fills_and_drains_alternate(r, 0);
  expect_time(r);
  expect_arrows(r);
}

// Compiled now: NVRTC makes another kernel of the same source when timestamps are asked for.
TEST(Record, KernelsCompiledWhenAskedFor) {
  WW_NEEDS_A_GPU();
  for (const auto& [name, shape] : {std::pair("sm90/dense-64x64-c1-s4/bf16-nt", reference::Case{256, 192, 512}),
                                    std::pair("sm90/skinny-64x16-split4-s20/bf16-nt", reference::Case{8, 384, 4096})}) {
    SCOPED_TRACE(name);
    const Recorded r = record_instance(name, shape);
    if (HasFailure()) return;
    EXPECT_TRUE(r.gpu.same);
    expect_in_order(r);
    expect_roles(r);
    expect_fills_and_drains_alternate(r, 0);
    expect_time(r);
    expect_arrows(r);
  }
}

}  // namespace
}  // namespace warpwright
