// The Blackwell GEMM with blockwise scales: exact where the scales are powers of two, and no fault at a synchronization
// passes unseen.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "reference/blockwise_workload.h"
#include "simulate/run_kernel.h"
#include "warpwright/kernel/sm100/blockwise/blockwise_fp8.h"

namespace warpwright {

using reference::Case;
using simulate::Outcome;
using simulator::Fault;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;
using Config = BlockwiseFp8Sm100Config;

template <Config C>
Outcome run(const reference::Workload& w, const Options& o, int clusters) {
  return simulate::simulate<kernel::sm100::BlockwiseFp8<C>>(
      w, o, clusters * C.cta_group, [&](auto& args, const auto& p, const auto& encode) {
        return launch::fill(args, C, p[0], p[1], p[2], p[3], p[4], int(w.shape.m), int(w.shape.n), int(w.shape.k),
                            encode);
      });
}

template <Config C>
void sweep() {
  const int m = 128 * C.cta_group;
  for (const Case& c : {Case{m, C.tile_n, 256}, {m + 12, 2 * C.tile_n + 8, 400}, {4, 8, 16}, {40, 24, 0}}) {
    const reference::Workload w = reference::blockwise_workload(c, C.out_type, reference::Data::integers, 3);
    uint64_t seed = 1;
    for (Landing landing : {Landing::eager, Landing::late, Landing::seeded}) {
      for (Scheduling scheduling : {Scheduling::fifo, Scheduling::random}) {
        Options o;
        o.landing = landing;
        o.scheduling = scheduling;
        o.seed = seed++;
        const Outcome out = run<C>(w, o, 1 + int(seed % 2));
        ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
        ASSERT_TRUE(out.verdict.ok) << c.m << "x" << c.n << "x" << c.k << ": " << out.verdict.wrong << " wrong, "
                                    << out.verdict.unwritten << " unwritten";
      }
    }
  }
}

TEST(BlockwiseFp8Sm100, IsExactWithScalesThatArePowersOfTwo) {
  sweep<Config{.tile_n = 128, .stages = 4, .accumulators = 2}>();
  sweep<Config{.out_type = DType::fp32, .tile_n = 64, .stages = 1, .accumulators = 1}>();
  sweep<Config{.tile_n = 32, .stages = 3, .accumulators = 4}>();
  sweep<Config{.tile_n = 96, .stages = 2, .accumulators = 3}>();
}
TEST(BlockwiseFp8Sm100, IsExactInPairs) {
  sweep<Config{.tile_n = 128, .stages = 4, .accumulators = 2, .cta_group = 2}>();
  sweep<Config{.out_type = DType::fp16, .tile_n = 64, .stages = 1, .accumulators = 1, .cta_group = 2}>();
  sweep<Config{.tile_n = 32, .stages = 3, .accumulators = 4, .cta_group = 2}>();
}

// On arbitrary scales, within what fp32 sums allow.
TEST(BlockwiseFp8Sm100, IsCloseToTheFloat64Reference) {
  const reference::Workload w =
      reference::blockwise_workload({300, 200, 520 + 8}, DType::fp32, reference::Data::normal, 9);
  const Outcome out = run<Config{.out_type = DType::fp32, .cta_group = 2}>(w, {}, 2);
  ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
  EXPECT_LT(out.verdict.max_rel_error, 1e-6);
}

template <Config C>
void expect_reported(const Fault& fault) {
  SCOPED_TRACE(testing::Message() << int(fault.action) << " " << fault.word << " " << fault.object);
  const reference::Workload w = reference::blockwise_workload({128 * C.cta_group, 2 * C.tile_n, 5 * 128}, C.out_type,
                                                              reference::Data::integers, 3);
  int reported = 0;
  for (Landing landing : {Landing::eager, Landing::late, Landing::seeded}) {
    Options o;
    o.landing = landing;
    o.faults = {fault};
    const Outcome out = run<C>(w, o, 1);
    reported += !out.sim.ok();
    EXPECT_TRUE(!out.sim.ok() || out.verdict.ok) << "a silent wrong result";
  }
  EXPECT_GT(reported, 0) << "nobody saw it";
}

template <Config C>
void expect_all_reported() {
  using enum Fault::Action;
  // A commit to input.empty that comes too early is no fault here: the epilogue's arrival on the same barrier comes
  // after the completion of the same MMAs.
  std::vector<Fault> faults = {
      {"mbarrier_arrive_expect_tx", "input.full", "", drop},
      {"mbarrier_arrive_expect_tx", "input.full", "", alter, 512},
      {"tcgen05_commit", "input.empty", "", drop},
      {"mbarrier_arrive", "input.empty", "epilogue", drop},
      {"mbarrier_arrive", "input.empty", "epilogue", duplicate},
      {"tcgen05_commit", "accum.full", "", drop},
      {"tcgen05_commit", "accum.full", "", postpone},
      {"mbarrier_arrive", "accum.empty", "", drop},
      {"mbarrier_arrive", "accum.empty", "", duplicate},
      {"mbarrier_arrive", "tmem.done", "", drop},
      {"mbarrier_arrive", "tmem.done", "", duplicate},
      {"tma_load", "input.scales", "", drop},
      {"fence_proxy_async", "", "epilogue", drop},
      {"tcgen05_fence_before", "", "epilogue", drop},
      {"tcgen05_fence_after", "", "", drop},
      {"tcgen05_wait_ld", "", "", drop},
  };
  for (const char* bar : {"input.full", "input.empty", "accum.full", "accum.empty", "tmem.done"}) {
    faults.push_back({"mbarrier_wait", bar, "", alter, -1});
    faults.push_back({"mbarrier_wait", bar, "", drop});
  }
  for (const Fault& f : faults) expect_reported<C>(f);
}

TEST(BlockwiseFp8Sm100, IsExactWithSeveralWarpgroupsAndStoresByTma) {
  sweep<Config{.tile_n = 64, .stages = 2, .epilogue_warps = 8}>();
  sweep<Config{.tile_n = 256, .stages = 2, .cta_group = 2, .epilogue_warps = 8, .store_stages = 2}>();
  sweep<Config{.out_type = DType::fp32, .tile_n = 64, .stages = 2, .store_stages = 2}>();
}

// The node list is that of the dense kernel, however C, residual and bias are brought.
template <Config C>
void expect_nodes_applied() {
  constexpr int m = 140, n = 136;
  reference::Workload w = reference::blockwise_workload({m, n, 272}, C.out_type, reference::Data::integers, 3);
  const auto made = [](const char* name, DType type, int64_t rows, uint64_t seed) {
    reference::Array a;
    a.name = name;
    a.type = type;
    a.rows = rows;
    a.columns = n;
    a.bytes.resize(a.size());
    reference::fill(a, reference::Data::integers, seed);
    return a;
  };
  const auto bias = made("bias", DType::fp32, 1, 5), residual = made("residual", DType::bf16, m, 6);
  for (size_t i = 0; i < w.expected.size(); ++i) {
    const double sum = w.expected[i] + reference::element(bias, int64_t(i % n));
    w.expected[i] = std::max(sum, 0.0) + reference::element(residual, int64_t(i));
  }
  w.arrays.insert(w.arrays.end() - 1, {bias, residual});
  for (Landing landing : {Landing::eager, Landing::late, Landing::seeded}) {
    Options o;
    o.landing = landing;
    const Outcome out = simulate::simulate<kernel::sm100::BlockwiseFp8<C>>(
        w, o, C.cta_group, [&](auto& args, const auto& p, const auto& encode) {
          const Status s = launch::fill(args, C, p[0], p[1], p[2], p[3], p.back(), m, n, 272, encode);
          args.epilogue.bias = p[4];
          args.epilogue.residual = p[5];
          args.epilogue.residual_row_stride = n;
          return s ? launch::fill_epilogue_maps(args, C.dense(), 1, 0, encode) : s;
        });
    ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
    EXPECT_TRUE(out.verdict.ok) << out.verdict.wrong << " wrong";
  }
}
TEST(BlockwiseFp8Sm100, AppliesItsEpilogueInFp32) {
  constexpr EpilogueConfig nodes{.bias = Bias::per_column, .activation = Activation::relu, .residual = true};
  expect_nodes_applied<Config{.tile_n = 64, .stages = 2, .epilogue = nodes}>();
  expect_nodes_applied<Config{.tile_n = 128,
                              .stages = 2,
                              .cta_group = 2,
                              .epilogue = nodes,
                              .epilogue_warps = 8,
                              .store_stages = 2,
                              .epilogue_load_stages = 2}>();
}

TEST(BlockwiseFp8Sm100, NoFaultPassesUnseen) {
  expect_all_reported<Config{.tile_n = 32, .stages = 2, .accumulators = 2}>();
  expect_all_reported<Config{.tile_n = 32, .stages = 2, .accumulators = 2, .cta_group = 2}>();
}

}  // namespace warpwright
