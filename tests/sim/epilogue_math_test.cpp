// The functions for user-defined epilogues against float64.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "warpwright/epilogue/math.h"

namespace warpwright {
namespace {

namespace math = epilogue::math;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kSmallest = std::numeric_limits<float>::min();

// Numbers of both signs, uniform up to `most` and in every power of two.
template <class Check>
void for_many(float most, Check check) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> all(-most, most), near(-3.f, 3.f), significand(1.f, 2.f);
  for (int i = 0; i < 100'000; ++i) {
    check(all(random));
    check(near(random));
  }
  for (int e = -149; e < 128; ++e) {
    for (int i = 0; i < 20; ++i) {
      const float x = std::ldexp(i == 0 ? 1.f : significand(random), e);
      if (x > most) continue;
      check(x);
      check(-x);
    }
  }
  check(0.f);
}

void expect_near(float have, double want, double relative, float x) {
  if (!(std::abs(want) < std::numeric_limits<float>::max())) return;
  const double allowed = std::abs(want) < kSmallest ? 2e-45 + kSmallest * relative : std::abs(want) * relative;
  ASSERT_NEAR(have, want, allowed) << "of " << x;
}

TEST(Math, ExpIsWithinItsBound) {
  for_many(90.f, [](float x) { expect_near(math::exp(x), std::exp(double(x)), 0x1p-22, x); });
  for_many(104.f, [](float x) { expect_near(math::exp(x), std::exp(double(x)), 0x1p-22, x); });
  EXPECT_EQ(math::exp(89.f), kInfinity);
  EXPECT_EQ(math::exp(kInfinity), kInfinity);
  EXPECT_EQ(math::exp(-kInfinity), 0.f);
  EXPECT_EQ(math::exp(0.f), 1.f);
  EXPECT_TRUE(std::isnan(math::exp(kNan)));
}

TEST(Math, LogIsWithinItsBound) {
  for_many(3e38f, [](float x) {
    if (x > 0) expect_near(math::log(x), std::log(double(x)), 0x1p-22, x);
  });
  std::mt19937 random(3);
  std::uniform_real_distribution<float> near(0.5f, 2.f);
  for (int i = 0; i < 100'000; ++i) {
    const float x = near(random);
    expect_near(math::log(x), std::log(double(x)), 0x1p-22, x);
  }
  EXPECT_EQ(math::log(1.f), 0.f);
  EXPECT_EQ(math::log(0.f), -kInfinity);
  EXPECT_EQ(math::log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(math::log(-1.f)));
  EXPECT_TRUE(std::isnan(math::log(kNan)));
}

TEST(Math, TanhAndErfAreWithinTheirBound) {
  for_many(100.f, [](float x) {
    expect_near(math::tanh(x), std::tanh(double(x)), 0x1p-21, x);
    expect_near(math::erf(x), std::erf(double(x)), 0x1p-21, x);
  });
  for (const float x : {40.f, 3e38f, kInfinity}) {
    EXPECT_EQ(math::tanh(x), 1.f);
    EXPECT_EQ(math::tanh(-x), -1.f);
    EXPECT_EQ(math::erf(x), 1.f);
    EXPECT_EQ(math::erf(-x), -1.f);
  }
  EXPECT_TRUE(std::isnan(math::tanh(kNan)));
  EXPECT_TRUE(std::isnan(math::erf(kNan)));
}

TEST(Math, SineAndCosineAreWithinTheirBoundUpTo100000) {
  for_many(100000.f, [](float x) {
    ASSERT_NEAR(math::sin(x), std::sin(double(x)), 2e-7) << x;
    ASSERT_NEAR(math::cos(x), std::cos(double(x)), 2e-7) << x;
  });
  EXPECT_EQ(math::sin(0.f), 0.f);
  EXPECT_EQ(math::cos(0.f), 1.f);
  for (const float x : {100001.f, -3e38f, kInfinity, kNan}) {
    EXPECT_TRUE(std::isnan(math::sin(x))) << x;
    EXPECT_TRUE(std::isnan(math::cos(x))) << x;
  }
}

TEST(Math, PowIsWithinItsBound) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> power(-20.f, 20.f), exponent(-30.f, 30.f);
  for (int i = 0; i < 200'000; ++i) {
    const float x = std::exp2(exponent(random)), y = power(random);
    const double want = std::pow(double(x), double(y));
    expect_near(math::pow(x, y), want, (1 + std::abs(double(y) * std::log(double(x)))) * 0x1p-21, x);
  }
  EXPECT_EQ(math::pow(-2.f, 3.f), -math::pow(2.f, 3.f));
  EXPECT_EQ(math::pow(-2.f, 4.f), math::pow(2.f, 4.f));
  EXPECT_TRUE(std::isnan(math::pow(-2.f, 0.5f)));
  EXPECT_EQ(math::pow(0.f, 2.5f), 0.f);
  EXPECT_EQ(math::pow(0.f, -1.f), kInfinity);
  EXPECT_EQ(math::pow(-7.f, 0.f), 1.f);
  EXPECT_TRUE(std::isnan(math::pow(kNan, 2.f)));
  EXPECT_EQ(math::power<0>(3.f), 1.f);
  EXPECT_EQ(math::power<5>(-3.f), -243.f);
  EXPECT_EQ(math::power<8>(2.f), 256.f);
}

