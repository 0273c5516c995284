// Tuning::measure with a pretended device and made-up times: which plan is taken, what is kept for the next process,
// and when nothing is measured.
#include "choice/measured.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "choice/choose.h"
#include "driver/session.h"
#include "driver/stand_in.h"
#include "gpu/graph.h"
#include "gpu/memory.h"
#include "warpwright/c_api.h"
#include "warpwright/gemm.h"
#include "warpwright/grouped.h"

namespace warpwright {
namespace {

using nlohmann::json;

// Times of kernels in the order of their first launch: no two of five neighbours are alike.
const std::vector<double> kTimes = {50, 40, 30, 45, 35, 60, 20};

size_t argument_bytes(const catalog::Instance& instance) {
  if (instance.as<SkinnyGemmConfig>() != nullptr) return sizeof(SkinnyGemmArgs);
  if (instance.as<SkinnyBlockwiseConfig>() != nullptr) return sizeof(SkinnyBlockwiseArgs);
  if (instance.as<GroupedGemmConfig>() != nullptr) return sizeof(GroupedGemmArgs);
  if (instance.as<PackRowsConfig>() != nullptr) return sizeof(PackRowsArgs);
  return sizeof(DenseGemmArgs);
}

class Measured : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string times;
    for (const double us : kTimes) times += (times.empty() ? "" : ",") + std::to_string(us);
    setenv("WARPWRIGHT_RECORDER_TIMES", times.c_str(), 1);
    unsetenv("WARPWRIGHT_TUNING");
    recorded::begin("sm_90");
    recorded::set_device(0);
    images_ = recorded::put_images(Arch::sm90);
  }
  void SetUp() override {
    if (!images_) GTEST_SKIP() << "this build has no device code, and there is no compiler";
  }
  void TearDown() override { unsetenv("WARPWRIGHT_TUNING"); }

  static choice::Chip chip() {
    const gpu::Device device = *gpu::this_device();
    return {device.name, device.multiprocessors, device.arch, device.driver};
  }
  static void put(const catalog::Instance& instance) {
    ASSERT_TRUE(recorded::put_image(instance, gpu::target_of(instance, *gpu::this_device()), argument_bytes(instance)));
  }
  // Images of all that may compete, and their names; the first is what is chosen without measuring.
  static std::vector<std::string> competitors(const GemmProblem& problem) {
    const auto chosen = choice::choose(problem, chip());
    EXPECT_TRUE(chosen);
    put(chosen->choice.instance);
    std::vector<std::string> names = {chosen->name()};
    for (const choice::Decision& other : choice::finalists(*chosen, problem, chip())) {
      put(other.choice.instance);
      names.push_back(other.name());
    }
    return names;
  }
  static std::vector<std::string> competitors(const GroupedProblem& problem) {
    const auto chosen = choice::choose(problem, chip());
    EXPECT_TRUE(chosen);
    put(chosen->instance);
    std::vector<std::string> names = {catalog::plan_name(chosen->instance)};
    for (const choice::GroupedChoice& other : choice::finalists(*chosen, problem, chip())) {
      put(other.instance);
      names.push_back(catalog::plan_name(other.instance));
    }
    return names;
  }
  static double time_of(const json& launch) { return kTimes[launch["number"].get<size_t>() % kTimes.size()]; }
  static std::set<size_t> numbers(const std::vector<json>& launches) {
    std::set<size_t> found;
    for (const json& one : launches) found.insert(one["number"].get<size_t>());
    return found;
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  inline static bool images_ = false;
};

GemmProblem product(int64_t m, int64_t n, int64_t k) {
  GemmProblem problem{.m = m, .n = n, .k = k};
  problem.tuning = Tuning::measure;
  return problem;
}

struct Memory {
  gpu::DeviceMemory a, b, d;
  explicit Memory(const GemmProblem& p)
      : a(size_t(p.m * p.k) * 2), b(size_t(p.n * p.k) * 2), d(size_t(p.m * p.n) * 4) {}
  GemmPointers pointers() const { return {.a = a.data(), .b = b.data(), .d = d.data()}; }
};

TEST_F(Measured, theFirstRunTimesTheBestPlansAndTheFastestIsTaken) {
  const GemmProblem problem = product(512, 1024, 512);
  const std::vector<std::string> names = competitors(problem);
  ASSERT_EQ(names.size(), 1 + choice::kOtherFinalists);
  const auto plan = make_plan(problem);
  ASSERT_TRUE(plan) << plan.status().message();
  EXPECT_EQ(plan->name(), names.front());
  EXPECT_EQ(plan->origin(), "model");
  EXPECT_NE(plan->explanation().find("until it is measured beside 4 others"), std::string::npos);
  const Memory memory(problem);
  const gpu::Stream stream;
  (void)recorded::lines();
  ASSERT_TRUE(plan->run(memory.pointers(), stream.get()));
  const auto launches = recorded::launches(recorded::lines());
  EXPECT_EQ(numbers(launches).size(), names.size());
  double least = 1e9;
  for (const json& one : launches) least = std::min(least, time_of(one));
  EXPECT_EQ(time_of(launches.back()), least);
  EXPECT_NE(plan->name(), names.front());
  char want[64];
  std::snprintf(want, sizeof want, "measured on NVIDIA H200: %.1f us", least);
  EXPECT_EQ(plan->origin(), want);
  EXPECT_NE(plan->explanation().find(std::string(want) + "; without that, the choice would have taken"),
            std::string::npos);
  // From now on one launch, of the winner.
  ASSERT_TRUE(plan->run(memory.pointers(), stream.get()));
  const auto again = recorded::launches(recorded::lines());
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0]["number"], launches.back()["number"]);
  // And another plan of the problem knows it, from the file that the next process reads.
  const auto other = make_plan(problem);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->name(), plan->name());
  EXPECT_EQ(other->origin(), want);
  const std::string file = text_of(choice::measured_file(chip()));
  EXPECT_NE(file.find("# warpwright measured table, format 1\n# device\tNVIDIA H200\n"), std::string::npos) << file;
  EXPECT_NE(file.find("gemm 512x1024x512 a bf16 512/0 b bf16 512/0 d bf16 1024/0\t" + plan->name() + "\t"),
            std::string::npos)
      << file;
}

