// Timestamps of a kernel: what a timeline shows of the lists that its warps wrote.
#include "timeline/recording.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "timeline/recording_file.h"
#include "timeline/timeline.h"

namespace warpwright::timeline {
namespace {

using nlohmann::json;
using record::Kind;

constexpr uint32_t kBase = 2048;           // where the plan's shared memory begins
constexpr uint64_t kFile = 0x7f0000001f0;  // of a file's name

// A load warp, an MMA warpgroup and a store warp around two stages.
BlockPlan plan_of_ring(int cluster = 1) {
  BlockPlan plan("ring", Arch::sm90, cluster);
  plan.role("load", 1).role("mma", 4).role("store", 1);
  plan.region("input", 1024, 2, 1024);
  plan.barrier("input.full", 2, 1, "mma", {"load", 1});
  plan.barrier("input.empty", 2, 4, "load", {"mma", 4});
  plan.named_barrier("start", plan.threads());
  return plan;
}
const BlockPlan kPlan = plan_of_ring();
const uint32_t kFull = kPlan.barriers[0].offset, kEmpty = kPlan.barriers[1].offset;

// The lists of a launch. Clocks run at half a nanosecond a cycle; those of CTA c are `skew * c` cycles ahead.
class Lists {
 public:
  static constexpr double kRate = 0.5;

  explicit Lists(const BlockPlan& plan, int ctas = 1, uint64_t first_clock = 1'000'000, uint64_t skew = 0)
      : plan_(plan) {
    recording.files[kFile] = "kernel.h";
    for (int i = 0; i < ctas * plan.warps; ++i) {
      record::Warp w;
      w.begin_clock = first_clock + skew * uint64_t(i / plan.warps);
      w.end_clock = w.begin_clock + 20000;
      w.tick_clock = w.end_clock + 30;
      w.begin_ns = 1'000'000'000'000;
      w.tick_ns = w.begin_ns + 10015;
      w.sm = uint32_t(i / plan.warps);
      w.shared_base = kBase;
      w.written = 1;
      w.file = kFile + 40;
      recording.warps.push_back(w);
      recording.events.emplace_back();
    }
  }
  // Times are nanoseconds after the start.
  Lists& put(int warp, Kind kind, uint32_t detail, uint32_t object, double begin, double end, int cta = 0,
             uint32_t line = 7) {
    const int i = cta * plan_.warps + warp;
    record::Warp& w = recording.warps[size_t(i)];
    const auto low = [&](double ns) { return uint32_t(w.begin_clock + uint64_t(ns / kRate)); };
    const bool load = kind == Kind::load || kind == Kind::load_multicast;
    recording.events[size_t(i)].push_back({record::Event::pack(kind, detail, object),
                                           record::place(uint32_t(kFile), line), low(begin),
                                           load ? uint32_t(end) + kBase : low(end)});
    ++w.events[0];
    return *this;
  }
  Lists& load(double at, int stage, int cta = 0) {
    put(0, Kind::arrive_expect, 1, kBase + kFull + 8 * uint32_t(stage), at - 10, at - 10, cta);
    return put(0, Kind::load, 0, kBase + 1024 * uint32_t(stage), at, kFull + 8 * uint32_t(stage), cta);
  }
  Lists& wait(int warp, uint32_t barrier, uint32_t parity, double begin, double end, int cta = 0) {
    return put(warp, Kind::wait_mbarrier, parity, kBase + barrier, begin, end, cta);
  }
  Lists& arrive(int warp, uint32_t barrier, double at) { return put(warp, Kind::arrive, 1, kBase + barrier, at, at); }
  RecordedTimeline timeline(int most = 0) const { return timeline_of(plan_, recording, kRate, most); }

  Recording recording;

