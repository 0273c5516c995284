// The Hopper GEMM in its configurations: exact on integers for all types, layouts, movers and schedules, with NaN
// between the rows of every matrix, and with the parts of a split depth added in one order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/dense_sweep.h"

namespace warpwright {

using dense_variant::DenseVariant;
using dense_variant::expect_exact;
using dense_variant::run;
using dense_variant::sweep;
using reference::Case;
using reference::Data;
using reference::Workload;
using simulate::Outcome;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;
using Config = DenseGemmConfig;

constexpr EpilogueConfig to(DType out) { return factor_and_conversion(out); }

TEST(GemmSm90, WritesEveryTypeWithSubtilesOfEveryWidth) {
  sweep<Config{.tile_m = 64, .tile_n = 16, .stages = 2, .cluster = 1, .epilogue = to(DType::fp32)}>();
  sweep<Config{.tile_m = 64, .tile_n = 96, .stages = 2, .cluster = 2, .epilogue = to(DType::fp32)}>();
  sweep<Config{.tile_m = 64, .tile_n = 48, .stages = 2, .cluster = 1, .epilogue = to(DType::e4m3)}>();
  sweep<Config{.tile_m = 64, .tile_n = 32, .stages = 2, .cluster = 1, .epilogue = to(DType::e5m2)}>();
  sweep<Config{.type = DType::fp16, .tile_m = 128, .tile_n = 32, .stages = 2, .epilogue = to(DType::bf16)}>();
}

TEST(GemmSm90, ReadsOperandsOfEightBits) {
  sweep<Config{.type = DType::e5m2, .tile_m = 64, .tile_n = 48, .stages = 2, .cluster = 1}>();
  sweep<Config{.type = DType::e4m3, .tile_m = 128, .tile_n = 32, .stages = 2, .mixed = true, .promote_k = 256}>();
  sweep<Config{.type = DType::e4m3,
               .tile_m = 192,
               .tile_n = 32,
               .stages = 3,
               .axis = ClusterAxis::n,
               .epilogue = to(DType::fp16),
               .promote_k = 128,
               .scaling = Scaling::tensor}>();
}

TEST(GemmSm90, SharesBothOperandsInARectangle) {
  sweep<Config{.tile_m = 64, .tile_n = 32, .stages = 2, .cluster = 4, .across = 2}>();
  sweep<Config{.tile_m = 64, .tile_n = 16, .stages = 3, .cluster = 8, .across = 4}>();
  sweep<Config{.tile_m = 128, .tile_n = 32, .stages = 2, .cluster = 8, .across = 2, .split = DepthSplit::split_k}>();
  sweep<Config{.tile_m = 128,
               .tile_n = 128,
               .stages = 2,
               .cluster = 4,
               .across = 2,
               .a_major = Major::MN,
               .b_major = Major::MN}>();
}

TEST(GemmSm90, ReadsBothLayoutsOfBothOperands) {
  constexpr Major K = Major::K, MN = Major::MN;
  sweep<Config{.tile_m = 64, .tile_n = 128, .stages = 2, .a_major = K, .b_major = MN}>();
  sweep<Config{.tile_m = 128, .tile_n = 64, .stages = 2, .axis = ClusterAxis::n, .a_major = MN, .b_major = K}>();
  sweep<Config{.type = DType::fp16, .tile_m = 128, .tile_n = 128, .stages = 2, .a_major = MN, .b_major = MN}>();
  sweep<Config{.tile_m = 128, .tile_n = 64, .stages = 2, .cluster = 1, .group_rows = 128, .a_major = MN}>();
}

TEST(GemmSm90, MovesMatricesThatTheTmaCannotAddress) {
  constexpr Mover threads = Mover::threads;
  sweep<Config{.tile_m = 64, .tile_n = 48, .stages = 2, .cluster = 1, .load = threads, .store = threads}>();
  sweep<Config{.tile_m = 128,
               .tile_n = 64,
               .stages = 2,
               .cluster = 1,
               .epilogue = dense_variant::kFused,
               .a_major = Major::MN,
               .batched = true,
               .load = threads,
               .store = threads}>();
  sweep<Config{.type = DType::e4m3,
               .tile_m = 64,
               .tile_n = 32,
               .stages = 2,
               .cluster = 1,
               .epilogue = dense_variant::kQuantized,
               .load = threads,
               .store = threads,
               .split = DepthSplit::split_k}>();
  sweep<Config{.tile_m = 192, .tile_n = 32, .stages = 2, .store = threads}>();
}

TEST(GemmSm90, TakesTurnsInPingPong) {
  constexpr TileSharing ping_pong = TileSharing::ping_pong;
  sweep<Config{.tile_m = 64, .tile_n = 32, .stages = 2, .sharing = ping_pong}>();
  sweep<Config{.tile_m = 128, .tile_n = 16, .stages = 3, .cluster = 1, .group_rows = 128, .sharing = ping_pong}>();
  sweep<Config{.type = DType::e4m3,
               .tile_m = 64,
               .tile_n = 32,
               .stages = 4,
               .overlapped = false,
               .epilogue = dense_variant::kFused,
               .sharing = ping_pong,
               .promote_k = 128,
               .scaling = Scaling::row_column,
               .batched = true}>();
  sweep<Config{.tile_m = 64, .tile_n = 16, .stages = 3, .cluster = 1, .sharing = ping_pong, .store = Mover::threads}>();
}

TEST(GemmSm90, SharesTheDepthOfTiles) {
  sweep<Config{.tile_m = 64, .tile_n = 32, .stages = 2, .split = DepthSplit::split_k}>();
  sweep<Config{
      .tile_m = 128, .tile_n = 32, .stages = 2, .cluster = 1, .group_rows = 128, .split = DepthSplit::stream_k}>();
  sweep<Config{.type = DType::e4m3,
               .tile_m = 128,
               .tile_n = 32,
               .stages = 2,
               .axis = ClusterAxis::n,
               .epilogue = dense_variant::kFused,
               .promote_k = 128,
               .batched = true,
               .split = DepthSplit::stream_k}>();
}

TEST(GemmSm90, VisitsTilesInEveryOrder) {
  sweep<Config{.tile_m = 64, .tile_n = 16, .stages = 2, .cluster = 1, .raster = TileOrder::row_major}>();
  sweep<Config{.tile_m = 64, .tile_n = 16, .stages = 2, .dependent = true, .raster = TileOrder::column_major}>();
  sweep<Config{.tile_m = 64,
               .tile_n = 16,
               .stages = 2,
               .cluster = 1,
               .raster_group = 2,
               .raster = TileOrder::grouped,
               .raster_by_columns = true}>();
}

// An H200 does so too: the store of a row that ends inside a unit of 16 bytes overwrites the rest of that unit.
TEST(GemmSm90, StoresByTmaInWholeUnits) {
  constexpr Config C{.tile_m = 64, .tile_n = 32, .stages = 2, .cluster = 1};
  const Workload w = reference::gemm_workload(DenseVariant<C>::spec({64, 29, 64}), Data::integers, 1);
  EXPECT_FALSE(run<C>(w, {}, 1).ok());
  EXPECT_FALSE(DenseVariant<C>::takes({64, 29, 64}));
  EXPECT_TRUE(DenseVariant<C>::takes({64, 24, 64}));
}

// The sum of each tile is made in the order of k, whichever cluster is fast.
template <Config C>
void expect_same_bits() {
  const Workload w = reference::gemm_workload(DenseVariant<C>::spec({150, 72, 700}), Data::normal, 3);
  std::vector<uint8_t> first;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Options o;
    o.landing = Landing::seeded;
    o.scheduling = Scheduling::random;
    o.seed = seed;
    const Outcome out = run<C>(w, o, 3);
    ASSERT_TRUE(out.ok()) << out.sim.findings[0].text();
    if (first.empty()) first = out.output;
    EXPECT_EQ(out.output, first) << seed;
  }
}
TEST(GemmSm90, GivesTheSameBitsWhateverTheTiming) {
  expect_same_bits<Config{.tile_m = 64, .tile_n = 32, .stages = 2, .cluster = 1, .split = DepthSplit::split_k}>();
  expect_same_bits<Config{.tile_m = 64, .tile_n = 32, .stages = 2, .cluster = 1, .split = DepthSplit::stream_k}>();
}

