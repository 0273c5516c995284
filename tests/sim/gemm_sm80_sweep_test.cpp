// Products by mma.sync at the edges of every tile, in every layout, with any stride, address and batch, through the API
// and with whole numbers: every element right, nothing written outside, nothing reported.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "catalog/instance.h"
#include "reference/problem_workload.h"
#include "simulate/product.h"

namespace warpwright {
namespace {

using simulator::Landing;
using simulator::Options;

void expect_right(const GemmProblem& problem, reference::Offset offset, uint64_t seed, int sm_limit = 0) {
  const auto product = simulate::dense_product(problem, choice::simulated_chip(Arch::sm80), offset);
  ASSERT_TRUE(product) << product.status().message();
  SCOPED_TRACE(testing::Message() << catalog::name_of(product->instance()) << " " << problem.m << "x" << problem.n
                                  << "x" << problem.k << ", batch " << problem.batch << ", strides " << problem.a.stride
                                  << " " << problem.b.stride << " " << problem.d.stride);
  const reference::Workload w =
      reference::workload_of(product->problem, product->offset, reference::Data::integers, seed);
  Options o;
  o.landing = seed % 3 == 0 ? Landing::eager : seed % 3 == 1 ? Landing::late : Landing::seeded;
  o.seed = seed;
  const simulate::Outcome out = simulate::run(*product, w, o, sm_limit);
  ASSERT_TRUE(out.sim.ok()) << out.sim.findings.front().text();
  EXPECT_TRUE(out.verdict.ok) << out.verdict.wrong << " wrong, " << out.verdict.unwritten << " unwritten";
}

// The instance is given by name; the problem is what its features say.
GemmProblem problem_for(const std::string& name, int64_t m, int64_t n, int64_t k) {
  const auto instance = catalog::parse_instance(name);
  const MmaSyncGemmConfig& c = *instance->as<MmaSyncGemmConfig>();
  GemmProblem p{.m = m, .n = n, .k = k};
  p.a.type = p.b.type = c.type;
  p.a.major = c.a_major;
  p.b.major = c.b_major;
  p.d.type = c.out_type();
  p.plan = name;
  return p;
}

// One less than a tile, a tile and one more in each direction, for each of the tiles and layouts.
class Edges : public testing::TestWithParam<const char*> {};

TEST_P(Edges, of_the_tile_are_right) {
  const std::string name = GetParam();
  const auto instance = catalog::parse_instance(name);
  ASSERT_TRUE(instance);
  const MmaSyncGemmConfig& c = *instance->as<MmaSyncGemmConfig>();
  const int deep = c.split == DepthSplit::split_k ? 3 * c.tile_k() : c.tile_k();
  uint64_t seed = 1;
  for (const int m : {-1, 0, 1}) {
    for (const int n : {-1, 0, 1}) {
      const int k = int(seed % 3) - 1;
      expect_right(problem_for(name, c.tile_m + m, c.tile_n + n, deep + k), 0, seed);
      ++seed;
    }
  }
  for (const int64_t k : {0, 1, 2}) expect_right(problem_for(name, 3, 5, k), 0, seed++);
}

INSTANTIATE_TEST_SUITE_P(sm80, Edges,
                         testing::Values("sm80/mma-128x256-w2x4/bf16-by_registers",
                                         "sm80/mma-128x128-w2x2-d5-p2-l2400-b2/bf16-tn-by_registers",
                                         "sm80/mma-64x64-w2x2-d5-p2-l1200-b4-splitk3/bf16-nn-by_registers",
                                         "sm80/mma-64x64-w2x2-d5-p2-l1200-b4-splitk2/bf16-tt-by_registers",
                                         "sm80/mma-32x128-w1x4-d6-p1-l1200-b3-splitk3/fp16-tn-by_registers",
                                         "sm80/mma-16x128-w1x4-d6-p1-l600-b2-splitk3/bf16-tt-by_registers",
                                         "sm80/mma-16x128-w1x4-d6-p1-l600-b2-splitk2/s8-by_registers"),
                         [](const auto& info) { return "number_" + std::to_string(info.index); });

// Random strides, addresses and batches in each layout: whatever the instances of one tile can read.
TEST(AnyAddress, is_right_in_every_layout) {
  std::mt19937 random(5);
  const auto any = [&](int least, int most) { return least + int64_t(random() % unsigned(most - least + 1)); };
  for (uint64_t i = 0; i < 24; ++i) {
    GemmProblem p{.m = any(1, 70), .n = any(1, 70), .k = any(0, 90), .batch = any(1, 3)};
    p.a.major = i % 2 == 0 ? Major::K : Major::MN;
    p.b.major = i / 2 % 2 == 0 ? Major::K : Major::MN;
    const auto place = [&](MatrixLayout& m, int64_t rows, int64_t columns, bool shared) {
      m.stride = columns + any(0, 3);
      m.batch_stride = shared ? 0 : rows * m.stride + any(0, 5);
    };
    const bool along_k = p.a.major == Major::K;
    place(p.a, along_k ? p.m : p.k, along_k ? p.k : p.m, i % 5 == 1);
    place(p.b, p.b.major == Major::K ? p.n : p.k, p.b.major == Major::K ? p.k : p.n, i % 5 == 2);
    place(p.d, p.m, p.n, false);
    p.alignment = 2;
    p.plan = i % 3 == 0 ? "mma-64x64-w2x2-d5-p2-l1200-b4-splitk2" : "mma-64x64-w2x2-d5-p2-l1200-b4-splitk1";
    expect_right(p, {any(0, 3), any(0, 3)}, i);
  }
}

// Words of 4 bytes: rows that end in the middle of one, along k and along m or n.
TEST(CopiesOfWords, are_right_in_every_layout) {
  for (uint64_t i = 0; i < 4; ++i) {
    GemmProblem p{.m = 67, .n = 71, .k = 75, .batch = 2};
    p.a.major = i % 2 == 0 ? Major::K : Major::MN;
    p.b.major = i / 2 == 0 ? Major::K : Major::MN;
    p.a.stride = p.b.stride = 78;
    p.a.batch_stride = p.b.batch_stride = 78 * 78;
    p.alignment = 4;
    p.plan = "mma-64x64-w2x2-d5-p2-l1200-b4";
    expect_right(p, 2, i);
  }
}

// More tiles than CTAs, of several matrices: the walk goes from one matrix to the next, and slots are used again.
TEST(Batches, are_walked_by_few_blocks) {
  for (const char* plan : {"mma-64x64-w2x2-d5-p2-l1200-b4", "mma-64x64-w2x2-d5-p2-l1200-b4-splitk3"}) {
    GemmProblem p{.m = 130, .n = 72, .k = 320, .batch = 3};
    p.plan = plan;
    for (const int sm_limit : {3, 4, 7}) expect_right(p, 0, uint64_t(sm_limit), sm_limit);
  }
}

// Each matrix has its own bias and C.
TEST(Batches, have_addends_of_their_own) {
  GemmProblem p{.m = 65, .n = 40, .k = 64, .batch = 3, .alpha = 0.5f, .beta = 2};
  p.epilogue.bias = Bias::per_column;
  p.epilogue.bias_batch_stride = 40;
  p.epilogue.activation = Activation::relu;
  p.plan = "mma-64x64-w2x2-d5-p2-l1200-b4";
  expect_right(p, 0, 4);
}

// Parts of the depth are added in order, so the bits do not depend on the run; s8 gives the same bits as one part.
TEST(SplitDepth, gives_the_same_bits_in_every_run) {
  GemmProblem p{.m = 16, .n = 128, .k = 700};
  p.plan = "mma-16x128-w1x4-d6-p1-l600-b2-splitk4";
  const auto product = simulate::dense_product(p, choice::simulated_chip(Arch::sm80));
  ASSERT_TRUE(product) << product.status().message();
  const reference::Workload w = reference::workload_of(product->problem, 0, reference::Data::normal, 1);
  std::vector<uint8_t> first;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Options o;
    o.landing = Landing::seeded;
    o.scheduling = seed % 2 == 0 ? simulator::Scheduling::random : simulator::Scheduling::pct;
    o.seed = seed;
    const simulate::Outcome out = simulate::run(*product, w, o, 4);
    ASSERT_TRUE(out.sim.ok() && out.verdict.ok);
    if (seed == 0) first = out.output;
    EXPECT_EQ(out.output, first) << seed;
  }
}

// No row, no column, no matrix: nothing is launched. No depth: what the epilogue makes of zeros.
TEST(Nothing, is_launched_for_no_elements) {
  for (const Arch arch : {Arch::sm80, Arch::sm90, Arch::sm100}) {
    for (int i = 0; i < 3; ++i) {
      GemmProblem p{.m = 64, .n = 64, .k = 64};
      (i == 0 ? p.m : i == 1 ? p.n : p.batch) = 0;
      const auto product = simulate::dense_product(p, choice::simulated_chip(arch));
      ASSERT_TRUE(product) << name(arch) << " " << product.status().message();
      const reference::Workload w = reference::workload_of(product->problem, 0, reference::Data::integers, 1);
      const simulate::Outcome out = simulate::run(*product, w, {}, 0);
      EXPECT_TRUE(out.sim.ok() && out.verdict.ok) << name(arch) << " " << i;
      EXPECT_EQ(out.sim.stats.words, 0u) << name(arch) << " " << i;
    }
  }
}
TEST(Nothing, along_k_leaves_the_addends) {
  GemmProblem p{.m = 65, .n = 70, .k = 0, .batch = 2, .beta = 2};
  expect_right(p, 0, 3);
  p.a.major = p.b.major = Major::MN;
  p.beta = 0;
  p.epilogue.bias = Bias::per_row;
  expect_right(p, 0, 4);
}

}  // namespace
}  // namespace warpwright
