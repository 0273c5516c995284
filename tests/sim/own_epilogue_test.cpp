// User-defined epilogues in kernels of every architecture that has them: products in the simulator, compared with what
// the same expression gives as C++ in float64, written out here once more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "reference/problem_workload.h"
#include "simulate/product.h"

namespace warpwright {
namespace {

struct Element {
  double x, c, bias, residual;
  int64_t row, column, batch;
};
using Meaning = std::function<double(const Element&)>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

GemmProblem problem_of(const std::string& formula, int64_t m = 200, int64_t n = 136, int64_t k = 96) {
  GemmProblem p{.m = m, .n = n, .k = k};
  p.epilogue.formula = formula;
  return p;
}

// The numbers of an array; zeros if the product does not have that array.
std::vector<double> numbers(const reference::Workload& w, const char* name, int64_t count) {
  std::vector<double> list(size_t(count), 0);
  for (const reference::Array& array : w.arrays)
    for (int64_t i = 0; array.name == name && i < count; ++i) list[size_t(i)] = reference::element(array, i);
  return list;
}

// The product and its epilogue from the arrays alone; A and B are stored along k, without gaps.
void expect_meaning(const GemmProblem& problem, Arch arch, const std::string& instance, const Meaning& meaning) {
  SCOPED_TRACE(problem.epilogue.formula);
  const auto product = simulate::dense_product(problem, choice::simulated_chip(arch));
  ASSERT_TRUE(product) << product.status().message();
  EXPECT_NE(catalog::name_of(product->instance()).find(instance), std::string::npos)
      << catalog::name_of(product->instance());
  const GemmProblem& p = product->problem;
  const auto w = reference::workload_of(p, 0, reference::Data::normal, 5);
  const int64_t size = p.batch * p.m * p.n, along = p.epilogue.bias == Bias::per_row ? p.m : p.n;
  const auto a = numbers(w, "A", p.batch * p.m * p.k), b = numbers(w, "B", p.batch * p.n * p.k);
  const auto c = numbers(w, "C", size), residual = numbers(w, "residual", size);
  const auto bias = numbers(w, "bias", p.epilogue.bias == Bias::none ? 0 : p.batch * along);
  const bool scaled = p.scaling == Scaling::row_column;
  const auto a_scales = numbers(w, "a_scales", scaled ? p.batch * p.m : 0);
  const auto b_scales = numbers(w, "b_scales", scaled ? p.batch * p.n : 0);
  std::vector<double> want;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t batch = i / (p.m * p.n), row = i / p.n % p.m, column = i % p.n;
    const int64_t of_a = batch * p.m + row, of_b = batch * p.n + column;
    double sum = 0;
    for (int64_t k = 0; k < p.k; ++k) sum += a[size_t(of_a * p.k + k)] * b[size_t(of_b * p.k + k)];
    if (scaled) sum *= a_scales[size_t(of_a)] * b_scales[size_t(of_b)];
    const double added = bias.empty() ? 0 : bias[size_t(p.epilogue.bias == Bias::per_row ? of_a : of_b)];
    want.push_back(meaning({double(p.alpha) * sum, c[size_t(i)], added, residual[size_t(i)], row, column, batch}));
  }
  for (const simulator::Landing landing : {simulator::Landing::eager, simulator::Landing::late}) {
    simulator::Options options;
    options.landing = landing;
    const auto out = simulate::run(*product, w, options, 0);
    ASSERT_TRUE(out.sim.ok()) << out.sim.findings.front().text();
    EXPECT_TRUE(out.verdict.ok) << out.verdict.wrong << " wrong, relative error " << out.verdict.max_rel_error;
    reference::Array d = w.output();
    d.bytes = out.output;
    double error = 0, norm = 0;
    for (int64_t i = 0; i < size; ++i) {
      const double have = reference::element(d, i), wanted = want[size_t(i)];
      if (std::isinf(wanted)) {
        ASSERT_EQ(have, wanted) << "element " << i;
        continue;
      }
      error += (have - wanted) * (have - wanted);
      norm += wanted * wanted;
    }
    EXPECT_GT(norm, 0);
    EXPECT_LE(std::sqrt(error / norm), reference::tolerance(p.d.type));
  }
}

TEST(OwnEpilogue, ofADenseKernelForHopper) {
  GemmProblem p = problem_of("x / (1 + exp(-1.702 * x))");
  p.alpha = 0.25f;
  expect_meaning(p, Arch::sm90, "sm90/dense-", [](const Element& e) { return e.x / (1 + std::exp(-1.702 * e.x)); });
}

// Rows and columns are those of D, even where the tile is transposed.
TEST(OwnEpilogue, ofATransposedTile) {
  GemmProblem p = problem_of("column <= row ? x : -infinity", 200, 200);
  p.plan = "dense-152x128-c1-s4-swapped";
  expect_meaning(p, Arch::sm90, "-swapped/",
                 [](const Element& e) { return e.column <= e.row ? e.x : -std::numeric_limits<double>::infinity(); });
}

TEST(OwnEpilogue, ofAKernelForFewRows) {
  GemmProblem p = problem_of("x * sigmoid(x) * residual", 16, 136, 96);
  p.a.type = p.b.type = p.d.type = p.epilogue.residual_layout.type = DType::fp16;
  p.epilogue.residual = true;
  expect_meaning(p, Arch::sm90, "sm90/skinny-", [](const Element& e) { return e.x * sigmoid(e.x) * e.residual; });
}

TEST(OwnEpilogue, ofABatchWithFactorsStoredByThreads) {
  GemmProblem p = problem_of("30 * tanh(x / 30) + batch - row / 64", 70, 75, 64);
  p.batch = 2;
  p.a.type = p.b.type = DType::e4m3;
  p.d.type = DType::fp32;
  p.scaling = Scaling::row_column;
  expect_meaning(p, Arch::sm90, "-stored_by_threads",
                 [](const Element& e) { return 30 * std::tanh(e.x / 30) + double(e.batch) - double(e.row / 64); });
}

TEST(OwnEpilogue, ofSharedDepth) {
  GemmProblem p = problem_of("max(x, 0.1 * x) + c", 100, 136, 700);
  p.plan = "dense-128x128-c1-s4-splitk3";
  expect_meaning(p, Arch::sm90, "-splitk3/", [](const Element& e) { return std::max(e.x, 0.1 * e.x) + e.c; });
}

// With nothing to load; the plan is chosen to compile quickly.
TEST(OwnEpilogue, ofMmaSync) {
  GemmProblem p = problem_of("select(row > column, x * x, -x) + batch");
  p.batch = 2;
  p.plan = "mma-64x64-w2x2-d5-p2-l1200-b4";
  expect_meaning(p, Arch::sm80, "sm80/",
                 [](const Element& e) { return (e.row > e.column ? e.x * e.x : -e.x) + double(e.batch); });
}

TEST(OwnEpilogue, ofBlackwell) {
  const Meaning meaning = [](const Element& e) { return e.x * e.bias + 0.5 * e.c + double(e.row) - double(e.column); };
  GemmProblem p = problem_of("x * bias + beta * c + row - column");
  p.beta = 0.5f;
  p.epilogue.bias = Bias::per_column;
  expect_meaning(p, Arch::sm100, "sm100/", meaning);
  // With roles that load C and the bias and store the result.
  p.plan = "dense-128x128-c1x1-s4-o2-l1";
  expect_meaning(p, Arch::sm100, "-o2-l1/", meaning);
}

// The bits are those of the kernels: whole numbers are compared exactly.
TEST(OwnEpilogue, hasTheBitsOfTheReference) {
  const auto product =
      simulate::dense_product(problem_of("x / (1 + exp(-1.702 * x))"), choice::simulated_chip(Arch::sm90));
  ASSERT_TRUE(product) << product.status().message();
  GemmProblem problem = product->problem;
  const auto w = reference::workload_of(problem, 0, reference::Data::integers, 3);
  const auto out = simulate::run(*product, w, {}, 0);
  ASSERT_TRUE(out.sim.ok());
  EXPECT_EQ(out.verdict.wrong, 0u);
  // Another formula gives another result: the comparison can fail.
  problem.epilogue.formula = "x / (1 + exp(-1.703 * x))";
  const auto other = reference::workload_of(problem, 0, reference::Data::integers, 3);
  EXPECT_GT(reference::judge(other, out.output).wrong, 0u);
}

TEST(OwnEpilogue, isRefusedWhereThereIsNone) {
  const auto product = simulate::dense_product(problem_of("x * 2"), choice::simulated_chip(Arch::gfx950));
  ASSERT_FALSE(product);
  EXPECT_EQ(product.status().message(),
            "epilogue = x * 2: a formula is compiled when it is used, and for gfx950 nothing is compiled then.");
}

}  // namespace
}  // namespace warpwright