// Three parts of a tile on six clusters, two of which are resident at a time: a cluster waits for lower ones only.
TEST(GemmSm90, SplitDepthNeedsNoResidentGrid) {
  constexpr Config split{.tile_m = 64, .tile_n = 32, .stages = 2, .cluster = 1, .split = DepthSplit::split_k};
  constexpr Config stream{.tile_m = 64, .tile_n = 32, .stages = 2, .cluster = 1, .split = DepthSplit::stream_k};
  Options o;
  o.landing = Landing::late;
  o.resident_clusters = 2;
  expect_exact<split>({150, 72, 700}, o, 6);
  expect_exact<stream>({150, 72, 700}, o, 5);
}

// C may be D, and factors may lie in device memory.
TEST(GemmSm90, OverwritesCWithFactorsFromDeviceMemory) {
  constexpr Config C{.tile_m = 64,
                     .tile_n = 64,
                     .stages = 2,
                     .cluster = 1,
                     .epilogue = {.out = DType::bf16, .alpha = true, .source = true, .source_type = DType::bf16}};
  constexpr int m = 100, n = 136, k = 72;
  const Workload w = reference::gemm_workload(DenseVariant<C>::spec({m, n, k}), Data::integers, 4);
  alignas(128) static uint8_t a[m * k * 2], b[n * k * 2], d[m * n * 2];
  static const float alpha = 0.5f;
  for (int landing = 0; landing < 3; ++landing) {
    std::copy(w.arrays[0].bytes.begin(), w.arrays[0].bytes.end(), a);
    std::copy(w.arrays[1].bytes.begin(), w.arrays[1].bytes.end(), b);
    std::copy(w.arrays[2].bytes.begin(), w.arrays[2].bytes.end(), d);
    launch::DenseGemmOperands o;
    o.a = {a, k, 0};
    o.b = {b, k, 0};
    o.d = {d, n, 0};
    o.m = m, o.n = n, o.k = k;
    o.epilogue.alpha_at = &alpha;
    o.epilogue.beta = 2;
    o.epilogue.c = d;
    o.epilogue.c_row_stride = n;
    DenseGemmArgs args;
    ASSERT_TRUE(launch::fill(args, C, o, simulate::EncodeForSimulator{}));
    using Use = simulator::Buffer::Use;
    Options options;
    options.landing = Landing(landing);
    const simulator::Result result =
        simulator::run_kernel<kernel::sm90::DenseGemm<C>>(args, {2, 1, 1},
                                                          {{a, sizeof a, "A", Use::input, false},
                                                           {b, sizeof b, "B", Use::input, false},
                                                           {const_cast<float*>(&alpha), 4, "alpha", Use::input, false},
                                                           {d, sizeof d, "D", Use::inout, false}},
                                                          options);
    ASSERT_TRUE(result.ok()) << result.findings[0].text();
    EXPECT_TRUE(reference::judge(w, std::vector<uint8_t>(d, d + sizeof d)).ok);
  }
}

