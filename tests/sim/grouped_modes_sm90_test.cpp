// Groups along k, scales of single rows of B, and the fused epilogues of the grouped Hopper kernel: exact where sums
// and scales are, every mode of the simulator silent, and nothing used or written that belongs to no group.
#include <algorithm>
#include <utility>
#include <vector>

#include "sim/grouped_sm90.h"

namespace warpwright {
namespace {

using namespace grouped_sm90;

constexpr GroupedGemmConfig kRowScales{.tile_m = 128,
                                       .tile_n = 64,
                                       .stages = 3,
                                       .cluster = 2,
                                       .groups = Groups::contiguous,
                                       .any_rows = true,
                                       .b_scale_rows = 1};

TEST(RowScales, OneProductIsExact) {
  for (const Case& c : {Case{128, 64, 640}, {140, 136, 400}, {4, 8, 16}, {40, 24, 0}}) {
    expect_exact<kRowScales>(spec<kRowScales>(c));
  }
  expect_close<kRowScales>(spec<kRowScales>({70, 136, 528}));
}
TEST(RowScales, GroupsOfRowsAreExact) {
  expect_exact<kRowScales>(spec<kRowScales>({200, 136, 400}, {0, 1, 1, 100, 179, 190}));
  expect_exact<kRowScales>(spec<kRowScales>({90, 64, 128}, {0, 20, 40, 90}, {1, 7, 0}, 2));
}
TEST(RowScales, AnyRowsServesMaskedGroupsToo) {
  GroupedProduct p = spec<kRowScales>({4 * 90, 72, 272}, {0, 64, 7, 90});
  p.groups = Groups::masked;
  expect_exact<kRowScales>(p);
}
TEST(RowScales, TwoBlocksOfRowsHaveTheSameColumns) {
  constexpr GroupedGemmConfig tall{.tile_m = 128, .tile_n = 64, .stages = 3, .group_rows = 128, .b_scale_rows = 1};
  expect_exact<tall>(spec<tall>({200, 72, 656}));
}

constexpr GroupedGemmConfig kDepth{.out = DType::fp32,
                                   .tile_m = 128,
                                   .tile_n = 64,
                                   .stages = 3,
                                   .cluster = 2,
                                   .groups = Groups::by_depth,
                                   .b_scale_rows = 1};
constexpr GroupedGemmConfig kDepthBf16{.type = DType::bf16,
                                       .out = DType::fp32,
                                       .tile_m = 128,
                                       .tile_n = 64,
                                       .stages = 3,
                                       .cluster = 2,
                                       .groups = Groups::by_depth};

template <GroupedGemmConfig C>
GroupedProduct added(Case shape, std::vector<uint32_t> offsets) {
  GroupedProduct p = spec<C>(shape, std::move(offsets));
  p.accumulate = true;
  return p;
}

TEST(DepthGroups, AreSumsOverTheirColumns) {
  // A group without columns, columns of no group before and after, rows that end inside a tile.
  expect_exact<kDepth>(spec<kDepth>({140, 72, 1280}, {128, 128, 512, 640, 1152}));
  expect_exact<kDepth>(added<kDepth>({140, 72, 1280}, {128, 128, 512, 640, 1152}));
  expect_close<kDepth>(added<kDepth>({70, 72, 512}, {0, 256, 512}));
}
// Sixteen blocks with scales in lines of 16-byte multiples: by TMA, eight at a time, and starting at blocks that are
// not multiples of four.
TEST(DepthGroups, BeginAtAnyBlockOfScalesThatTheTmaBrings) {
  expect_exact<kDepth>(spec<kDepth>({140, 72, 2048}, {128, 128, 1408, 1664, 2048}));
  expect_exact<kDepth>(added<kDepth>({300, 136, 2048}, {384, 1920, 2048}));
}
TEST(DepthGroups, TwoBlocksOfRowsShareScalesOfColumns) {
  constexpr GroupedGemmConfig tall{.out = DType::fp32,
                                   .tile_m = 256,
                                   .tile_n = 48,
                                   .stages = 3,
                                   .cluster = 2,
                                   .axis = ClusterAxis::n,
                                   .group_rows = 128,
                                   .groups = Groups::by_depth,
                                   .b_scale_rows = 1};
  expect_exact<tall>(added<tall>({300, 136, 1536}, {128, 1152, 1536}));
  expect_exact<tall>(spec<tall>({60, 40, 1280}, {0, 384, 384, 1280}));
}
TEST(DepthGroups, OfBf16BeginAnywhere) {
  expect_exact<kDepthBf16>(spec<kDepthBf16>({140, 72, 400}, {3, 3, 70, 71, 199, 263, 390}));
  expect_exact<kDepthBf16>(added<kDepthBf16>({140, 72, 400}, {0, 1, 128, 131, 400}));
  expect_close<kDepthBf16>(added<kDepthBf16>({70, 72, 400}, {5, 133, 399}));
}
TEST(DepthGroups, OfBf16AreClearedByWarpgroupsWithoutRowsToo) {
  constexpr GroupedGemmConfig alone{
      .type = DType::bf16, .out = DType::bf16, .tile_m = 128, .tile_n = 64, .stages = 3, .groups = Groups::by_depth};
  expect_exact<alone>(spec<alone>({40, 64, 1000}, {0, 401, 401, 998}));
}
TEST(DepthGroups, WithoutColumnsAreZeroOrLeaveDAsItIs) {
  expect_exact<kDepth>(spec<kDepth>({70, 72, 128}, {128, 128, 128}));
  expect_exact<kDepth>(added<kDepth>({70, 72, 0}, {0, 0, 0}));
  expect_exact<kDepthBf16>(spec<kDepthBf16>({70, 72, 0}, {0, 0}));
}
TEST(DepthGroups, TakeBadOffsetsAsTheNearestLegalOnes) {
  expect_exact<kDepth>(spec<kDepth>({40, 64, 512}, {5, 300, 200, 4000, 100}));
  expect_exact<kDepthBf16>(spec<kDepthBf16>({40, 64, 200}, {5, 150, 30, ~0u, 100}));
}

TEST(DepthGroups, ReportBadOffsets) {
  const auto status_of = [](const GroupedProduct& p) {
    const reference::Workload w = reference::grouped_product_workload(p, Data::integers, 3);
    using K = kernel::sm90::GroupedGemm<kDepth>;
    struct Line {
      alignas(128) uint8_t bytes[128];
    };
    std::vector<std::vector<Line>> memory;
    std::vector<void*> pointers;
    std::vector<simulator::Buffer> buffers;
    for (const reference::Array& a : w.arrays) {
      memory.emplace_back(a.bytes.size() / 128 + 1);
      std::copy(a.bytes.begin(), a.bytes.end(), memory.back().front().bytes);
      pointers.push_back(memory.back().data());
      buffers.push_back({pointers.back(), a.bytes.size(), a.name, simulator::Buffer::Use::inout, true});
    }
    typename K::Args args;
    EXPECT_TRUE(launch::fill(args, kDepth, grouped_operands(p, w, pointers), simulate::EncodeForSimulator{}));
    EXPECT_TRUE(simulator::run_kernel<K>(args, {2, 1, 1}, buffers, {}).ok());
    return *args.groups.status;
  };
  EXPECT_EQ(status_of(spec<kDepth>({40, 64, 512}, {0, 128, 512})), 0u);
  EXPECT_EQ(status_of(spec<kDepth>({40, 64, 512}, {0, 100, 512})), uint32_t(kDepthUnaligned));
  EXPECT_EQ(status_of(spec<kDepth>({40, 64, 512}, {0, 256, 128, 640})), uint32_t(kOffsetsDecrease | kRowsOutOfRange));
}

constexpr GroupedGemmConfig kSwiglu{.tile_m = 128,
                                    .tile_n = 64,
                                    .stages = 3,
                                    .cluster = 2,
                                    .axis = ClusterAxis::n,
                                    .groups = Groups::contiguous,
                                    .any_rows = true,
                                    .swiglu = true,
                                    .bias = true};
constexpr GroupedGemmConfig kSwigluToE4m3 = [] {
  GroupedGemmConfig c = kSwiglu;
  c.out = DType::e4m3;
  c.tile_n = 256;
  return c;
}();

TEST(Swiglu, PutsGatesAndUpsTogether) {
  expect_exact<kSwiglu>(spec<kSwiglu>({140, 256, 400}));
  expect_exact<kSwiglu>(spec<kSwiglu>({160, 256, 272}, {0, 1, 1, 131, 150}));
  expect_exact<kSwiglu>(spec<kSwiglu>({40, 256, 0}));
  expect_close<kSwiglu>(spec<kSwiglu>({140, 256, 400}));
}
TEST(Swiglu, HalvesEndAnywhereWithScalesOfRows) {
  constexpr GroupedGemmConfig rows = [] {
    GroupedGemmConfig c = kSwiglu;
    c.b_scale_rows = 1;
    c.axis = ClusterAxis::m;
    return c;
  }();
  expect_exact<rows>(spec<rows>({140, 144, 272}, {0, 30, 140}));
}
// The cluster lies along an axis: along m its two CTAs share B, or take the last rows of a group beside each other.
constexpr GroupedGemmConfig swiglu_of_bf16(ClusterAxis axis) {
  GroupedGemmConfig c = kSwiglu;
  c.type = DType::bf16;
  c.axis = axis;
  return c;
}
TEST(Swiglu, OfBf16) {
  constexpr GroupedGemmConfig along_n = swiglu_of_bf16(ClusterAxis::n), along_m = swiglu_of_bf16(ClusterAxis::m);
  static_assert(along_m.paired());
  expect_exact<along_n>(spec<along_n>({140, 144, 136}, {0, 30, 140}));
  // The last tile has 8 of its 32 columns.
  GroupedProduct p = spec<along_m>({460, 144, 136}, {0, 40, 40, 230, 460});
  for (const bool bias : {false, true}) {
    p.bias = bias;
    expect_exact<along_m>(p);
  }
  p = spec<along_m>({2 * 230, 144, 136}, {200, 70});
  p.groups = Groups::masked;
  expect_exact<along_m>(p);
}
TEST(Swiglu, CtasShareWholePairs) {
  static constexpr GroupedGemmConfig four{
      .type = DType::bf16, .tile_m = 64, .tile_n = 128, .cluster = 4, .groups = Groups::contiguous, .swiglu = true};
  EXPECT_EQ(four.b_box().outer, 2 * four.box_columns());
  expect_exact<four>(spec<four>({300, 272, 72}, {0, 3, 200, 300}));
  GroupedGemmConfig halved = four;
  halved.tile_n = 96;
  EXPECT_STREQ(refuse(halved), "grouped_gemm: a CTA's share of an operand is not made of whole swizzle atoms");
}
TEST(Swiglu, ToE4m3WithAScaleForEachRowAnd128Columns) {
  GroupedProduct p = spec<kSwigluToE4m3>({160, 768, 144}, {0, 1, 1, 131, 150});
  expect_exact<kSwigluToE4m3>(p);
  expect_close<kSwigluToE4m3>(p);
  p.judge_scales = true;
  expect_exact<kSwigluToE4m3>(p);
  expect_close<kSwigluToE4m3>(p);
}

constexpr GroupedGemmConfig kToE4m3{.out = DType::e4m3,
                                    .tile_m = 128,
                                    .tile_n = 128,
                                    .stages = 3,
                                    .cluster = 2,
                                    .groups = Groups::contiguous,
                                    .any_rows = true,
                                    .bias = true};

TEST(FusedEpilogue, ToE4m3WithAScaleForEachRowAnd128Columns) {
  for (bool scales : {false, true}) {
    GroupedProduct p = spec<kToE4m3>({200, 256, 272}, {0, 1, 1, 150, 190});
    p.judge_scales = scales;
    expect_exact<kToE4m3>(p);
    p = spec<kToE4m3>({70, 128, 0});
    p.judge_scales = scales;
    expect_exact<kToE4m3>(p);
  }
}
TEST(FusedEpilogue, OfBf16) {
  constexpr GroupedGemmConfig plain{.type = DType::bf16,
                                    .tile_m = 128,
                                    .tile_n = 64,
                                    .stages = 3,
                                    .cluster = 2,
                                    .axis = ClusterAxis::n,
                                    .groups = Groups::contiguous,
                                    .any_rows = true,
                                    .bias = true};
  constexpr GroupedGemmConfig quantized = [] {
    GroupedGemmConfig c = kToE4m3;
    c.type = DType::bf16;
    return c;
  }();
  constexpr GroupedGemmConfig swiglu = [] {
    GroupedGemmConfig c = kSwigluToE4m3;
    c.type = DType::bf16;
    return c;
  }();
  for (bool bias : {false, true}) {
    GroupedProduct p = spec<plain>({140, 136, 136}, {0, 1, 1, 131, 140});
    p.bias = bias;
    expect_exact<plain>(p);
    p = spec<quantized>({140, 256, 136}, {0, 1, 1, 131, 140});
    p.bias = bias;
    expect_exact<quantized>(p);
    p = spec<swiglu>({40, 512, 136}, {0, 30, 40});
    p.bias = p.judge_scales = bias;
    expect_exact<swiglu>(p);
  }
}
TEST(FusedEpilogue, ABiasIsThatOfTheGroupOrOfAll) {
  for (DType type : {DType::fp32, DType::bf16}) {
    for (bool shared : {false, true}) {
      GroupedProduct p = spec<kSwiglu>({40, 256, 144}, {0, 10, 40});
      p.bias = true;
      p.bias_type = type;
      p.shared_bias = shared;
      expect_exact<kSwiglu>(p);
      p.matrices = {1, 0};
      expect_exact<kSwiglu>(p);
    }
  }
  GroupedProduct p = spec<kToE4m3>({140, 128, 272});
  p.bias = true;
  expect_exact<kToE4m3>(p);
}

}  // namespace
}  // namespace warpwright