TEST(Math, KeepsNan) {
  for (const float other : {-1.f, 0.f, kInfinity}) {
    EXPECT_TRUE(std::isnan(math::min(kNan, other)) && std::isnan(math::min(other, kNan)));
    EXPECT_TRUE(std::isnan(math::max(kNan, other)) && std::isnan(math::max(other, kNan)));
    EXPECT_TRUE(std::isnan(math::clamp(kNan, -1.f, other)));
  }
  EXPECT_EQ(math::clamp(7.f, 0.f, 6.f), 6.f);
  EXPECT_EQ(math::clamp(-7.f, 0.f, 6.f), 0.f);
}

TEST(Math, WholeNumbersDoNothingUndefined) {
  constexpr int most = std::numeric_limits<int>::max(), least = std::numeric_limits<int>::min();
  EXPECT_EQ(math::add(most, 1), least);
  EXPECT_EQ(math::multiply(most, 2), -2);
  EXPECT_EQ(math::divide(7, 0), 0);
  EXPECT_EQ(math::divide(least, -1), least);
  EXPECT_EQ(math::divide(-7, 2), -3);
  EXPECT_EQ(math::remainder(-7, 2), -1);
  EXPECT_EQ(math::remainder(7, 0), 0);
  EXPECT_EQ(math::remainder(least, -1), 0);
  EXPECT_EQ(math::shift_left(1, 33), 2);
  EXPECT_EQ(math::to_int(-2.9f), -2);
  EXPECT_EQ(math::to_int(3e9f), most);
  EXPECT_EQ(math::to_int(-3e9f), least);
  EXPECT_EQ(math::to_int(kNan), 0);
}

// The bits the GPU gives too: a change of any step of the arithmetic shows here.
TEST(Math, HasTheBitsOfItsDefinition) {
  const auto bits = [](float x) { return stdx::bit_cast<uint32_t>(x); };
  EXPECT_EQ(bits(math::exp(1.f)), 0x402df854u);
  EXPECT_EQ(bits(math::log(10.f)), 0x40135d8eu);
  EXPECT_EQ(bits(math::tanh(0.3f)), 0x3e9526edu);
  EXPECT_EQ(bits(math::tanh(-1.7f)), 0xbf6f76f6u);
  EXPECT_EQ(bits(math::erf(0.8f)), 0x3f3dfa54u);
  EXPECT_EQ(bits(math::erf(-1.9f)), 0xbf7e2782u);
  EXPECT_EQ(bits(math::sin(2.5f)), 0x3f193579u);
  EXPECT_EQ(bits(math::cos(-40.f)), 0xbf2abc74u);
  EXPECT_EQ(bits(math::pow(1.7f, 2.3f)), 0x4058e062u);
  EXPECT_EQ(bits(math::rsqrt(3.f)), 0x3f13cd3au);
}

}  // namespace
}  // namespace warpwright