// A dependent launch reads nothing that the kernel ahead of it writes before that kernel has ended.
template <Config C>
simulator::Result run_behind_a_kernel() {
  constexpr int m = 64, n = 64, k = 64;
  alignas(128) static uint8_t a[m * k * 2] = {}, b[n * k * 2] = {}, d[m * n * 2];
  DenseGemmArgs args;
  EXPECT_TRUE(launch::fill(args, C, a, b, d, m, n, k, 1.f, simulate::EncodeForSimulator{}));
  using Use = simulator::Buffer::Use;
  Options options;
  options.landing = Landing::eager;
  options.primary_pending = true;
  return simulator::run_kernel<kernel::sm90::DenseGemm<C>>(args, {1, 1, 1},
                                                           {{a, sizeof a, "A", Use::input, true},
                                                            {b, sizeof b, "B", Use::input, true},
                                                            {d, sizeof d, "D", Use::output, false}},
                                                           options);
}
TEST(GemmSm90, WaitsForTheKernelAhead) {
  constexpr Config patient{.tile_m = 64, .tile_n = 64, .stages = 2, .cluster = 1, .dependent = true};
  constexpr Config early{.tile_m = 64, .tile_n = 64, .stages = 2, .cluster = 1, .dependent = false};
  const simulator::Result good = run_behind_a_kernel<patient>();
  EXPECT_TRUE(good.ok()) << good.findings[0].text();
  EXPECT_FALSE(run_behind_a_kernel<early>().ok());
}

