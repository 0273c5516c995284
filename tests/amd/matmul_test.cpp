// The shipped kernels, executed as the machine code they are: exact results and no finding in every policy, and a
// finding for every wait or barrier that is taken away.
#include "amd/matmul.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>

#include "amd/shipped.h"

namespace warpwright::amd {
namespace {

std::string text_of(const MatmulRun& r) {
  std::string text = r.run.error + r.first_wrong;
  for (const Finding& f : r.run.findings) text += fmt::format("\n{}: {}", word(f.rule), f.text);
  return text;
}

class EveryKernel : public testing::TestWithParam<Shipped> {};
INSTANTIATE_TEST_SUITE_P(Shipped, EveryKernel, testing::ValuesIn(shipped_kernels()),
                         [](const testing::TestParamInfo<Shipped>& info) {
                           return info.param.name + "_" + info.param.chip;
                         });

TEST_P(EveryKernel, IsProven) {
  WW_NEEDS_AMD_TOOLS();
  const ShippedKernel k(GetParam());
  ASSERT_TRUE(k.loaded());
  const MatmulProof proof = prove_matmul(*k.object, k.kernel, k.config);
  EXPECT_TRUE(proof.order.ok()) << (proof.order.ok() ? "" : proof.order.mismatches[0]);
  EXPECT_EQ(proof.waves, k.config.waves());
  EXPECT_TRUE(proof.run_mismatches.empty()) << (proof.in_order() ? "" : proof.run_mismatches[0]);
  ASSERT_EQ(proof.executions.size(), k.config.general ? 13u : 3u);
  for (const auto& e : proof.executions) EXPECT_TRUE(e.result.passed()) << word(e.completion) << text_of(e.result);
  EXPECT_TRUE(proof.proven());
}

TEST_P(EveryKernel, HandlesSmallAndDegenerateShapes) {
  WW_NEEDS_AMD_TOOLS();
  const ShippedKernel k(GetParam());
  ASSERT_TRUE(k.loaded());
  const uint32_t unit = 16 / uint32_t(k.config.element_bytes()), tile = uint32_t(k.config.tile_k());
  for (const MatmulProblem& p : {MatmulProblem{1, 1, unit}, MatmulProblem{3, 130, tile},
                                 MatmulProblem{130, 8, 2 * tile}, MatmulProblem{16, 16, 3 * tile - unit, 2, 32}}) {
    const MatmulRun r = run_matmul(*k.object, k.kernel, k.config, p, Completion::latest);
    EXPECT_TRUE(r.passed()) << p.m << " x " << p.n << " x " << p.k << ": " << text_of(r);
  }
}

// A schedule's waits are exact: one more operation in flight is a race.
TEST_P(EveryKernel, NeedsEveryWaitOfTheLoop) {
  WW_NEEDS_AMD_TOOLS();
  const ShippedKernel k(GetParam());
  ASSERT_TRUE(k.loaded());
  const MatmulProblem p{uint32_t(k.config.tile_m()), uint32_t(k.config.tile_n()), 8 * uint32_t(k.config.tile_k())};
  const auto waits = k.in_loop([](const Instruction& in) { return in.wait("vmcnt") >= 0; });
  ASSERT_FALSE(waits.empty());
  for (const size_t i : waits) {
    ShippedKernel broken = k;
    Instruction& in = broken.kernel.code[i];
    in.modifiers["vmcnt"] = {in.wait("vmcnt") + 1};
    const MatmulRun r = run_matmul(*k.object, broken.kernel, k.config, p, Completion::latest);
    ASSERT_FALSE(r.run.findings.empty()) << "weaker " << in.text << " was not noticed";
    const Finding& f = r.run.findings.front();
    if (k.config.uses_dma()) {
      EXPECT_TRUE(f.rule == Rule::lds_raw || f.rule == Rule::lds_waw) << f.text;
      EXPECT_NE(f.text.find("a vmcnt wait"), std::string::npos) << f.text;
    } else {
      EXPECT_EQ(f.rule, Rule::register_in_flight) << f.text;
    }
  }
}

TEST_P(EveryKernel, NeedsEveryBarrierOfTheLoop) {
  WW_NEEDS_AMD_TOOLS();
  const ShippedKernel k(GetParam());
  ASSERT_TRUE(k.loaded());
  const MatmulProblem p{uint32_t(k.config.tile_m()), uint32_t(k.config.tile_n()), 8 * uint32_t(k.config.tile_k())};
  const auto barriers = k.in_loop([](const Instruction& in) { return in.opcode == "s_barrier"; });
  ASSERT_FALSE(barriers.empty());
  size_t noticed = 0;
  for (const size_t i : barriers) {
    ShippedKernel broken = k;
    make_nop(broken.kernel.code[i]);
    const MatmulRun r = run_matmul(*k.object, broken.kernel, k.config, p, Completion::latest);
    EXPECT_FALSE(compare_order(broken.kernel, k.order).ok());
    noticed += !r.run.findings.empty();
    for (const Finding& f : r.run.findings) {
      // Without the barrier a reader may also come before the first writer.
      ASSERT_TRUE(f.rule == Rule::lds_raw || f.rule == Rule::lds_war || f.rule == Rule::lds_waw ||
                  f.rule == Rule::lds_uninitialised)
          << f.text;
    }
  }
  // Groups of waves that take turns have barriers for the turns, too; where there is one group every barrier orders
  // LDS.
  if (k.config.ping_pong()) {
    EXPECT_GE(noticed, 1u);
  } else {
    EXPECT_EQ(noticed, barriers.size());
  }
}

TEST_P(EveryKernel, NoticesAMissingFragmentWait) {
  WW_NEEDS_AMD_TOOLS();
  ShippedKernel k(GetParam());
  ASSERT_TRUE(k.loaded());
  for (const size_t i : k.in_loop([](const Instruction& in) { return in.wait("lgkmcnt") >= 0; })) {
    k.kernel.code[i].modifiers.erase("lgkmcnt");
  }
  const MatmulProblem p{64, 64, 6 * uint32_t(k.config.tile_k())};
  const MatmulRun r = run_matmul(*k.object, k.kernel, k.config, p, Completion::latest);
  bool seen = false;
  for (const Finding& f : r.run.findings) {
    seen |= f.rule == Rule::register_in_flight && f.text.find("ds_read_b128") != std::string::npos &&
            f.text.find("v_mfma") != std::string::npos;
  }
  EXPECT_TRUE(seen) << text_of(r);
  EXPECT_GT(r.wrong, 0) << "the latest landing must change the result";
}

TEST(Stagger, ThePingPongGroupsNeedTheirExtraBarrier) {
  WW_NEEDS_AMD_TOOLS();
  const ShippedKernel k({"matmul_pingpong_bf16", "gfx950"});
  ASSERT_TRUE(k.loaded());
  const Loop loop = hot_loop(k.kernel);
  // Barriers outside of the loop, one at a time: a missing one is a race or leaves waves that do not meet.
  size_t tried = 0;
  for (size_t i = 0; i < k.kernel.code.size(); ++i) {
    if (k.kernel.code[i].opcode != "s_barrier" || (int(i) >= loop.first && int(i) <= loop.last)) continue;
    ShippedKernel broken = k;
    make_nop(broken.kernel.code[i]);
    const MatmulRun r =
        run_matmul(*k.object, broken.kernel, k.config, {256, 256, 6 * uint32_t(k.config.tile_k())}, Completion::latest);
    tried += !r.run.findings.empty();
  }
  EXPECT_GE(tried, 2u);
}

TEST(Seeds, EveryLandingAndInterleavingGivesTheSame) {
  WW_NEEDS_AMD_TOOLS();
  const ShippedKernel k({"matmul_pingpong_e4m3", "gfx950"});
  ASSERT_TRUE(k.loaded());
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const MatmulRun r = run_matmul(*k.object, k.kernel, k.config, {100, 200, 7 * 128}, Completion::seeded, seed);
    EXPECT_TRUE(r.passed()) << "seed " << seed << text_of(r);
  }
}

TEST(Speed, TheLargeTileTakesSecondsAtMost) {
  WW_NEEDS_AMD_TOOLS();
  const ShippedKernel k({"matmul_pingpong_bf16", "gfx950"});
  ASSERT_TRUE(k.loaded());
  const MatmulRun r = run_matmul(*k.object, k.kernel, k.config, {512, 512, 512}, Completion::latest);
  EXPECT_TRUE(r.passed()) << text_of(r);
  RecordProperty("milliseconds", int(1000 * r.seconds));
}

class EverySplitKernel : public testing::TestWithParam<Shipped> {};
INSTANTIATE_TEST_SUITE_P(Shipped, EverySplitKernel, testing::ValuesIn(split_kernels()),
                         [](const testing::TestParamInfo<Shipped>& info) {
                           return info.param.name + "_" + info.param.chip;
                         });

// What orders the sums of a tile's parts: the write-back and the wait before the counter, the invalidation after it.
TEST_P(EverySplitKernel, NeedsWhatOrdersTheParts) {
  WW_NEEDS_AMD_TOOLS();
  const ShippedKernel k(GetParam());
  ASSERT_TRUE(k.loaded());
  const MatmulProblem p{.m = 30, .n = 40, .k = 4 * uint32_t(k.config.tile_k()), .splits = 3};
  EXPECT_TRUE(run_matmul(*k.object, k.kernel, k.config, p, Completion::latest).passed());
  for (const auto& [opcode, why] :
       {std::pair{"buffer_wbl2", "no buffer_wbl2 lies between"}, {"buffer_inv", "no buffer_inv lies between"}}) {
    ShippedKernel broken = k;
    int found = 0;
    for (Instruction& in : broken.kernel.code) {
      if (in.opcode != opcode) continue;
      make_nop(in);
      ++found;
    }
    EXPECT_EQ(found, 1) << opcode;
    const MatmulRun r = run_matmul(*k.object, broken.kernel, k.config, p, Completion::latest);
    ASSERT_FALSE(r.run.findings.empty()) << opcode;
    EXPECT_EQ(r.run.findings.front().rule, Rule::memory_order);
    EXPECT_NE(r.run.findings.front().text.find(why), std::string::npos) << r.run.findings.front().text;
  }
  // The wait between the stores and the counter.
  ShippedKernel broken = k;
  size_t count = 0;
  while (count < broken.kernel.code.size() && broken.kernel.code[count].opcode != "global_atomic_inc") ++count;
  ASSERT_LT(count, broken.kernel.code.size());
  for (size_t i = count; i-- > 0 && broken.kernel.code[i].opcode.rfind("buffer_store", 0) != 0;) {
    if (broken.kernel.code[i].opcode == "s_waitcnt") make_nop(broken.kernel.code[i]);
  }
  const MatmulRun r = run_matmul(*k.object, broken.kernel, k.config, p, Completion::latest);
  ASSERT_FALSE(r.run.findings.empty());
  EXPECT_NE(r.run.findings.front().text.find("no vmcnt wait lies between"), std::string::npos)
      << r.run.findings.front().text;
}

TEST(MatmulConfig, ComesFromTheName) {
  const auto c = matmul_config(Chip::gfx950, "matmul_4wave_e4m3");
  ASSERT_TRUE(c.has_value());
  EXPECT_EQ(c->variant, CdnaVariant::four_wave);
  EXPECT_EQ(c->type, DType::e4m3);
  EXPECT_EQ(c->out_type, DType::bf16);
  EXPECT_EQ(matmul_config(Chip::gfx950, "matmul_pingpong_bf16_to_fp32").value().out_type, DType::fp32);
  const auto general = matmul_config(Chip::gfx942, "matmul_default_splitk_fp16_general_by_elements");
  ASSERT_TRUE(general.has_value());
  EXPECT_TRUE(general->general && general->by_elements && general->split == DepthSplit::split_k);
  EXPECT_EQ(general->out_type, DType::fp16);
  EXPECT_FALSE(matmul_config(Chip::gfx950, "matmul_pingpong_bf16_to_fp16").has_value());
  EXPECT_FALSE(matmul_config(Chip::gfx950, "gemm").has_value());
  EXPECT_FALSE(matmul_config(Chip::gfx950, "matmul_round_robin_bf16").has_value());
  EXPECT_FALSE(matmul_config(Chip::other, "matmul_4wave_e4m3").has_value());
}

}  // namespace
}  // namespace warpwright::amd
