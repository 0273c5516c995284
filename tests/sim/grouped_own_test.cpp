// User-defined epilogues of products by groups and with blockwise scales, for Hopper and Blackwell: the reference takes
// the product without a formula through the same expression written in C++, and the kernels must agree with it in the
// simulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "measure/grouped_check.h"
#include "problem/validate.h"
#include "reference/group_parts.h"
#include "simulate/product.h"

namespace warpwright {
namespace {

using reference::Data;
using reference::GroupedProduct;
using reference::Workload;

struct Element {
  double x, bias;
  int64_t row, column, batch;
};
using Meaning = std::function<double(const Element&)>;

const simulator::Landing kLandings[] = {simulator::Landing::eager, simulator::Landing::late,
                                        simulator::Landing::seeded};

// Groups of few rows, none, many, one, and, except along k, one without a matrix; two share a matrix.
GroupedProduct product_of(const GroupedProblem& p) {
  GroupedProduct product = measure::sample_product(p, 3);
  const auto all = uint32_t(p.groups == Groups::by_depth ? p.k : p.m);
  const uint32_t unit = p.groups == Groups::by_depth && p.type == DType::e4m3 ? 128 : 1;
  if (p.groups == Groups::contiguous || p.groups == Groups::by_depth) {
    product.rows = {0, all / 9 / unit * unit, all / 9 / unit * unit, all / 2 / unit * unit, all - unit, all};
  } else if (p.groups == Groups::masked) {
    const auto room = uint32_t(p.m / p.group_count);
    product.rows = {room, 0, 1, room / 2 + 3, room - 1};
  }
  if (p.groups == Groups::contiguous || p.groups == Groups::masked) {
    product.matrices = {1, 2, 0, -1, 1};
    product.matrix_count = 3;
  }
  return product;
}

struct Case {
  Arch arch;
  GroupedProblem problem;
  std::string instance;  // a part of its name
};

GroupedProblem groups_of(Groups groups, DType type, int64_t m, int64_t n, int64_t k) {
  GroupedProblem p{.groups = groups, .m = m, .n = n, .k = k, .group_count = groups == Groups::none ? 1 : 5};
  if (groups == Groups::contiguous || groups == Groups::masked) p.matrix_count = 3;
  p.type = type;
  p.out = groups == Groups::by_depth ? DType::fp32 : DType::bf16;
  if (groups == Groups::by_depth && type == DType::e4m3) p.b_scale_rows = 1;
  return p;
}

Workload workload_of(const Case& c, const GroupedProduct& product, Data data) {
  return simulate::workload_of(c.problem, product, c.arch, data, 5);
}

double bias_of(const Workload& w, const Case& c, const reference::GroupPart& part, int64_t row, int64_t column) {
  for (const reference::Array& array : w.arrays) {
    if (array.name != "bias") continue;
    const int64_t of_matrix = c.problem.shared_bias ? 0 : part.matrix * c.problem.n;
    return reference::element(array, c.problem.bias == Bias::per_row ? row : of_matrix + column);
  }
  return 0;
}

// What the workload expects is what the expression makes of the same product without one.
void expect_reference(const Case& c, const GroupedProduct& product, const Workload& w, const Meaning& meaning) {
  Case plain = c;
  plain.problem.formula.clear();
  plain.problem.bias = Bias::none;
  GroupedProduct without = product;
  without.formula.clear();
  without.bias = without.row_bias = false;
  const Workload before = workload_of(plain, without, w.data);
  ASSERT_EQ(before.expected.size(), w.expected.size());
  std::vector<double> want = before.expected;
  for (const reference::GroupPart& part : reference::parts_of(product)) {
    for (int64_t r = part.first; r < part.end; ++r) {
      for (int64_t n = 0; n < c.problem.n; ++n) {
        double& element = want[size_t((part.out + r - part.first) * c.problem.n + n)];
        element = meaning({element, bias_of(w, c, part, r, n), r, n, part.batch});
      }
    }
  }
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i])) {
      ASSERT_TRUE(std::isnan(w.expected[i])) << i;
    } else {
      ASSERT_NEAR(w.expected[i], want[i], 1e-9 * std::fabs(want[i]) + 1e-12) << i;
    }
  }
}