// Before the kernel ahead has ended, the skinny kernel reads weights that are said to be constant, and nothing else.
std::string skinny_behind_a_kernel(bool constant, bool weights_pending) {
  constexpr SkinnyGemmConfig c{.tokens = 16, .split = 2, .stages = 2};
  const reference::Workload w = reference::gemm_workload({20, 72, 328}, DType::bf16, DType::bf16, 1, Data::integers, 3);
  std::vector<uint8_t> memory[3];
  void* p[3];
  for (int i = 0; i < 3; ++i) {
    memory[i].resize(w.arrays[size_t(i)].bytes.size() + 128);
    p[i] = memory[i].data() + (128 - reinterpret_cast<uintptr_t>(memory[i].data()) % 128);
    std::copy(w.arrays[size_t(i)].bytes.begin(), w.arrays[size_t(i)].bytes.end(), static_cast<uint8_t*>(p[i]));
  }
  SkinnyGemmArgs args;
  EXPECT_TRUE(launch::fill(args, c, p[0], p[1], p[2], 20, 72, 328, 1.f, simulate::EncodeForSimulator{}));
  args.weights_are_constant = constant;
  Options options;
  options.primary_pending = true;
  using Use = simulator::Buffer::Use;
  const auto size = [&](int i) { return w.arrays[size_t(i)].bytes.size(); };
  const simulator::Result result =
      simulator::run_kernel<kernel::sm90::SkinnyGemm<c>>(args, {4, 1, 1},
                                                         {{p[0], size(0), "X", Use::input, true},
                                                          {p[1], size(1), "W", Use::input, weights_pending},
                                                          {p[2], size(2), "D", Use::output, false}},
                                                         options);
  if (!result.ok()) return result.findings[0].rule;
  const auto* d = static_cast<const uint8_t*>(p[2]);
  return reference::judge(w, std::vector<uint8_t>(d, d + size(2))).ok ? "" : "wrong";
}
TEST(GemmSm90, SkinnyReadsOnlyConstantWeightsBeforeTheKernelAheadHasEnded) {
  EXPECT_EQ(skinny_behind_a_kernel(false, true), "");
  EXPECT_EQ(skinny_behind_a_kernel(true, false), "");
  EXPECT_EQ(skinny_behind_a_kernel(true, true), "dependent_launch.stale");
}

TEST(GemmSm90, EveryInstanceIsLegalAndRefusalsSayWhy) {
  const auto expect_refusal = [](const Config& c, const char* part) {
    const char* why = refuse(c);
    ASSERT_NE(why, nullptr) << part;
    EXPECT_NE(std::string(why).find(part), std::string::npos) << why;
  };
  expect_refusal({.type = DType::tf32}, "bf16, fp16, e4m3 or e5m2");
  expect_refusal({.mixed = true}, "8-bit");
  expect_refusal({.stages = 5}, "shared memory");
  expect_refusal({.tile_m = 96}, "rows of a tile");
  expect_refusal({.tile_m = 256}, "warpgroups");
  expect_refusal({.tile_n = 264}, "multiple of 16");
  expect_refusal({.tile_m = 192, .tile_n = 256}, "registers");
  expect_refusal({.tile_m = 64, .tile_n = 192, .b_major = Major::MN}, "whole panels");
  expect_refusal({.tile_m = 192, .tile_n = 64, .axis = ClusterAxis::n, .a_major = Major::MN}, "whole panels");
  expect_refusal({.tile_m = 24, .tile_n = 64, .cluster = 4, .axis = ClusterAxis::n, .swapped = true}, "has parts");
  expect_refusal({.tile_m = 36, .tile_n = 64, .swapped = true}, "multiple of 8");
  expect_refusal({.tile_m = 40, .tile_n = 96, .swapped = true}, "columns of a swapped tile");
  expect_refusal({.tile_m = 40, .tile_n = 64, .epilogue = to(DType::fp32), .swapped = true}, "16 bits");
  expect_refusal({.tile_m = 72, .tile_n = 192, .swapped = true, .group_rows = 192, .sharing = TileSharing::halves},
                 "swizzle atoms");
  expect_refusal({.tile_m = 128, .tile_n = 64, .sharing = TileSharing::halves}, "rows of a tile");
  expect_refusal({.tile_m = 320, .tile_n = 64, .group_rows = 320, .sharing = TileSharing::halves},
                 "64, 128, 192 or 256");
  expect_refusal({.type = DType::e4m3, .b_major = Major::MN}, "16-bit types only");
  expect_refusal({.tile_n = 128, .promote_k = 100}, "promote_k");
  expect_refusal({.cluster = 2, .load = Mover::threads, .store = Mover::threads}, "cluster is 1");
  expect_refusal({.cluster = 1, .load = Mover::threads}, "threads store");
  expect_refusal({.tile_m = 64, .sharing = TileSharing::ping_pong, .split = DepthSplit::split_k}, "cooperative");
  expect_refusal({.epilogue = {.activation = Activation::swiglu}, .b_major = Major::MN}, "stored [n, k]");
  expect_refusal({.tile_n = 48, .epilogue = {.activation = Activation::swiglu}}, "multiple of 32");
}

}  // namespace warpwright
