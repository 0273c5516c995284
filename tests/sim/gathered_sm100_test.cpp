// Blackwell's grouped products whose rows of A are named by a table: every row of the product is the right one,
// whatever the table says and wherever tokens are in the MMA, as is swiglu of gates and ups that lie apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "launch/host_grouped.h"
#include "reference/grouped_sm90_workload.h"
#include "simulate/run_kernel.h"
#include "warpwright/kernel/sm100/blockwise/blockwise_fp8.h"
#include "warpwright/kernel/sm100/grouped/grouped_gemm.h"

namespace warpwright {
namespace {

using reference::Case;
using reference::Data;
using reference::GroupedProduct;
using simulate::Outcome;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;

constexpr GroupedGemmSm100Config kRows{
    .scaling = BlockScaling::none, .type = DType::bf16, .tile_n = 16, .stages = 2, .gathered = true};
// Tokens are 32 columns of a pair, 16 for each CTA: four lanes have a copy, the others none.
constexpr GroupedGemmSm100Config kColumns{.scaling = BlockScaling::none,
                                          .type = DType::bf16,
                                          .tile_n = 32,
                                          .stages = 3,
                                          .cta_group = 2,
                                          .swap_ab = true,
                                          .gathered = true};
constexpr GroupedGemmSm100Config kSwiglu{.scaling = BlockScaling::none,
                                         .type = DType::bf16,
                                         .tile_n = 32,
                                         .stages = 2,
                                         .cta_group = 2,
                                         .epilogue = {.alpha = true, .activation = Activation::swiglu},
                                         .gathered = true};
constexpr BlockwiseFp8Sm100Config kQuantized{.out_type = DType::e4m3,
                                             .tile_n = 256,
                                             .stages = 2,
                                             .epilogue = {.alpha = true, .activation = Activation::swiglu},
                                             .epilogue_warps = 8,
                                             .grouped = true,
                                             .gathered = true};
static_assert(refuse(kRows) == nullptr && refuse(kColumns) == nullptr && refuse(kSwiglu) == nullptr);
static_assert(refuse(kQuantized) == nullptr);

template <auto C>
struct KernelOf;
template <GroupedGemmSm100Config C>
struct KernelOf<C> {
  using type = kernel::sm100::GroupedGemm<C>;
};
template <BlockwiseFp8Sm100Config C>
struct KernelOf<C> {
  using type = kernel::sm100::BlockwiseFp8<C>;
};

// Rows in no order, some of them more than once; the last row of A is never taken.
template <auto C>
GroupedProduct gathered(Case shape, std::vector<uint32_t> offsets, int64_t a_rows) {
  GroupedProduct p{.shape = shape,
                   .type = C.dense().type,
                   .out = C.out_type,
                   .groups = Groups::contiguous,
                   .rows = std::move(offsets),
                   .swiglu = C.epilogue.pair(),
                   .a_rows = a_rows,
                   .matrix_alpha = true,
                   .scales_by_columns = true};
  for (int64_t i = 0; i < shape.m; ++i)
    p.index.push_back(int32_t(i * 11 + 3) % int32_t(std::max<int64_t>(1, a_rows - 1)));
  return p;
}

template <auto C>
Outcome run(const GroupedProduct& product, const reference::Workload& w, const Options& o, int clusters) {
  using K = typename KernelOf<C>::type;
  return simulate::simulate<K>(w, o, clusters * K::plan.cluster, [&](auto& args, const auto& p, const auto& encode) {
    const GroupedPointers at = grouped_pointers(product, w, p);
    launch::GroupedOperands operands;
    operands.a = const_cast<void*>(at.a);
    operands.b = const_cast<void*>(at.b);
    operands.a_scales = const_cast<float*>(at.a_scales);
    operands.b_scales = const_cast<float*>(at.b_scales);
    operands.d = at.d;
    operands.d_scales = at.d_scales;
    operands.n = int(w.shape.n);
    operands.k = int(w.shape.k);
    operands.table = reference::grouped_operands(product, w, p).groups;
    operands.matrix_alpha = at.matrix_alpha;
    operands.index = at.index;
    operands.a_rows = int(product.a_rows);
    return launch::fill(args, C, operands, encode);
  });
}
void expect_right(const Outcome& out) {
  ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
  ASSERT_TRUE(out.verdict.ok) << out.verdict.wrong << " wrong, " << out.verdict.unwritten << " unwritten, "
                              << out.verdict.other;
}
template <auto C>
void expect_exact(const GroupedProduct& product) {
  const reference::Workload w = grouped_product_workload(product, Data::integers, 3);
  uint64_t seed = 1;
  for (const Landing landing : {Landing::eager, Landing::late, Landing::seeded}) {
    Options o;
    o.landing = landing;
    o.scheduling = seed % 2 == 0 ? Scheduling::random : Scheduling::fifo;
    o.seed = seed++;
    expect_right(run<C>(product, w, o, 1 + int(seed % 2)));
    if (testing::Test::HasFatalFailure()) return;
  }
}
template <auto C>
void expect_all_counts(const std::vector<int64_t>& counts, int64_t n, int64_t k) {
  for (const int64_t m : counts) {
    const auto rows = uint32_t(m);
    for (const auto& offsets : std::vector<std::vector<uint32_t>>{
             {0, rows}, {0, 0, rows, rows}, {0, rows / 3, rows / 3, rows - rows / 5, rows}}) {
      SCOPED_TRACE(std::to_string(m) + " rows in " + std::to_string(offsets.size() - 1) + " groups");
      expect_exact<C>(gathered<C>({m, n, k}, offsets, m / 2 + 2));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(GatheredSm100, rowsOfAnyCount) { expect_all_counts<kRows>({1, 3, 127, 129, 260}, 24, 200); }
TEST(GatheredSm100, rowsThatAreColumns) { expect_all_counts<kColumns>({1, 17, 33, 100}, 264, 200); }
TEST(GatheredSm100, swiglu) { expect_all_counts<kSwiglu>({65, 300}, 80, 136); }
TEST(GatheredSm100, quantizedResults) { expect_all_counts<kQuantized>({5, 130}, 512, 272); }
TEST(GatheredSm100, withoutDepth) {
  expect_exact<kSwiglu>(gathered<kSwiglu>({40, 32, 0}, {0, 10, 40}, 9));
  expect_exact<kQuantized>(gathered<kQuantized>({40, 256, 0}, {0, 10, 40}, 9));
}

// Rows that A does not have count as zeros and are reported in the status word; every cluster finds some of them.
template <auto C>
void expect_zeros(Case shape) {
  GroupedProduct p = gathered<C>(shape, {0, 250, 500}, 99);
  p.index[0] = -1;
  p.index[77] = INT32_MIN;
  p.index[255] = 99;
  p.index[499] = INT32_MAX;
  const reference::Workload w = grouped_product_workload(p, Data::integers, 3);
  for (const int clusters : {1, 3}) {
    Options o;
    o.seed = uint64_t(clusters);
    o.scheduling = Scheduling::random;
    expect_right(run<C>(p, w, o, clusters));
  }
  ASSERT_EQ(w.also.front().array, "status");
  EXPECT_EQ(w.also.front().bytes[0], uint8_t(kIndexOutOfRange));
}
TEST(GatheredSm100, rowsThatAreNotThere) { expect_zeros<kRows>({500, 24, 72}); }
TEST(GatheredSm100, blockwiseRowsThatAreNotThere) { expect_zeros<kQuantized>({500, 256, 144}); }

// What must not compile.
TEST(GatheredSm100, configurationsThatAreRefused) {
  const auto refused = [](auto c, auto change) {
    change(c);
    return std::string(refuse(c) == nullptr ? "" : refuse(c));
  };
  const std::string plain = "grouped_gemm: gathered rows are plain operands, in one matrix of all groups";
  EXPECT_EQ(refused(kRows, [](auto& c) { c.scaling = BlockScaling::mxfp8, c.type = DType::e4m3; }), plain);
  EXPECT_EQ(refused(kRows, [](auto& c) { c.pointers = true; }), plain);
  EXPECT_EQ(refused(kSwiglu, [](auto& c) { c.gathered = false, c.pointers = true; }),
            "grouped_gemm: gates and ups that lie apart are plain operands, in one array of matrices");
  EXPECT_EQ(refused(kQuantized, [](auto& c) { c.grouped = false; }),
            "blockwise_fp8: gathered rows and swiglu are for groups");
  EXPECT_EQ(refused(kQuantized, [](auto& c) { c.tile_n = 128, c.epilogue_warps = 4; }),
            "blockwise_fp8: 128 results of a row have a scale: tile_n is 256, and a thread has 16 of them or more");
}

}  // namespace
}  // namespace warpwright
