// The Blackwell GEMM in its configurations: exact on integers for all ring depths, clusters, data paths of tensor
// memory and tails, and no fault at a synchronization passes unseen.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "simulate/run_kernel.h"
#include "warpwright/kernel/sm100/dense/dense_gemm.h"

namespace warpwright {

using reference::Case;
using simulate::Outcome;
using simulator::Fault;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;
using Config = DenseGemmSm100Config;

template <Config C>
Outcome run(const reference::Workload& w, const Options& o, int clusters) {
  return simulate::simulate<kernel::sm100::DenseGemm<C>>(
      w, o, clusters * C.cluster(), [&](auto& args, const auto& p, const auto& encode) {
        return launch::fill(args, C, p[0], p[1], p[2], int(w.shape.m), int(w.shape.n), int(w.shape.k), float(w.alpha),
                            encode);
      });
}

template <Config C>
void expect_exact(Case shape, const Options& o, int clusters) {
  const reference::Workload w =
      reference::gemm_workload(shape, C.type, C.out_type, 2, reference::Data::integers, o.seed);
  const Outcome out = run<C>(w, o, clusters);
  ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
  ASSERT_TRUE(out.verdict.ok) << shape.m << "x" << shape.n << "x" << shape.k << ": " << out.verdict.wrong << " wrong, "
                              << out.verdict.unwritten << " unwritten";
}

// A whole number of tiles of the cluster, tails in all directions with more tiles than clusters, a single row, no
// depth.
template <Config C>
void sweep() {
  const int m = C.tile_m * C.cluster_m, n = C.tile_n * C.cluster_n, k = C.tile_k(), unit = 128 / bits(C.type);
  const Case cases[] = {{m, n, 2 * k}, {m + 9, 2 * n + 8, 3 * k + unit}, {1, 8, unit}, {40, 24, 0}};
  for (const Case& c : cases) {
    uint64_t seed = 1;
    for (Landing landing : {Landing::eager, Landing::late, Landing::seeded}) {
      for (Scheduling scheduling : {Scheduling::fifo, Scheduling::random}) {
        Options o;
        o.landing = landing;
        o.scheduling = scheduling;
        o.seed = seed++;
        SCOPED_TRACE(testing::Message() << "landing " << int(landing) << ", scheduling " << int(scheduling));
        expect_exact<C>(c, o, 1 + int(seed % 2));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(GemmSm100, IsExactWithAnyDepthOfItsRings) {
  sweep<Config{.tile_n = 32, .stages = 1, .accumulators = 1}>();
  sweep<Config{.tile_n = 32, .stages = 1, .accumulators = 4}>();
  sweep<Config{.tile_n = 32, .stages = 2, .accumulators = 2}>();
  sweep<Config{.tile_n = 32, .stages = 3, .accumulators = 3}>();
  sweep<Config{.tile_n = 32, .stages = 8, .accumulators = 4}>();
  sweep<Config{.tile_n = 32, .stages = 8, .accumulators = 1}>();
}

TEST(GemmSm100, IsExactInPairsWithAnyDepthOfItsRings) {
  sweep<Config{.tile_n = 32, .stages = 1, .accumulators = 1, .cta_group = 2, .cluster_m = 2}>();
  sweep<Config{.tile_n = 32, .stages = 2, .accumulators = 3, .cta_group = 2, .cluster_m = 2}>();
  sweep<Config{.tile_n = 32, .stages = 3, .accumulators = 2, .cta_group = 2, .cluster_m = 2}>();
  sweep<Config{.tile_n = 32, .stages = 8, .accumulators = 4, .cta_group = 2, .cluster_m = 2}>();
}

TEST(GemmSm100, IsExactWithSeveralTilesInAStage) {
  sweep<Config{.tile_n = 32, .stages = 2, .k_group = 2}>();
  sweep<Config{.tile_n = 32, .stages = 1, .k_group = 3, .cta_group = 2, .cluster_m = 2, .cluster_n = 2}>();
}

TEST(GemmSm100, IsExactInEveryCluster) {
  sweep<Config{.tile_n = 32, .stages = 2, .cluster_m = 2}>();
  sweep<Config{.tile_n = 32, .stages = 2, .cluster_n = 2}>();
  sweep<Config{.tile_n = 32, .stages = 3, .cluster_m = 2, .cluster_n = 2}>();
  sweep<Config{.tile_n = 32, .stages = 1, .cta_group = 2, .cluster_m = 2, .cluster_n = 2}>();
  sweep<Config{.tile_n = 32, .stages = 2, .cta_group = 2, .cluster_m = 4}>();
  sweep<Config{.tile_n = 32, .stages = 3, .cta_group = 2, .cluster_m = 4, .cluster_n = 2}>();
}

TEST(GemmSm100, IsExactInTheLargestCluster) {
  Options o;
  o.landing = Landing::seeded;
  o.scheduling = Scheduling::random;
  expect_exact<Config{.tile_n = 128, .stages = 2, .cta_group = 2, .cluster_m = 4, .cluster_n = 4}>({520, 520, 200}, o,
                                                                                                   1);
}

TEST(GemmSm100, IsExactInEveryDataPathOfTensorMemory) {
  sweep<Config{.tile_m = 64, .tile_n = 8}>();                                     // layout F
  sweep<Config{.tile_m = 64, .tile_n = 48, .cluster_m = 2}>();                    // layout F
  sweep<Config{.tile_m = 64, .tile_n = 16, .cta_group = 2, .cluster_m = 2}>();    // layout B
  sweep<Config{.tile_m = 64, .tile_n = 64, .cta_group = 2, .cluster_m = 4}>();    // layout B
  sweep<Config{.tile_m = 128, .tile_n = 24}>();                                   // layout D
  sweep<Config{.tile_m = 128, .tile_n = 256, .cta_group = 2, .cluster_m = 2}>();  // layout A
}

TEST(GemmSm100, IsExactForEveryTypeOfOperandsAndResult) {
  sweep<Config{.type = DType::fp16, .out_type = DType::fp16, .tile_n = 64}>();
  sweep<Config{.type = DType::bf16, .out_type = DType::fp32, .tile_n = 64}>();
  sweep<Config{.type = DType::tf32, .out_type = DType::fp32, .tile_n = 64, .cta_group = 2, .cluster_m = 2}>();
  sweep<Config{.type = DType::e4m3, .out_type = DType::fp32, .tile_n = 64}>();
  sweep<Config{.type = DType::e4m3, .out_type = DType::fp16, .tile_n = 64, .cta_group = 2, .cluster_m = 2}>();
}

// A bias for each column, an activation and a residual, all in fp32 before the one rounding to the result.
TEST(GemmSm100, AppliesItsEpilogueInFp32) {
  constexpr Config C{.tile_n = 32,
                     .cta_group = 2,
                     .cluster_m = 2,
                     .epilogue = {.alpha = true,
                                  .bias = Bias::per_column,
                                  .activation = Activation::relu,
                                  .residual = true,
                                  .residual_type = DType::bf16}};
  reference::Workload w = reference::gemm_workload({300, 72, 136}, C.type, C.out_type, 2, reference::Data::integers, 4);
  const auto made = [](const char* name, DType type, int64_t rows, int64_t columns, uint64_t seed) {
    reference::Array a{name, type, rows, columns, false, {}};
    a.bytes.resize(a.size());
    reference::fill(a, reference::Data::integers, seed);
    return a;
  };
  const auto bias = made("bias", DType::fp32, 1, 72, 5), residual = made("residual", DType::bf16, 300, 72, 6);
  for (size_t i = 0; i < w.expected.size(); ++i) {
    const double sum = w.expected[i] + reference::element(bias, int64_t(i % 72));
    w.expected[i] = std::max(sum, 0.0) + reference::element(residual, int64_t(i));
  }
  w.arrays.insert(w.arrays.end() - 1, {bias, residual});
  for (Landing landing : {Landing::eager, Landing::late}) {
    Options o;
    o.landing = landing;
    const Outcome out = simulate::simulate<kernel::sm100::DenseGemm<C>>(
        w, o, C.cluster(), [&](auto& args, const auto& p, const auto& encode) {
          auto why = launch::fill(args, C, p[0], p[1], p[4], 300, 72, 136, 2, encode);
          args.epilogue.bias = p[2];
          args.epilogue.residual = p[3];
          args.epilogue.residual_row_stride = 72;
          return why;
        });
    ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
    EXPECT_TRUE(out.verdict.ok) << out.verdict.wrong << " wrong";
  }
}

// One fault at a synchronization of the kernel. `object` is the block plan's name for what it touches, the number of a
// named barrier, or empty.
struct Mutant {
  const char* word;
  const char* object;
  Fault::Action action;
  int64_t value = 0;
  int nth = 0;
};
void PrintTo(const Mutant& m, std::ostream* to) {
  const char* actions[] = {"drop", "duplicate", "alter", "postpone"};
  *to << actions[int(m.action)] << " " << m.word << " " << m.object << " (" << m.value << ", call " << m.nth << ")";
}

// Reported in at least one of the modes, and in no mode a wrong result without a report.
template <Config C>
void expect_reported(const Mutant& mutant) {
  SCOPED_TRACE(testing::PrintToString(mutant));
  const Case shape{C.tile_m * C.cluster_m, 6 * C.tile_n * C.cluster_n, 5 * C.tile_k()};
  const reference::Workload w = reference::gemm_workload(shape, C.type, C.out_type, 1, reference::Data::integers, 5);
  int reported = 0;
  std::vector<Options> modes(3);
  modes[0].landing = Landing::eager;
  modes[1].landing = Landing::late;
  modes[2].landing = Landing::seeded;
  for (Options& o : modes) {
    o.faults = {{mutant.word, mutant.object, "", mutant.action, mutant.value, mutant.nth, -1}};
    const Outcome out = run<C>(w, o, 1);
    reported += !out.sim.ok();
    EXPECT_TRUE(!out.sim.ok() || out.verdict.ok) << "a silent wrong result";
    if (!out.sim.ok()) {
      EXPECT_FALSE(out.sim.findings[0].file.empty()) << out.sim.findings[0].text();
    }
  }
  EXPECT_GT(reported, 0) << "nobody saw it";
}

// Every barrier of the plan, by the word that arrives on it, and every wait.
std::vector<Mutant> barrier_mutants() {
  using enum Fault::Action;
  std::vector<Mutant> all;
  for (int nth : {0, 1, 2}) {
    all.push_back({"mbarrier_arrive_expect_tx", "input.full", drop, 0, nth});
    all.push_back({"mbarrier_arrive_expect_tx", "input.full", alter, 1024, nth});
    all.push_back({"mbarrier_arrive_expect_tx", "input.full", alter, 0xf0000, nth});
    all.push_back({"mbarrier_arrive_expect_tx", "input.full", postpone, 0, nth});
    for (const char* bar : {"input.empty", "accum.full"}) {
      all.push_back({"tcgen05_commit", bar, drop, 0, nth});
      all.push_back({"tcgen05_commit", bar, postpone, 0, nth});
    }
    for (const char* bar : {"accum.empty", "tmem.done"}) {
      if (nth > 1 && std::string(bar) == "tmem.done") continue;  // it has one phase
      all.push_back({"mbarrier_arrive", bar, drop, 0, nth});
      all.push_back({"mbarrier_arrive", bar, duplicate, 0, nth});
    }
    all.push_back({"tma_load", "input.a", drop, 0, nth});
    all.push_back({"tma_load", "input.b", drop, 0, nth});
  }
  for (const char* bar : {"input.full", "input.empty", "accum.full", "accum.empty", "tmem.done"}) {
    all.push_back({"mbarrier_wait", bar, alter, -1});
    all.push_back({"mbarrier_wait", bar, drop});
    all.push_back({"mbarrier_init", bar, drop});
  }
  return all;
}

// Between the MMA warps of a pair.
std::vector<Mutant> pair_mutants() {
  using enum Fault::Action;
  return {{"mbarrier_arrive", "tmem.peer", drop},
          {"mbarrier_arrive", "tmem.peer", duplicate},
          {"mbarrier_wait", "tmem.peer", alter, -1},
          {"mbarrier_wait", "tmem.peer", drop},
          {"mbarrier_init", "tmem.peer", drop}};
}

std::vector<Mutant> other_mutants() {
  using enum Fault::Action;
  return {{"tcgen05_fence_before", "", drop}, {"tcgen05_fence_after", "", drop}, {"tcgen05_wait_ld", "", drop},
          {"fence_mbarrier_init", "", drop},  {"tcgen05_alloc", "", drop},       {"tcgen05_dealloc", "", drop},
          {"tcgen05_dealloc", "", duplicate}};
}

constexpr Config kSingle{.tile_n = 32, .stages = 2, .accumulators = 2};
constexpr Config kPair{.tile_n = 32, .stages = 2, .accumulators = 2, .cta_group = 2, .cluster_m = 2};
constexpr Config kCluster{.tile_n = 32, .stages = 2, .accumulators = 2, .cta_group = 2, .cluster_m = 4, .cluster_n = 2};

TEST(GemmSm100, NoFaultAtABarrierPassesUnseen) {
  for (const Mutant& m : barrier_mutants()) expect_reported<kSingle>(m);
}
TEST(GemmSm100, NoFaultAtABarrierOfAPairPassesUnseen) {
  for (const Mutant& m : barrier_mutants()) expect_reported<kPair>(m);
}
TEST(GemmSm100, NoFaultAtABarrierOfAClusterPassesUnseen) {
  for (const Mutant& m : barrier_mutants()) expect_reported<kCluster>(m);
}
TEST(GemmSm100, NoFaultBetweenTheMmaWarpsOfAPairPassesUnseen) {
  for (const Mutant& m : pair_mutants()) expect_reported<kPair>(m);
}
TEST(GemmSm100, NoMissingFenceOrAllocationPassesUnseen) {
  for (const Mutant& m : other_mutants()) {
    expect_reported<kSingle>(m);
    expect_reported<kPair>(m);
  }
}
// Multicast to the wrong CTAs: only to the issuer, or to the whole cluster.
TEST(GemmSm100, NoWrongMulticastMaskPassesUnseen) {
  using enum Fault::Action;
  for (int64_t mask : {0x01, 0x02, 0xff}) {
    expect_reported<kCluster>({"tcgen05_commit", "input.empty", alter, mask, 1});
    expect_reported<kCluster>({"tcgen05_commit", "accum.full", alter, mask, 1});
    expect_reported<kCluster>({"tma_load", "input.a", alter, mask, 1});
    expect_reported<kCluster>({"tma_load", "input.b", alter, mask, 1});
  }
}
// Without the cluster barriers a CTA is touched before it has started or after it has left.
TEST(GemmSm100, NoMissingClusterBarrierPassesUnseen) {
  expect_reported<kPair>({"cluster_sync", "", Fault::Action::drop, 0, 1});
  expect_reported<kCluster>({"cluster_sync", "", Fault::Action::drop, 0, 1});
  expect_reported<kPair>({"cluster_sync", "", Fault::Action::drop, 0, 0});
}

}  // namespace warpwright
