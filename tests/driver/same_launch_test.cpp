// For every instance of the catalogue that the host API runs: what it hands to the driver is what the simulator was
// given. The driver is the recorder, which also holds every call against the rules of the real one. Instances that this
// build did not compile have a stand-in for their image (stand_in.h). What was found of each instance is a property of
// the test, which --gtest_output writes and tools/catalogue_table.py reads.
#include "driver/same_launch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "driver/session.h"
#include "driver/stand_in.h"
#include "gpu/executor.h"
#include "gpu/memory.h"
#include "measure/guarded_arrays.h"
#include "simulate/examples.h"
#include "simulate/product.h"

namespace warpwright {
namespace {

using recorded::Comparison;
using recorded::Images;

// By their numbers.
const char* const kDevices[] = {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"};

class EveryInstance : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string all;
    for (const char* const device : kDevices) all += all.empty() ? device : "," + std::string(device);
    recorded::begin(all);
    recorded::set_device(0);
    images_ = recorded::put_images(Arch::sm80);
  }
  void SetUp() override {
    if (!images_) GTEST_SKIP() << "this build has no device code, and there is no compiler";
  }

 private:
  inline static bool images_ = false;
};

// Sizes at which the reference of the workload is cheap.
std::vector<reference::Case> small_cases(const catalog::Instance& instance) {
  std::vector<reference::Case> list;
  const auto example = simulate::example_of(instance);
  if (!example) return list;
  for (const reference::Case& c : example->cases) {
    if (c.m * c.n * c.k <= int64_t(1) << 24 && c.condition == reference::Condition::alone) list.push_back(c);
  }
  return list;
}

// Whether the device has room for a block of it, and its MMAs.
bool fits(const catalog::Instance& instance) {
  const auto device = gpu::this_device();
  const auto* const c = instance.as<MmaSyncGemmConfig>();
  if (c != nullptr && c->type == DType::e4m3 && 10 * device->major + device->minor < 89) return false;
  return catalog::block_plan(instance).shared_bytes <= device->shared_bytes;
}

void expect_launches_of_the_simulator(Arch arch, const char* device, int least, const std::vector<int>& sm_limits) {
  const auto number = std::find(std::begin(kDevices), std::end(kDevices), std::string(device)) - std::begin(kDevices);
  recorded::set_device(int(number));
  ASSERT_TRUE(gpu::this_device()) << gpu::this_device().status().message();
  int instances = 0, launches = 0, runs = 0;
  std::vector<recorded::Found> found;
  for (const catalog::Instance& instance : catalog::ahead()) {
    if (catalog::arch_of(instance) != arch || !simulate::behind_api(instance) || !fits(instance)) continue;
    ++instances;
    const auto cases = small_cases(instance);
    EXPECT_FALSE(cases.empty()) << catalog::name_of(instance);
    found.push_back({device, catalog::name_of(instance), "equal"});
    for (const reference::Case& c : cases) {
      for (const int sm_limit : sm_limits) {
        const Comparison compared = recorded::compare(instance, c, sm_limit, Images::stand_in);
        EXPECT_EQ(compared.difference, "") << catalog::name_of(instance) << " " << c.m << "x" << c.n << "x" << c.k
                                           << " on " << device << ", " << sm_limit << " SMs";
        found.back().count(compared);
        launches += compared.launches;
        ++runs;
      }
    }
  }
  testing::Test::RecordProperty(std::string("launches_") + device, recorded::text_of(found));
  EXPECT_GE(instances, least) << device;
  EXPECT_GE(launches, runs) << device;
}

TEST_F(EveryInstance, ofHopperIsLaunchedAsTheSimulatorHasIt) {
  expect_launches_of_the_simulator(Arch::sm90, "sm_90", 140, {0, 8});
}

TEST_F(EveryInstance, ofBlackwellIsLaunchedAsTheSimulatorHasIt) {
  for (const char* const device : {"sm_100", "sm_103"}) {
    expect_launches_of_the_simulator(Arch::sm100, device, 30, {0, 16});
  }
}

// Chips with less shared memory leave one tile out.
TEST_F(EveryInstance, ofMmaSyncIsLaunchedAsTheSimulatorHasIt) {
  expect_launches_of_the_simulator(Arch::sm80, "sm_90", 19, {0, 8});
  expect_launches_of_the_simulator(Arch::sm80, "sm_80", 17, {0, 8});
  expect_launches_of_the_simulator(Arch::sm80, "sm_86", 16, {0});
  expect_launches_of_the_simulator(Arch::sm80, "sm_89", 18, {0});
  expect_launches_of_the_simulator(Arch::sm80, "sm_120", 18, {0});
  expect_launches_of_the_simulator(Arch::sm80, "sm_100", 19, {0});  // any chip runs mma.sync
}

TEST_F(EveryInstance, isLaunchedAfterTheCopyOfItsOperandsWhereTheTmaCannotReadThem) {
  recorded::set_device(3);
  std::vector<recorded::Found> found;
  const std::pair<const char*, const char*> both[] = {
      {"sm90/dense-128x128-c1-s6/bf16-nt", "sm90/pack_rows-w8-b4/bytes2"},
      {"sm90/dense-128x256-c2-s4/e4m3-nt-tensor", "sm90/pack_rows-w8-b4/bytes1"}};
  for (const auto& [product, copy] : both) {
    const auto instance = catalog::parse_instance(product);
    ASSERT_TRUE(instance);
    found.push_back({"sm_90", copy, "equal"});
    for (const int sm_limit : {0, 8}) {
      const Comparison compared = recorded::compare_packed(*instance, {200, 136, 1001}, sm_limit, Images::stand_in);
      EXPECT_EQ(compared.difference, "") << product << ", " << sm_limit << " SMs";
      EXPECT_EQ(compared.launches, 2) << product;
      found.back().count(compared);
    }
  }
  RecordProperty("launches", recorded::text_of(found));
}

// With what its text names, by the kernel that was compiled with the text.
TEST_F(EveryInstance, withAnEpilogueOfTheUsersOwnIsLaunchedAsTheSimulatorHasIt) {
  GemmProblem problem{.m = 200, .n = 136, .k = 96, .alpha = 0.5f, .beta = 2};
  problem.epilogue.formula = "x * bias + beta * c + residual * row";
  problem.epilogue.bias = Bias::per_column;
  problem.epilogue.residual = true;
  const std::pair<Arch, int> places[] = {{Arch::sm90, 3}, {Arch::sm100, 4}, {Arch::sm80, 0}};
  for (const auto& [arch, device] : places) {
    recorded::set_device(device);
    const Comparison compared = recorded::compare(problem, arch, 0, Images::stand_in);
    EXPECT_EQ(compared.difference, "") << name(arch);
    EXPECT_EQ(compared.launches, 1) << name(arch);
  }
  // A mistake is reported when the plan is made, before anything is compiled or launched.
  (void)recorded::lines();
  problem.epilogue.formula = "x * bias + beta * c + residual * rows";
  const auto plan = make_plan(problem);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.status().code(), Code::invalid_argument);
  EXPECT_TRUE(plan.status().message().starts_with("epilogue, line 1, column 34: 'rows' is not known"))
      << plan.status().message();
  EXPECT_TRUE(recorded::launches(recorded::lines()).empty());
}

