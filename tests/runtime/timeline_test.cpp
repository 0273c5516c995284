// The timeline file: what Perfetto needs to draw it, for any run of the simulator.
#include "runtime/timeline.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "runtime/example.h"

namespace warpwright::runtime {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

int64_t ns(const json& us) { return std::llround(us.get<double>() * 1e3); }

simulator::Span span(const char* track, const char* name, double begin, double end, bool waiting = false) {
  return {track, name, begin, end, "here.h:1", waiting};
}

simulator::Result real_run() {
  const Example& e = *find_example("gemm_sm90");
  simulator::Options options;
  options.timeline = true;
  Outcome o = e.simulate(e.workload({256, 256, 320}, Data::integers, 1), options, 0);
  EXPECT_TRUE(o.ok());
  return std::move(o.sim);
}

struct Drawn {
  std::vector<json> bars, starts, ends;
  std::map<int, std::string> tracks;  // by tid
  explicit Drawn(const Timeline& t) {
    const json document = json::parse(t.json);
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
      (phase == "X" ? bars : phase == "s" ? starts : ends).push_back(e);
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
  const Timeline t = make_timeline(result, {"gemm_sm90", "sim:sm90", "256x256x320"});
  const Drawn d(t);
  expect_no_overlap(d);
  EXPECT_EQ(t.spans, result.spans.size());
  EXPECT_GT(t.edges, 0u);
  EXPECT_EQ(d.starts.size(), t.edges);
  EXPECT_EQ(d.ends.size(), t.edges);
  std::set<std::string> names;
  for (const auto& [tid, name] : d.tracks) names.insert(name);
  for (const char* wanted : {"TMA", "TMA store", "tensor core"}) EXPECT_EQ(names.count(wanted), 1u) << wanted;
  std::set<std::string> categories;
  for (const json& b : d.bars) {
    categories.insert(b.at("cat"));
    EXPECT_FALSE(b.at("args").at("at").get<std::string>().empty()) << b.dump();
  }
  EXPECT_EQ(categories, (std::set<std::string>{"engine", "run", "wait"}));
}

TEST(Timeline, EveryArrowJoinsTwoBars) {
  const Drawn d(make_timeline(real_run(), {}));
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
  const Drawn d(make_timeline(r, {}));
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
  const Drawn d(make_timeline(r, {}));
  std::vector<std::string> order;
  for (const auto& [tid, name] : d.tracks) order.push_back(name);
  EXPECT_EQ(order, (std::vector<std::string>{"TMA", "load warp 2", "mma warp 10", "TMA"}));
}

TEST(Timeline, AWarpRunsBetweenItsWaits) {
  simulator::Result r;
  r.spans = {span("cta 0 / load / warp 0", "wait empty[0]", 1, 2, true),
             span("cta 0 / load / warp 0", "wait empty[1]", 5, 6, true)};
  const Timeline t = make_timeline(r, {});
  const Drawn d(t);
  EXPECT_EQ(t.spans, 2u);
  ASSERT_EQ(d.bars.size(), 3u);
  EXPECT_EQ(d.bars[1].at("cat"), "run");
  EXPECT_EQ(ns(d.bars[1].at("ts")), 2000);
  EXPECT_EQ(ns(d.bars[1].at("dur")), 3000);
}

TEST(Timeline, ArrowsBackInTimeAndToNowhereAreLeftOut) {
  simulator::Result r;
  r.spans = {span("cta 0 / TMA", "late", 5, 9), span("cta 0 / load / warp 0", "early", 1, 2, true)};
  r.edges = {{0, 1}, {-1, 1}, {0, 7}};
  EXPECT_EQ(make_timeline(r, {}).edges, 0u);
}

TEST(Timeline, NamesAreEscaped) {
  simulator::Result r;
  r.spans = {span("cta 0 / TMA", "a \"quoted\" \\ name", 0, 1)};
  const Drawn d(make_timeline(r, {"k\"", "t", "p"}));
  EXPECT_EQ(d.bars.at(0).at("name"), "a \"quoted\" \\ name");
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
  EXPECT_EQ(WholeFile(folder_ / "a.json").refuse(), std::nullopt);
  EXPECT_EQ(entries(), 0u);
}

TEST_F(File, IsWrittenAndReplaced) {
  const WholeFile file(folder_ / "a.json");
  EXPECT_EQ(file.write("first, longer"), std::nullopt);
  EXPECT_EQ(file.write("second"), std::nullopt);
  EXPECT_EQ(content(folder_ / "a.json"), "second");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(File, ALinkStaysALink) {
  std::ofstream(folder_ / "real") << "old";
  fs::create_symlink("real", folder_ / "link");
  EXPECT_EQ(WholeFile(folder_ / "link").write("new"), std::nullopt);
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content(folder_ / "real"), "new");
}

TEST_F(File, WhatIsNoOrdinaryFileIsRefused) {
  const std::vector<std::string> paths = {"", folder_.string(), folder_.string() + "/", "/dev/null",
                                          (folder_ / "absent" / "a.json").string()};
  for (const std::string& path : paths) {
    const auto why = WholeFile(path).refuse();
    ASSERT_TRUE(why.has_value()) << path;
    EXPECT_EQ(why->back(), '.');
    EXPECT_TRUE(WholeFile(path).write("x").has_value());
  }
  EXPECT_EQ(entries(), 0u);
}

}  // namespace
}  // namespace warpwright::runtime