TEST_F(Measured, nobodyMeasuresUnasked) {
  GemmProblem problem = product(512, 1024, 576);
  competitors(problem);
  problem.tuning = Tuning::usual;
  const Memory memory(problem);
  const gpu::Stream stream;
  const auto plan = make_plan(problem);
  ASSERT_TRUE(plan);
  (void)recorded::lines();
  ASSERT_TRUE(plan->run(memory.pointers(), stream.get()));
  EXPECT_EQ(recorded::launches(recorded::lines()).size(), 1u);
  EXPECT_EQ(plan->origin(), "model");
  // The variable asks for all, and a plan that is named is not touched.
  setenv("WARPWRIGHT_TUNING", "measure", 1);
  problem.plan = plan->name();
  const auto named = make_plan(problem);
  ASSERT_TRUE(named);
  ASSERT_TRUE(named->run(memory.pointers(), stream.get()));
  EXPECT_EQ(recorded::launches(recorded::lines()).size(), 1u);
  EXPECT_EQ(named->origin(), "name");
  problem.plan.clear();
  const auto asked = make_plan(problem);
  ASSERT_TRUE(asked);
  ASSERT_TRUE(asked->run(memory.pointers(), stream.get()));
  EXPECT_GT(recorded::launches(recorded::lines()).size(), 10u);
  EXPECT_TRUE(asked->origin().starts_with("measured on"));
  setenv("WARPWRIGHT_TUNING", "often", 1);
  const auto refused = make_plan(problem);
  EXPECT_EQ(refused.status().message(), "WARPWRIGHT_TUNING = often: it must be usual, measure or ahead.");
}

TEST_F(Measured, whoAsksForPlansAheadWaitsForNoCompiler) {
  GemmProblem problem{.m = 448, .n = 4096, .k = 4096};
  const auto usual = choice::choose(problem, chip());
  ASSERT_TRUE(usual);
  ASSERT_FALSE(catalog::is_ahead(usual->choice.instance)) << usual->name() << ": a problem with another plan is needed";
  const auto ahead = choice::choose(problem, chip(), choice::OnDemand::refused);
  ASSERT_TRUE(ahead);
  put(ahead->choice.instance);
  problem.tuning = Tuning::ahead;
  const auto asked = make_plan(problem);
  ASSERT_TRUE(asked) << asked.status().message();
  EXPECT_EQ(asked->name(), ahead->name());
  // The variable asks for problems that do not say.
  setenv("WARPWRIGHT_TUNING", "ahead", 1);
  problem.tuning = Tuning::usual;
  EXPECT_EQ(make_plan(problem)->name(), ahead->name());
  // A plan that is named is taken as it is, and what nothing in the library serves is compiled.
  problem.plan = usual->name();
  EXPECT_EQ(choice::choose(problem, chip())->name(), usual->name());
  problem.plan.clear();
  problem.epilogue.formula = "x > 0 ? x : 0.125 * x";
  EXPECT_FALSE(choice::choose(problem, chip(), choice::OnDemand::refused));
  EXPECT_TRUE(choice::choose(problem, chip()));
}

