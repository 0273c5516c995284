// Formulas as both compilers take them: for the simulator compiled and compared bit by bit with what the reference
// computes, for a GPU by NVRTC into machine code.
#include "formula/formula.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "catalog/instance.h"
#include "jit/compiler.h"
#include "jit/host_compiler.h"

namespace warpwright::jit {
namespace {

// Every operation and every function at least once.
const std::vector<std::string> kTexts = {
    "x / (1 + exp(-1.702 * x))",
    "30 * tanh(x / 30)",
    "x > 0 ? x * x : 0",
    "x * bias + residual",
    "column <= row ? x : -infinity",
    "float t = x + row_bias; int r = row % 3; bool odd = r & 1; return odd ? t - c : t * beta;",
    "log(abs(x) + 1) + erf(c) * sin(bias) - cos(residual)",
    "sqrt(abs(x)) + rsqrt(abs(c) + 1) + pow(abs(x), bias) + pow(x, 5) + pow(c, 0)",
    "floor(x) + ceil(c) - trunc(bias) + round(residual) + fma(x, c, bias)",
    "relu(x) + silu(c) + gelu(bias) + gelu_erf(residual) + sigmoid(beta)",
    "min(x, c) + max(bias, 0) + clamp(residual, -1, 1) + select(x < c, 1, -2.5)",
    "min(row, column) + max(row, 7) * clamp(batch, 1, 2) - abs(row - column)",
    "(row << 2) + (column >> 1) + (row ^ column | 5 & batch) + ~row + row / column - row % (column - 3)",
    "(x < c) + (x > c) * 2 + (x <= bias) * 4 + (x >= bias) * 8 + (row == column) * 16 + (row != 3) * 32",
    "x && c || !(bias > 0) ? int(x * 3) : float(row) / -7",
    "-(-x) + +c - 1e-3 * 16777217.0 + true",
};

template <class Random>
formula::Values<float> draw(Random& random) {
  std::normal_distribution<float> number(0, 4);
  std::uniform_int_distribution<int> whole(0, 300);
  formula::Values<float> v{number(random), number(random), number(random), 0, number(random), number(random),
                           whole(random),  whole(random),  whole(random)};
  v.row_bias = v.bias;
  return v;
}

std::string declared() {
  std::string text = "#include \"warpwright/epilogue/own.h\"\n";
  for (const std::string& one : kTexts) text += formula::parse(one)->source();
  return text;
}
uint64_t id_of(const std::string& text) { return formula::parse(text)->id(); }

TEST(Formula, CompiledForTheSimulatorHasTheBitsOfTheReference) {
  if (!host_compiler()) GTEST_SKIP() << host_compiler().status().message();
  std::string source = declared();
  for (size_t i = 0; i < kTexts.size(); ++i) {
    source += fmt::format(
        "extern \"C\" float formula_{}(const warpwright::epilogue::OwnValues* v) {{\n"
        "  return warpwright::epilogue::Own<{}ull>{{}}(*v);\n}}\n",
        i, id_of(kTexts[i]));
  }
  const auto object = obtain_shared_object(source);
  ASSERT_TRUE(object) << object.status().message();
  const auto opened = open_shared_object(object->bytes, "formulas");
  ASSERT_TRUE(opened) << opened.status().message();
  struct Values {  // as epilogue/own.h has them
    float x, c, bias, residual, beta;
    int row, column, batch;
  };
  std::mt19937 random(23);
  for (size_t i = 0; i < kTexts.size(); ++i) {
    const auto compiled =
        reinterpret_cast<float (*)(const Values*)>(::dlsym(*opened, fmt::format("formula_{}", i).c_str()));
    ASSERT_NE(compiled, nullptr);
    const formula::Formula formula = *formula::parse(kTexts[i]);
    for (int n = 0; n < 2000; ++n) {
      const formula::Values<float> v = draw(random);
      const Values given{v.x, v.c, v.bias, v.residual, v.beta, v.row, v.column, v.batch};
      const float have = compiled(&given), want = formula.value(v);
      if (std::isnan(want) && std::isnan(have)) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(have), std::bit_cast<uint32_t>(want))
          << kTexts[i] << ": " << have << ", not " << want << " of x = " << v.x << ", row = " << v.row;
    }
  }
}

TEST(Formula, IsNearItsValueInFloat64) {
  std::mt19937 random(29);
  for (const std::string& text : kTexts) {
    if (text.find("floor") != std::string::npos) continue;  // steps
    const formula::Formula formula = *formula::parse(text);
    for (int n = 0; n < 2000; ++n) {
      const formula::Values<float> v = draw(random);
      const double want = formula.value(
          formula::Values<double>{v.x, v.c, v.bias, v.row_bias, v.residual, v.beta, v.row, v.column, v.batch});
      const double have = double(formula.value(v));
      if (!std::isfinite(want)) {
        EXPECT_TRUE(have == want || (std::isnan(have) && std::isnan(want))) << text;
        continue;
      }
      ASSERT_NEAR(have, want, 2e-5 * std::max(1.0, std::abs(want))) << text << " of x = " << v.x;
    }
  }
}

TEST(Formula, IsMachineCodeByNvrtc) {
  if (!toolkit().status()) GTEST_SKIP() << toolkit().status().message();
  std::string source = declared();
  source += "extern \"C\" __global__ void formulas(const warpwright::epilogue::OwnValues* v, float* to) {\n";
  for (size_t i = 0; i < kTexts.size(); ++i) {
    source += fmt::format("  to[{}] = warpwright::epilogue::Own<{}ull>{{}}(*v);\n", i, id_of(kTexts[i]));
  }
  for (const char* const arch : {"sm_90a", "sm_80"}) {
    const auto binary = obtain({source + "}\n", arch}, toolkit(), Cache(""));
    ASSERT_TRUE(binary) << binary.status().message();
    EXPECT_FALSE(binary->cubin.empty());
  }
}

// The text is part of what a kernel is found by in the cache.
TEST(Formula, IsPartOfTheSourceOfAnInstance) {
  const auto with = [](const std::string& text) {
    DenseGemmConfig config{.tile_m = 64, .tile_n = 64, .stages = 4};
    config.epilogue.own = id_of(text);
    return catalog::Instance{config, 0, text};
  };
  const catalog::Instance one = with("x * 2"), other = with("x * 3");
  EXPECT_NE(catalog::source_of(one), catalog::source_of(other));
  EXPECT_NE(catalog::image_name(one), catalog::image_name(other));
  EXPECT_NE(catalog::source_of(one).find("math::multiply(v.x, 2.f)"), std::string::npos) << catalog::source_of(one);
  const auto read = catalog::parse_instance(catalog::name_of(one));
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(read->config, one.config);
  EXPECT_TRUE(catalog::check_formula(one));
  EXPECT_FALSE(catalog::check_formula(*read));
}

}  // namespace
}  // namespace warpwright::jit