void expect_meaning(const Case& c, const Meaning& meaning) {
  SCOPED_TRACE(std::string(name(c.arch)) + " " + c.instance + ": " + c.problem.formula);
  const GroupedProduct product = product_of(c.problem);
  const auto run = simulate::grouped_run(c.problem, product, choice::simulated_chip(c.arch));
  ASSERT_TRUE(run) << run.status().message();
  EXPECT_NE(catalog::name_of(run->instance()).find(c.instance), std::string::npos) << catalog::name_of(run->instance());
  EXPECT_NE(catalog::own_of(run->instance()), 0u);
  EXPECT_EQ(run->instance().formula, c.problem.formula);
  const Workload real = workload_of(c, product, Data::normal);
  if (c.problem.out != DType::e4m3) expect_reference(c, product, real, meaning);
  for (const simulator::Landing landing : kLandings) {
    simulator::Options options;
    options.landing = landing;
    options.seed = 7;
    const auto out = simulate::run(*run, real, options, 0);
    ASSERT_TRUE(out.sim.ok()) << out.sim.findings.front().text();
    EXPECT_TRUE(out.verdict.ok) << out.verdict.wrong << " wrong, relative error " << out.verdict.max_rel_error << " "
                                << out.verdict.other;
  }
  // Whole numbers are compared bit by bit, and another formula gives another result.
  const Workload whole = workload_of(c, product, Data::integers);
  const auto out = simulate::run(*run, whole, {}, 0);
  ASSERT_TRUE(out.sim.ok()) << out.sim.findings.front().text();
  EXPECT_EQ(out.verdict.wrong, 0u);
  EXPECT_EQ(out.verdict.others_wrong, 0u) << out.verdict.other;
  GroupedProduct other = product;
  other.formula = "(" + c.problem.formula + ") + (row % 8 == 5 && column % 16 == 9 ? 3 : 0)";
  EXPECT_GT(reference::judge(workload_of(c, other, Data::integers), out.output).wrong, 0u);
}

// Every value that such a text may name, except a bias.
constexpr const char* kPlace = "0.5 * x + beta * row - column + 16 * batch";
double place(const Element& e) { return 0.5 * e.x + 0.25 * double(e.row) - double(e.column) + 16 * double(e.batch); }

GroupedProblem with(GroupedProblem p, const char* formula, Bias bias = Bias::none, DType bias_type = DType::fp32) {
  p.formula = formula;
  p.bias = bias;
  p.bias_type = bias_type;
  return p;
}
GroupedProblem with_place(GroupedProblem p) {
  p = with(std::move(p), kPlace);
  p.beta = 0.25f;
  return p;
}

TEST(GroupedOwn, KnowsWhereAnElementOfHopperLies) {
  const Case cases[] = {
      {Arch::sm90, groups_of(Groups::contiguous, DType::bf16, 300, 264, 136), "bf16-contiguous-own"},
      {Arch::sm90, groups_of(Groups::masked, DType::bf16, 5 * 136, 136, 136), "bf16-masked-own"},
      {Arch::sm90, groups_of(Groups::by_depth, DType::bf16, 200, 136, 304), "bf16-to_fp32-along_k-own"},
      {Arch::sm90, groups_of(Groups::contiguous, DType::e4m3, 300, 264, 272), "e4m3-contiguous-own"},
      {Arch::sm90, groups_of(Groups::masked, DType::e4m3, 5 * 136, 264, 272), "e4m3-masked-own"},
      {Arch::sm90, groups_of(Groups::by_depth, DType::e4m3, 200, 136, 1280), "along_k-row_scales-own"},
      {Arch::sm90, groups_of(Groups::none, DType::e4m3, 200, 264, 272), "e4m3-own"},
  };
  for (Case c : cases) {
    c.problem = with_place(c.problem);
    expect_meaning(c, place);
  }
}

