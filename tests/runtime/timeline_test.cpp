// Timelines: what they show of a run of the simulator, and what Perfetto and the page need to draw it.
#include "timeline/timeline.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "simulate/example.h"
#include "simulate/examples.h"
#include "system/whole_file.h"
#include "timeline/meaning.h"
#include "timeline/stalls.h"

namespace warpwright::timeline {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

int64_t ns(const json& us) { return std::llround(us.get<double>() * 1e3); }

simulator::Span span(const char* track, const char* name, double begin, double end, bool waiting = false) {
  return {track, name, begin, end, "here.h:1", waiting};
}

simulator::Result real_run() {
  const simulate::Example& e = *simulate::find_example("sm90/dense-128x256-c2-s4/bf16-nt");
  simulator::Options options;
  options.timeline = true;
  simulate::Outcome o = e.simulate(e.workload({256, 256, 320}, reference::Data::integers, 1), options, 0);
  EXPECT_TRUE(o.ok());
  return std::move(o.sim);
}

std::string perfetto(const simulator::Result& result, const TimelineInfo& info = {}) {
  return perfetto_of({model_of(result), info});
}

struct Drawn {
  std::vector<json> bars, starts, ends, counts;
  std::map<int, std::string> tracks;  // by tid
  explicit Drawn(const std::string& text) {
    const json document = json::parse(text);
    int64_t last = INT64_MIN;
    bool metadata = true;
    for (const json& e : document.at("traceEvents")) {
      const std::string phase = e.at("ph");
      if (phase == "M") {
        EXPECT_TRUE(metadata) << "names come before the events";
        if (e.at("name") == "thread_name") tracks[e.at("tid")] = e.at("args").at("name");
        continue;
      }
      metadata = false;
      EXPECT_GE(ns(e.at("ts")), last) << "events are sorted";
      last = ns(e.at("ts"));
      (phase == "X" ? bars : phase == "s" ? starts : phase == "C" ? counts : ends).push_back(e);
    }
  }
};

// Perfetto drops a bar that crosses another one of its track.
void expect_no_overlap(const Drawn& d) {
  std::map<int, int64_t> free_at;
  for (const json& b : d.bars) {
    const int tid = b.at("tid");
    EXPECT_GE(ns(b.at("dur")), 0);
    const auto before = free_at.try_emplace(tid, INT64_MIN).first;
    EXPECT_GE(ns(b.at("ts")), before->second) << b.dump();
    before->second = ns(b.at("ts")) + ns(b.at("dur"));
    EXPECT_EQ(d.tracks.count(tid), 1u) << "a track without a name";
  }
}

TEST(Timeline, OfARealKernelCanBeDrawn) {
  const simulator::Result result = real_run();
  const TimelineModel model = model_of(result);
  const Drawn d(perfetto_of({model, {"gemm_sm90", "sim:sm90", "256x256x320"}}));
  expect_no_overlap(d);
  EXPECT_EQ(d.bars.size(), model.bars.size());
  EXPECT_GT(model.arrows.size(), 0u);
  EXPECT_EQ(d.starts.size(), model.arrows.size());
  EXPECT_EQ(d.ends.size(), model.arrows.size());
  EXPECT_GT(d.counts.size(), 0u);
  std::set<std::string> names;
  for (const auto& [tid, name] : d.tracks) names.insert(name);
  for (const char* wanted : {"TMA", "TMA store", "tensor core"}) EXPECT_EQ(names.count(wanted), 1u) << wanted;
  std::set<std::string> categories;
  for (const json& b : d.bars) {
    categories.insert(b.at("cat"));
    EXPECT_FALSE(b.at("args").at("at").get<std::string>().empty()) << b.dump();
  }
  EXPECT_EQ(categories, (std::set<std::string>{"arrive", "engine", "run", "wait"}));
}

TEST(Timeline, EveryArrowJoinsTwoBars) {
  const Drawn d(perfetto(real_run()));
  const auto inside_a_bar = [&](const json& end) {
    for (const json& b : d.bars) {
      const int64_t begin = ns(b.at("ts")), at = ns(end.at("ts"));
      if (b.at("tid") == end.at("tid") && begin <= at && at <= begin + ns(b.at("dur"))) return true;
    }
    return false;
  };
  std::map<int, int64_t> started;
  for (const json& s : d.starts) {
    EXPECT_TRUE(inside_a_bar(s)) << s.dump();
    started[s.at("id")] = ns(s.at("ts"));
  }
  for (const json& f : d.ends) {
    EXPECT_TRUE(inside_a_bar(f)) << f.dump();
    EXPECT_EQ(f.at("bp"), "e");
    ASSERT_EQ(started.count(f.at("id")), 1u);
    EXPECT_LE(started[f.at("id")], ns(f.at("ts")));
  }
}

TEST(Timeline, OverlappingOperationsOfAnEngineGetTracksOfTheirOwn) {
  simulator::Result r;
  r.spans = {span("cta 0 / TMA", "a", 0, 3), span("cta 0 / TMA", "b", 1, 2), span("cta 0 / TMA", "c", 2.5, 4),
             span("cta 0 / TMA", "d", 3, 5)};
  const Drawn d(perfetto(r));
  expect_no_overlap(d);
  std::map<std::string, std::string> track;
  for (const json& b : d.bars) track[b.at("name")] = d.tracks.at(b.at("tid"));
  EXPECT_EQ(track,
            (std::map<std::string, std::string>{{"a", "TMA"}, {"b", "TMA (2)"}, {"c", "TMA (2)"}, {"d", "TMA"}}));
}

TEST(Timeline, TracksAreOrderedByRoleThenEngine) {
  simulator::Result r;
  r.spans = {span("cta 1 / TMA", "a", 0, 1), span("cta 1 / mma / warp 10", "w", 0, 1, true),
             span("cta 1 / load / warp 2", "w", 0, 1, true), span("cta 0 / TMA", "a", 0, 1)};
  const Drawn d(perfetto(r));
  std::vector<std::string> order;
  for (const auto& [tid, name] : d.tracks) order.push_back(name);
  EXPECT_EQ(order, (std::vector<std::string>{"TMA", "load warp 2", "mma warp 10", "TMA"}));
}

TEST(Timeline, AWarpRunsBetweenItsWaits) {
  simulator::Result r;
  r.spans = {span("cta 0 / load / warp 0", "wait empty[0]", 1, 2, true),
             span("cta 0 / load / warp 0", "wait empty[1]", 5, 6, true)};
  const TimelineModel model = model_of(r);
  const Drawn d(perfetto(r));
  EXPECT_EQ(model.recorded(), 2u);
  ASSERT_EQ(d.bars.size(), 3u);
  EXPECT_EQ(d.bars[1].at("cat"), "run");
  EXPECT_EQ(ns(d.bars[1].at("ts")), 2000);
  EXPECT_EQ(ns(d.bars[1].at("dur")), 3000);
}

TEST(Timeline, ArrowsBackInTimeAndToNowhereAreLeftOut) {
  simulator::Result r;
  r.spans = {span("cta 0 / TMA", "late", 5, 9), span("cta 0 / load / warp 0", "early", 1, 2, true)};
  r.edges = {{0, 1}, {-1, 1}, {0, 7}};
  EXPECT_EQ(model_of(r).arrows.size(), 0u);
}

TEST(Timeline, NamesAreEscaped) {
  simulator::Result r;
  r.spans = {span("cta 0 / TMA", "a \"quoted\" \\ name", 0, 1)};
  const Drawn d(perfetto(r, {"k\"", "t", "p"}));
  EXPECT_EQ(d.bars.at(0).at("name"), "a \"quoted\" \\ name");
}

TEST(Timeline, AWaitThatIsWokenAndWaitsOnIsOneBar) {
  simulator::Result r;
  r.spans = {span("cta 0 / mma / warp 0", "wait its groups", 1, 2, true),
             span("cta 0 / mma / warp 0", "wait its groups", 2, 4, true), span("cta 0 / tensor core", "wgmma", 0, 2),
             span("cta 0 / tensor core", "wgmma", 2, 4)};
  r.edges = {{2, 0}, {3, 1}};
  const TimelineModel m = model_of(r);
  ASSERT_EQ(m.bars.size(), 3u);
  EXPECT_EQ(m.bars[0].end - m.bars[0].begin, 3000);
  ASSERT_EQ(m.arrows.size(), 1u);
  EXPECT_EQ(m.bars[size_t(m.arrows[0].from)].begin, 2000) << "the last release is what let it go on";
}

TEST(Timeline, BarsKnowTheirStage) {
  simulator::Result r;
  r.spans = {span("cta 0 / load / warp 0", "wait input.empty[3] phase 1", 0, 1, true),
             span("cta 0 / TMA", "input.a[2]+0", 0, 1),
             span("cta 0 / load / warp 0", "wait the cluster barrier", 2, 3, true)};
  const TimelineModel m = model_of(r);
  EXPECT_EQ((std::pair{m.bars[0].ring, m.bars[0].slot}), (std::pair<std::string, int>{"input", 3}));
  EXPECT_EQ((std::pair{m.bars[3].ring, m.bars[3].slot}), (std::pair<std::string, int>{"input", 2}));
  EXPECT_EQ((std::pair{m.bars[2].ring, m.bars[2].slot}), (std::pair<std::string, int>{"", -1}));
}

TEST(Timeline, CountersFollowTheRing) {
  simulator::Result r;
  r.phases = {{"in.full[0]", 0, 1}, {"in.full[1]", 0, 2}, {"in.empty[0]", 0, 3}, {"in.full[0]", 0, 4}, {"other", 0, 5}};
  r.spans = {span("cta 0 / tensor core", "mma", 1, 2), span("cta 0 / tensor core", "mma", 1.5, 3),
             span("cta 0 / tensor core", "mma", 4, 5)};
  const TimelineModel m = model_of(r);
  using Changes = std::vector<std::pair<int64_t, int>>;
  ASSERT_EQ(m.counters.size(), 2u);
  EXPECT_EQ(m.counters[0].most, 2);
  EXPECT_EQ(m.counters[0].changes, (Changes{{1000, 1}, {2000, 2}, {3000, 1}, {4000, 2}}));
  EXPECT_EQ(m.counters[1].changes, (Changes{{1000, 1}, {3000, 0}, {4000, 1}, {5000, 0}}));
}

TEST(Timeline, TheCriticalPathGoesBackThroughReleasesAndIssuers) {
  simulator::Result r;
  r.spans = {span("cta 0 / load / warp 4", "wait input.empty[0]", 0, 2, true),
             span("cta 0 / load / warp 4", "wait input.empty[1]", 3, 4, true), span("cta 0 / TMA", "input.a[0]", 3, 8),
             span("cta 0 / mma / warp 0", "wait input.full[0]", 0, 9, true),
             span("cta 0 / mma / warp 0", "arrive done", 11, 12)};
  r.spans[2].by = "cta 0 / load / warp 4";
  r.edges = {{2, 3}};
  const TimelineModel m = model_of(r);
  std::vector<std::string> path;
  for (const TimelineStep& s : m.critical) path.push_back(m.bars[size_t(s.bar)].name);
  EXPECT_EQ(path, (std::vector<std::string>{"wait input.empty[0]", "run", "input.a[0]", "wait input.full[0]", "run",
                                            "arrive done"}));
  ASSERT_EQ(m.critical.size(), 6u);
  EXPECT_EQ(m.critical[3].begin, 8000) << "of the wait only what follows its release is critical";
  for (size_t i = 1; i < m.critical.size(); ++i) EXPECT_EQ(m.critical[i - 1].end, m.critical[i].begin);
}

TEST(Timeline, TheCriticalPathOfARealKernelHasNoGap) {
  const TimelineModel m = model_of(real_run());
  ASSERT_GT(m.critical.size(), 5u);
  int64_t last = 0;
  for (const TimelineBar& b : m.bars) last = std::max(last, b.end);
  EXPECT_EQ(m.critical.back().end, last);
  for (size_t i = 1; i < m.critical.size(); ++i) EXPECT_EQ(m.critical[i - 1].end, m.critical[i].begin);
  bool tensor_core = false;
  for (const TimelineStep& s : m.critical)
    tensor_core |= m.lanes[size_t(m.bars[size_t(s.bar)].lane)].group == "tensor core";
  EXPECT_TRUE(tensor_core);
}

TEST(Timeline, ThePageHoldsTheDataAndNoOtherAddress) {
  simulator::Result r;
  r.spans = {span("cta 0 / TMA", "a </script> name", 0, 1)};
  const std::string page = page_of({{model_of(r), {"k<b>", "sim:sm90", "8x8x8"}}});
  EXPECT_EQ(page.find("{{"), std::string::npos) << "every field is filled";
  EXPECT_NE(page.find("<title>k&lt;b> 8x8x8</title>"), std::string::npos);
  for (const char* address : {"http://", "https://", "src=", "@import", "url("})
    EXPECT_EQ(page.find(address), std::string::npos) << address;
  const std::string open = "id=\"data\">";
  const size_t begin = page.find(open) + open.size(), end = page.find("</script>", begin);
  const json data = json::parse(page.substr(begin, end - begin));
  EXPECT_EQ(data.at("labels").at(0).at(0), "a </script> name");
  EXPECT_EQ(data.at("runs").at(0).at("lanes").at(0).at(5), 1) << "bars of the lane";
}

// The numbers that the page's script unpacks.
std::vector<int64_t> unpacked(const std::string& text) {
  std::string bytes;
  uint32_t four = 0;
  int digits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::string all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    four = four << 6 | uint32_t(all.find(c));
    if (++digits % 4 != 1) bytes += char(uint8_t(four >> (6 - 2 * ((digits - 1) % 4))));
  }
  std::vector<int64_t> numbers;
  uint64_t value = 0;
  int shift = 0;
  for (const char c : bytes) {
    value |= uint64_t(uint8_t(c) & 127) << shift;
    shift += 7;
    if (uint8_t(c) >= 128) continue;
    numbers.push_back(int64_t(value >> 1) ^ -int64_t(value & 1));
    value = shift = 0;
  }
  return numbers;
}

