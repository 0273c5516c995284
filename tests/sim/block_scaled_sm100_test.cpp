// The Blackwell GEMM with block-scaled operands against a float64 product with the factors applied, in all modes of
// exploration, and every synchronization of it dropped or altered.
#include <algorithm>
#include <vector>

#include "gemm_sm100.h"
#include "reference/block_scaled_workload.h"
#include "sim/generated.h"

namespace warpwright::gemm_sm100 {
namespace {

using reference::Data;
using reference::Workload;
using simulate::Outcome;

constexpr Config kMxfp8{.type = DType::e4m3, .tile_n = 64, .stages = 2, .scaling = BlockScaling::mxfp8};

template <Config C>
Outcome run(const Workload& w, Options o, int clusters = 2) {
  if (C.source == TileSource::clc) {
    o.resident_clusters = clusters;
    clusters = std::max(1, int(C.tiles(int(w.shape.m), int(w.shape.n))));
  }
  return simulate::simulate<kernel::sm100::DenseGemm<C>>(
      w, o, clusters * C.cluster(), [&](auto& args, const auto& p, const auto& encode) {
        const Status s = launch::fill(args, C, p[0], p[1], p.back(), int(w.shape.m), int(w.shape.n), int(w.shape.k),
                                      float(w.alpha), encode);
        return s ? launch::fill_block_scales(args, C, p[2], p[3], encode) : s;
      });
}
template <Config C>
void expect_product(Case shape, Data data, const Options& o, uint64_t seed = 1) {
  const Workload w = reference::block_scaled_workload(shape, C.scaling, C.type, C.out_type, data, seed);
  const Outcome out = run<C>(w, o);
  ASSERT_TRUE(out.sim.ok()) << shape.m << "x" << shape.n << "x" << shape.k << "\n" << out.sim.findings[0].text();
  ASSERT_TRUE(out.verdict.ok) << shape.m << "x" << shape.n << "x" << shape.k << ": " << out.verdict.wrong << " wrong, "
                              << out.verdict.unwritten << " unwritten, error " << out.verdict.max_rel_error;
}
// Several tiles, tails in all directions, one row, no depth; then normal values, whose factors differ widely.
template <Config C>
void expect_products() {
  const int m = C.tile_m * C.cluster_m, n = C.tile_n * C.cluster_n, k = C.tile_k();
  const int unit = C.scaling == BlockScaling::w4a8 ? 128 : 128 / bits(C.type);
  const auto shape = [&](int rows, int columns, int depth) {
    return C.swap_ab ? Case{columns, rows, depth} : Case{rows, columns, depth};
  };
  for (const Case& c : {shape(2 * m, 2 * n, 2 * k), shape(m + 8, 3 * n + 8, 3 * k + unit), shape(8, 8, unit)}) {
    expect_product<C>(c, Data::integers, {});
    expect_product<C>(c, Data::normal, {}, 5);
    if (testing::Test::HasFatalFailure()) return;
  }
  expect_product<C>({40, 24, 0}, Data::integers, {});
}
template <Config C>
void expect_products_in_every_mode() {
  const int m = C.tile_m * C.cluster_m, n = C.tile_n * C.cluster_n;
  in_every_mode(kernel::sm100::DenseGemm<C>::plan, 1, [&](const Options& o) {
    expect_product<C>({m + 8, 2 * n + 8, 3 * C.tile_k() + (C.scaling == BlockScaling::w4a8 ? 128 : 32)}, Data::integers,
                      o, o.seed);
  });
}

// 128-row tiles of factors cover one tile of the result, two, half of one, or one and a half.
template <DType T, BlockScaling S>
void expect_all_tiles() {
  expect_products<Config{.type = T, .tile_n = 64, .stages = 2, .scaling = S}>();
  expect_products<Config{.type = T, .tile_n = 128, .stages = 3, .scaling = S}>();
  expect_products<Config{.type = T, .tile_n = 192, .stages = 2, .accumulators = 1, .scaling = S}>();
  expect_products<Config{
      .type = T, .tile_n = 256, .stages = 2, .accumulators = 1, .cta_group = 2, .cluster_m = 2, .scaling = S}>();
}
TEST(BlockScaledGemm, Mxfp8) { expect_all_tiles<DType::e4m3, BlockScaling::mxfp8>(); }
TEST(BlockScaledGemm, Mxfp4) { expect_all_tiles<DType::e2m1, BlockScaling::mxfp4>(); }
TEST(BlockScaledGemm, Nvfp4) { expect_all_tiles<DType::e2m1, BlockScaling::nvfp4>(); }
TEST(BlockScaledGemm, W4a8) { expect_all_tiles<DType::e4m3, BlockScaling::w4a8>(); }

TEST(BlockScaledGemm, OtherElementsOfMxfp8) {
  expect_products<Config{.type = DType::e5m2, .tile_n = 64, .stages = 2, .scaling = BlockScaling::mxfp8}>();
  expect_products<Config{.type = DType::e5m2, .tile_n = 64, .stages = 2, .scaling = BlockScaling::w4a8}>();
}
TEST(BlockScaledGemm, ExchangedOperands) {
  expect_products<Config{
      .type = DType::e4m3, .tile_n = 64, .stages = 2, .swap_ab = true, .scaling = BlockScaling::w4a8}>();
  expect_products<Config{
      .type = DType::e2m1, .tile_n = 64, .stages = 2, .swap_ab = true, .scaling = BlockScaling::nvfp4}>();
}
TEST(BlockScaledGemm, SharedLoadsAndGroupsOfTiles) {
  expect_products<Config{.type = DType::e4m3,
                         .tile_n = 64,
                         .stages = 2,
                         .cluster_m = 2,
                         .cluster_n = 2,
                         .scaling = BlockScaling::mxfp8}>();
  expect_products<Config{.type = DType::e2m1,
                         .tile_n = 128,
                         .stages = 2,
                         .accumulators = 1,
                         .cta_group = 2,
                         .cluster_m = 4,
                         .scaling = BlockScaling::mxfp4}>();
  expect_products<Config{
      .type = DType::e4m3, .tile_n = 64, .stages = 2, .k_group = 2, .scaling = BlockScaling::w4a8}>();
}

TEST(BlockScaledGemm, EveryModeOfExploration) {
  expect_products_in_every_mode<kMxfp8>();
  expect_products_in_every_mode<Config{.type = DType::e2m1,
                                       .tile_n = 64,
                                       .stages = 2,
                                       .cta_group = 2,
                                       .cluster_m = 2,
                                       .scaling = BlockScaling::nvfp4}>();
  expect_products_in_every_mode<Config{
      .type = DType::e2m1, .tile_n = 64, .stages = 2, .scaling = BlockScaling::mxfp4}>();
  expect_products_in_every_mode<Config{
      .type = DType::e4m3, .tile_n = 64, .stages = 2, .scaling = BlockScaling::w4a8}>();
}

TEST(BlockScaledGemm, WithASchedulerAndResultsThatLeaveByTma) {
  constexpr Config c{.type = DType::e4m3,
                     .tile_n = 64,
                     .stages = 2,
                     .source = TileSource::clc,
                     .store_stages = 2,
                     .scaling = BlockScaling::mxfp8};
  expect_products<c>();
  expect_products_in_every_mode<c>();
}

// Each matrix of a batch has its own factors, or all share B and its factors.
TEST(BlockScaledGemm, Batches) {
  constexpr Config c{.type = DType::e2m1, .tile_n = 64, .stages = 2, .batched = true, .scaling = BlockScaling::nvfp4};
  constexpr int batches = 3;
  const Case shape{136, 72, 288};
  for (bool shares_b : {false, true}) {
    std::vector<Workload> each;
    Workload all;
    for (int i = 0; i < batches; ++i) {
      const uint64_t seed = shares_b ? 1 : 1 + uint64_t(i);  // with one B, A is the same in all of them too
      each.push_back(reference::block_scaled_workload(shape, c.scaling, c.type, c.out_type, Data::integers, seed));
      if (i == 0) {
        all = each[0];
        all.expected.clear();  // each is checked by itself
        continue;
      }
      for (const char* name : {"A", "a_scales", "B", "b_scales", "D"}) {
        if (shares_b && (name[0] == 'B' || name[0] == 'b')) continue;
        for (size_t a = 0; a < all.arrays.size(); ++a) {
          const auto& bytes = each.back().arrays[a].bytes;
          if (all.arrays[a].name == name)
            all.arrays[a].bytes.insert(all.arrays[a].bytes.end(), bytes.begin(), bytes.end());
        }
      }
    }
    const Outcome out =
        simulate::simulate<kernel::sm100::DenseGemm<c>>(all, {}, 2, [&](auto& args, const auto& p, const auto& encode) {
          const Status s =
              launch::fill(args, c, p[0], p[1], p.back(), int(shape.m), int(shape.n), int(shape.k), 1, encode,
                           {batches, shape.m * shape.k, shares_b ? 0 : shape.n * shape.k, shape.m * shape.n});
          return s ? launch::fill_block_scales(args, c, p[2], p[3], encode) : s;
        });
    ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
    const size_t size = each[0].output().bytes.size();
    for (size_t i = 0; i < batches; ++i) {
      const auto first = out.output.begin() + int64_t(i * size);
      EXPECT_TRUE(reference::judge(each[i], {first, first + int64_t(size)}).ok) << "matrix " << i << " " << shares_b;
    }
  }
}

// A factor of another row or block gives another result: the reference applies each where it belongs.
TEST(BlockScaledGemm, AFactorThatIsOffByOneIsSeen) {
  const Workload w =
      reference::block_scaled_workload({128, 64, 256}, kMxfp8.scaling, kMxfp8.type, kMxfp8.out_type, Data::integers, 1);
  for (size_t array : {2u, 3u}) {
    for (size_t at : {0u, 3u, 16u, 512u}) {
      Workload other = w;
      other.arrays[array].bytes[at] ^= 1;
      const Outcome out = run<kMxfp8>(other, {});
      EXPECT_TRUE(out.sim.ok());
      EXPECT_FALSE(out.verdict.ok) << other.arrays[array].name << " byte " << at;
    }
  }
}

template <Config C>
void expect_mutants_reported(size_t at_least) {
  const Workload w = reference::block_scaled_workload({2 * C.tile_m * C.cluster_m, 2 * C.tile_n, 3 * C.tile_k()},
                                                      C.scaling, C.type, C.out_type, Data::integers, 3);
  constexpr const BlockPlan& plan = kernel::sm100::DenseGemm<C>::plan;
  Options list;
  list.list_fault_sites = true;
  const Outcome clean = run<C>(w, list, 1);
  ASSERT_TRUE(clean.sim.ok()) << clean.sim.findings[0].text();
  const std::vector<Fault> mutants = generated::mutants_of(plan, clean.sim.fault_sites);
  EXPECT_GE(mutants.size(), at_least);
  for (const Fault& f : mutants) {
    bool reported = false;
    in_every_mode(plan, 1, [&](Options o) {
      if (reported) return;
      o.faults = {f};
      const Outcome out = run<C>(w, o, 1);
      reported = !out.sim.ok();
      EXPECT_TRUE(reported || out.verdict.ok) << "a silent wrong result: " << generated::describe(f);
    });
    EXPECT_TRUE(reported) << generated::describe(f);
  }
}
TEST(BlockScaledGemm, EverySynchronizationIsNeeded) { expect_mutants_reported<kMxfp8>(25); }
TEST(BlockScaledGemm, EverySynchronizationOfAPairIsNeeded) {
  expect_mutants_reported<Config{
      .type = DType::e2m1, .tile_n = 64, .stages = 2, .cta_group = 2, .cluster_m = 2, .scaling = BlockScaling::nvfp4}>(
      30);
}

}  // namespace
}  // namespace warpwright::gemm_sm100
