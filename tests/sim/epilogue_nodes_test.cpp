// The epilogue's nodes one by one against float64, and what they do to the values at the edges.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "warpwright/epilogue/ops.h"

namespace warpwright {
namespace {

using epilogue::EpilogueOps;
using epilogue::Source;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Floats from -100 to 100, denser near zero, and every power of two.
template <class Check>
void for_many(Check check) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> wide(-100.f, 100.f), narrow(-6.f, 6.f);
  for (int i = 0; i < 100'000; ++i) {
    check(wide(random));
    check(narrow(random));
  }
  for (int e = -149; e < 128; ++e) {
    check(std::ldexp(1.f, e));
    check(-std::ldexp(1.f, e));
  }
  check(0.f);
}

TEST(Relu, IsExactAndKeepsNan) {
  for_many([](float x) { ASSERT_EQ(epilogue::relu(x), x > 0 ? x : 0.f) << x; });
  EXPECT_TRUE(std::isnan(epilogue::relu(kNan)));
  EXPECT_EQ(epilogue::relu(kInfinity), kInfinity);
  EXPECT_EQ(epilogue::relu(-kInfinity), 0.f);
}

TEST(Silu, IsWithinOneInAMillionOfFloat64) {
  for_many([](float x) {
    const double want = double(x) / (1 + std::exp(-double(x)));
    ASSERT_NEAR(epilogue::silu(x), want, std::abs(want) * 0x1p-20 + 1e-35) << x;
  });
}

TEST(GeluTanh, IsWithin3e7OfFloat64) {
  for_many([](float x) {
    const double d = x, u = std::sqrt(2 / M_PI) * (d + 0.044715 * d * d * d);
    const double want = 0.5 * d * (1 + std::tanh(u));
    ASSERT_NEAR(epilogue::gelu_tanh(x), want, 3e-7 * std::max(1.0, std::abs(want))) << x;
  });
}

TEST(GeluErf, IsWithin4e7OfFloat64) {
  for_many([](float x) {
    const double want = 0.5 * double(x) * std::erfc(-double(x) / std::sqrt(2.0));
    ASSERT_NEAR(epilogue::gelu_erf(x), want, 4e-7 * std::max(1.0, std::abs(want))) << x;
  });
}

TEST(Activations, AreTheIdentityOrZeroFarFromTheOrigin) {
  for (float (*f)(float) : {epilogue::silu, epilogue::gelu_tanh, epilogue::gelu_erf}) {
    for (float x : {100.f, 1e10f, 3e38f, kInfinity}) EXPECT_EQ(f(x), x);
    for (float x : {-100.f, -1e10f, -3e38f}) EXPECT_EQ(f(x), 0.f) << x;
    EXPECT_EQ(f(0.f), 0.f);
    EXPECT_TRUE(std::isnan(f(kNan)));
  }
}

// The bits the GPU gives too: a change of any step of the arithmetic shows here.
TEST(Activations, HaveTheBitsOfTheirDefinition) {
  const auto bits = [](float x) { return stdx::bit_cast<uint32_t>(x); };
  EXPECT_EQ(bits(epilogue::silu(1.f)), 0x3f3b26a8u);
  EXPECT_EQ(bits(epilogue::silu(-7.3f)), 0xbba17bedu);
  EXPECT_EQ(bits(epilogue::gelu_tanh(0.7f)), 0x3f07d372u);
  EXPECT_EQ(bits(epilogue::gelu_tanh(-2.1f)), 0xbd18e865u);
  EXPECT_EQ(bits(epilogue::gelu_erf(0.7f)), 0x3f07d712u);
  EXPECT_EQ(bits(epilogue::gelu_erf(-2.1f)), 0xbd19a97eu);
}

TEST(Nodes, AreAppliedInTheDocumentedOrder) {
  constexpr EpilogueConfig c{.out = DType::fp32,
                             .alpha = true,
                             .source = true,
                             .activation = Activation::relu,
                             .residual = true,
                             .quantize = true};
  EpilogueArgs args;
  args.alpha = 2, args.beta = 3, args.scale = 0.5f;
  EXPECT_EQ(EpilogueOps<c>{}(5.f, args, Source{1, 100}), (2 * 5 + 3 * 1 + 100) * 0.5f);
  EXPECT_EQ(EpilogueOps<c>{}(-5.f, args, Source{1, 100}), 100 * 0.5f) << "relu before the residual";
}

TEST(Nodes, ThatAreOffIgnoreTheirArguments) {
  constexpr EpilogueConfig c{.out = DType::fp32};
  EpilogueArgs args;
  args.alpha = args.beta = args.scale = kNan;
  EXPECT_TRUE(c.trivial());
  EXPECT_EQ(EpilogueOps<c>{}(1.5f, args, Source{kNan, kNan}), 1.5f);
}

TEST(Nodes, RoundOnce) {
  constexpr EpilogueConfig scale{.out = DType::fp32, .alpha = true};
  constexpr EpilogueConfig blend{.out = DType::fp32, .source = true};
  EpilogueArgs args;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 10'000; ++i) {
    const float x = normal(random), c = normal(random);
    args.alpha = args.beta = normal(random);
    ASSERT_EQ(EpilogueOps<scale>{}(x, args, Source{}), float(double(args.alpha) * x));
    ASSERT_EQ(EpilogueOps<blend>{}(x, args, Source{c, 0}), std::fma(args.beta, c, x));
  }
}