TEST(Timeline, ThePageHasEveryBarAndArrow) {
  const TimelineModel m = model_of(real_run());
  const std::string page = page_of({{m, {"k", "sim:sm90", "8x8x8", "predicted", "7.8 us predicted"}}});
  const std::string open = "id=\"data\">";
  const size_t begin = page.find(open) + open.size(), end = page.find("</script>", begin);
  const json data = json::parse(page.substr(begin, end - begin)), run = data.at("runs").at(0);
  EXPECT_EQ(run.at("time"), "7.8 us predicted");
  EXPECT_EQ(run.at("begin"), m.begin);
  EXPECT_EQ(run.at("idle"), stalls_of(m).idle.text());
  const std::vector<int64_t> bars = unpacked(run.at("bars")), arrows = unpacked(run.at("arrows"));
  ASSERT_EQ(bars.size(), 4 * m.bars.size());
  ASSERT_EQ(arrows.size(), 2 * m.arrows.size());
  size_t i = 0;
  for (size_t lane = 0; lane < m.lanes.size(); ++lane) {
    int64_t time = 0;
    for (int left = run.at("lanes").at(lane).at(5); left > 0; --left, ++i) {
      const TimelineBar& b = m.bars[i];
      const json& label = data.at("labels").at(size_t(bars[4 * i + 3]));
      time += bars[4 * i + 1];
      ASSERT_EQ(std::tuple(b.lane, b.row, b.begin, b.end),
                std::tuple(int(lane), int(bars[4 * i]), time, time + bars[4 * i + 2]));
      ASSERT_EQ(std::tuple(b.name, b.at, int(b.kind), b.slot),
                std::tuple(label.at(0).get<std::string>(), label.at(1).get<std::string>(), label.at(2).get<int>(),
                           label.at(3).get<int>()));
    }
  }
  int64_t to = 0;
  for (size_t a = 0; a < m.arrows.size(); ++a) {
    to += arrows[2 * a];
    ASSERT_EQ(std::pair(int64_t(m.arrows[a].from), int64_t(m.arrows[a].to)), std::pair(to + arrows[2 * a + 1], to));
  }
}