 private:
  const BlockPlan& plan_;
};

// Stage 0 is filled, read and filled again.
Lists two_fills() {
  Lists l(kPlan);
  l.wait(0, kEmpty, 1, 90, 95).load(100, 0);
  for (int w = 1; w <= 4; ++w) l.wait(w, kFull, 0, 50, 900).arrive(w, kEmpty, 1500 + 10 * w);
  l.wait(0, kEmpty, 0, 200, 1545).load(1600, 0);
  for (int w = 1; w <= 4; ++w) l.wait(w, kFull, 1, 1700, 2500);
  return l;
}

const simulator::Span* find(const RecordedTimeline& t, const std::string& track, const std::string& name) {
  for (const simulator::Span& s : t.result.spans) {
    if (s.track == track && s.name == name) return &s;
  }
  return nullptr;
}
// "track: name -> track: name" of each arrow.
std::vector<std::string> arrows(const RecordedTimeline& t) {
  std::vector<std::string> list;
  for (const simulator::Edge& e : t.result.edges) {
    const auto text = [&](int s) { return t.result.spans[size_t(s)].track + ": " + t.result.spans[size_t(s)].name; };
    list.push_back(text(e.from_span) + " -> " + text(e.to_span));
  }
  return list;
}
bool has(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

TEST(Recording, WaitsAndLoadsHaveTheSimulatorsNames) {
  const RecordedTimeline t = two_fills().timeline();
  const simulator::Span* wait = find(t, "cta 0 / mma / warp 2", "wait input.full[0] phase 0");
  ASSERT_NE(wait, nullptr);
  EXPECT_TRUE(wait->waiting);
  EXPECT_NEAR(wait->begin_us, 0.05, 1e-9);
  EXPECT_NEAR(wait->end_us, 0.9, 1e-9);
  EXPECT_EQ(wait->detail, "kernel.h:7");
  const simulator::Span* load = find(t, "cta 0 / TMA", "input[0]+0");
  ASSERT_NE(load, nullptr);
  EXPECT_EQ(load->by, "cta 0 / load / warp 0");
  EXPECT_NEAR(load->begin_us, 0.1, 1e-9);
  EXPECT_NEAR(load->end_us, 0.9, 1e-9) << "it landed when the wait that it blocked was over";
  EXPECT_NE(find(t, "cta 0 / store / warp 5", "start"), nullptr) << "a warp without events has its role";
  EXPECT_NE(find(t, "cta 0 / store / warp 5", "exit"), nullptr);
  EXPECT_NEAR(t.us, 10, 1e-9);
}

TEST(Recording, AWaitThatWasOverAtOnceIsNoBarAndItsLoadHasNoKnownEnd) {
  Lists l(kPlan);
  l.load(100, 1);
  for (int w = 1; w <= 4; ++w) l.wait(w, kFull + 8, 0, 3000, 3010);
  const RecordedTimeline t = l.timeline();
  EXPECT_EQ(find(t, "cta 0 / mma / warp 1", "wait input.full[1] phase 0"), nullptr);
  const simulator::Span* load = find(t, "cta 0 / TMA", "input[1]+0");
  ASSERT_NE(load, nullptr);
  EXPECT_EQ(load->begin_us, load->end_us);
  EXPECT_TRUE(arrows(t).empty());
}

TEST(Recording, AnArrowComesFromWhatCompletedThePhase) {
  const std::vector<std::string> list = arrows(two_fills().timeline());
  EXPECT_TRUE(has(list, "cta 0 / TMA: input[0]+0 -> cta 0 / mma / warp 3: wait input.full[0] phase 0"));
  EXPECT_TRUE(has(list, "cta 0 / TMA: input[0]+0 -> cta 0 / mma / warp 3: wait input.full[0] phase 1"));
  EXPECT_TRUE(
      has(list, "cta 0 / mma / warp 4: arrive input.empty[0] -> cta 0 / load / warp 0: wait input.empty[0] phase 0"))
      << "of the four arrivals the last";
  EXPECT_EQ(list.size(), 9u);
}

TEST(Recording, ThreadsOfAWarpThatArriveTogetherCountAsMany) {
  BlockPlan plan("threads", Arch::sm90);
  plan.role("mma", 4).role("store", 1);
  plan.barrier("output.full", 1, 128, "store", {"mma", 128});
  Lists l(plan);
  for (int w = 0; w < 4; ++w)
    l.put(w, Kind::arrive, 32, kBase + plan.barriers[0].offset, 400 + 100. * w, 400 + 100. * w);
  l.put(4, Kind::wait_mbarrier, 0, kBase + plan.barriers[0].offset, 100, 720);
  const auto list = arrows(l.timeline());
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0], "cta 0 / mma / warp 3: arrive output.full -> cta 0 / store / warp 4: wait output.full phase 0");
}

TEST(Recording, GroupsOfWgmmaEndWithTheWaitForThem) {
  Lists l(kPlan);
  for (int w = 4; w <= 4; ++w) {
    l.put(w, Kind::commit_wgmma, 0, 0, 200, 200).put(w, Kind::commit_wgmma, 0, 0, 300, 300);
    l.put(w, Kind::wait_wgmma, 1, 0, 310, 800).put(w, Kind::wait_wgmma, 0, 0, 900, 1400);
  }
  const RecordedTimeline t = l.timeline();
  std::vector<std::pair<double, double>> groups;
  for (const simulator::Span& s : t.result.spans) {
    if (s.track == "cta 0 / tensor core") groups.emplace_back(s.begin_us, s.end_us);
  }
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_NEAR(groups[0].second, 0.8, 1e-9);
  EXPECT_NEAR(groups[1].first, 0.8, 1e-9) << "the second waits for the first";
  EXPECT_NEAR(groups[1].second, 1.4, 1e-9);
  EXPECT_EQ(t.result.edges.size(), 2u);
}

TEST(Recording, StoresEndWithTheWaitForTheirGroup) {
  Lists l(kPlan);
  for (int i = 0; i < 2; ++i) {
    l.put(5, Kind::store, 0, kBase + 1024 * uint32_t(i), 100 + 100 * i, 100 + 100 * i);
    l.put(5, Kind::commit_bulk, 0, 0, 110 + 100 * i, 110 + 100 * i);
  }
  l.put(5, Kind::wait_bulk, 1, 0, 220, 600).put(5, Kind::wait_bulk, 0, 0, 610, 1000);
  const RecordedTimeline t = l.timeline();
  ASSERT_NE(find(t, "cta 0 / TMA store", "input[1]+0"), nullptr);
  EXPECT_NEAR(find(t, "cta 0 / TMA store", "input[0]+0")->end_us, 0.6, 1e-9);
  EXPECT_NEAR(find(t, "cta 0 / TMA store", "input[1]+0")->end_us, 1.0, 1e-9);
  EXPECT_EQ(t.result.edges.size(), 2u);
}

TEST(Recording, ANamedBarrierIsReleasedByTheLastToCome) {
  Lists l(kPlan);
  for (int w = 1; w < 6; ++w) l.put(w, Kind::wait_named, 0, 1, 100 + w, 705);
  l.put(0, Kind::arrive_named, 32, 1, 700, 700);
  const auto list = arrows(l.timeline());
  EXPECT_EQ(list.size(), 5u);
  EXPECT_TRUE(has(list,
                  "cta 0 / load / warp 0: arrive named barrier 1 (start) -> "
                  "cta 0 / store / warp 5: wait named barrier 1 (start)"));
}

TEST(Recording, EventsThatDidNotFitAreCountedAndNothingIsConcludedAfterThem) {
  Lists l = two_fills();
  // Warp 3 wrote its first two events and wanted to write two more.
  l.recording.events[3].resize(2);
  l.recording.warps[3].events[0] = 4;
  const RecordedTimeline t = l.timeline();
  EXPECT_EQ(t.lost, 2u);
  for (const simulator::Span& s : t.result.spans) EXPECT_EQ(s.name.find("phase 1"), std::string::npos) << s.name;
  EXPECT_NE(find(t, "cta 0 / mma / warp 2", "wait input.full[0]"), nullptr) << "the wait itself is known";
}

TEST(Recording, AWarpThatHasNotEndedIsLeftOut) {
  Lists l = two_fills();
  l.recording.warps[5] = {};
  const RecordedTimeline t = l.timeline();
  EXPECT_EQ(find(t, "cta 0 / store / warp 5", "start"), nullptr);
  EXPECT_NE(find(t, "cta 0 / mma / warp 4", "start"), nullptr);
  l.recording.warps.assign(l.recording.warps.size(), {});
  EXPECT_TRUE(l.timeline().result.spans.empty());
}

TEST(Recording, TheLowHalfOfTheClockMayWrap) {
  Lists l(kPlan, 1, (uint64_t(5) << 32) - 1000);  // it wraps after 500 ns
  l.load(100, 0);
  for (int w = 1; w <= 4; ++w) l.wait(w, kFull, 0, 50, 900);
  const RecordedTimeline t = l.timeline();
  const simulator::Span* wait = find(t, "cta 0 / mma / warp 1", "wait input.full[0] phase 0");
  ASSERT_NE(wait, nullptr);
  EXPECT_NEAR(wait->begin_us, 0.05, 1e-9);
  EXPECT_NEAR(wait->end_us, 0.9, 1e-9);
}

TEST(Recording, ClocksOfTwoSmsAreLaidOnOneAxis) {
  Lists l(kPlan, 2, 1'000'000, 777'777'777);
  for (int cta = 0; cta < 2; ++cta) {
    l.load(100, 0, cta);
    l.wait(1, kFull, 0, 50, 900, cta);
  }
  const RecordedTimeline t = l.timeline();
  const simulator::Span *a = find(t, "cta 0 / mma / warp 1", "wait input.full[0] phase 0"),
                        *b = find(t, "cta 1 / mma / warp 1", "wait input.full[0] phase 0");
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_NEAR(a->end_us, b->end_us, 1e-6);
}

TEST(Recording, OfTicksTheOneSeenSoonestIsTaken) {
  Lists l(kPlan, 2);
  for (int w = 1; w < kPlan.warps; ++w) l.recording.warps[size_t(kPlan.warps + w)].tick_clock += 200;  // 100 ns late
  const RecordedTimes times = times_of(kPlan, l.recording, Lists::kRate);
  for (const RecordedTimes::Warp& w : times.warps) EXPECT_NEAR(w.begin, 0, 1e-6);
}

TEST(Recording, ACyclesLengthIsTheMedianOverTheSms) {
  Lists before(kPlan, 3), after(kPlan, 3, 2'000'000);
  for (record::Warp& w : after.recording.warps) w.tick_ns = before.recording.warps[0].tick_ns + 510'000;
  EXPECT_NEAR(record::ns_per_cycle(before.recording.warps, after.recording.warps), 0.51, 1e-9);
  for (int w = 0; w < kPlan.warps; ++w) after.recording.warps[size_t(w)].tick_ns += 1'000'000;  // one SM of three
  EXPECT_NEAR(record::ns_per_cycle(before.recording.warps, after.recording.warps), 0.51, 1e-9);
  for (record::Warp& w : after.recording.warps) w.sm += 10;
  EXPECT_EQ(record::ns_per_cycle(before.recording.warps, after.recording.warps), 0) << "no SM in common";
}

TEST(Recording, RemoteArrivalsCompleteThePhasesOfThePeer) {
  BlockPlan plan("pair", Arch::sm90, 2);
  plan.role("load", 1).role("mma", 1);
  plan.barrier("input.empty", 1, 2, "load", {"mma", 2});
  const uint32_t empty = kBase + plan.barriers[0].offset;
  Lists l(plan, 4);
  l.put(1, Kind::arrive, 1, empty, 300, 300, 2).put(1, Kind::arrive_remote, 0, empty, 500, 500, 3);
  l.put(0, Kind::wait_mbarrier, 0, empty, 100, 650, 2);
  const auto list = arrows(l.timeline());
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0], "cta 3 / mma / warp 1: arrive input.empty -> cta 2 / load / warp 0: wait input.empty phase 0");
  EXPECT_EQ(l.timeline(1).shown, 2) << "whole clusters";
  EXPECT_EQ(l.timeline(1).ctas, 4);
  EXPECT_EQ(find(l.timeline(1), "cta 2 / mma / warp 1", "start"), nullptr);
}

