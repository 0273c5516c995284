// What the API refuses, and with which sentence: argument, value and rule. No GPU is asked.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "warpwright/gemm.h"

namespace warpwright {
namespace {

GemmProblem good() { return {.m = 128, .n = 256, .k = 64}; }

void expect_refused(const GemmProblem& p, std::initializer_list<const char*> words) {
  const Status s = validate(p);
  ASSERT_FALSE(s.ok()) << *words.begin();
  EXPECT_EQ(s.code(), Code::invalid_argument);
  EXPECT_EQ(s.message().back(), '.') << s.message();
  EXPECT_EQ(s.message().find('\n'), std::string::npos);
  for (const char* word : words) EXPECT_NE(s.message().find(word), std::string::npos) << s.message();
}

TEST(Validate, AcceptsTheOrdinaryProblem) { EXPECT_TRUE(validate(good())) << validate(good()).message(); }

TEST(Validate, AcceptsEmptyExtents) {
  for (int64_t GemmProblem::*extent : {&GemmProblem::m, &GemmProblem::n, &GemmProblem::k, &GemmProblem::batch}) {
    GemmProblem p = good();
    p.*extent = 0;
    EXPECT_TRUE(validate(p)) << validate(p).message();
  }
}

TEST(Validate, RefusesNegativeAndOverflowingExtents) {
  for (int64_t value : {int64_t(-1), std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
    const std::string text = std::to_string(value);
    GemmProblem p = good();
    p.m = value;
    expect_refused(p, {"m = ", text.c_str()});
    p = good();
    p.n = value;
    expect_refused(p, {"n = ", text.c_str()});
    p = good();
    p.k = value;
    expect_refused(p, {"k = ", text.c_str()});
    p = good();
    p.batch = value;
    expect_refused(p, {"batch = ", text.c_str()});
  }
  GemmProblem p = good();
  p.m = p.n = int64_t(1) << 30;
  expect_refused(p, {"m = 1073741824", "tiles"});
}

TEST(Validate, RefusesTypePairsThatNoTensorCoreMultiplies) {
  GemmProblem p = good();
  p.a.type = DType::fp32;
  expect_refused(p, {"a.type = fp32", "bf16"});
  p = good();
  p.b.type = DType::fp16;
  expect_refused(p, {"b.type = fp16", "A is bf16"});
  p = good();
  p.a.type = DType::e4m3;
  expect_refused(p, {"b.type = bf16", "8-bit"});
  p.b.type = DType::e5m2;
  EXPECT_TRUE(validate(p)) << validate(p).message();
  p.d.type = DType::s8;
  expect_refused(p, {"d.type = s8"});
  p = good();
  p.beta = 1;
  p.c.type = DType::e4m3;
  expect_refused(p, {"c.type = e4m3"});
  p.beta = 0;
  EXPECT_TRUE(validate(p)) << "C is not read";
}

TEST(Validate, RefusesLayoutsThatOperandsCannotHave) {
  GemmProblem p = good();
  p.a.type = p.b.type = DType::e4m3;
  p.b.major = Major::MN;
  expect_refused(p, {"b.major = MN", "e4m3"});
  p = good();
  p.d.major = Major::MN;
  expect_refused(p, {"d.major = MN"});
  p = good();
  p.a.stride = 63;
  expect_refused(p, {"a.stride = 63", "64"});
  p.a.major = Major::MN;
  p.a.stride = 128;
  EXPECT_TRUE(validate(p)) << validate(p).message();
  p.a.stride = 127;
  expect_refused(p, {"a.stride = 127", "128"});
  p = good();
  p.b.stride = -64;
  expect_refused(p, {"b.stride = -64", "negative"});
  p.b.stride = std::numeric_limits<int64_t>::max();
  expect_refused(p, {"b.stride", "2^36"});
  p = good();
  p.batch = 65535;
  p.d.batch_stride = int64_t(1) << 36;
  expect_refused(p, {"d: its 65535 matrices", "2^46"});
}

TEST(Validate, RefusesResultsThatOverlapThemselves) {
  GemmProblem p = good();
  p.batch = 3;
  EXPECT_TRUE(validate(p));
  p.d.batch_stride = 0;
  expect_refused(p, {"d.batch_stride = 0", "overlap"});
  p.d.batch_stride = 128 * 256 - 1;
  expect_refused(p, {"d.batch_stride = 32767", "overlap"});
  // Side by side: row r of all matrices, then row r + 1.
  p.d.stride = 3 * 256;
  p.d.batch_stride = 256;
  EXPECT_TRUE(validate(p)) << validate(p).message();
  p.d.batch_stride = 255;
  expect_refused(p, {"overlap"});
  p = good();
  p.batch = 3;
  p.a.batch_stride = 0;
  EXPECT_TRUE(validate(p)) << "operands may be shared";
}

TEST(Validate, RefusesFactorsThatAreNotNumbers) {
  GemmProblem p = good();
  p.alpha = std::numeric_limits<float>::quiet_NaN();
  expect_refused(p, {"alpha = nan"});
  p = good();
  p.beta = std::numeric_limits<float>::infinity();
  expect_refused(p, {"beta = inf"});
}

TEST(Validate, RefusesWhatOnly8BitOperandsHave) {
  GemmProblem p = good();
  p.scaling = Scaling::tensor;
  expect_refused(p, {"scaling = tensor", "bf16"});
  p = good();
  p.accumulation = Accumulation::promoted;
  expect_refused(p, {"accumulation = promoted"});
  p.a.type = p.b.type = DType::e4m3;
  p.scaling = Scaling::row_column;
  EXPECT_TRUE(validate(p)) << validate(p).message();
}

TEST(Validate, RefusesEpiloguesWithoutMeaning) {
  GemmProblem p = good();
  p.epilogue.activation = Activation::swiglu;
  p.n = 88;
  expect_refused(p, {"n = 88", "swiglu", "multiple of 16"});
  p.n = 96;
  EXPECT_TRUE(validate(p)) << validate(p).message();
  p.b.major = Major::MN;
  expect_refused(p, {"b.major = MN", "swiglu"});
  p.b.major = Major::K;
  p.beta = 1;
  expect_refused(p, {"beta = 1", "swiglu"});
  p = good();
  p.epilogue.bias = Bias::per_column;
  p.epilogue.bias_type = DType::e4m3;
  expect_refused(p, {"bias_type = e4m3"});
  p = good();
  p.epilogue.residual = true;
  p.epilogue.residual_layout.stride = 8;
  expect_refused(p, {"residual_layout.stride = 8"});
}

TEST(Validate, HoldsAFormulaToWhatTheProblemHas) {
  const auto with = [](const char* formula) {
    GemmProblem p = good();
    p.epilogue.formula = formula;
    return p;
  };
  EXPECT_TRUE(validate(with("30 * tanh(x / 30)")));
  EXPECT_EQ(validate(with("x +")).code(), Code::invalid_argument);
  EXPECT_EQ(validate(with("x +")).message(),
            "epilogue, line 1, column 4: a value is missing at the end of the text.\n  x +\n     ^");
  GemmProblem p = with("relu(x)");
  p.epilogue.activation = Activation::relu;
  expect_refused(p, {"epilogue.activation = relu", "relu(x) in the formula does the same"});
  expect_refused(with("x + bias"), {"bias: the formula names bias, and none is given"});
  p = with("x");
  p.epilogue.bias = Bias::per_column;
  expect_refused(p, {"bias: it is given, and the formula does not name it"});
  p = with("x + row_bias");
  p.epilogue.bias = Bias::per_column;
  expect_refused(p, {"bias: the formula names row_bias, and bias is given"});
  p.epilogue.bias = Bias::per_row;
  EXPECT_TRUE(validate(p)) << validate(p).message();
  p.epilogue.bias_type = DType::e4m3;
  expect_refused(p, {"bias_type = e4m3"});
  expect_refused(with("bias + row_bias"), {"a product has one of them"});
  expect_refused(with("x + residual"), {"residual: the formula names it"});
  p = with("x");
  p.epilogue.residual = true;
  expect_refused(p, {"residual: it is given"});
  p = with("x + c");
  p.beta = 2;
  expect_refused(p, {"beta = 2", "does not name it"});
  // C is read because the formula names it.
  p.beta = 0;
  EXPECT_TRUE(validate(p)) << validate(p).message();
  p.c.stride = 1;
  expect_refused(p, {"c.stride = 1"});
  p = with("x + c");
  p.c.type = DType::e4m3;
  expect_refused(p, {"c.type = e4m3"});
}

TEST(Validate, RefusesAlignmentsThatAreNone) {
  for (int alignment : {0, -16, 3, 24}) {
    GemmProblem p = good();
    p.alignment = alignment;
    expect_refused(p, {"alignment", "power of two"});
  }
  GemmProblem p = good();
  p.alignment = 1;
  expect_refused(p, {"alignment = 1", "2 bytes"});
  p.alignment = 2;
  EXPECT_TRUE(validate(p));
  p = good();
  p.sm_limit = -1;
  expect_refused(p, {"sm_limit = -1"});
}

}  // namespace
}  // namespace warpwright