// The same of products by groups and of one with blockwise scales, whose biases lie by matrices or by rows.
TEST_F(EveryInstance, ofGroupsWithAnEpilogueOfTheUsersOwnIsLaunchedAsTheSimulatorHasIt) {
  for (const auto& [arch, device] : {std::pair{Arch::sm90, 3}, {Arch::sm100, 4}}) {
    recorded::set_device(device);
    for (const DType type : {DType::bf16, DType::e4m3}) {
      GroupedProblem p{.groups = Groups::contiguous, .m = 200, .n = 136, .k = 272, .group_count = 3, .type = type};
      for (const bool rows : {false, true}) {
        p.formula = rows ? "x * row_bias + beta" : "x * bias + beta * batch";
        p.bias = rows ? Bias::per_row : Bias::per_column;
        p.beta = 2;
        const Comparison compared = recorded::compare(p, arch, 0, Images::stand_in);
        EXPECT_EQ(compared.difference, "") << name(arch) << " " << name(type) << " " << p.formula;
        EXPECT_EQ(compared.launches, 1);
      }
    }
    GroupedProblem one{.m = 200, .n = 136, .k = 272, .bias = Bias::per_column};
    one.formula = "x + bias";
    EXPECT_EQ(recorded::compare(one, arch, 0, Images::stand_in).difference, "") << name(arch);
  }
}