TEST(Timeline, BeginsWithTheFirstBarAndEndsWithTheLaunch) {
  simulator::Result r;
  r.spans = {span("cta 0 / TMA", "a", 2, 3), span("cta 0 / load / warp 0", "wait empty[0]", 1, 2, true)};
  r.stats.predicted_us = 3.5;
  const TimelineModel m = model_of(r);
  EXPECT_EQ(m.begin, 1000);
  EXPECT_EQ(m.end, 3500) << "the time that the tool says";
}

TEST(Timeline, WorkgroupsAreBlocksOfTheirOwn) {
  simulator::Result r;
  r.spans = {span("workgroup 0 / leading / wave 1", "VM0", 0, 2, true),
             span("workgroup 3 / leading / wave 1", "LA00", 0, 2), span("workgroup 3 / MFMA 2", "MMA00", 0, 1),
             span("workgroup 3 / memory", "LA00", 0, 1)};
  const TimelineModel m = model_of(r);
  EXPECT_EQ(m.block, "workgroup");
  ASSERT_EQ(m.lanes.size(), 4u);
  EXPECT_EQ((std::pair{m.lanes[0].cta, m.lanes[0].name}), (std::pair<int, std::string>{0, "leading wave 1"}));
  EXPECT_EQ((std::pair{m.lanes[1].cta, m.lanes[1].name}), (std::pair<int, std::string>{3, "leading wave 1"}));
  EXPECT_EQ((std::pair{m.lanes[2].group, m.lanes[2].name}), (std::pair<std::string, std::string>{"MFMA", "MFMA 2"}));
  EXPECT_TRUE(m.lanes[2].multiplies());
  EXPECT_FALSE(m.lanes[3].multiplies());
  EXPECT_EQ(m.bars[1].kind, BarKind::work);
}

