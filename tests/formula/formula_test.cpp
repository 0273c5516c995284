// What a formula means: against the same expression compiled as C++.
#include "formula/formula.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "warpwright/epilogue/config.h"

namespace warpwright::formula {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Formula read(const std::string& text) {
  const auto formula = parse(text);
  EXPECT_TRUE(formula) << formula.status().message();
  return formula ? *formula : *parse("0");
}
double value(const std::string& text, const Values<double>& v = {}) { return read(text).value(v); }

// Without the brackets that a compiler would rather see.
#pragma GCC diagnostic ignored "-Wparentheses"
TEST(Formula, HasThePrecedenceOfCpp) {
  const double x = 3, c = 5, bias = 7;
  const int row = 11, column = 6;
  const Values<double> v{.x = x, .c = c, .bias = bias, .row = row, .column = column};
#define EXPECT_AS_CPP(...) EXPECT_EQ(value(#__VA_ARGS__, v), double(__VA_ARGS__)) << #__VA_ARGS__
  EXPECT_AS_CPP(x + c * bias - x / 2);
  EXPECT_AS_CPP((x + c) * bias);
  EXPECT_AS_CPP(x - c - bias);
  EXPECT_AS_CPP(x / c / bias * bias);
  EXPECT_AS_CPP(-x * -c);
  EXPECT_AS_CPP(- -x);
  EXPECT_AS_CPP(+x);
  EXPECT_AS_CPP(x < c ? x : c);
  EXPECT_AS_CPP(x > c ? x : c > bias ? c : bias);
  EXPECT_AS_CPP(x < c && c < bias || x == bias);
  EXPECT_AS_CPP(x == 3 && !(c == 3));
  EXPECT_AS_CPP(x < c == c < bias);
  EXPECT_AS_CPP((row & 3) == 3);
  EXPECT_AS_CPP(row & 3 + 4);
  EXPECT_AS_CPP(row | column ^ 3 & 5);
  EXPECT_AS_CPP(row << 2 >> 1);
  EXPECT_AS_CPP(row % 4 * 10 + row / 4);
  EXPECT_AS_CPP(~row + column);
  EXPECT_AS_CPP(row / column);
  EXPECT_AS_CPP(row / 2.0f);
  EXPECT_AS_CPP(x != c);
  EXPECT_AS_CPP(x >= 3 ? 1 : 2);
  EXPECT_AS_CPP(x ? c : bias);
  EXPECT_AS_CPP((row > 3) + (column > 3));
  EXPECT_AS_CPP(not(x < c) or x > 0 and c > 0);
  EXPECT_AS_CPP(1.5e2f + .5f + 2.f);
#undef EXPECT_AS_CPP
}

TEST(Formula, KnowsItsFunctions) {
  const double x = -0.7, c = 1.3;
  const Values<double> v{.x = x, .c = c};
  EXPECT_DOUBLE_EQ(value("exp(x)", v), std::exp(x));
  EXPECT_DOUBLE_EQ(value("log(c)", v), std::log(c));
  EXPECT_DOUBLE_EQ(value("tanh(x)", v), std::tanh(x));
  EXPECT_DOUBLE_EQ(value("erf(x)", v), std::erf(x));
  EXPECT_DOUBLE_EQ(value("sqrt(c)", v), std::sqrt(c));
  EXPECT_DOUBLE_EQ(value("rsqrt(c)", v), 1 / std::sqrt(c));
  EXPECT_DOUBLE_EQ(value("sigmoid(x)", v), 1 / (1 + std::exp(-x)));
  EXPECT_DOUBLE_EQ(value("sin(x)", v), std::sin(x));
  EXPECT_DOUBLE_EQ(value("cos(x)", v), std::cos(x));
  EXPECT_EQ(value("floor(x)", v), -1);
  EXPECT_EQ(value("ceil(x)", v), 0);
  EXPECT_EQ(value("trunc(x)", v), 0);
  EXPECT_EQ(value("round(x)", v), -1);
  EXPECT_EQ(value("relu(x)", v), 0);
  EXPECT_DOUBLE_EQ(value("silu(x)", v), x * (1 / (1 + std::exp(-x))));
  EXPECT_NEAR(value("gelu_erf(x)", v), 0.5 * x * (1 + std::erf(x / std::sqrt(2))), 1e-15);
  EXPECT_NEAR(value("gelu(x)", v), 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))), 1e-15);
  EXPECT_DOUBLE_EQ(value("pow(c, x)", v), std::pow(c, x));
  EXPECT_NEAR(value("pow(x, 3)", v), x * x * x, 1e-15);
  EXPECT_EQ(value("pow(x, 0)", v), 1);
  EXPECT_DOUBLE_EQ(value("fma(x, c, 2)", v), x * c + 2);
  EXPECT_EQ(value("abs(x)", v), -x);
  EXPECT_EQ(value("min(x, c)", v), x);
  EXPECT_EQ(value("max(x, 0)", v), 0);
  EXPECT_EQ(value("clamp(c, 0, 1)", v), 1);
  EXPECT_EQ(value("select(x < c, 1, 2.5)", v), 1);
  EXPECT_EQ(value("float(7) / 2", v), 3.5);
  EXPECT_EQ(value("int(c * 3)", v), 3);
  EXPECT_EQ(value("-infinity", v), -kInfinity);
  EXPECT_EQ(value("true + true", v), 2);
}