TEST(Recording, TheRingsOccupancyFollowsItsPhases) {
  const TimelineModel m = model_of(two_fills().timeline().result);
  const auto counter = std::find_if(m.counters.begin(), m.counters.end(),
                                    [](const TimelineCounter& c) { return c.name == "input stages full"; });
  ASSERT_NE(counter, m.counters.end());
  const std::vector<std::pair<int64_t, int>> want = {{900, 1}, {1540, 0}, {2500, 1}};
  EXPECT_EQ(counter->changes, want);
  // Between its bars a warp runs, from its first instruction to its last.
  int64_t begin = 10000, end = 0;
  for (const TimelineBar& b : m.bars) {
    if (m.lanes[size_t(b.lane)].name != "store warp 5") continue;
    begin = std::min(begin, b.begin);
    end = std::max(end, b.end);
  }
  EXPECT_EQ(begin, 0);
  EXPECT_EQ(end, 10000);
}

TEST(Recording, MeasuredAndSimulatedRunsShareAFile) {
  const TimelineRun measured{model_of(two_fills().timeline().result), {"ring", "sm90", "8x8x8", "measured"}};
  TimelineRun simulated = measured;
  simulated.info.target = "sim:sm90";
  const json perfetto = json::parse(perfetto_of(std::vector{measured, simulated}));
  std::set<int> processes;
  std::set<std::string> names;
  for (const json& e : perfetto.at("traceEvents")) {
    if (e.contains("pid")) processes.insert(e.at("pid").get<int>());
    if (e.at("name") == "process_name") names.insert(e.at("args").at("name"));
  }
  EXPECT_EQ(processes.size(), 2u);
  EXPECT_EQ(names, (std::set<std::string>{"sm90, CTA 0", "sim:sm90, CTA 0"}));
  EXPECT_EQ(perfetto.at("otherData").at("target"), "sm90 and sim:sm90");
}