TEST_F(Measured, nothingIsMeasuredDuringCapture) {
  const GemmProblem problem = product(640, 1024, 512);
  const auto names = competitors(problem);
  const auto plan = make_plan(problem);
  ASSERT_TRUE(plan);
  const Memory memory(problem);
  const gpu::Stream stream;
  (void)recorded::lines();
  Status captured;
  const gpu::Graph graph(stream, [&] { captured = plan->run(memory.pointers(), stream.get()); });
  EXPECT_TRUE(captured) << captured.message();
  const auto lines = recorded::lines();
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [](const json& line) { return line["call"] == "launch"; }), 1);
  EXPECT_EQ(plan->name(), names.front());
  ASSERT_TRUE(plan->run(memory.pointers(), stream.get()));
  EXPECT_TRUE(plan->origin().starts_with("measured on"));
}

// A workspace is zeroed once: no plan may use what another one left there.
TEST_F(Measured, aWorkspaceBelongsToOnePlan) {
  GemmProblem problem = product(256, 512, 16384);
  const auto names = competitors(problem);
  // With the made-up times the third is the fastest.
  ASSERT_TRUE(names[2].find("splitk") != std::string::npos) << names[2] << ": one that needs a workspace is wanted";
  const auto plan = make_plan(problem);
  ASSERT_TRUE(plan) << plan.status().message();
  ASSERT_GT(plan->workspace_bytes(), 0u);
  const Memory memory(problem);
  const gpu::DeviceMemory workspace(plan->workspace_bytes());
  GemmPointers pointers = memory.pointers();
  pointers.workspace = workspace.data();
  pointers.workspace_bytes = plan->workspace_bytes() - 1;
  const gpu::Stream stream;
  EXPECT_EQ(plan->run(pointers, stream.get()).code(), Code::invalid_argument);
  pointers.workspace_bytes = plan->workspace_bytes();
  const auto fresh = make_plan(problem);
  Status captured;
  const gpu::Graph graph(stream, [&] { captured = fresh->run(pointers, stream.get()); });
  EXPECT_TRUE(captured);
  EXPECT_NE(fresh->explanation().find("not measured, because its first run was captured"), std::string::npos);
  EXPECT_EQ(fresh->origin(), "model");
  // Where it is measured, the caller's workspace has one user: what is timed has memory of its own.
  (void)recorded::lines();
  ASSERT_TRUE(plan->run(pointers, stream.get()));
  EXPECT_TRUE(plan->origin().starts_with("measured on"));
  const auto lines = recorded::lines();
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const json& line) { return line["call"] == "allocate"; }));
  const auto launches = recorded::launches(lines);
  const std::string last = launches.back()["arguments"].dump();
  EXPECT_EQ(
      std::count_if(launches.begin(), launches.end(), [&](const json& one) { return one["arguments"].dump() == last; }),
      1);
}

// What runs on a stream may share is told apart from what belongs to one of them.
TEST_F(Measured, sumsAreKeptAndCopiesAreNot) {
  const auto sums = make_plan(GemmProblem{.m = 256, .n = 512, .k = 16384});
  ASSERT_TRUE(sums) << sums.status().message();
  EXPECT_GT(sums->kept_bytes(), 0u);
  EXPECT_EQ(sums->kept_bytes(), sums->workspace_bytes());
  const auto copies = make_plan(GemmProblem{.m = 2047, .n = 2047, .k = 2047});
  ASSERT_TRUE(copies) << copies.status().message();
  ASSERT_TRUE(copies->name().ends_with("-packed")) << copies->name();
  EXPECT_EQ(copies->kept_bytes(), 0u);
  EXPECT_GT(copies->workspace_bytes(), 0u);
  // Among plans that compete, copies come after the sums of all.
  const GemmProblem odd = product(128, 255, 16383);
  competitors(odd);
  const auto both = make_plan(odd);
  ASSERT_TRUE(both) << both.status().message();
  EXPECT_GT(both->workspace_bytes(), both->kept_bytes());
}

