// The list of examples is the catalogue: names that can be read back, problems that fit, and layouts of blocks that are
// those of the compiled kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/instance.h"
#include "simulate/examples.h"
#include "simulate/executor.h"
#include "simulate/product.h"
#include "warpwright/core/block_plan.h"

namespace warpwright {
namespace {

catalog::Instance parsed(const std::string& name) {
  const auto instance = catalog::parse_instance(name);
  EXPECT_TRUE(instance) << instance.status().message();
  return instance ? *instance : catalog::Instance{};
}

TEST(CatalogExamples, NamesAreUnique) {
  std::set<std::string> names;
  for (const simulate::Example& e : simulate::examples()) EXPECT_TRUE(names.insert(e.name).second) << e.name;
  EXPECT_GE(names.size(), catalog::ahead_names().size());
}

TEST(CatalogExamples, NamesAreKnownWithoutTheExamples) {
  std::vector<std::string> names;
  for (const simulate::Example& e : simulate::examples()) names.push_back(e.name);
  EXPECT_EQ(simulate::example_names(), names);
}

TEST(CatalogExamples, NamesOfTheCatalogueReadBackToThemselves) {
  for (const std::string& name : catalog::ahead_names()) EXPECT_EQ(catalog::name_of(parsed(name)), name);
}

TEST(CatalogExamples, EveryInstanceHasAnExampleOrPreparesOperands) {
  for (const std::string& name : catalog::ahead_names()) {
    const bool prepares = parsed(name).as<PackRowsConfig>() != nullptr;
    EXPECT_EQ(simulate::find_example(name) == nullptr, prepares) << name;
  }
}

TEST(CatalogExamples, AnExampleNamesItsInstanceAndTakesItsOwnSizes) {
  for (const simulate::Example& e : simulate::examples()) {
    const catalog::Instance instance = parsed(e.instance);
    EXPECT_TRUE(e.name.starts_with(catalog::name_of(instance))) << e.name;
    EXPECT_EQ(e.plan_name, catalog::plan_name(instance));
    EXPECT_EQ(e.arch, catalog::arch_of(instance));
    EXPECT_FALSE(e.summary.empty()) << e.name;
    ASSERT_FALSE(e.cases.empty()) << e.name;
    for (const reference::Case& c : e.cases) EXPECT_EQ(e.takes(c).message(), "") << e.name;
  }
}

// An instance that is not in the list has sizes too.
TEST(CatalogExamples, AnyInstanceHasSizesThatItTakes) {
  for (const char* name :
       {"sm100/dense-128x64-c2x2-s5-pair/fp16", "sm100/dense-128x128-c1x1-s3-o2/bf16-silu",
        "sm100/blockwise-n64-s4/e4m3", "sm100/grouped-n64-s4-swap/e4m3-mxfp8", "sm80/mma-64x128-w2x2-d3-p2/fp16",
        "gfx950/matmul-default/bf16-to_fp32", "sm90/ring_copy-16x32-s3/bf16", "sm100/tmem_lifecycle-n64-s4/fp16"}) {
    const auto e = simulate::example_of(parsed(name));
    ASSERT_TRUE(e) << e.status().message();
    EXPECT_EQ(simulate::find_example(name), nullptr) << name;
    ASSERT_GE(e->cases.size(), 2u) << name;
    for (const reference::Case& c : e->cases) EXPECT_EQ(e->takes(c).message(), "") << name;
  }
}

TEST(CatalogExamples, RulesAreSaidBeforeACompilerIsAsked) {
  for (const auto& [name, rule] :
       {std::pair{"sm100/dense-96x128-c1x1-s4/bf16", "a CTA has 64 or 128 rows of a tile"},
        std::pair{"sm100/dense-128x128-c1x1-s8/bf16", "exceed the shared memory of a CTA"},
        std::pair{"sm100/dense-128x128-c1x1-s4-o1/bf16", "two stages of the output ring"},
        std::pair{"gfx942/matmul-pingpong/bf16", "16-byte LDS DMA is an instruction of gfx950"},
        std::pair{"sm100/grouped-n40-s4-swap/e4m3-mxfp8", "a tile_n of 8, 16, 32 or a multiple of 64"},
        std::pair{"sm100/blockwise-n128-s4-o2/e4m3-alpha-grouped", "groups are stored by threads"}}) {
    const Status s = catalog::refuse(parsed(name));
    EXPECT_FALSE(s) << name;
    EXPECT_NE(s.message().find(rule), std::string::npos) << s.message();
  }
}

// Two elements to a byte, and no code that means "nobody wrote this".
TEST(CatalogExamples, FourBitResultsAreJudged) {
  const simulate::Example* e = simulate::find_example("sm100/grouped-n128-s4/e2m1-nvfp4-swiglu_to_nvfp4-clamped");
  ASSERT_NE(e, nullptr);
  const reference::Workload w = e->workload({9, 32, 32}, reference::Data::integers, 3);
  ASSERT_EQ(w.output().type, DType::e2m1);
  ASSERT_EQ(w.expected.size(), 9u * 16);
  simulate::Outcome out = e->simulate(w, {}, 0);
  ASSERT_TRUE(out.ok());
  for (size_t i = 0; i < out.output.size(); ++i) {
    std::vector<uint8_t> wrong = out.output;
    wrong[i] ^= 0x12;  // the lowest bit of one element, another bit of its neighbour
    EXPECT_EQ(reference::judge(w, wrong).wrong, 2u) << i;
  }
}

// Beside D: every byte counts, and the first wrong element is named.
TEST(CatalogExamples, FactorsAndTheStatusWordAreJudged) {
  for (const char* name : {"sm100/grouped-n128-s6-pair/e4m3-mxfp8-swiglu_to_mxfp8",
                           "sm90/grouped-128x128-c2n-s6/e4m3-to_e4m3-contiguous-any_rows-bias"}) {
    const simulate::Example* e = simulate::find_example(name);
    ASSERT_NE(e, nullptr) << name;
    const reference::Workload w = e->workload({40, 128, 128}, reference::Data::integers, 3);
    std::vector<std::vector<uint8_t>> memory;
    for (const reference::Array& a : w.arrays) memory.push_back(a.bytes);
    std::vector<void*> pointers;
    for (std::vector<uint8_t>& bytes : memory) pointers.push_back(bytes.data());
    const auto judged = [&] {
      reference::Verdict v;
      reference::judge_others(w, pointers, v);
      return v;
    };
    ASSERT_EQ(w.also.size(), 2u) << name;
    EXPECT_FALSE(judged().ok) << name << ": nothing was written yet";
    for (const reference::AlsoExpected& other : w.also) {
      void* const at = reference::pointer_of(w, pointers, other.array.c_str());
      std::copy(other.bytes.begin(), other.bytes.end(), static_cast<uint8_t*>(at));
    }
    EXPECT_TRUE(judged().ok) << name;
    for (const reference::AlsoExpected& other : w.also) {
      auto* const at = static_cast<uint8_t*>(reference::pointer_of(w, pointers, other.array.c_str()));
      *at ^= 1;
      EXPECT_EQ(judged().others_wrong, 1u) << name;
      EXPECT_TRUE(judged().other.starts_with(other.array + "[0]")) << judged().other;
      *at ^= 1;
    }
  }
}

void expect_equal(const char* a, const char* b) {
  EXPECT_EQ(std::string_view(a == nullptr ? "" : a), std::string_view(b == nullptr ? "" : b));
}
void expect_equal(const BlockPlan& a, const BlockPlan& b) {
  expect_equal(a.kernel, b.kernel);
  EXPECT_EQ(a.arch, b.arch);
  EXPECT_EQ(a.cluster, b.cluster);
  EXPECT_EQ(a.blocks_per_sm, b.blocks_per_sm);
  EXPECT_EQ(a.warps, b.warps);
  EXPECT_EQ(a.shared_bytes, b.shared_bytes);
  EXPECT_EQ(a.tmem_columns, b.tmem_columns);
  ASSERT_EQ(a.role_count, b.role_count);
  for (int i = 0; i < a.role_count; ++i) {
    expect_equal(a.roles[i].name, b.roles[i].name);
    EXPECT_EQ(a.roles[i].first_warp, b.roles[i].first_warp);
    EXPECT_EQ(a.roles[i].warps, b.roles[i].warps);
    EXPECT_EQ(a.roles[i].registers, b.roles[i].registers);
  }
  ASSERT_EQ(a.barrier_count, b.barrier_count);
  for (int i = 0; i < a.barrier_count; ++i) {
    const BarrierSpec &x = a.barriers[i], &y = b.barriers[i];
    expect_equal(x.name, y.name);
    expect_equal(x.waiter, y.waiter);
    EXPECT_EQ(x.stages, y.stages);
    EXPECT_EQ(x.count, y.count);
    EXPECT_EQ(x.offset, y.offset);
    for (int j = 0; j < 5; ++j) {
      expect_equal(x.arrivals[j].role, y.arrivals[j].role);
      EXPECT_EQ(x.arrivals[j].per_phase, y.arrivals[j].per_phase);
    }
  }
  ASSERT_EQ(a.region_count, b.region_count);
  for (int i = 0; i < a.region_count; ++i) {
    const RegionSpec &x = a.regions[i], &y = b.regions[i];
    expect_equal(x.name, y.name);
    EXPECT_EQ(x.offset, y.offset);
    EXPECT_EQ(x.stage_bytes, y.stage_bytes);
    EXPECT_EQ(x.stages, y.stages);
    EXPECT_EQ(x.alignment, y.alignment);
  }
  ASSERT_EQ(a.named_count, b.named_count);
  for (int i = 0; i < a.named_count; ++i) {
    expect_equal(a.named[i].name, b.named[i].name);
    EXPECT_EQ(a.named[i].threads, b.named[i].threads);
  }
}

// One of every family; where a family has forms, one of each.
TEST(CatalogExamples, LayoutsOfBlocksAreThoseOfTheCompiledKernels) {
  for (const char* name :
       {"sm90/dense-128x256-c2-s4/bf16-nt", "sm90/skinny-64x16-split4-s20/bf16-nt", "sm90/grouped-128x192-c2-s4/e4m3",
        "sm90/blockwise-64x8-split4-s20/e4m3", "sm100/dense-128x128-c4x2-s6-pair/bf16",
        "sm100/dense-128x128-c1x1-s4-o2-l1/bf16-c-bias-gelu-residual", "sm100/dense-128x128-c1x1-s6-clc-splitk/bf16",
        "sm100/dense-128x128-c2x1-s6-pair/e4m3-mxfp8", "sm100/blockwise-n128-s6-pair/e4m3",
        "sm100/grouped-n8-s8-swap/e2m1-nvfp4", "sm100/grouped-n128-s6-pair/e4m3-mxfp8-swiglu_to_mxfp8",
        "sm80/mma-128x256-w2x4/bf16", "gfx950/matmul-pingpong/bf16", "gfx942/matmul-default/bf16",
        "sm90/ring_copy-32x64-s4/fp32", "sm90/cluster_ring-32x64-c2-s4/fp32", "sm100/tmem_lifecycle-n128-s4/bf16",
        "sm90/pack_rows-w8-b4/bytes2"}) {
    SCOPED_TRACE(name);
    const catalog::Instance instance = parsed(name);
    const auto compiled = simulate::ready(instance);
    ASSERT_TRUE(compiled) << compiled.status().message();
    expect_equal(catalog::block_plan(instance), *(*compiled)->plan);
  }
}

}  // namespace
}  // namespace warpwright
