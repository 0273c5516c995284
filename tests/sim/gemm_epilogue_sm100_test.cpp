// The epilogue of the Blackwell GEMM with all its nodes, movers and numbers of warps: the bits of D are those of the
// node list applied to exact sums, and nothing around D is touched, in every mode of exploration.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/epilogue_problem.h"
#include "warpwright/warp/warp_role.h"

namespace warpwright {

using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;
using testing_epilogue::Problem;
using testing_epilogue::Shape;
using Config = DenseGemmSm100Config;

std::vector<Options> modes(const BlockPlan& plan) {
  std::vector<Options> all;
  for (Landing landing : {Landing::eager, Landing::late, Landing::seeded}) {
    for (Scheduling scheduling : {Scheduling::fifo, Scheduling::random, Scheduling::pct}) {
      Options o;
      o.landing = landing;
      o.scheduling = scheduling;
      o.seed = 1 + all.size();
      all.push_back(o);
    }
  }
  for (int i = 0; i < plan.role_count; ++i) {
    Options o;
    o.landing = i % 2 == 0 ? Landing::late : Landing::eager;
    o.scheduling = Scheduling::freeze;
    o.frozen_role = plan.roles[i].name;
    all.push_back(o);
  }
  return all;
}

template <Config C>
void expect_exact(Shape s, int clusters) {
  SCOPED_TRACE(testing::Message() << s.m << "x" << s.n << "x" << s.k << ", gap " << s.gap << ", " << clusters
                                  << " clusters");
  const Problem<C> problem(s);
  for (const Options& o : modes(kernel::sm100::DenseGemm<C>::plan)) ASSERT_EQ(problem.run(o, clusters), "");
}

// Whole tiles, tails in all directions with more tiles than clusters, few elements, no depth.
template <Config C>
void sweep() {
  const int m = C.tile_m * C.cluster_m, n = C.tile_n * C.cluster_n, k = C.tile_k(), unit = 128 / bits(C.type);
  expect_exact<C>({m, n, 2 * k}, 1);
  expect_exact<C>({m + 9, 2 * n + 32, k + unit}, 2);
  expect_exact<C>({1, 32, unit}, 1);
  expect_exact<C>({40, 32, 0}, 1);
}

constexpr EpilogueConfig kAll{.alpha = true,
                              .source = true,
                              .bias = Bias::per_column,
                              .activation = Activation::relu,
                              .residual = true,
                              .quantize = true};

TEST(GemmEpilogueSm100, StoresByTma) {
  sweep<Config{.tile_n = 64, .stages = 2, .store_stages = 2}>();
  sweep<Config{.tile_n = 128, .stages = 2, .store_stages = 3}>();
  sweep<Config{.out_type = DType::fp32, .tile_n = 64, .stages = 2, .store_stages = 2}>();
  sweep<Config{.type = DType::fp16, .out_type = DType::fp16, .tile_n = 48, .stages = 2, .store_stages = 2}>();
  sweep<Config{.out_type = DType::e4m3, .tile_n = 64, .stages = 2, .store_stages = 2}>();
}
TEST(GemmEpilogueSm100, StoresByTmaFromEveryDataPathOfTensorMemory) {
  sweep<Config{.tile_m = 64, .tile_n = 64, .stages = 2, .cta_group = 2, .cluster_m = 2, .store_stages = 2}>();
  sweep<Config{.tile_n = 64, .stages = 2, .cta_group = 2, .cluster_m = 2, .cluster_n = 2, .store_stages = 2}>();
}
TEST(GemmEpilogueSm100, StoresRowsOfHalfA128ByteLineFromSixtyFourRows) {
  sweep<Config{.tile_m = 64, .tile_n = 32, .stages = 2, .store_stages = 2}>();
}

TEST(GemmEpilogueSm100, LoadsWhatItAddsByTma) {
  sweep<Config{.tile_n = 64, .stages = 2, .epilogue = kAll, .epilogue_load_stages = 1}>();
  sweep<Config{.tile_n = 64, .stages = 2, .epilogue = kAll, .store_stages = 2, .epilogue_load_stages = 2}>();
  sweep<Config{.out_type = DType::fp32,
               .tile_n = 64,
               .stages = 2,
               .epilogue = {.source = true, .source_type = DType::fp32, .bias = Bias::per_row, .residual = true},
               .store_stages = 2,
               .epilogue_load_stages = 3}>();
  sweep<Config{.tile_m = 64,
               .tile_n = 64,
               .stages = 2,
               .cta_group = 2,
               .cluster_m = 2,
               .epilogue = kAll,
               .store_stages = 2,
               .epilogue_load_stages = 2}>();
  sweep<Config{.tile_n = 64,
               .stages = 2,
               .epilogue = {.bias = Bias::per_column, .bias_type = DType::bf16},
               .epilogue_load_stages = 2}>();
}

template <Activation A>
constexpr Config with(Bias bias = Bias::per_column) {
  return {.tile_n = 64, .stages = 2, .epilogue = {.alpha = true, .bias = bias, .activation = A, .residual = true}};
}
TEST(GemmEpilogueSm100, AppliesEveryNode) {
  sweep<Config{.tile_n = 32, .stages = 2, .epilogue = {}}>();
  sweep<Config{.tile_n = 32, .stages = 2, .epilogue = kAll}>();
  sweep<with<Activation::relu>(Bias::per_row)>();
  sweep<with<Activation::gelu_tanh>()>();
  sweep<with<Activation::gelu_erf>()>();
  sweep<with<Activation::silu>()>();
}

TEST(GemmEpilogueSm100, HasEveryTypeOfResult) {
  sweep<Config{.out_type = DType::fp32, .tile_n = 32, .stages = 2, .epilogue = kAll}>();
  sweep<Config{.out_type = DType::fp16, .tile_n = 32, .stages = 2, .epilogue = kAll}>();
  sweep<Config{.out_type = DType::e4m3, .tile_n = 32, .stages = 2, .epilogue = kAll}>();
  sweep<Config{.type = DType::e4m3,
               .out_type = DType::e4m3,
               .tile_n = 64,
               .stages = 2,
               .epilogue = kAll,
               .store_stages = 2,
               .epilogue_load_stages = 2}>();
}

// B is [gates; ups], and rows 2i and 2i + 1 of its tile are gate and up.
constexpr EpilogueConfig kSwiglu{
    .alpha = true, .bias = Bias::per_column, .activation = Activation::swiglu, .residual = true};
TEST(GemmEpilogueSm100, MultipliesAPairOfAccumulators) {
  sweep<Config{.tile_n = 32, .stages = 2, .epilogue = {.activation = Activation::swiglu}}>();
  sweep<Config{.tile_n = 64, .stages = 2, .epilogue = kSwiglu}>();
  sweep<Config{.tile_n = 64, .stages = 2, .epilogue = kSwiglu, .store_stages = 2, .epilogue_load_stages = 2}>();
  sweep<Config{.out_type = DType::e4m3,
               .tile_m = 64,
               .tile_n = 64,
               .stages = 2,
               .cta_group = 2,
               .cluster_m = 2,
               .epilogue = {.activation = Activation::swiglu, .quantize = true},
               .store_stages = 2}>();
  sweep<Config{.out_type = DType::fp32, .tile_n = 64, .stages = 2, .epilogue = kSwiglu, .store_stages = 2}>();
}

TEST(GemmEpilogueSm100, HasSeveralWarpgroups) {
  sweep<Config{.tile_n = 64, .stages = 2, .epilogue = kAll, .epilogue_warps = 8}>();
  sweep<Config{
      .tile_n = 64, .stages = 2, .accumulators = 1, .epilogue = kAll, .epilogue_warps = 8, .store_stages = 2}>();
  sweep<Config{.tile_n = 64,
               .stages = 2,
               .cta_group = 2,
               .cluster_m = 2,
               .epilogue = kAll,
               .epilogue_warps = 8,
               .store_stages = 2,
               .epilogue_load_stages = 2}>();
  sweep<Config{.tile_m = 64,
               .tile_n = 64,
               .stages = 2,
               .cta_group = 2,
               .cluster_m = 2,
               .epilogue_warps = 8,
               .store_stages = 2}>();
  sweep<Config{.tile_n = 96, .stages = 2, .epilogue_warps = 12}>();
  sweep<Config{.tile_n = 64, .stages = 2, .epilogue = kSwiglu, .epilogue_warps = 8, .store_stages = 2}>();
}

// The roles of the epilogue walk the same jobs as the others, whoever hands them out.
template <Config C>
void every_source(int batches, int splits) {
  const int m = C.tile_m * C.cluster_m, n = C.tile_n * C.cluster_n, k = C.tile_k();
  for (int clusters : {1, 3}) {
    expect_exact<C>({m + 9, 2 * n + 32, 3 * k, 0, 0, batches, splits}, clusters);
    expect_exact<C>({40, 32, k, 0, 0, batches, splits}, clusters);
  }
}
TEST(GemmEpilogueSm100, TakesItsTilesFromAnySource) {
  every_source<Config{.tile_n = 64,
                      .stages = 2,
                      .source = TileSource::clc,
                      .epilogue = kAll,
                      .epilogue_warps = 8,
                      .store_stages = 2,
                      .epilogue_load_stages = 2}>(1, 1);
  every_source<Config{.tile_n = 64,
                      .stages = 2,
                      .cta_group = 2,
                      .cluster_m = 2,
                      .source = TileSource::clc,
                      .epilogue = kAll,
                      .store_stages = 2,
                      .epilogue_load_stages = 2}>(1, 1);
  every_source<Config{
      .tile_n = 64, .stages = 2, .batched = true, .epilogue = kAll, .store_stages = 2, .epilogue_load_stages = 2}>(3,
                                                                                                                   1);
  every_source<Config{.tile_n = 64, .stages = 2, .batched = true, .epilogue = kAll}>(3, 1);
}
TEST(GemmEpilogueSm100, FinishesTilesWhoseDepthIsShared) {
  every_source<Config{.tile_n = 64,
                      .stages = 2,
                      .split = DepthSplit::split_k,
                      .epilogue = kAll,
                      .epilogue_warps = 8,
                      .store_stages = 2,
                      .epilogue_load_stages = 2}>(1, 3);
  every_source<Config{.tile_n = 64,
                      .stages = 2,
                      .split = DepthSplit::stream_k,
                      .epilogue = kAll,
                      .store_stages = 2,
                      .epilogue_load_stages = 2}>(1, 1);
  every_source<Config{
      .tile_n = 64, .stages = 2, .split = DepthSplit::stream_k, .epilogue = kSwiglu, .epilogue_warps = 8}>(1, 1);
}
// Nothing of the kernel ahead is read, and nothing is stored, before it has ended.
TEST(GemmEpilogueSm100, WaitsForTheKernelAhead) {
  every_source<Config{
      .tile_n = 64, .stages = 2, .dependent = true, .epilogue = kAll, .store_stages = 2, .epilogue_load_stages = 2}>(1,
                                                                                                                     1);
  every_source<Config{.tile_n = 64, .stages = 2, .dependent = true, .epilogue = kAll}>(1, 1);
}

// With four epilogue warps the roles are placed as in WarpRole, otherwise as in WarpRole1D1D, which takes their number.
TEST(GemmEpilogueSm100, HasItsRolesWhereTheRoleLayoutsHaveThem) {
  using Role = warp::WarpRole;
  constexpr BlockPlan four = kernel::sm100::DenseGemm<Config{
      .tile_n = 64, .source = TileSource::clc, .epilogue = kAll, .epilogue_load_stages = 1}>::plan;
  EXPECT_EQ(four.role("epilogue").threads(), Role::NUM_EPILOGUE_THREADS);
  EXPECT_EQ(four.role("scheduler").first_thread(), Role::SCHEDULER_WARP_START);
  EXPECT_EQ(four.role("load").first_thread(), Role::LOAD_WARP_START);
  EXPECT_EQ(four.role("mma").first_thread(), Role::MMA_WARP_START);
  EXPECT_EQ(four.role("epilogue_load").first_thread(), Role::EPILOGUE_LOAD_WARP_START);
  EXPECT_EQ(four.threads(), Role::TOTAL_THREADS_WITH_EPILOGUE_LOAD);
  using Role8 = warp::WarpRole1D1D<false, 8>;
  constexpr BlockPlan eight = kernel::sm100::DenseGemm<Config{.tile_n = 64, .epilogue_warps = 8}>::plan;
  EXPECT_EQ(eight.role("epilogue").threads(), Role8::NUM_EPILOGUE_THREADS);
  EXPECT_EQ(eight.role("load").first_thread(), Role8::LOAD_WARP_START);
  EXPECT_EQ(eight.role("mma").first_thread(), Role8::MMA_WARP_START);
  EXPECT_EQ(eight.threads(), Role8::TOTAL_THREADS);
}
// Every count that depends on the number of epilogue warps follows it.
TEST(GemmEpilogueSm100, CountsArrivalsByItsWarps) {
  constexpr BlockPlan plan = kernel::sm100::DenseGemm<Config{.tile_n = 64,
                                                             .cta_group = 2,
                                                             .cluster_m = 2,
                                                             .source = TileSource::clc,
                                                             .epilogue = kAll,
                                                             .epilogue_warps = 8,
                                                             .store_stages = 3,
                                                             .epilogue_load_stages = 2}>::plan;
  EXPECT_EQ(plan.barrier("accum.empty").count, 2 * 256);
  EXPECT_EQ(plan.barrier("tmem.done").count, 2 * 256);
  EXPECT_EQ(plan.named_barrier("tmem.allocated").threads, 256 + 32);
  EXPECT_EQ(plan.barrier("output.full").count, 128) << "of one warpgroup";
  EXPECT_EQ(plan.barrier("output.full").stages, 2 * 3);
  EXPECT_EQ(plan.barrier("source.empty").count, 4) << "of one warpgroup";
  EXPECT_EQ(plan.barrier("source.empty").stages, 2 * 2);
  EXPECT_EQ(plan.barrier("clc.empty").count, 2 * (8 + 1 + 1 + 2 + 2)) << "the warps of two CTAs that read responses";
}

// Threads store any number of columns at any distance between rows, wherever D begins.
template <Config C>
void any_columns() {
  for (int n : {1, 2, 3, 5, 7, 8, 9, 15, 17, 31, 33, 47}) {
    expect_exact<C>({67, n * C.operands(), 16, n % 3 == 0 ? 5 : 0, 0}, 1);
  }
  expect_exact<C>({67, 24 * C.operands(), 16, 8, 0}, 1);
  expect_exact<C>({67, 24 * C.operands(), 16, 8, 1}, 1);
  expect_exact<C>({67, 20 * C.operands(), 16, 3, 3}, 1);
}
TEST(GemmEpilogueSm100, StoresAnyNumberOfColumnsAndNothingAroundThem) {
  any_columns<Config{.tile_n = 32, .stages = 2}>();
  any_columns<Config{.out_type = DType::fp32, .tile_n = 16, .stages = 2, .epilogue = kAll}>();
  any_columns<Config{.type = DType::e4m3, .out_type = DType::e4m3, .tile_n = 24, .stages = 2}>();
  any_columns<Config{.tile_n = 16, .stages = 2, .epilogue = kSwiglu}>();
}
TEST(GemmEpilogueSm100, RefusesByItsNameAMatrixThatTheTmaCannotMove) {
  const auto refused = [](const std::string& sentence, const char* matrix) {
    EXPECT_EQ(sentence.rfind(matrix, 0), 0u) << sentence;
    EXPECT_NE(sentence.find("16"), std::string::npos) << sentence;
  };
  constexpr Config stores{.tile_n = 32, .stages = 2, .store_stages = 2};
  refused(Problem<stores>({67, 20, 16}).run({}, 1), "D, 67 x 20: ");
  constexpr Config adds{.tile_n = 32, .stages = 2, .epilogue = {.residual = true}, .epilogue_load_stages = 2};
  refused(Problem<adds>({67, 20, 16}).run({}, 1), "residual, 67 x 20: ");
  constexpr Config blends{.tile_n = 32, .stages = 2, .epilogue = {.source = true}, .epilogue_load_stages = 2};
  refused(Problem<blends>({67, 20, 16}).run({}, 1), "C, 67 x 20: ");
}
TEST(GemmEpilogueSm100, StoresByTmaIntoRowsWithGaps) {
  expect_exact<Config{.tile_n = 32, .stages = 2, .store_stages = 2}>({67, 40, 16, 8}, 1);
  expect_exact<Config{.out_type = DType::e4m3, .tile_n = 32, .stages = 2, .store_stages = 2}>({67, 48, 16, 16}, 1);
}

}  // namespace warpwright
