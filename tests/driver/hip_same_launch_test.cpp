// For every instance of the catalogue for CDNA: what the host API hands to HIP is what the simulator was given and what
// the interpreter of its machine code is given; and the interpreter, run on the very launch that was recorded, in the
// memory of the pretended device, leaves the right result there.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "amd/matmul.h"
#include "driver/expected.h"
#include "driver/same_launch.h"
#include "driver/session.h"
#include "gpu/executor.h"
#include "gpu/memory.h"
#include "launch/dense.h"
#include "measure/guarded_arrays.h"
#include "simulate/examples.h"
#include "simulate/product.h"

namespace warpwright {
namespace {

using nlohmann::json;
using recorded::Comparison;
using recorded::Images;

// By their numbers.
const Arch kDevices[] = {Arch::gfx950, Arch::gfx942};

class EveryCdnaInstance : public testing::Test {
 protected:
  static void SetUpTestSuite() { recorded::begin_hip("gfx950,gfx942"); }
  void SetUp() override {
    if (gpu::embedded_image("gfx950/matmul-pingpong/bf16", "gfx950").empty()) {
      GTEST_SKIP() << "this build has no code objects";
    }
  }
  // Makes the device that runs it the current one.
  static int device_of(const catalog::Instance& instance) {
    const int number = catalog::arch_of(instance) == kDevices[0] ? 0 : 1;
    recorded::set_device(number);
    return number;
  }
};

// The pretended device has memory of its own, too little for matrices that lie gigabytes apart.
std::vector<reference::Case> cases_of(const catalog::Instance& instance) {
  const auto example = simulate::example_of(instance);
  if (!example) return {};
  std::vector<reference::Case> list = example->cases;
  std::erase_if(list, [](const reference::Case& c) { return c.condition == reference::Condition::far; });
  return list;
}

TEST_F(EveryCdnaInstance, isLaunchedAsTheSimulatorHasIt) {
  int instances = 0, launches = 0, runs = 0;
  std::vector<recorded::Found> found;
  for (const catalog::Instance& instance : catalog::cdna_instances()) {
    if (!simulate::behind_api(instance)) continue;
    ++instances;
    device_of(instance);
    const auto cases = cases_of(instance);
    EXPECT_FALSE(cases.empty()) << catalog::name_of(instance);
    found.push_back({name(catalog::arch_of(instance)), catalog::name_of(instance), "equal"});
    for (const reference::Case& c : cases) {
      const Comparison compared = recorded::compare(instance, c, 0, Images::compiled);
      EXPECT_EQ(compared.difference, "") << catalog::name_of(instance) << " " << c.m << "x" << c.n << "x" << c.k;
      found.back().count(compared);
      launches += compared.launches;
      ++runs;
    }
  }
  RecordProperty("launches", recorded::text_of(found));
  EXPECT_EQ(instances, 24);
  EXPECT_EQ(launches, runs);
}

// The arguments that the recorder saw, with the addresses where it has put zeros.
std::vector<uint8_t> argument_bytes(const json& launch, const std::map<int, uint64_t>& buffers) {
  const std::string text = launch["arguments"]["bytes"];
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < text.size(); i += 2) bytes.push_back(uint8_t(std::stoi(text.substr(i, 2), nullptr, 16)));
  for (const json& one : launch["arguments"]["addresses"]) {
    const uint64_t address = buffers.at(one["buffer"]) + one["offset"].get<uint64_t>();
    std::memcpy(bytes.data() + one["at"].get<size_t>(), &address, sizeof address);
  }
  return bytes;
}

// As the interpreter's own runs have it, from the same arguments.
void expect_launch_of_interpreter(const json& recorded, const std::vector<uint8_t>& bytes,
                                  const CdnaMatmulConfig& config) {
  CdnaMatmulArgs args;
  ASSERT_EQ(bytes.size(), sizeof args);
  std::memcpy(&args, bytes.data(), sizeof args);
  const amd::Launch launch = amd::matmul_launch(config, args, bytes.size());
  EXPECT_EQ(recorded["grid"], json(launch.groups));
  EXPECT_EQ(recorded["block"], json(launch.threads));
  EXPECT_EQ(bytes, launch.kernarg);
}

// Runs the code object of the build on a launch that was recorded, in the memory of the pretended device.
void execute(const catalog::Instance& instance, const json& recorded, const std::vector<uint8_t>& bytes,
             const std::vector<json>& log) {
  const std::string kernel = recorded["kernel"];
  const auto object = amd::load_code_object(std::string(WW_CODE_OBJECTS) + "/" + name(catalog::arch_of(instance)) +
                                            "/" + kernel + ".co");
  ASSERT_TRUE(object) << object.status().message();
  ASSERT_NE(object->find(kernel), nullptr);
  amd::Launch launch;
  for (size_t i = 0; i < 3; ++i) {
    launch.groups[i] = recorded["grid"][i];
    launch.threads[i] = recorded["block"][i];
  }
  launch.kernarg = bytes;
  for (const json& line : log) {
    if (line["call"] != "allocate") continue;
    launch.memory.push_back({reinterpret_cast<void*>(line["address"].get<uint64_t>()), line["bytes"], true});
  }
  const amd::RunResult run = amd::execute(*object, *object->find(kernel), launch);
  EXPECT_TRUE(run.clean()) << run.error << (run.findings.empty() ? "" : run.findings.front().text);
}

TEST_F(EveryCdnaInstance, isLaunchedAsTheInterpreterHasItAndGivesTheRightResultThere) {
  const bool executes = !amd::find_disassembler().empty();
  for (const catalog::Instance& instance : catalog::cdna_instances()) {
    if (!simulate::behind_api(instance)) continue;
    SCOPED_TRACE(catalog::name_of(instance));
    device_of(instance);
    const auto& config = *instance.as<CdnaMatmulConfig>();
    // Rows of every matrix apart from each other, and a factor.
    GemmProblem problem{.m = config.tile_m() + 22, .n = 68, .k = 208, .alpha = 0.5f};
    problem.a.type = problem.b.type = config.type;
    problem.d.type = config.out_type;
    problem.a.stride = 224;
    problem.b.stride = 240;
    problem.d.stride = 72;
    if (config.general) {
      // Two products, nodes between a sum and D, and another type of D.
      problem.batch = 2;
      problem.beta = 2;
      problem.c.type = DType::fp16;
      problem.d.type = DType::fp32;
      problem.epilogue.bias = Bias::per_row;
      problem.epilogue.activation = Activation::relu;
    }
    if (config.by_elements) {
      problem.a.major = Major::MN;
      problem.a.stride = problem.m + 3;
      problem.alignment = 4;
    }
    problem.plan =
        config.split == DepthSplit::split_k ? catalog::name_of({instance.config, 3}) : catalog::name_of(instance);
    const auto product = simulate::dense_product(problem, choice::simulated_chip(config.arch));
    ASSERT_TRUE(product) << product.status().message();
    const auto w = reference::workload_of(product->problem, 0, reference::Data::integers, 1);
    (void)recorded::lines();
    const measure::GuardedArrays arrays(w);
    const gpu::Stream stream;
    const Status status = simulate::launch_on_gpu(*product, w, arrays.pointers(), stream.get());
    ASSERT_TRUE(status) << status.message();
    const auto log = recorded::lines();
    const auto launches = recorded::launches(log);
    ASSERT_EQ(launches.size(), 1u);
    const auto bytes = argument_bytes(launches[0], recorded::buffers_in(log));
    expect_launch_of_interpreter(launches[0], bytes, config);
    if (!executes) continue;
    EXPECT_FALSE(reference::judge(w, arrays.output()).ok) << "nothing has run yet";
    execute(instance, launches[0], bytes, log);
    EXPECT_TRUE(reference::judge(w, arrays.output()).ok);
    EXPECT_EQ(arrays.stray_bytes(w), 0u);
  }
  if (!executes) GTEST_SKIP() << "the launches were compared, but there is no llvm-objdump to execute them";
}

// The one that no problem of the API asks for, since its 8-bit codes are others: by the executor alone.
TEST_F(EveryCdnaInstance, thatIsNotBehindTheApiIsLaunchedAsTheInterpreterHasIt) {
  int others = 0;
  std::vector<recorded::Found> found;
  for (const catalog::Instance& instance : catalog::cdna_instances()) {
    if (simulate::behind_api(instance)) continue;
    SCOPED_TRACE(catalog::name_of(instance));
    ++others;
    const auto& config = *instance.as<CdnaMatmulConfig>();
    GemmProblem problem{.m = 300, .n = 520, .k = 208};
    problem.a.type = problem.b.type = config.type;
    problem.d.type = config.out_type;
    const auto loaded = gpu::ready(instance, device_of(instance));
    ASSERT_TRUE(loaded) << loaded.status().message();
    (void)recorded::lines();
    const gpu::DeviceMemory a(300 * 208), b(520 * 208), d(300 * 520 * 2);
    CdnaMatmulArgs args;
    launch::Arguments filled;
    ASSERT_TRUE(launch::fill_arguments(filled, instance, problem, problem::lower(problem),
                                       {.a = a.data(), .b = b.data(), .d = d.data()}, simulate::map_encoder()));
    ASSERT_TRUE(gpu::launch(**loaded, instance, filled, nullptr, 0, false));
    const auto log = recorded::lines();
    const auto launches = recorded::launches(log);
    ASSERT_EQ(launches.size(), 1u);
    EXPECT_EQ(launches[0]["answer"], 0) << launches[0].dump();
    const auto bytes = argument_bytes(launches[0], recorded::buffers_in(log));
    EXPECT_EQ(std::memcmp(bytes.data(), launch::bytes_of(filled), sizeof args), 0);
    EXPECT_EQ(launches[0]["shared_bytes"], catalog::block_plan(instance).shared_bytes);
    expect_launch_of_interpreter(launches[0], bytes, config);
    found.push_back({name(config.arch), catalog::name_of(instance), "equal"});
    found.back().count({HasFailure() ? "a check failed" : "", 1});
  }
  RecordProperty("launches", recorded::text_of(found));
  EXPECT_EQ(others, 1);
}

}  // namespace
}  // namespace warpwright