TEST_F(Measured, deterministicProductsHaveDeterministicPlans) {
  GemmProblem problem = product(2048, 2048, 2048);
  problem.deterministic = true;
  const auto chosen = choice::choose(problem, chip());
  ASSERT_TRUE(chosen);
  int streams = 0;
  for (const choice::Decision& other : choice::finalists(*chosen, problem, chip())) {
    const auto* c = other.choice.instance.as<DenseGemmConfig>();
    EXPECT_TRUE(c == nullptr || c->split != DepthSplit::stream_k) << other.name();
    EXPECT_TRUE(choice::can_serve(other.choice.instance, other.kernel.shape)) << other.name();
  }
  // Without it there are such plans among the best of some products, or this test would say nothing.
  for (const int64_t m : {1024, 1536, 2048, 2560, 3072, 4096}) {
    const GemmProblem free = product(m, 2048, 8192);
    const auto first = choice::choose(free, chip());
    for (const choice::Decision& other : choice::finalists(*first, free, chip())) {
      const auto* c = other.choice.instance.as<DenseGemmConfig>();
      streams += c != nullptr && c->split == DepthSplit::stream_k ? 1 : 0;
    }
  }
  EXPECT_GT(streams, 0);
  EXPECT_NE(choice::measured_key(problem), choice::measured_key(product(2048, 2048, 2048)));
}

// C is D: what is timed goes elsewhere, and only the last launch writes D.
TEST_F(Measured, aResultThatIsAnInputIsNotTouched) {
  GemmProblem problem = product(512, 512, 512);
  problem.beta = 1;
  competitors(problem);
  const auto plan = make_plan(problem);
  ASSERT_TRUE(plan) << plan.status().message();
  const Memory memory(problem);
  GemmPointers pointers = memory.pointers();
  pointers.c = pointers.d;
  const gpu::Stream stream;
  (void)recorded::lines();
  ASSERT_TRUE(plan->run(pointers, stream.get()));
  const auto lines = recorded::lines();
  const auto launches = recorded::launches(lines);
  ASSERT_GT(launches.size(), 10u);
  // The scratch result is what the run allocated.
  ASSERT_TRUE(std::any_of(lines.begin(), lines.end(), [&](const json& line) {
    return line["call"] == "allocate" && line["bytes"] == 512 * 512 * 2;
  }));
  const auto text = [](const json& launch) { return launch["arguments"].dump(); };
  EXPECT_NE(text(launches.back()), text(launches.front()));
  const std::string last = text(launches.back());
  EXPECT_EQ(std::count_if(launches.begin(), launches.end(), [&](const json& one) { return text(one) == last; }), 1);
}

TEST_F(Measured, groups) {
  GroupedProblem problem{.groups = Groups::contiguous, .m = 1024, .n = 1024, .k = 512, .group_count = 4};
  problem.tuning = Tuning::measure;
  const auto names = competitors(problem);
  ASSERT_GE(names.size(), 2u);
  const auto plan = make_plan(problem);
  ASSERT_TRUE(plan) << plan.status().message();
  const gpu::DeviceMemory a(1024 * 512), b(4 * 1024 * 512), d(1024 * 1024 * 2), rows(5 * 4), status(4),
      a_scales(1024 * 4 * 4), b_scales(4 * 8 * 4 * 4);
  const gpu::Stream stream;
  (void)recorded::lines();
  const GroupedPointers pointers{.a = a.data(),
                                 .b = b.data(),
                                 .a_scales = reinterpret_cast<const float*>(a_scales.data()),
                                 .b_scales = reinterpret_cast<const float*>(b_scales.data()),
                                 .d = d.data(),
                                 .rows = reinterpret_cast<const uint32_t*>(rows.data()),
                                 .status = reinterpret_cast<uint32_t*>(status.data())};
  ASSERT_TRUE(plan->run(pointers, stream.get()));
  const auto launches = recorded::launches(recorded::lines());
  EXPECT_EQ(numbers(launches).size(), names.size());
  double least = 1e9;
  for (const json& one : launches) least = std::min(least, time_of(one));
  EXPECT_EQ(time_of(launches.back()), least);
  // The status word is the last launch's alone.
  EXPECT_NE(launches.back()["arguments"]["addresses"].size(), launches.front()["arguments"]["addresses"].size());
  const auto other = make_plan(problem);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->name(), plan->name());
  EXPECT_TRUE(other->origin().starts_with("measured on NVIDIA H200"));
}

