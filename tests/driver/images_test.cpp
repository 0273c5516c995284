// What the images of this build for NVIDIA say of themselves, read in two ways: by the library (src/gpu/cubin.h) and by
// the recorder. And the rules of launches that hang on it.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "driver/recorder/chip.h"
#include "driver/recorder/image.h"
#include "driver/recorder/rules.h"
#include "gpu/cubin.h"
#include "gpu/devices.h"
#include "gpu/embedded.h"
#include "gpu/executor.h"
#include "gpu/image.h"
#include "launch/quantize_rules.h"
#include "launch/verify_rules.h"

namespace {

using recorder::Image;

// NVIDIA's images; driver.hip_images has AMD's.
std::vector<warpwright::gpu::EmbeddedImage> images() {
  std::vector<warpwright::gpu::EmbeddedImage> list;
  for (const auto& one : warpwright::gpu::embedded_images())
    if (!warpwright::gpu::arch_of(one.target)) list.push_back(one);
  return list;
}

TEST(Images, sayTheSameToTheLibraryAndToTheRecorder) {
  for (const auto& one : images()) {
    SCOPED_TRACE(std::string(one.name) + " for " + one.target);
    const std::span<const uint8_t> bytes(one.begin, one.end);
    const auto image = recorder::read_image(bytes);
    ASSERT_TRUE(image);
    const std::string target = one.target;  // "sm_90a", "compute_80"
    EXPECT_EQ(image->kind, target.starts_with("sm_") ? Image::Kind::cubin : Image::Kind::ptx);
    EXPECT_EQ(image->target, std::stoi(target.substr(target.find('_') + 1)));
    EXPECT_EQ(image->exact, target.back() == 'a');
    EXPECT_EQ(recorder::extent_of(one.begin).size(), bytes.size());
    const auto facts = warpwright::gpu::facts_of(bytes);
    if (!facts) continue;  // kernels that are not instances
    const recorder::Kernel* const kernel = image->find("warpwright_kernel");
    ASSERT_NE(kernel, nullptr);
    EXPECT_EQ(kernel->parameter_bytes(), facts->argument_bytes);
    EXPECT_EQ(kernel->most_threads, facts->threads);
    if (image->kind == Image::Kind::ptx) continue;
    EXPECT_GT(kernel->registers, 0u);
    // All blocks that a multiprocessor is to hold.
    const std::string chip = "sm_" + std::to_string(image->target);
    recorder::KernelState state{kernel, &*image, int(facts->shared_bytes), true};
    EXPECT_GE(recorder::resident_blocks(state, *recorder::chip_named(chip), facts->threads, facts->shared_bytes),
              int(facts->blocks_per_sm));
  }
}

// The build compiles an instance for what the library asks for on the devices that run it, and for nothing else.
TEST(Images, areThereForEveryDeviceThatRunsThem) {
  using warpwright::Arch;
  using warpwright::gpu::Device;
  const Device devices[] = {{0, "", 1, 8, 0, Arch::sm80},  {0, "", 1, 8, 6, Arch::sm80}, {0, "", 1, 8, 9, Arch::sm80},
                            {0, "", 1, 12, 0, Arch::sm80}, {0, "", 1, 9, 0, Arch::sm90}, {0, "", 1, 10, 0, Arch::sm100},
                            {0, "", 1, 10, 3, Arch::sm100}};
  std::map<std::string, std::set<std::string>> compiled;
  for (const auto& one : images()) compiled[one.name].insert(one.target);
  for (const auto& [name, targets] : compiled) {
    const auto instance = warpwright::catalog::parse_instance(name);
    if (!instance) continue;  // no instance of the catalogue
    std::set<std::string> asked;
    const Arch arch = warpwright::catalog::arch_of(*instance);
    for (const Device& device : devices) {
      if (device.arch != arch && arch != Arch::sm80) continue;
      const std::string target = warpwright::gpu::target_of(*instance, device).ahead;
      asked.insert(target);
      const auto bytes = warpwright::gpu::embedded_image(name, target);
      const auto image = recorder::read_image(bytes);
      ASSERT_TRUE(image) << name << " for " << target;
      const bool narrow = target == "compute_89" && 10 * device.major + device.minor < 89;
      EXPECT_EQ(image->runs_on(device.major, device.minor), !narrow) << name << " for " << target;
    }
    EXPECT_EQ(targets, asked) << name;
  }
}

// Kernels that are not instances carry no facts: their arguments are those of their one caller.
TEST(Images, ofOwnKernelsTakeTheArgumentsOfTheirCaller) {
  for (const auto& one : images()) {
    const std::string name = one.name;
    if (!name.starts_with("any/")) continue;
    const auto image = recorder::read_image({one.begin, one.end});
    ASSERT_TRUE(image) << name;
    for (const recorder::Kernel& kernel : image->kernels) {
      const size_t expected = name == "any/verify"                  ? sizeof(warpwright::VerifyArgs)
                              : kernel.name == "begin_tensor_scale" ? sizeof(float*)
                                                                    : sizeof(warpwright::QuantizeArgs);
      EXPECT_EQ(kernel.parameter_bytes(), expected) << name << " " << kernel.name << " for " << one.target;
    }
  }
}

TEST(Images, ofOneChipRunOnOthersAsTheirTargetSays) {
  Image image;
  image.target = 90;
  EXPECT_TRUE(image.runs_on(9, 0));
  EXPECT_FALSE(image.runs_on(10, 0));
  image.target = 80;
  EXPECT_TRUE(image.runs_on(8, 9));
  EXPECT_FALSE(image.runs_on(9, 0));
  image.target = 100;
  EXPECT_TRUE(image.runs_on(10, 3));
  image.exact = true;
  EXPECT_FALSE(image.runs_on(10, 3));
  image = {};
  image.kind = Image::Kind::ptx;
  image.target = 80;
  EXPECT_TRUE(image.runs_on(12, 0));
  EXPECT_FALSE(image.runs_on(7, 5));
}

TEST(Images, ofPtxAreRead) {
  const std::string text =
      "// a comment .target sm_10\n.version 8.0\n.target sm_80, debug\n.address_size 64\n"
      ".visible .entry one(\n  .param .align 64 .b8 one_0[640],\n  .param .u64 one_1,\n  .param .u32 one_2\n)\n"
      ".maxntid 384, 1, 1\n.minnctapersm 1\n{\n  .shared .align 4 .b8 x[32];\n  st.shared.u32 [x], %r1;\n  ret;\n}\n"
      ".visible .entry two()\n{\n  ret;\n}\n";
  const auto image = recorder::read_image({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  ASSERT_TRUE(image);
  EXPECT_EQ(image->target, 80);
  ASSERT_EQ(image->kernels.size(), 2u);
  const recorder::Kernel& one = image->kernels[0];
  EXPECT_EQ(one.name, "one");
  ASSERT_EQ(one.parameters.size(), 3u);
  EXPECT_EQ(one.parameters[1].offset, 640u);
  EXPECT_EQ(one.parameter_bytes(), 652u);
  EXPECT_EQ(one.most_threads, 384u);
  EXPECT_EQ(one.static_shared, 32u);
  EXPECT_EQ(image->kernels[1].parameter_bytes(), 0u);
}

TEST(Images, whoseThreadsHaveTooManyRegistersAreNotLaunched) {
  const auto chip = *recorder::chip_named("sm_90");
  Image image;
  image.target = 90;
  recorder::Kernel kernel;
  kernel.registers = 168;
  const recorder::KernelState state{&kernel, &image, 0, false};
  recorder::Launch launch{{1, 1, 1}, {384, 1, 1}, 0, {}, true, false};
  EXPECT_FALSE(judge(launch, state, chip));  // 64512
  launch.block[0] = 416;                     // 69888
  ASSERT_TRUE(judge(launch, state, chip));
  EXPECT_EQ(judge(launch, state, chip)->code, recorder::kOutOfResources);
  image.target = 100;
  launch.block[0] = 384;
  ASSERT_TRUE(judge(launch, state, chip));
  EXPECT_EQ(judge(launch, state, chip)->code, recorder::kNoBinary);
}

}  // namespace
