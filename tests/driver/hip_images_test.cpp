// What the code objects of this build say of themselves, read in three ways: by the catalogue, from whose plans they
// were compiled, by src/amd, which executes them, and by the recorder.
#include <gtest/gtest.h>

#include <set>
#include <span>
#include <string>

#include "amd/elf.h"
#include "catalog/instance.h"
#include "driver/hip_recorder/code_object.h"
#include "gpu/devices.h"
#include "gpu/embedded.h"
#include "gpu/executor.h"

namespace warpwright {
namespace {

using hip_recorder::CodeObject;

TEST(CodeObjects, sayTheSameToTheCatalogueToTheInterpreterAndToTheRecorder) {
  int objects = 0;
  for (const gpu::EmbeddedImage& one : gpu::embedded_images()) {
    const auto arch = gpu::arch_of(one.target);
    if (!arch) continue;
    SCOPED_TRACE(one.name);
    ++objects;
    const std::span<const uint8_t> bytes(one.begin, one.end);
    EXPECT_EQ(hip_recorder::extent_of(one.begin), bytes.size());
    CodeObject object;
    const auto verdict = hip_recorder::read_code_object(bytes, object);
    ASSERT_FALSE(verdict) << verdict->rule;
    EXPECT_EQ(object.target, one.target);
    for (const char* const chip : {"gfx942", "gfx950", "gfx90a", "gfx1100"}) {
      EXPECT_EQ(object.runs_on(*hip_recorder::chip_named(chip)), std::string(chip) == one.target) << chip;
    }
    ASSERT_EQ(object.kernels.size(), 1u);
    const hip_recorder::Kernel& kernel = object.kernels[0];
    const auto instance = catalog::parse_instance(one.name);
    ASSERT_TRUE(instance) << instance.status().message();
    EXPECT_EQ(catalog::arch_of(*instance), *arch);
    const BlockPlan plan = catalog::block_plan(*instance);
    EXPECT_EQ(kernel.most_threads, unsigned(plan.threads()));
    EXPECT_EQ(kernel.lds_bytes, plan.shared_bytes);
    EXPECT_EQ(kernel.argument_bytes, sizeof(CdnaMatmulArgs));
    EXPECT_EQ(kernel.argument_alignment, alignof(CdnaMatmulArgs));
    // Beside the library lies the file from which it has the bytes; src/amd reads files.
    amd::ElfFile elf;
    const Status read = amd::read_elf(std::string(WW_CODE_OBJECTS) + "/" + one.target + "/" + kernel.name + ".co", elf);
    ASSERT_TRUE(read) << read.message();
    const Json notes = elf.metadata["amdhsa.kernels"][0];
    EXPECT_EQ(notes.value(".group_segment_fixed_size", 0u), kernel.lds_bytes);
    EXPECT_EQ(notes.value(".max_flat_workgroup_size", 0u), kernel.most_threads);
    EXPECT_EQ(elf.flags, object.flags);
    EXPECT_NE(elf.find(kernel.name + ".kd"), nullptr);
  }
  if (objects == 0) GTEST_SKIP() << "this build has no code objects";
}

// The build compiles every listed kernel for what the library asks for.
TEST(CodeObjects, areThereForEveryListedKernel) {
  std::set<std::string> compiled, listed;
  for (const gpu::EmbeddedImage& one : gpu::embedded_images())
    if (gpu::arch_of(one.target)) compiled.insert(std::string(one.name) + " for " + one.target);
  if (compiled.empty()) GTEST_SKIP() << "this build has no code objects";
  for (const catalog::Instance& instance : catalog::cdna_instances()) {
    const gpu::Device device{0, "", 1, 0, 0, catalog::arch_of(instance)};
    listed.insert(catalog::name_of(instance) + " for " + gpu::target_of(instance, device).ahead);
  }
  EXPECT_EQ(compiled, listed);
}

}  // namespace
}  // namespace warpwright
