// What the grouped and the block-scaled Blackwell kernels cannot take is refused before anything is launched.
#include <gtest/gtest.h>

#include <string>

#include "launch/host_grouped.h"

namespace warpwright::launch {
namespace {

constexpr uint32_t kOffsets[3] = {0, 5, 9};
alignas(128) uint8_t memory[256];

GroupedOperands legal() {
  GroupedOperands o;
  o.a = o.b = o.d = o.a_scales = o.b_scales = o.d_scales = memory;
  o.a_scale_tiles = o.d_scale_tiles = 2;
  o.n = 128;
  o.k = 128;
  o.table = {.offsets = kOffsets, .groups = 2, .rows = 9, .matrix_count = 2};
  return o;
}
std::string why(const GroupedGemmSm100Config& c, const GroupedOperands& o) { return refuse(c, o).message(); }
void expect_said(const std::string& said, const std::string& text) {
  EXPECT_NE(said.find(text), std::string::npos) << said;
}

TEST(RefuseGrouped, WhatIsLegalIsNotRefused) {
  EXPECT_EQ(why({}, legal()), "");
  EXPECT_EQ(why({.out_scaling = BlockScaling::mxfp8}, legal()), "");
  EXPECT_EQ(why({.scaling = BlockScaling::w4a8}, legal()), "");
}

TEST(RefuseGrouped, NamesWhatIsWrong) {
  const auto changed = [](auto change) {
    GroupedOperands o = legal();
    change(o);
    return o;
  };
  expect_said(why({}, changed([](auto& o) { o.table.groups = -1; })), "9 rows in -1 groups");
  expect_said(why({}, changed([](auto& o) { o.table.counts = kOffsets; })), "either offsets or counts");
  expect_said(why({}, changed([](auto& o) { o.table.offsets = nullptr; })), "either offsets or counts");
  expect_said(why({}, changed([](auto& o) { o.table.matrix_count = 20'000'000; })), "20000000 matrices of 128 rows");
  expect_said(why({}, changed([](auto& o) { o.a_scale_tiles = 0; })), "a_scales: there is no tile of factors");
  expect_said(why({}, changed([](auto& o) { o.k = 24; })), "A is [9, 24] of e4m3");
  expect_said(why({}, changed([](auto& o) { o.b = memory + 8; })), "it must begin at a multiple of 16 bytes");
  const GroupedGemmSm100Config swiglu{.out_scaling = BlockScaling::mxfp8};
  expect_said(why(swiglu, changed([](auto& o) { o.n = 96; })), "n must be a multiple of 64");
  expect_said(why(swiglu, changed([](auto& o) { o.d_scale_tiles = 0; })), "d_scales: there is no tile of factors");
  const GroupedGemmSm100Config w4a8{.scaling = BlockScaling::w4a8};
  expect_said(why(w4a8, changed([](auto& o) { o.k = 160; })), "k must be a multiple of 128");
  expect_said(why(w4a8, changed([](auto& o) { o.b = memory + 16; })), "begin at a multiple of 32 bytes");
}

TEST(RefuseBlockScaled, RowsOfFourBitElementsAreWholeUnits) {
  DenseGemmSm100Config c{.type = DType::e2m1, .tile_n = 64, .scaling = BlockScaling::nvfp4};
  EXPECT_TRUE(problem::refuse(c, 8, 8, 32, memory, memory));
  expect_said(problem::refuse(c, 8, 8, 16, memory, memory).message(), "a multiple of 32 elements");
}

}  // namespace
}  // namespace warpwright::launch