TEST(Formula, HasDeclarations) {
  const Values<double> v{.x = 2, .bias = 3, .row = 5};
  EXPECT_EQ(value("float t = x + bias; return t > 0 ? t * t : 0;", v), 25);
  EXPECT_EQ(value("const float t = x;\nint r = row / 2;\nbool odd = r % 2;\nreturn odd ? t : -t;", v), -2);
  EXPECT_EQ(value("auto half = row / 2.0; auto n = row / 2; return half + n;", v), 4.5);
  EXPECT_EQ(value("int n = 2.9; return n;"), 2) << "as C++ converts";
  EXPECT_EQ(value("return x;", v), 2);
  EXPECT_EQ(value("x // a comment\n  /* and\n another */ + 1", v), 3);
}

TEST(Formula, KnowsWhatItNames) {
  EXPECT_EQ(read("x * bias + residual").names(), "x bias residual");
  EXPECT_EQ(read("row_bias + c * beta").names(), "c row_bias beta");
  EXPECT_EQ(read("float t = batch; return column + row;").names(), "row column batch");
  EXPECT_EQ(read("1.5").names(), "");
  EXPECT_TRUE(read("x + c").uses(Name::c));
  EXPECT_FALSE(read("x + cos(x) // c").uses(Name::c));
}

// Numbers in a text are fp32 in float64, too: what a kernel computes with.
TEST(Formula, RoundsItsNumbersOnce) {
  EXPECT_EQ(value("1.702"), double(1.702f));
  EXPECT_EQ(value("16777217.0"), 16777216.0);
  EXPECT_EQ(read("0.1 + 0.2").value(Values<float>{}), 0.1f + 0.2f);
}

TEST(Formula, FoldsNumbers) {
  EXPECT_EQ(read("x * (1.0 / 30)").operations(), 1);
  EXPECT_EQ(read("x * (1.0 / 30)").value(Values<float>{.x = 7}), 7 * (1.f / 30));
  EXPECT_EQ(value("2.0 * 3 + 4.5 - 1", {}), 9.5);
  EXPECT_EQ(value("1.0 / 0"), kInfinity);
  EXPECT_EQ(value("float t = 2.5; return t * 2.0 * 3.0;"), 15);
}

TEST(Formula, KnowsAboutWhatItCosts) {
  EXPECT_EQ(read("x").operations(), 0);
  EXPECT_EQ(read("x > 0 ? x * x : 0").operations(), 3);
  EXPECT_GT(read("30 * tanh(x / 30)").operations(), 30);
  EXPECT_EQ(read("pow(x, 8)").operations(), 3);
}

TEST(Formula, IsKnownByItsText) {
  EXPECT_EQ(read("x * 2").id(), own_id("x * 2"));
  EXPECT_NE(read("x * 2").id(), read("x * 3").id());
  EXPECT_NE(read("x * 2").id(), read("x*2").id());
  static_assert(own_id("") == 0xcbf29ce484222325u, "FNV-1a");
  static_assert(own_id("a") == 0xaf63dc4c8601ec8cu, "FNV-1a");
}

TEST(Formula, IsWrittenAsAFunctor) {
  const Formula formula = read("float t = x + row; // \\ text\nreturn t > 2 ? pow(t, 3) : -row_bias;");
  EXPECT_EQ(formula.source(),
            "// float t = x + row; //   text\n// return t > 2 ? pow(t, 3) : -row_bias;\ntemplate <>\n"
            "struct warpwright::epilogue::Own<" +
                std::to_string(formula.id()) +
                "ull> {\n  WW_FN float operator()(const OwnValues& v) const {\n"
                "    namespace math = ::warpwright::epilogue::math;\n"
                "    const float local_0 = math::add(v.x, float(v.row));\n"
                "    return ((local_0 > 2.f) ? math::power<3>(local_0) : (-v.bias));\n  }\n};\n");
}

}  // namespace
}  // namespace warpwright::formula