TEST_F(Measured, theNextProcessReadsTheFile) {
  const GemmProblem problem = product(768, 1024, 512);
  const auto names = competitors(problem);
  // A process of its own: this one has never seen the problem.
  const pid_t child = fork();
  if (child == 0) {
    choice::keep_measured({choice::measured_key(problem), names.back(), 12.3, 20}, chip());
    _exit(0);
  }
  int left = 0;
  ASSERT_EQ(waitpid(child, &left, 0), child);
  ASSERT_EQ(left, 0);
  const auto plan = make_plan(problem);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->name(), names.back());
  EXPECT_EQ(plan->origin(), "measured on NVIDIA H200: 12.3 us");
  // Not on another chip, nor with another driver.
  choice::Chip other = chip();
  other.driver += 10;
  EXPECT_FALSE(choice::measured_row(choice::measured_key(product(768, 1024, 4096)), other));
  const auto usual = choice::choose(problem, chip());
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->choice.by, choice::ChosenBy::measured);
}

TEST_F(Measured, aFileThatCannotBeReadIsSaidAndIgnored) {
  const std::string path = choice::measured_file(chip());
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << "# warpwright measured table, format 1\nrubbish\n";
  const GemmProblem problem = product(896, 1024, 512);
  testing::internal::CaptureStderr();
  competitors(problem);
  const auto plan = make_plan(problem);
  ASSERT_TRUE(plan) << plan.status().message();
  const Memory memory(problem);
  const gpu::Stream stream;
  ASSERT_TRUE(plan->run(memory.pointers(), stream.get()));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "warpwright: " + path +
                      ": line 2 of the tuned table: the columns are not those of this format. The file is ignored, and "
                      "what it had is measured again.\n");
  EXPECT_TRUE(plan->origin().starts_with("measured on"));
  EXPECT_NE(text_of(path).find("gemm 896x1024x512"), std::string::npos);
}

TEST_F(Measured, threadsWaitForOneMeasurement) {
  const GemmProblem problem = product(1152, 1024, 512);
  const auto names = competitors(problem);
  const auto plan = make_plan(problem);
  ASSERT_TRUE(plan);
  const Memory memory(problem);
  (void)recorded::lines();
  std::vector<std::thread> threads;
  std::vector<Status> done(4);
  for (Status& one : done) {
    threads.emplace_back([&] {
      recorded::set_device(0);
      const gpu::Stream stream;
      one = plan->run(memory.pointers(), stream.get());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& one : done) EXPECT_TRUE(one) << one.message();
  const auto launches = recorded::launches(recorded::lines());
  // Each competitor twice before the rounds, and in each of them up to ten times; four runs of the winner.
  const size_t least = names.size() * 3 + 4, most = names.size() * (2 + 7 * 10) + 4;
  EXPECT_GE(launches.size(), least);
  EXPECT_LE(launches.size(), most);
  for (size_t i = launches.size() - 4; i < launches.size(); ++i) {
    EXPECT_EQ(launches[i]["number"], launches.back()["number"]);
  }
}

TEST_F(Measured, fromC) {
  const GemmProblem like = product(1280, 1024, 512);
  competitors(like);
  ww_gemm_problem problem;
  ww_gemm_problem_init(&problem);
  problem.m = 1280;
  problem.n = 1024;
  problem.k = 512;
  problem.tuning = WW_TUNING_MEASURE;
  ww_plan* plan = nullptr;
  ASSERT_EQ(ww_plan_create(&problem, &plan), WW_OK) << ww_last_error();
  const std::string before = ww_plan_name(plan);
  const char* const kept = ww_plan_name(plan);
  const Memory memory(like);
  ww_gemm_pointers pointers;
  ww_gemm_pointers_init(&pointers);
  pointers.a = memory.a.data();
  pointers.b = memory.b.data();
  pointers.d = memory.d.data();
  const gpu::Stream stream;
  ASSERT_EQ(ww_plan_run(plan, &pointers, stream.get()), WW_OK) << ww_last_error();
  EXPECT_NE(std::string(ww_plan_explanation(plan)).find("measured on NVIDIA H200"), std::string::npos);
  EXPECT_EQ(kept, before) << "a text lives as long as its plan";
  ww_plan_destroy(plan);
  problem.tuning = 7;
  EXPECT_EQ(ww_plan_create(&problem, &plan), WW_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(ww_last_error()), "tuning = 7: it is not one of the values of its type.");
}

}  // namespace
}  // namespace warpwright