TEST(GroupedOwn, KnowsWhereAnElementOfBlackwellLies) {
  GroupedProblem mx = groups_of(Groups::contiguous, DType::e4m3, 300, 264, 256);
  mx.scaling = BlockScaling::mxfp8;
  GroupedProblem few = groups_of(Groups::masked, DType::e4m3, 5 * 16, 136, 256);
  few.scaling = BlockScaling::mxfp8;
  const Case cases[] = {
      {Arch::sm100, groups_of(Groups::contiguous, DType::bf16, 300, 264, 136), "sm100/grouped-"},
      {Arch::sm100, groups_of(Groups::masked, DType::bf16, 5 * 136, 136, 136), "sm100/grouped-"},
      {Arch::sm100, groups_of(Groups::by_depth, DType::bf16, 200, 136, 304), "-along_k"},
      {Arch::sm100, groups_of(Groups::contiguous, DType::e4m3, 300, 264, 272), "-grouped"},
      {Arch::sm100, groups_of(Groups::by_depth, DType::e4m3, 200, 136, 1280), "-grouped-along_k"},
      {Arch::sm100, groups_of(Groups::none, DType::e4m3, 200, 264, 272), "sm100/blockwise-"},
      {Arch::sm100, mx, "mxfp8-own"},
      {Arch::sm100, few, "-swap/e4m3-mxfp8-own"},
  };
  for (Case c : cases) {
    c.problem = with_place(c.problem);
    expect_meaning(c, place);
  }
}

TEST(GroupedOwn, HasTheBiasOfItsMatrixOrOfItsRow) {
  const Meaning meaning = [](const Element& e) { return std::max(e.x, 0.125 * e.x) * e.bias; };
  for (const Arch arch : {Arch::sm90, Arch::sm100}) {
    for (const DType type : {DType::bf16, DType::e4m3}) {
      const GroupedProblem p = groups_of(Groups::contiguous, type, 300, 264, 272);
      expect_meaning({arch, with(p, "max(x, 0.125 * x) * bias", Bias::per_column, DType::bf16), "-bias"}, meaning);
      expect_meaning({arch, with(p, "max(x, 0.125 * x) * row_bias", Bias::per_row), "-row_bias"}, meaning);
    }
    GroupedProblem shared = groups_of(Groups::masked, DType::bf16, 5 * 72, 136, 72);
    shared.shared_bias = true;
    expect_meaning({arch, with(shared, "max(x, 0.125 * x) * bias", Bias::per_column), "-bias"}, meaning);
    expect_meaning({arch,
                    with(groups_of(Groups::none, DType::e4m3, 72, 136, 272), "max(x, 0.125 * x) * bias",
                         Bias::per_column, DType::bf16),
                    "-bias"},
                   meaning);
  }
}

TEST(GroupedOwn, OfGatheredRows) {
  const Meaning meaning = [](const Element& e) { return e.x / (1 + std::exp(-e.x)) * e.bias; };
  for (const Arch arch : {Arch::sm90, Arch::sm100}) {
    GroupedProblem p = groups_of(Groups::contiguous, DType::bf16, 200, 136, 136);
    p.gathered = true;
    p.a_rows = 70;
    expect_meaning({arch, with(p, "x / (1 + exp(-x)) * row_bias", Bias::per_row), "gathered"}, meaning);
  }
}

// A result in e4m3 gets the scale of what the formula yields.
TEST(GroupedOwn, IsQuantizedAfterwards) {
  GroupedProblem p = groups_of(Groups::contiguous, DType::e4m3, 200, 256, 256);
  p.out = DType::e4m3;
  expect_meaning({Arch::sm90, with(p, "x * row_bias", Bias::per_row), "to_e4m3"},
                 [](const Element& e) { return e.x * e.bias; });
}

// Groups along k without depth have the expression of 0, and so has a product without any.
TEST(GroupedOwn, OfNothing) {
  GroupedProblem p = with_place(groups_of(Groups::contiguous, DType::bf16, 200, 136, 0));
  for (const Arch arch : {Arch::sm90, Arch::sm100}) expect_meaning({arch, p, "own"}, place);
}

