// SwiGLU with quantized results in the grouped Blackwell kernel: elements and factors byte for byte, filler included.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "grouped_sm100.h"
#include "sim/generated.h"
#include "warpwright/epilogue/quantize_block.h"

namespace warpwright::gemm_sm100 {
namespace {

constexpr GroupedConfig kMxfp8{.tile_n = 64, .stages = 2, .out_scaling = BlockScaling::mxfp8};
constexpr GroupedConfig kNvfp4{.scaling = BlockScaling::nvfp4,
                               .type = DType::e2m1,
                               .tile_n = 128,
                               .stages = 2,
                               .out_scaling = BlockScaling::nvfp4};
constexpr GroupedConfig kMxfp4{.scaling = BlockScaling::mxfp4,
                               .type = DType::e2m1,
                               .tile_n = 192,
                               .stages = 2,
                               .accumulators = 1,
                               .out_scaling = BlockScaling::mxfp4};
constexpr GroupedConfig kPair{.tile_n = 128, .stages = 2, .cta_group = 2, .out_scaling = BlockScaling::mxfp8};
constexpr GroupedConfig kTwoWarpgroups{
    .tile_n = 128, .stages = 2, .epilogue_warps = 8, .out_scaling = BlockScaling::mxfp8};

constexpr GroupedConfig kFewTokens{.tile_n = 8, .stages = 2, .swap_ab = true, .out_scaling = BlockScaling::mxfp8};
constexpr GroupedConfig kFewTokensNvfp4{.scaling = BlockScaling::nvfp4,
                                        .type = DType::e2m1,
                                        .tile_n = 32,
                                        .stages = 2,
                                        .swap_ab = true,
                                        .out_scaling = BlockScaling::nvfp4};
constexpr GroupedConfig kColumnsMxfp4{.scaling = BlockScaling::mxfp4,
                                      .type = DType::e2m1,
                                      .tile_n = 64,
                                      .stages = 2,
                                      .swap_ab = true,
                                      .out_scaling = BlockScaling::mxfp4};
constexpr GroupedConfig kColumnsOfAPair{
    .tile_n = 128, .stages = 2, .cta_group = 2, .swap_ab = true, .out_scaling = BlockScaling::mxfp8};

// Every byte of the rows and of the tiles of factors of each group that has a matrix; no other byte is written.
template <GroupedConfig C>
void expect_bytes(const GroupedSpec& s, const GroupedResult& r) {
  std::vector<double> sums;
  const Workload w = reference::grouped_workload(s, Data::integers, 1, &sums);
  const ScaledMatrix want = reference::quantized_results(s, sums);
  const std::vector<uint32_t> starts = s.starts();
  const std::vector<uint8_t> tiles = tiled_scales(want, starts);
  const int64_t across = (want.scale_columns() + 3) / 4;
  ASSERT_EQ(r.d.size(), want.values.size());
  ASSERT_EQ(r.d_scales.size(), tiles.size());
  int64_t block = 0;
  for (size_t g = 0; g < s.tokens.size(); ++g) {
    const bool runs = s.matrices.empty() || s.matrices[g] >= 0;
    const int64_t stored = (int64_t(starts[g + 1]) - starts[g] + 127) / 128;
    const int64_t used = (s.tokens[g] + 127) / 128;
    const size_t row = size_t(want.row_bytes());
    for (size_t i = starts[g] * row; i < starts[g + 1] * row; ++i) {
      const bool token = runs && i / row < starts[g] + size_t(s.tokens[g]);
      ASSERT_EQ(r.d[i], token ? want.values[i] : 0xff) << "group " << g << " row " << i / row << " byte " << i % row;
    }
    for (int64_t i = block * across * 512; i < (block + stored) * across * 512; ++i) {
      const bool written = runs && i / 512 / across < block + used;
      const int64_t in_group = (i / 512 / across - block) * 128 + i % 16 / 4 * 32 + i % 512 / 16;
      const uint8_t factor = in_group < s.tokens[g] ? tiles[size_t(i)] : uint8_t(0);
      ASSERT_EQ(r.d_scales[size_t(i)], written ? factor : 0xff) << "group " << g << " tile byte " << i;
    }
    block += stored;
  }
}
template <GroupedConfig C>
void expect_quantized(const GroupedSpec& s, const Options& o = {}) {
  const GroupedResult r = run_grouped<C>(s, Data::integers, o);
  ASSERT_TRUE(r.sim.ok()) << r.sim.findings[0].text();
  ASSERT_EQ(r.status, 0u);
  expect_bytes<C>(s, r);
}
template <GroupedConfig C>
void expect_tables() {
  const int unit = 2 * scale_block(C.out_scaling), k = C.dense().tile_k() + 32;
  expect_quantized<C>(spec_of<C>({1, 2, 3, 4}, {}, unit, k));
  expect_quantized<C>(spec_of<C>({127, 128, 64, 300}, {1, 3, -1, 0}, 3 * unit, k));
  expect_quantized<C>(spec_of<C>({0, 130, 0, 7}, {2, 0, 1, 2}, 5 * unit, 2 * k));
  GroupedSpec masked = spec_of<C>({3, 0, 200, 41}, {2, 1, 0, -1}, 4 * unit, k);
  masked.slot_rows = 200;
  expect_quantized<C>(masked);
}
TEST(GroupedSwiglu, Mxfp8) { expect_tables<kMxfp8>(); }
TEST(GroupedSwiglu, Nvfp4) { expect_tables<kNvfp4>(); }
TEST(GroupedSwiglu, Mxfp4) { expect_tables<kMxfp4>(); }
TEST(GroupedSwiglu, PairsOfCtas) { expect_tables<kPair>(); }
TEST(GroupedSwiglu, TwoWarpgroups) { expect_tables<kTwoWarpgroups>(); }
TEST(GroupedSwiglu, FewTokens) { expect_tables<kFewTokens>(); }
TEST(GroupedSwiglu, FewTokensNvfp4) { expect_tables<kFewTokensNvfp4>(); }
TEST(GroupedSwiglu, TokensAreColumnsMxfp4) { expect_tables<kColumnsMxfp4>(); }
TEST(GroupedSwiglu, TokensAreColumnsOfAPair) { expect_tables<kColumnsOfAPair>(); }
TEST(GroupedSwiglu, ManyMatrices) {
  std::vector<int> tokens;
  for (int i = 0; i < 49; ++i) tokens.push_back(i % 5 * 3);
  expect_quantized<kMxfp8>(spec_of<kMxfp8>(tokens, {}, 64, 128));
  expect_quantized<kFewTokens>(spec_of<kFewTokens>(tokens, {}, 64, 128));
}
TEST(GroupedSwiglu, EveryMode) {
  in_every_mode(kernel::sm100::GroupedGemm<kMxfp8>::plan, 1, [&](const Options& o) {
    expect_quantized<kMxfp8>(spec_of<kMxfp8>({3, 0, 140, 9}, {1, 0, 2, -1}, 128, 160), o);
  });
  in_every_mode(kernel::sm100::GroupedGemm<kFewTokens>::plan, 1, [&](const Options& o) {
    expect_quantized<kFewTokens>(spec_of<kFewTokens>({3, 0, 20, 9}, {1, 0, 2, -1}, 192, 160), o);
  });
}

TEST(GroupedSwiglu, EverySynchronizationIsNeeded) {
  const GroupedSpec s = spec_of<kFewTokens>({25, 0, 17, 5}, {1, 0, 0, -1}, 192, 3 * 128);
  constexpr const BlockPlan& plan = kernel::sm100::GroupedGemm<kFewTokens>::plan;
  Options list;
  list.list_fault_sites = true;
  const GroupedResult clean = run_grouped<kFewTokens>(s, Data::integers, list, 1);
  ASSERT_TRUE(clean.sim.ok()) << clean.sim.findings[0].text();
  const auto mutants = generated::mutants_of(plan, clean.sim.fault_sites);
  EXPECT_GE(mutants.size(), 45u);
  for (const Fault& f : mutants) {
    bool reported = false;
    in_every_mode(plan, 1, [&](Options o) {
      if (reported) return;
      o.faults = {f};
      const GroupedResult r = run_grouped<kFewTokens>(s, Data::integers, o, 1);
      reported = !r.sim.ok();
      if (!reported) expect_bytes<kFewTokens>(s, r);
    });
    EXPECT_TRUE(reported) << generated::describe(f);
  }
}

// A table with more blocks than there are factors for: those groups are left out, nothing is stored beyond the array.
TEST(GroupedSwiglu, MoreBlocksThanFactorsIsAStatus) {
  const GroupedSpec s = spec_of<kMxfp8>({100, 100, 100}, {}, 64, 128);
  const GroupedResult r = run_grouped<kMxfp8>(s, Data::integers, {}, 2, 1, [](Workload& w) {
    for (auto& a : w.arrays)
      if (a.name == "d_scales") a.bytes.resize(2 * 512), a.rows = 2;
  });
  EXPECT_TRUE(r.sim.ok()) << r.sim.findings[0].text();
  EXPECT_EQ(r.status, uint32_t(kBlocksOutOfRange));
  EXPECT_EQ(r.d[250 * 32], 0xff) << "the third group has no factors";
  EXPECT_NE(r.d[150 * 32], 0xff);
}

TEST(GroupedSwiglu, NvfpTensorScaleAndClamp) {
  constexpr GroupedConfig c{.scaling = BlockScaling::nvfp4,
                            .type = DType::e2m1,
                            .tile_n = 64,
                            .stages = 2,
                            .out_scaling = BlockScaling::nvfp4,
                            .clamped_swiglu = true};
  const GroupedSpec s = spec_of<c>({40, 3}, {}, 64, 256);
  std::vector<double> sums;
  reference::grouped_workload(s, Data::integers, 1, &sums);
  static const float out_scale[] = {0.25f, 3.f};
  const GroupedResult r = run_grouped<c>(
      s, Data::integers, {}, 2, 1,
      [](Workload& w) {
        reference::Array a{"out_scale", DType::fp32, 1, 2, false, {}};
        a.bytes.resize(8);
        std::memcpy(a.bytes.data(), out_scale, 8);
        w.arrays.insert(w.arrays.begin(), a);
      },
      [](GroupedGemmSm100Args& args, const std::vector<void*>& p) {
        args.matrix_out_scale = static_cast<const float*>(p[0]);
      });
  ASSERT_TRUE(r.sim.ok()) << r.sim.findings[0].text();
  for (int row = 0; row < 43; ++row)
    for (int block = 0; block < 2; ++block) {
      const float ts = out_scale[row >= 40];
      float z[16], largest = 0;
      for (int i = 0; i < 16; ++i) {
        const size_t at = size_t(row * 64 + 2 * (block * 16 + i));
        const double g = std::min(sums[at], 7.0), u = std::clamp(sums[at + 1], -7.0, 7.0);
        z[i] = float((u + 1) * g / (1 + std::exp(-1.702 * g)));
        largest = std::max(largest, std::fabs(z[i]));
      }
      const int tile_row = row >= 40 ? 128 + row - 40 : row;
      const uint8_t code =
          r.d_scales[size_t(tile_row / 128 * 512 + tile_row % 32 * 16 + tile_row % 128 / 32 * 4 + block)];
      const double factor = double(to_float(ue4m3{code}));
      ASSERT_NEAR(factor, ts * largest / 6, ts * largest / 6 / 15 + 0.001);
      for (int i = 0; i < 16; ++i) {
        const uint8_t byte = r.d[size_t(row * 16 + block * 8 + i / 2)];
        const double q = double(to_float(e2m1{uint8_t(i % 2 ? byte >> 4 : byte & 15)}));
        ASSERT_NEAR(q * factor / ts, double(z[i]), double(largest) * 0.25 + 1e-3) << row << " " << block << " " << i;
      }
    }
}

// What the device computes in registers equals the host's quantization.
TEST(QuantizedBlock, AgreesWithTheHost) {
  uint64_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    float x[32];
    for (float& v : x) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      v = std::ldexp(float(int32_t(state >> 32)) / float(1 << 30), round % 200 - 100);
    }
    if (round == 0) std::fill(x, x + 32, 0.f);
    if (round == 1) x[0] = 448, x[1] = 1, x[2] = -447.9f, std::fill(x + 3, x + 32, 0.5f);
    const auto block = epilogue::QuantizedBlock<BlockScaling::mxfp8>::of(x, 1);
    const ScaledMatrix host = quantize_mx(x, 1, 32, DType::e4m3);
    ASSERT_EQ(block.factor, host.scales[0]) << round;
    ASSERT_EQ(std::memcmp(block.words, host.values.data(), 32), 0) << round;
    const auto narrow = epilogue::QuantizedBlock<BlockScaling::mxfp4>::of(x, 1);
    const ScaledMatrix host4 = quantize_mx(x, 1, 32, DType::e2m1);
    ASSERT_EQ(narrow.factor, host4.scales[0]) << round;
    ASSERT_EQ(std::memcmp(narrow.words, host4.values.data(), 16), 0) << round;
  }
}

}  // namespace
}  // namespace warpwright::gemm_sm100
