// Groups along k of the Blackwell kernels, in bf16 and with blockwise scales: exact where sums and scales are, every
// mode of the simulator silent, and nothing used or written that belongs to no group.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
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
using simulator::Fault;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;

constexpr EpilogueConfig kSums{.out = DType::fp32, .alpha = true};
constexpr EpilogueConfig kAdded{.out = DType::fp32, .alpha = true, .source = true, .source_type = DType::fp32};

constexpr GroupedGemmSm100Config kBf16{.scaling = BlockScaling::none,
                                       .type = DType::bf16,
                                       .out_type = DType::fp32,
                                       .tile_n = 64,
                                       .stages = 3,
                                       .epilogue = kSums,
                                       .by_depth = true};
constexpr GroupedGemmSm100Config with(GroupedGemmSm100Config c, EpilogueConfig epilogue, Major major = Major::K) {
  c.epilogue = epilogue;
  c.a_major = c.b_major = major;
  return c;
}
constexpr auto kBf16Added = with(kBf16, kAdded);
constexpr auto kStored = with(kBf16, kSums, Major::MN), kStoredAdded = with(kBf16, kAdded, Major::MN);
constexpr BlockwiseFp8Sm100Config kFp8{
    .out_type = DType::fp32, .tile_n = 64, .stages = 3, .epilogue = kSums, .grouped = true, .by_depth = true};
constexpr BlockwiseFp8Sm100Config kFp8Pair{.out_type = DType::fp32,
                                           .tile_n = 64,
                                           .stages = 3,
                                           .cta_group = 2,
                                           .epilogue = kAdded,
                                           .epilogue_warps = 2 * kTmemWarps,
                                           .grouped = true,
                                           .by_depth = true};

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

Major major_of(const GroupedGemmSm100Config& c) { return c.a_major; }
Major major_of(const BlockwiseFp8Sm100Config&) { return Major::K; }

template <auto C>
GroupedProduct product(Case shape, std::vector<uint32_t> offsets) {
  GroupedProduct p{.shape = shape,
                   .type = C.dense().type,
                   .out = C.out_type,
                   .groups = Groups::by_depth,
                   .rows = std::move(offsets),
                   .accumulate = C.epilogue.source,
                   .a_major = major_of(C),
                   .b_major = major_of(C),
                   .matrix_alpha = true,
                   .scales_by_columns = true};
  if (p.type == DType::e4m3) p.b_scale_rows = 1;
  return p;
}

template <auto C>
Outcome run(const GroupedProduct& p, const reference::Workload& w, const Options& o, int clusters) {
  using K = typename KernelOf<C>::type;
  return simulate::simulate<K>(w, o, clusters * C.cta_group, [&](auto& args, const auto& at, const auto& encode) {
    const auto from = reference::grouped_operands(p, w, at);
    launch::GroupedOperands to;
    to.a = from.a;
    to.b = from.b;
    to.a_scales = const_cast<void*>(from.a_scales);
    to.b_scales = const_cast<void*>(from.b_scales);
    to.d = from.d;
    to.n = from.n;
    to.k = from.k;
    to.table = from.groups;
    to.matrix_alpha = static_cast<const float*>(reference::pointer_of(w, at, "matrix_alpha"));
    to.accumulate = from.accumulate;
    return launch::fill(args, C, to, encode);
  });
}

void expect_right(const Outcome& out, const GroupedProduct& p) {
  ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
  ASSERT_TRUE(out.verdict.ok) << p.shape.m << "x" << p.shape.n << "x" << p.shape.k << " "
                              << testing::PrintToString(p.rows) << ": " << out.verdict.wrong << " wrong, "
                              << out.verdict.unwritten << " unwritten, error " << out.verdict.max_rel_error;
}