// Clusters that share a tile's depth: the expression is computed once, from the whole sum.
TEST(GroupedOwn, OfSharedDepth) {
  GroupedProblem p = groups_of(Groups::contiguous, DType::e4m3, 200, 136, 640);
  p.plan = "blockwise-n128-s6-splitk3";
  const Meaning square = [](const Element& e) { return e.x * e.x; };
  expect_meaning({Arch::sm100, with(p, "x * x"), "-splitk3/"}, square);
  p = groups_of(Groups::none, DType::e4m3, 72, 136, 640);
  p.plan = "blockwise-n128-s6-splitk2";
  expect_meaning({Arch::sm100, with(p, "x * x"), "-splitk2/"}, square);
}

// A launch that begins early may read a bias that the one ahead still writes only after its wait.
TEST(GroupedOwn, WaitsForTheLaunchAhead) {
  GroupedProblem p = groups_of(Groups::none, DType::e4m3, 72, 136, 256);
  p.plan = "blockwise-n128-s4-e8-o2-early";
  p = with(p, "x + bias", Bias::per_column);
  const auto run = simulate::grouped_run(p, product_of(p), choice::simulated_chip(Arch::sm100));
  ASSERT_TRUE(run) << run.status().message();
  Workload w = simulate::workload_of(p, run->product, Arch::sm100, Data::integers, 5);
  w.shape.condition = reference::Condition::behind;
  const auto out = simulate::run(*run, w, {}, 0);
  ASSERT_TRUE(out.sim.ok()) << out.sim.findings.front().text();
  EXPECT_TRUE(out.verdict.ok);
}

TEST(GroupedOwn, IsRefusedWithASentence) {
  const GroupedProblem contiguous = groups_of(Groups::contiguous, DType::bf16, 64, 64, 64);
  const auto said = [](const GroupedProblem& p, Arch arch) { return problem::validate(p, arch).message(); };
  for (const Arch arch : {Arch::sm90, Arch::sm100}) {
    GroupedProblem p = with(contiguous, "x * sigmod(x)");
    EXPECT_TRUE(said(p, arch).starts_with("epilogue, line 1, column 5: 'sigmod' is not known")) << said(p, arch);
    EXPECT_EQ(said(with(contiguous, "x + c"), arch),
              "epilogue: the formula names c, and products with blockwise scales or by groups have none; they have x, "
              "bias, row_bias, beta, row, column and batch.");
    EXPECT_EQ(said(with(contiguous, "x + bias"), arch), "bias: the formula names bias, and none is given.");
    EXPECT_EQ(said(with(contiguous, "x", Bias::per_row), arch), "bias: it is given, and the formula does not name it.");
    p = with(contiguous, "x * 2");
    p.activation = Activation::swiglu;
    EXPECT_EQ(said(p, arch), "activation = swiglu: the formula takes its place, and is given one sum at a time.");
    p = with(contiguous, "x * 2");
    p.beta = 3;
    EXPECT_EQ(said(p, arch), "beta = 3: the formula does not name it.");
    p.formula.clear();
    EXPECT_EQ(said(p, arch), "beta = 3: only a formula names it in products by groups.");
    p = with(groups_of(Groups::by_depth, DType::bf16, 64, 64, 64), "x * 2");
    p.accumulate = true;
    EXPECT_EQ(said(p, arch), "accumulate = true: a formula gives what D is, and D is not added to.");
    p.accumulate = false;
    p.formula = "x + row_bias";
    EXPECT_EQ(said(p, arch), "bias: groups along k have none, and the formula names one.");
  }
  GroupedProblem p = with(groups_of(Groups::contiguous, DType::e4m3, 64, 64, 64), "x * 2");
  p.scaling = p.out_scaling = BlockScaling::mxfp8;
  EXPECT_EQ(said(p, Arch::sm100),
            "out_scaling = mxfp8: D with block scales is swiglu of the sums, and has no formula.");
  p = with(groups_of(Groups::none, DType::e4m3, 8, 64, 256), "x * 2");
  p.plan = "blockwise-64x8-split4-s20";
  const auto run = simulate::grouped_run(p, product_of(p), choice::simulated_chip(Arch::sm90));
  ASSERT_FALSE(run);
  EXPECT_TRUE(run.status().message().starts_with(
      "plan = blockwise-64x8-split4-s20: it does not serve single products of e4m3 with D in bf16, an epilogue of your "
      "own."))
      << run.status().message();
}

}  // namespace
}  // namespace warpwright
