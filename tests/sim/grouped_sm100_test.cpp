// Grouped block-scaled products on Blackwell against a float64 reference: formats, tables, exchanged operands with the
// warps that bring scale factors, modes of exploration.
#include "grouped_sm100.h"

#include <cstring>
#include <random>
#include <vector>

namespace warpwright::gemm_sm100 {
namespace {

constexpr GroupedConfig kTokensAreRows{.tile_n = 64, .stages = 2};
constexpr GroupedConfig kTokensAreColumns{.tile_n = 64, .stages = 2, .swap_ab = true};
constexpr GroupedConfig kFewTokens{.tile_n = 8, .stages = 2, .swap_ab = true};
constexpr GroupedConfig kPair{.tile_n = 128, .stages = 2, .cta_group = 2, .swap_ab = true};

template <GroupedConfig C>
void expect_tables() {
  expect_grouped<C>(spec_of<C>({1, 2, 3, 4}));
  expect_grouped<C>(spec_of<C>({127, 128, 64, 256}), Data::normal);
  expect_grouped<C>(spec_of<C>({4, 256, 1, 200}, {2, 0, 1, 2}));
  expect_grouped<C>(spec_of<C>({0, 5, 0, 40, 0}, {0, 1, 2, 0, 1}));
  expect_grouped<C>(spec_of<C>({33, 20, 7}, {1, -1, 0}));
  expect_grouped<C>(spec_of<C>({9, 20}, {-1, -1}));
  expect_grouped<C>(spec_of<C>({0, 0}));
}
TEST(GroupedGemm, TokensAreRows) { expect_tables<kTokensAreRows>(); }
TEST(GroupedGemm, TokensAreColumns) { expect_tables<kTokensAreColumns>(); }
TEST(GroupedGemm, FewTokens) { expect_tables<kFewTokens>(); }
TEST(GroupedGemm, PairsOfCtas) { expect_tables<kPair>(); }

TEST(GroupedGemm, NoDepthAndNoColumns) {
  GroupedSpec s = spec_of<kFewTokens>({3, 9});
  s.k = 0;
  expect_grouped<kFewTokens>(s);
  s = spec_of<kTokensAreRows>({3, 9});
  s.k = 0;
  expect_grouped<kTokensAreRows>(s);
}

template <BlockScaling S, DType T>
void expect_format() {
  const auto both = [&]<GroupedConfig C>() {
    expect_grouped<C>(spec_of<C>({4, 70, 1, 200}, {2, 0, 1, 2}));
    expect_grouped<C>(spec_of<C>({65, 130, 3}, {}, 264), Data::normal);
  };
  both.template operator()<GroupedConfig{.scaling = S, .type = T, .tile_n = 128, .stages = 2}>();
  both.template operator()<GroupedConfig{.scaling = S, .type = T, .tile_n = 64, .stages = 2, .swap_ab = true}>();
  both.template operator()<GroupedConfig{.scaling = S, .type = T, .tile_n = 16, .stages = 3, .swap_ab = true}>();
  both.template operator()<GroupedConfig{.scaling = S, .type = T, .tile_n = 32, .stages = 2, .swap_ab = true}>();
}
TEST(GroupedGemm, Mxfp8) { expect_format<BlockScaling::mxfp8, DType::e4m3>(); }
TEST(GroupedGemm, Mxfp4) { expect_format<BlockScaling::mxfp4, DType::e2m1>(); }
TEST(GroupedGemm, Nvfp4) { expect_format<BlockScaling::nvfp4, DType::e2m1>(); }
TEST(GroupedGemm, W4a8) { expect_format<BlockScaling::w4a8, DType::e4m3>(); }
TEST(GroupedGemm, PlainOperands) { expect_format<BlockScaling::none, DType::bf16>(); }

TEST(GroupedGemm, ManyMatricesAndRaggedGroups) {
  std::mt19937 random(3);
  for (int groups : {33, 49, 70}) {
    std::vector<int> tokens;
    std::vector<int32_t> matrices;
    for (int i = 0; i < groups; ++i) {
      tokens.push_back(random() % 3 == 0 ? 0 : int(random() % 40));
      matrices.push_back(random() % 6 == 0 ? -1 : (i * 7) % groups);
    }
    expect_grouped<kFewTokens>(spec_of<kFewTokens>(tokens, matrices, 16, 128));
    expect_grouped<kTokensAreRows>(spec_of<kTokensAreRows>(tokens, matrices, 16, 128));
  }
}

TEST(GroupedGemm, ThousandsOfTokens) {
  expect_grouped<kTokensAreRows>(spec_of<kTokensAreRows>({65, 1027, 386, 2000}, {}, 64, 128), Data::integers, {}, 5);
  expect_grouped<kTokensAreColumns>(spec_of<kTokensAreColumns>({65, 1027, 386, 2000}, {}, 64, 128), Data::integers, {},
                                    5);
  expect_grouped<kFewTokens>(spec_of<kFewTokens>({65, 1027, 386}, {}, 64, 128), Data::integers, {}, 5);
}

// Slots of a fixed number of rows, only the first of which are tokens: NaN in the others must not matter.
TEST(GroupedGemm, SlotsWithCounts) {
  const auto masked = [&]<GroupedConfig C>(Data data) {
    GroupedSpec s = spec_of<C>({3, 0, 96, 41, 7}, {4, 1, 0, -1, 2});
    s.slot_rows = 96;
    expect_grouped<C>(s, data);
  };
  masked.template operator()<kFewTokens>(Data::integers);
  masked.template operator()<kTokensAreRows>(Data::normal);
  masked.template operator()<kTokensAreColumns>(Data::integers);
  masked.template operator()<kPair>(Data::integers);
}

template <GroupedConfig C>
void expect_in_every_mode() {
  in_every_mode(kernel::sm100::GroupedGemm<C>::plan, 1, [&](const Options& o) {
    expect_grouped<C>(spec_of<C>({3, 0, 21, 70, 9}, {1, 0, 3, -1, 0}), Data::integers, o);
  });
}
TEST(GroupedGemm, EveryModeOfTokensAsRows) { expect_in_every_mode<kTokensAreRows>(); }
TEST(GroupedGemm, EveryModeOfFewTokens) { expect_in_every_mode<kFewTokens>(); }
TEST(GroupedGemm, EveryModeOfPairs) { expect_in_every_mode<kPair>(); }
TEST(GroupedGemm, EveryModeOfNvfp4WithFewTokens) {
  expect_in_every_mode<GroupedConfig{
      .scaling = BlockScaling::nvfp4, .type = DType::e2m1, .tile_n = 32, .stages = 2, .swap_ab = true}>();
}

// The table on the device differs from what the host thinks: the status tells, nothing out of range is touched (the
// simulator knows the end of every array), and the groups that are right are done.
template <GroupedConfig C>
void expect_clamped() {
  const GroupedSpec s = spec_of<C>({20, 30, 40}, {0, 1, 2});
  const auto run = [&](const char* array, size_t at, uint32_t value) {
    return run_grouped<C>(s, Data::integers, {}, 2, 1, [&](Workload& w) {
      for (auto& a : w.arrays)
        if (a.name == array) std::memcpy(a.bytes.data() + 4 * at, &value, 4);
    });
  };
  const struct {
    const char* array;
    size_t at;
    uint32_t value, status;
  } cases[] = {{"offsets", 3, 4'000'000'000u, kRowsOutOfRange},
               {"offsets", 3, 91, kRowsOutOfRange},
               {"offsets", 1, 60, kOffsetsDecrease},
               {"matrices", 1, 3, kMatrixOutOfRange},
               {"matrices", 2, 0x7fff'ffff, kMatrixOutOfRange},
               {"matrices", 0, 0x8000'0000u, 0}};
  for (const auto& c : cases) {
    const GroupedResult r = run(c.array, c.at, c.value);
    EXPECT_TRUE(r.sim.ok()) << c.array << "[" << c.at << "] = " << c.value << "\n" << r.sim.findings[0].text();
    EXPECT_EQ(r.status, c.status) << c.array << "[" << c.at << "] = " << c.value;
  }
}
TEST(GroupedGemm, AWrongTableGivesAStatusAndNoAccessOutOfRange) {
  expect_clamped<kTokensAreRows>();
  expect_clamped<kTokensAreColumns>();
  expect_clamped<kFewTokens>();
  expect_clamped<kPair>();
}

}  // namespace
}  // namespace warpwright::gemm_sm100
