// Groups of e4m3 rows with blockwise scales on Blackwell, each with a matrix of its own.
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gemm_sm100.h"
#include "reference/grouped_workload.h"
#include "sim/generated.h"
#include "warpwright/kernel/sm100/blockwise/blockwise_fp8.h"

namespace warpwright::gemm_sm100 {
namespace {

using reference::Data;
using reference::GroupedSpec;
using reference::Workload;
using Blockwise = BlockwiseFp8Sm100Config;
constexpr EpilogueConfig kAlpha{.alpha = true};
constexpr Blockwise kSingle{.tile_n = 64, .stages = 2, .epilogue = kAlpha, .grouped = true};
constexpr Blockwise kPair{.tile_n = 128, .stages = 2, .cta_group = 2, .epilogue = kAlpha, .grouped = true};
constexpr Blockwise kFp32{.out_type = DType::fp32, .tile_n = 128, .stages = 3, .epilogue = kAlpha, .grouped = true};

struct Outcome {
  simulator::Result sim;
  reference::Verdict verdict;
  uint32_t status = 0;
};
template <Blockwise C>
Outcome run(const GroupedSpec& s, const Options& o, int clusters = 2,
            const std::function<void(Workload&)>& change = {}) {
  Workload w = reference::grouped_blockwise_workload(s, Data::integers, o.seed);
  if (change) change(w);
  std::vector<std::vector<Line>> memory;
  std::vector<void*> p;
  std::vector<Buffer> buffers;
  for (const reference::Array& a : w.arrays) {
    memory.emplace_back((a.bytes.size() + 127) / 128 + 1);
    std::copy(a.bytes.begin(), a.bytes.end(), reinterpret_cast<uint8_t*>(memory.back().data()));
    p.push_back(memory.back().data());
    buffers.push_back(
        {p.back(), a.bytes.size(), a.name, a.output || a.scratch ? Buffer::Use::output : Buffer::Use::input, false});
  }
  BlockwiseFp8Sm100Args args;
  Outcome out;
  if (const Status status = launch::fill(args, C, reference::grouped_operands(s, w, p), simulate::EncodeForSimulator{});
      !status) {
    ADD_FAILURE() << status.message();
    return out;
  }
  out.sim =
      simulator::run_kernel<kernel::sm100::BlockwiseFp8<C>>(args, {uint32_t(clusters * C.cta_group), 1, 1}, buffers, o);
  const auto* d = static_cast<const uint8_t*>(p.back());
  out.verdict = reference::judge(w, {d, d + w.output().bytes.size()});
  out.status = *args.groups.status;
  return out;
}
template <Blockwise C>
GroupedSpec spec_of(std::vector<int> tokens, std::vector<int32_t> matrices = {}, int n = 136, int k = 272) {
  GroupedSpec s;
  s.tokens = std::move(tokens);
  s.matrices = std::move(matrices);
  s.matrix_count = int(s.tokens.size());
  s.n = n;
  s.k = k;
  s.scaling = BlockScaling::none;
  s.out_type = C.out_type;
  return s;
}
template <Blockwise C>
void expect_right(const GroupedSpec& s, const Options& o = {}, int clusters = 2) {
  const Outcome out = run<C>(s, o, clusters);
  ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
  ASSERT_TRUE(out.verdict.ok) << out.verdict.wrong << " wrong, " << out.verdict.unwritten << " unwritten";
  ASSERT_EQ(out.status, 0u);
}
template <Blockwise C>
void expect_tables() {
  expect_right<C>(spec_of<C>({20, 100, 4, 48}));
  expect_right<C>(spec_of<C>({127, 128, 0, 300}, {1, 3, 2, 0}, 264));
  expect_right<C>(spec_of<C>({0, 5, 40, 7}, {0, -1, 1, 3}));
  expect_right<C>(spec_of<C>({9, 8}, {-1, -1}));
  expect_right<C>(spec_of<C>({3, 2}, {}, 8, 0));
  GroupedSpec masked = spec_of<C>({3, 0, 96, 41}, {3, 1, 0, -1});
  masked.slot_rows = 96;
  expect_right<C>(masked);
  std::vector<int> many;
  for (int i = 0; i < 49; ++i) many.push_back(i % 4 * 5);
  expect_right<C>(spec_of<C>(many, {}, 16, 128));
}
TEST(GroupedBlockwise, SingleCtas) { expect_tables<kSingle>(); }
TEST(GroupedBlockwise, PairsOfCtas) { expect_tables<kPair>(); }
TEST(GroupedBlockwise, Fp32Results) { expect_tables<kFp32>(); }
TEST(GroupedBlockwise, ThousandsOfTokens) {
  expect_right<kSingle>(spec_of<kSingle>({65, 1027, 386}, {}, 64, 128), {}, 5);
}
TEST(GroupedBlockwise, EveryMode) {
  in_every_mode(kernel::sm100::BlockwiseFp8<kSingle>::plan, 1, [&](const Options& o) {
    expect_right<kSingle>(spec_of<kSingle>({3, 0, 140, 9}, {1, 0, 2, -1}), o);
  });
}
// 192 threads: no scheduler warp.
TEST(GroupedBlockwise, RolesStandAsInWarpRole1D1DWithoutScheduler) {
  using Role = warp::WarpRole1D1D<false>;
  constexpr const BlockPlan& plan = kernel::sm100::BlockwiseFp8<kSingle>::plan;
  EXPECT_EQ(plan.threads(), Role::TOTAL_THREADS);
  EXPECT_EQ(plan.role("epilogue").first_thread(), Role::EPILOGUE_WARP_START);
  EXPECT_EQ(plan.role("load").first_thread(), Role::LOAD_WARP_START);
  EXPECT_EQ(plan.role("mma").first_thread(), Role::MMA_WARP_START);
}
TEST(GroupedBlockwise, AWrongTableGivesAStatusAndNoAccessOutOfRange) {
  const GroupedSpec s = spec_of<kSingle>({20, 30, 40}, {0, 1, 2});
  const auto with = [&](const char* array, size_t at, uint32_t value) {
    const Outcome out = run<kSingle>(s, {}, 2, [&](Workload& w) {
      for (auto& a : w.arrays)
        if (a.name == array) std::memcpy(a.bytes.data() + 4 * at, &value, 4);
    });
    EXPECT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
    return out.status;
  };
  EXPECT_EQ(with("offsets", 3, 4'000'000'000u), uint32_t(kRowsOutOfRange));
  EXPECT_EQ(with("offsets", 1, 60), uint32_t(kOffsetsDecrease));
  EXPECT_EQ(with("matrices", 2, 3), uint32_t(kMatrixOutOfRange));
}
TEST(GroupedBlockwise, EverySynchronizationIsNeeded) {
  const GroupedSpec s = spec_of<kSingle>({300, 0, 70}, {1, 0, 0}, 136, 3 * 128);
  constexpr const BlockPlan& plan = kernel::sm100::BlockwiseFp8<kSingle>::plan;
  Options list;
  list.list_fault_sites = true;
  const Outcome clean = run<kSingle>(s, list, 1);
  ASSERT_TRUE(clean.sim.ok()) << clean.sim.findings[0].text();
  const auto mutants = generated::mutants_of(plan, clean.sim.fault_sites);
  EXPECT_GE(mutants.size(), 25u);
  for (const Fault& f : mutants) {
    bool reported = false;
    in_every_mode(plan, 1, [&](Options o) {
      if (reported) return;
      o.faults = {f};
      const Outcome out = run<kSingle>(s, o, 1);
      reported = !out.sim.ok();
      EXPECT_TRUE(reported || out.verdict.ok) << "a silent wrong result: " << generated::describe(f);
    });
    // The warps of the epilogue arrive on input.empty as well, after the accumulator of these MMAs was full.
    const std::string equivalent = "postpone tcgen05_commit input.empty by mma";
    EXPECT_EQ(reported, generated::describe(f) != equivalent) << generated::describe(f);
  }
}

}  // namespace
}  // namespace warpwright::gemm_sm100