TEST(Recording, AFileHoldsAllThatATimelineNeeds) {
  const Lists l = two_fills();
  const std::string bytes = record::file_bytes(kPlan, "NVIDIA H200", Lists::kRate, l.recording);
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("ww-recording-" + std::to_string(::getpid()));
  const auto read = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    return read_recording(path.string());
  };
  const auto file = read(bytes);
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(file->recorded.device, "NVIDIA H200");
  EXPECT_STREQ(file->recorded.plan.kernel, "ring");
  const RecordedTimeline a = l.timeline(),
                         b = timeline_of(file->recorded.plan, file->recorded.recording, file->recorded.ns_per_cycle);
  ASSERT_EQ(a.result.spans.size(), b.result.spans.size());
  for (size_t i = 0; i < a.result.spans.size(); ++i) {
    EXPECT_EQ(a.result.spans[i].track, b.result.spans[i].track);
    EXPECT_EQ(a.result.spans[i].name, b.result.spans[i].name);
    EXPECT_EQ(a.result.spans[i].detail, b.result.spans[i].detail);
    EXPECT_NEAR(a.result.spans[i].end_us, b.result.spans[i].end_us, 1e-6);
  }
  EXPECT_EQ(arrows(a), arrows(b));
  // No part of it is taken for the whole.
  for (size_t n = 0; n < bytes.size(); n += 97) EXPECT_FALSE(read(bytes.substr(0, n))) << n;
  EXPECT_FALSE(read(bytes + "x"));
  EXPECT_FALSE(read("{}"));
  std::filesystem::remove(path);
  EXPECT_FALSE(read_recording(path.string()));
}

TEST(Recording, ALineIsFoundFromTheLowBitsOfItsFilesAddress) {
  constexpr uint64_t window = uint64_t(1) << record::kFileBits;
  for (const uint64_t nearby : {uint64_t(5) * window + 10, uint64_t(5) * window - 10, uint64_t(1) << 40}) {
    for (const int64_t off : {int64_t(0), int64_t(1000), int64_t(-1000)}) {
      const uint64_t file = nearby + uint64_t(off);
      const uint32_t place = record::place(uint32_t(file), 4321);
      EXPECT_EQ(record::file_of(place, nearby), file);
      EXPECT_EQ(record::line_of(place), 4321u);
    }
  }
}

}  // namespace
}  // namespace warpwright::timeline