TEST(SwiGlu, IsSiluOfTheGateTimesTheOther) {
  constexpr EpilogueConfig c{.out = DType::fp32, .alpha = true, .activation = Activation::swiglu};
  EpilogueArgs args;
  args.alpha = 0.5f;
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 4);
  for (int i = 0; i < 10'000; ++i) {
    const float gate = normal(random), up = normal(random);
    const double g = 0.5 * gate, want = g / (1 + std::exp(-g)) * (0.5 * up);
    ASSERT_NEAR(EpilogueOps<c>{}(gate, up, args, Source{}), want, std::abs(want) * 0x1p-20);
  }
}

template <DType T>
auto convert(float x) {
  return EpilogueOps<EpilogueConfig{.out = T}>::convert(x);
}

TEST(Convert, SaturatesBytesAndOverflowsHalves) {
  EXPECT_EQ(to_float(convert<DType::e4m3>(1e9f)), 448.f);
  EXPECT_EQ(to_float(convert<DType::e4m3>(-kInfinity)), -448.f);
  EXPECT_EQ(to_float(convert<DType::e5m2>(1e9f)), 57344.f);
  EXPECT_EQ(to_float(convert<DType::e5m2>(kInfinity)), 57344.f);
  EXPECT_EQ(to_float(convert<DType::fp16>(70000.f)), kInfinity);
  EXPECT_EQ(to_float(convert<DType::bf16>(3.4e38f)), kInfinity);
  EXPECT_EQ(convert<DType::fp32>(3.4e38f), 3.4e38f);
}

TEST(Convert, KeepsNan) {
  EXPECT_EQ(convert<DType::e4m3>(kNan).bits, 0x7f);
  EXPECT_EQ(convert<DType::e5m2>(-kNan).bits, 0x7f);
  EXPECT_EQ(convert<DType::bf16>(kNan).bits, 0x7fff);
  EXPECT_EQ(convert<DType::fp16>(kNan).bits, 0x7fff);
  EXPECT_TRUE(std::isnan(convert<DType::fp32>(kNan)));
}

TEST(Quantize, ScalesBeforeItSaturates) {
  constexpr EpilogueConfig c{.out = DType::e4m3, .quantize = true};
  EpilogueArgs args;
  args.scale = 0.25f;
  const auto code = [&](float x) { return EpilogueOps<c>::convert(EpilogueOps<c>{}(x, args, Source{})); };
  EXPECT_EQ(to_float(code(1792.f)), 448.f);
  EXPECT_EQ(to_float(code(896.f)), 224.f);
  EXPECT_EQ(to_float(code(1e6f)), 448.f);
  EXPECT_EQ(to_float(code(68.f)), 16.f) << "17 lies between 16 and 18: to even";
}

TEST(Pack, PutsTheFirstElementInTheLowestBits) {
  EXPECT_EQ(tile::pack4<DType::e4m3>(1.f, 2.f, -3.f, 1e9f),
            uint32_t(from_float<e4m3>(1).bits) | uint32_t(from_float<e4m3>(2).bits) << 8 |
                uint32_t(from_float<e4m3>(-3).bits) << 16 | 0x7eu << 24);
  EXPECT_EQ(tile::pack4<DType::e5m2>(0.f, 0.f, 0.f, 1.f), 0x3c00'0000u);
  EXPECT_EQ(tile::pack2<DType::bf16>(1.f, 2.f), 0x4000'3f80u);
  EXPECT_EQ(tile::unpack2<DType::fp16>(tile::pack2<DType::fp16>(1.f, -2.f)).high, -2.f);
}

TEST(Narrow, UndoesWiden) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const bf16 b{uint16_t(code)};
    const fp16 h{uint16_t(code)};
    ASSERT_TRUE(is_nan(b) || tile::narrow<DType::bf16>(tile::widen<DType::bf16>(b)) == b);
    ASSERT_TRUE(is_nan(h) || tile::narrow<DType::fp16>(tile::widen<DType::fp16>(h)) == h);
  }
}

TEST(Config, RefusesWhatHasNoMeaning) {
  EXPECT_EQ(refuse(EpilogueConfig{}), nullptr);
  EXPECT_NE(refuse(EpilogueConfig{.out = DType::e2m1}), nullptr);
  EXPECT_NE(refuse(EpilogueConfig{.source = true, .source_type = DType::e4m3}), nullptr);
  EXPECT_NE(refuse(EpilogueConfig{.bias = Bias::per_row, .bias_type = DType::s8}), nullptr);
  EXPECT_NE(refuse(EpilogueConfig{.residual = true, .residual_type = DType::e5m2}), nullptr);
  EXPECT_NE(refuse(EpilogueConfig{.source = true, .activation = Activation::swiglu}), nullptr);
}

}  // namespace
}  // namespace warpwright