TEST(Timeline, NamesAreExplained) {
  TimelineBar b;
  b.kind = BarKind::wait;
  const auto meaning = [&](const char* name) {
    b.name = name;
    return meaning_of(b);
  };
  EXPECT_EQ(meaning("VM0"), "s_waitcnt vmcnt(0): waits until all loads from memory of the wave are complete");
  EXPECT_EQ(meaning("VM12"), "s_waitcnt vmcnt(12): waits until at most 12 loads from memory of the wave are under way");
  EXPECT_EQ(meaning("BAR"), "s_barrier: waits until every wave of the workgroup is here");
  EXPECT_EQ(meaning("wait input.full[2] phase 1"), "waits until the stage of input is filled");
  EXPECT_EQ(meaning("wait input.empty[2] phase 1"),
            "waits until those who read the stage of input have handed it back");
  EXPECT_EQ(meaning("wait the cluster barrier"), "");
  b.kind = BarKind::work;
  EXPECT_EQ(meaning("FA01"), "reads fragments of A from LDS into registers (their stage and part)");
}

class File : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "timeline.XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  size_t entries() const { return size_t(std::distance(fs::directory_iterator(folder_), fs::directory_iterator{})); }
  static std::string content(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  fs::path folder_;
};

TEST_F(File, AskingLeavesNothingBehind) {
  EXPECT_TRUE(system::WholeFile(folder_ / "a.json").check_writable());
  EXPECT_EQ(entries(), 0u);
}

TEST_F(File, IsWrittenAndReplaced) {
  const system::WholeFile file(folder_ / "a.json");
  EXPECT_TRUE(file.write("first, longer"));
  EXPECT_TRUE(file.write("second"));
  EXPECT_EQ(content(folder_ / "a.json"), "second");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(File, ALinkStaysALink) {
  std::ofstream(folder_ / "real") << "old";
  fs::create_symlink("real", folder_ / "link");
  EXPECT_TRUE(system::WholeFile(folder_ / "link").write("new"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content(folder_ / "real"), "new");
}

TEST_F(File, WhatIsNoOrdinaryFileIsRefused) {
  const std::vector<std::string> paths = {"", folder_.string(), folder_.string() + "/", "/dev/null",
                                          (folder_ / "absent" / "a.json").string()};
  for (const std::string& path : paths) {
    const Status status = system::WholeFile(path).check_writable();
    ASSERT_FALSE(status) << path;
    EXPECT_EQ(status.message().back(), '.');
    EXPECT_FALSE(system::WholeFile(path).write("x"));
  }
  EXPECT_EQ(entries(), 0u);
}

}  // namespace
}  // namespace warpwright::timeline
