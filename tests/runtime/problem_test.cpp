#include "problem/problem.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

namespace warpwright::problem {
namespace {

Problem served() {
  Problem p;
  p.m = 100;
  p.n = 72;
  p.k = 40;
  return p;
}

// The sentence must name the argument, its value and the rule.
void expect_refused(const Problem& p, const std::string& argument_and_value, const std::string& rule) {
  const auto sentence = validate(p);
  ASSERT_TRUE(sentence.has_value()) << argument_and_value;
  EXPECT_EQ(sentence->rfind(argument_and_value + ":", 0), 0u) << *sentence;
  EXPECT_NE(sentence->find(rule), std::string::npos) << *sentence;
  EXPECT_EQ(sentence->back(), '.');
}

TEST(Problem, WhatTheKernelsServeIsAccepted) {
  EXPECT_EQ(validate(served()), std::nullopt);
  Problem p = served();
  p.dtype = p.out_dtype = DType::fp16;
  EXPECT_EQ(validate(p), std::nullopt);
  p.k = 0;
  EXPECT_EQ(validate(p), std::nullopt);
  p.m = 1;
  p.n = 8;
  p.alpha = -0.5;
  EXPECT_EQ(validate(p), std::nullopt);
}

TEST(Problem, EveryTypeOfOperandsHasItsUsualResult) {
  const std::pair<DType, DType> types[] = {
      {DType::bf16, DType::bf16}, {DType::fp16, DType::fp16}, {DType::tf32, DType::fp32}, {DType::e4m3, DType::bf16}};
  for (const auto& [operands, result] : types) {
    EXPECT_EQ(usual_result(operands), result);
    Problem p = served();
    p.k = 48;
    p.dtype = operands;
    p.out_dtype = result;
    EXPECT_EQ(validate(p), std::nullopt) << name(operands);
    p.out_dtype = DType::fp32;
    EXPECT_EQ(validate(p), std::nullopt) << name(operands);
  }
}

TEST(Problem, TheKernelsForSm80TakeRowsOfAnyLengthAndWholeNumbers) {
  Problem p = served();
  p.n = 13;
  p.k = 7;
  EXPECT_NE(validate(p), std::nullopt);
  EXPECT_EQ(validate(p, Arch::sm80), std::nullopt);
  p.dtype = DType::s8;
  p.out_dtype = usual_result(DType::s8);
  EXPECT_EQ(p.out_dtype, DType::fp32);
  EXPECT_EQ(validate(p, Arch::sm80), std::nullopt);
  EXPECT_NE(validate(p), std::nullopt);
  p.dtype = DType::tf32;
  EXPECT_NE(validate(p, Arch::sm80), std::nullopt);
}

TEST(Problem, ExtentsOutOfRangeAreRefused) {
  Problem p = served();
  p.m = 0;
  expect_refused(p, "m = 0", "at least 1");
  p = served();
  p.n = -8;
  expect_refused(p, "n = -8", "at least 1");
  p = served();
  p.k = -1;
  expect_refused(p, "k = -1", "at least 0");
  p = served();
  p.k = (int64_t(1) << 30) + 8;
  expect_refused(p, "k = 1073741832", "at most 1073741824");
  p = served();
  p.m = p.n = int64_t(1) << 30;
  expect_refused(p, "m = 1073741824, n = 1073741824", "tiles");
}

TEST(Problem, RowsThatAreNotWholeUnitsAreRefused) {
  Problem p = served();
  p.k = 36;
  expect_refused(p, "k = 36", "multiple of 8 for bf16");
  p = served();
  p.n = 7;
  expect_refused(p, "n = 7", "multiple of 8");
  p = served();
  p.dtype = DType::e4m3;
  expect_refused(p, "k = 40", "multiple of 16 for e4m3");
  p.dtype = DType::tf32;
  p.out_dtype = DType::fp32;
  p.n = p.k = 36;
  EXPECT_EQ(validate(p), std::nullopt);
  p.n = 34;
  expect_refused(p, "n = 34", "multiple of 4 for fp32");
  p = served();
  p.m = 7;  // m is no row length
  EXPECT_EQ(validate(p), std::nullopt);
}

TEST(Problem, WhatHasNoKernelIsRefused) {
  Problem p = served();
  p.op = Operation::grouped_k;
  expect_refused(p, "op = grouped_k", "dense");
  p = served();
  p.dtype = DType::s8;
  expect_refused(p, "dtype = s8", "bf16, fp16, tf32 or e4m3");
  p = served();
  p.out_dtype = DType::e4m3;
  expect_refused(p, "out-dtype = e4m3", "bf16, fp16 or fp32");
  p = served();
  p.layout = Layout::tn;
  expect_refused(p, "layout = tn", "nt");
  p = served();
  p.batch = 2;
  expect_refused(p, "batch = 2", "must be 1");
  p = served();
  p.groups = 0;
  expect_refused(p, "groups = 0", "exactly 1");
  p = served();
  p.beta = 0.25;
  expect_refused(p, "beta = 0.25", "must be 0");
  p = served();
  p.alpha = std::numeric_limits<double>::max();
  expect_refused(p, "alpha = 1.7976931348623157e+308", "finite");
  p = served();
  p.epilogue = "relu";
  expect_refused(p, "epilogue = relu", "plain store");
  p = served();
  p.scaling = "mx";
  expect_refused(p, "scaling = mx", "no scale factors");
}

TEST(Problem, WordsAndValuesCorrespond) {
  for (const Operation op : {Operation::dense, Operation::blockwise, Operation::grouped_contiguous,
                             Operation::grouped_masked, Operation::grouped_k}) {
    EXPECT_EQ(parse_operation(name(op)), op);
  }
  for (const Layout layout : {Layout::nt, Layout::nn, Layout::tn, Layout::tt})
    EXPECT_EQ(parse_layout(name(layout)), layout);
  EXPECT_EQ(parse_operation("sparse"), std::nullopt);
  EXPECT_EQ(parse_layout("n"), std::nullopt);
}

}  // namespace
}  // namespace warpwright::problem