// Hopper's matrices have no factors.
TEST_F(EveryInstance, takesNoPointerThatItsKernelsDoNotKnow) {
  recorded::set_device(3);
  const GroupedProblem p{
      .groups = Groups::contiguous, .m = 64, .n = 64, .k = 64, .group_count = 2, .type = DType::bf16};
  const auto choice = choice::choose(p, choice::simulated_chip(Arch::sm90));
  ASSERT_TRUE(choice);
  ASSERT_TRUE(recorded::put_image(choice->instance, gpu::target_of(choice->instance, *gpu::this_device()),
                                  sizeof(GroupedGemmArgs)));
  const auto plan = make_plan(p);
  ASSERT_TRUE(plan) << plan.status().message();
  const gpu::DeviceMemory memory(1 << 20);
  GroupedPointers pointers{.a = memory.data(), .b = memory.data(), .d = memory.data()};
  pointers.rows = static_cast<const uint32_t*>(static_cast<const void*>(memory.data()));
  pointers.matrix_alpha = static_cast<const float*>(static_cast<const void*>(memory.data()));
  (void)recorded::lines();
  const Status status = plan->run(pointers, nullptr);
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_TRUE(status.message().starts_with("matrix_alpha = 0x") &&
              status.message().ends_with(": on sm90 matrices have no factors, so it must be null."))
      << status.message();
  EXPECT_TRUE(recorded::launches(recorded::lines()).empty());
}

// Kernels that no problem of the API asks for, as the tool and the tests put them on a GPU.
TEST_F(EveryInstance, thatTeachesIsLaunchedAsItsBlockIsLaidOut) {
  for (const auto& [arch, device] : {std::pair{Arch::sm90, 3}, {Arch::sm100, 4}}) {
    recorded::set_device(device);
    ASSERT_TRUE(recorded::put_images(arch));
  }
  int kernels = 0;
  std::vector<recorded::Found> found;
  for (const simulate::Example& e : simulate::examples()) {
    const auto instance = catalog::parse_instance(e.instance);
    if (e.launch == nullptr || !instance || simulate::behind_api(*instance)) continue;
    ++kernels;
    recorded::set_device(e.arch == Arch::sm100 ? 4 : 3);
    const auto w = e.workload(e.cases.front(), reference::Data::integers, 1);
    const measure::GuardedArrays arrays(w);
    const gpu::Stream stream;
    (void)recorded::lines();
    const Status status = e.launch(w, arrays.pointers(), stream.get());
    EXPECT_TRUE(status) << e.name << ": " << status.message();
    const auto launches = recorded::launches(recorded::lines());
    ASSERT_EQ(launches.size(), 1u) << e.name;
    const nlohmann::json& one = launches[0];
    EXPECT_EQ(one["answer"], 0) << one.dump();
    EXPECT_EQ(one["block"][0], e.plan->threads()) << e.name;
    EXPECT_EQ(one["shared_bytes"], e.plan->shared_bytes) << e.name;
    EXPECT_EQ(one["attributes"].size(), e.plan->cluster > 1 ? 1u : 0u) << e.name;
    EXPECT_FALSE(one["arguments"]["addresses"].empty() && one["arguments"]["maps"].empty()) << e.name;
    found.push_back({e.arch == Arch::sm100 ? "sm_100" : "sm_90", e.instance, "as planned"});
    found.back().count({HasFailure() ? "a check failed" : "", 1});
  }
  RecordProperty("launches", recorded::text_of(found));
  EXPECT_GE(kernels, 5);
}

}  // namespace
}  // namespace warpwright
