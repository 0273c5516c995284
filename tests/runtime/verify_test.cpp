// The comparison of WARPWRIGHT_VERIFY, on the host: what the simulator computes, and the rounded reference, are right;
// the same with one element changed, with a missing step of k, or with the wrong factor are not.
#include "launch/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "catalog/instance.h"
#include "problem/lower.h"
#include "reference/problem_workload.h"
#include "simulate/product.h"

namespace warpwright {
namespace {

// The arrays of a workload, the result last.
std::vector<void*> arrays_of(reference::Workload& w) {
  std::vector<void*> list;
  for (reference::Array& a : w.arrays) list.push_back(a.bytes.data());
  return list;
}

int wrong_elements(const VerifyArgs& args) {
  int wrong = 0;
  for (int64_t b = 0; b < args.batch; ++b)
    for (int64_t i = 0; i < args.m; ++i)
      for (int64_t j = 0; j < args.n; ++j)
        wrong += !verifying::is_right(args, verifying::expected_at(args, i, j, b), verifying::element(args.d, i, j, b));
  return wrong;
}

struct Simulated {
  simulate::DenseProduct product;
  reference::Workload workload;
};
Simulated run(const char* name, reference::Case shape) {
  const auto product = simulate::dense_case(*catalog::parse_instance(name), shape);
  EXPECT_TRUE(product) << product.status().message();
  reference::Workload w = workload_of(product->problem, product->offset, reference::Data::normal, 3);
  simulator::Options options;
  options.check = false;
  const simulate::Outcome outcome = simulate::run(*product, w, options, 0);
  EXPECT_TRUE(outcome.ok());
  w.arrays.back().bytes = outcome.output;
  return {*product, std::move(w)};
}

VerifyArgs arguments(Simulated& s) {
  const auto args = launch::verify_arguments(
      s.product.problem, s.product.low,
      reference::pointers_of(s.product.problem, s.product.offset, s.workload, arrays_of(s.workload)));
  EXPECT_TRUE(args);
  return *args;
}

TEST(Verify, whatTheSimulatorComputesIsRightAndADamagedResultIsNot) {
  const struct {
    const char* instance;
    reference::Case shape;
  } cases[] = {{"sm90/dense-128x256-c2-s4/bf16-nt", {133, 80, 75}},
               {"sm100/dense-128x256-c2x1-s6-pair/bf16", {136, 136, 72}}};
  for (const auto& c : cases) {
    Simulated s = run(c.instance, c.shape);
    EXPECT_EQ(wrong_elements(arguments(s)), 0) << c.instance;
    std::vector<uint8_t>& d = s.workload.arrays.back().bytes;
    const int64_t at = 2 * (s.product.low.d.stride * 3 + 5);
    d[size_t(at) + 1] ^= 0x40;  // an exponent bit
    EXPECT_EQ(wrong_elements(arguments(s)), 1) << c.instance;
    d[size_t(at) + 1] ^= 0x40;
    VerifyArgs shallow = arguments(s);
    shallow.k -= 16;
    EXPECT_GT(wrong_elements(shallow), shallow.m * shallow.n / 2) << c.instance;
    VerifyArgs other = arguments(s);
    other.alpha = 1.25f;
    EXPECT_GT(wrong_elements(other), other.m * other.n / 2) << c.instance;
  }
}

// Every node of the epilogue, and operands along both sides: the plain product against the reference of the workload.
TEST(Verify, theEpilogueIsThatOfTheReference) {
  GemmProblem p{.m = 19, .n = 24, .k = 40};
  p.a.type = p.b.type = DType::bf16;
  p.a.major = Major::MN;
  p.alpha = 0.5f;
  p.beta = 2;
  p.c.type = DType::fp32;
  p.d.type = DType::fp32;
  p.epilogue.bias = Bias::per_column;
  p.epilogue.residual = true;
  p.batch = 2;
  for (const Activation activation :
       {Activation::none, Activation::relu, Activation::gelu_tanh, Activation::gelu_erf, Activation::silu}) {
    for (const Bias bias : {Bias::per_row, Bias::per_column}) {
      p.epilogue.activation = activation;
      p.epilogue.bias = bias;
      const GemmProblem problem = reference::with_packed_addends(p);
      reference::Workload w = workload_of(problem, 0, reference::Data::normal, 5);
      const std::vector<void*> arrays = arrays_of(w);
      const problem::Lowered low = problem::lower(problem);
      const auto args = launch::verify_arguments(problem, low, reference::pointers_of(problem, 0, w, arrays));
      ASSERT_TRUE(args);
      int wrong = 0;
      double smallest_error = 1;
      for (int64_t b = 0; b < p.batch; ++b) {
        for (int64_t i = 0; i < p.m; ++i) {
          for (int64_t j = 0; j < p.n; ++j) {
            const auto e = verifying::expected_at(*args, i, j, b);
            const int64_t at = b * args->d.batch_step + i * args->d.row_step + j;
            wrong += !verifying::is_right(*args, e, w.expected[size_t(at)]);
            smallest_error = std::min(smallest_error, e.bound);
          }
        }
      }
      EXPECT_EQ(wrong, 0) << name(activation);
      EXPECT_LT(smallest_error, 0.01);
    }
  }
}

TEST(Verify, numbersOfEveryTypeAreReadByThePlainestRules) {
  const auto read = [](DType type, uint32_t bits) { return verifying::element({&bits, type, 0, 0, 0}, 0, 0, 0); };
  EXPECT_EQ(read(DType::bf16, 0xc049), -3.140625);
  EXPECT_EQ(read(DType::fp16, 0x0001), 0x1p-24);
  EXPECT_EQ(read(DType::fp16, 0x7bff), 65504);
  EXPECT_EQ(read(DType::e4m3, 0x7e), 448);
  EXPECT_NE(read(DType::e4m3, 0x7f), read(DType::e4m3, 0x7f));
  EXPECT_EQ(read(DType::e4m3, 0x01), 0x1p-9);
  EXPECT_EQ(read(DType::e5m2, 0x7b), 57344);
  EXPECT_EQ(read(DType::e5m2, 0xfc), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(read(DType::s8, 0x80), -128);
}

TEST(Verify, largeProductsAreComparedInPart) {
  const GemmProblem p{.m = 8192, .n = 8192, .k = 8192};
  const auto args = launch::verify_arguments(p, problem::lower(p), {});
  ASSERT_TRUE(args);
  EXPECT_GT(args->step, 1);
  EXPECT_LE(args->compared() * p.k, int64_t(1) << 33);
  EXPECT_GT(args->compared(), 1'000'000 / 2);
  GemmProblem scaled = p;
  scaled.block_scaling = BlockScaling::mxfp8;
  EXPECT_FALSE(launch::verify_arguments(scaled, problem::lower(p), {}));
}

}  // namespace
}  // namespace warpwright