template <auto C>
void expect_exact(const GroupedProduct& p) {
  const reference::Workload w = reference::grouped_product_workload(p, Data::integers, 3);
  uint64_t seed = 1;
  for (Landing landing : {Landing::eager, Landing::late, Landing::seeded}) {
    for (Scheduling scheduling : {Scheduling::fifo, Scheduling::random}) {
      Options o;
      o.landing = landing;
      o.scheduling = scheduling;
      o.seed = seed++;
      expect_right(run<C>(p, w, o, 1 + int(seed % 2)), p);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// A group without columns, columns of no group before and after, rows and columns that end inside a tile; groups of one
// element, of whole stages, inside one stage and across two.
template <auto C>
void expect_anywhere() {
  expect_exact<C>(product<C>({144, 72, 400}, {3, 3, 70, 71, 199, 263, 390}));
  expect_exact<C>(product<C>({144, 72, 400}, {0, 1, 128, 131, 400}));
  expect_exact<C>(product<C>({8, 8, 72}, {5, 9, 13, 60}));
  expect_exact<C>(product<C>({72, 72, 0}, {0, 0, 0}));
}
TEST(AlongKSm100, Bf16BeginsAnywhere) { expect_anywhere<kBf16>(); }
TEST(AlongKSm100, Bf16IsAdded) { expect_anywhere<kBf16Added>(); }
TEST(AlongKSm100, OperandsStoredAlongMAndN) { expect_anywhere<kStored>(); }
TEST(AlongKSm100, OperandsStoredAlongMAndNAreAdded) { expect_anywhere<kStoredAdded>(); }

TEST(AlongKSm100, BlocksWithScales) {
  expect_exact<kFp8>(product<kFp8>({140, 72, 1280}, {128, 128, 512, 640, 1152}));
  expect_exact<kFp8>(product<kFp8>({70, 72, 128}, {128, 128, 128}));
  expect_exact<kFp8>(product<kFp8>({70, 72, 0}, {0, 0, 0}));
}
TEST(AlongKSm100, BlocksWithScalesInPairsAreAdded) {
  expect_exact<kFp8Pair>(product<kFp8Pair>({300, 136, 1280}, {128, 128, 512, 640, 1152}));
  expect_exact<kFp8Pair>(product<kFp8Pair>({60, 40, 640}, {0, 384, 384, 640}));
}

TEST(AlongKSm100, BadOffsetsAreTakenAsTheNearestLegalOnes) {
  expect_exact<kBf16>(product<kBf16>({40, 64, 200}, {5, 150, 30, ~0u, 100}));
  expect_exact<kStored>(product<kStored>({40, 64, 200}, {5, 150, 30, ~0u, 100}));
  expect_exact<kFp8>(product<kFp8>({40, 64, 512}, {5, 300, 200, 4000, 100}));
}

// Tables and shapes drawn at random, with numbers that are not integers, against float64.
template <auto C>
void expect_random(int count, uint32_t unit) {
  std::mt19937 random(11);
  for (int i = 0; i < count; ++i) {
    const auto k = uint32_t(random() % (640 / unit) + 1) * unit;
    std::vector<uint32_t> offsets;
    for (uint32_t g = 0; g < 2 + random() % 9; ++g) offsets.push_back(uint32_t(random()) % (k / unit + 1) * unit);
    std::sort(offsets.begin(), offsets.end());
    const uint32_t aligned = (k + 7) / 8 * 8;
    const Case shape{8 * int64_t(1 + random() % 30), 8 * int64_t(1 + random() % 18), aligned};
    const GroupedProduct p = product<C>(shape, offsets);
    Options o;
    o.seed = uint64_t(i);
    o.landing = Landing::seeded;
    expect_right(run<C>(p, reference::grouped_product_workload(p, Data::normal, uint64_t(i)), o, 1 + i % 3), p);
    if (testing::Test::HasFatalFailure()) return;
  }
}
TEST(AlongKSm100, RandomProducts) {
  expect_random<kBf16>(30, 1);
  expect_random<kBf16Added>(15, 1);
  expect_random<kStored>(30, 1);
  expect_random<kFp8>(20, 128);
  expect_random<kFp8Pair>(15, 128);
}

// Whether some landing reports a fault; a wrong result that is not reported does not count.
template <auto C>
void expect_reported(const Fault& fault, const GroupedProduct& p) {
  SCOPED_TRACE(testing::Message() << int(fault.action) << " " << fault.word << " " << fault.object);
  const reference::Workload w = reference::grouped_product_workload(p, Data::integers, 3);
  int reported = 0;
  for (Landing landing : {Landing::eager, Landing::late, Landing::seeded}) {
    Options o;
    o.landing = landing;
    o.faults = {fault};
    const Outcome out = run<C>(p, w, o, 1);
    reported += !out.sim.ok();
    EXPECT_TRUE(!out.sim.ok() || out.verdict.ok) << "a silent wrong result";
  }
  EXPECT_GT(reported, 0) << "nobody saw it";
}
TEST(AlongKSm100, NoMissingSynchronizationOfClearedStagesPassesUnseen) {
  using enum Fault::Action;
  const GroupedProduct p = product<kBf16>({136, 72, 1000}, {3, 401, 403, 998});
  for (const Fault& fault :
       {Fault{"fence_proxy_async", "", "mma", drop}, Fault{"sync_warp", "", "mma", drop},
        Fault{"mbarrier_arrive", "input.empty", "mma", drop}, Fault{"mbarrier_arrive", "input.empty", "mma", duplicate},
        Fault{"tcgen05_commit", "input.empty", "mma", drop}}) {
    expect_reported<kBf16>(fault, p);
  }
}

}  // namespace
}  // namespace warpwright
