// The arrays that a kernel of one's own is checked with: what they begin with, what may be read, what is compared.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "warpwright/check.h"
#include "warpwright/machine/machine.h"

namespace warpwright::check {
namespace {

constexpr BlockPlan one_warp(int cluster = 1) {
  BlockPlan plan("arrays", Arch::sm90, cluster);
  plan.role("all", 1);
  return plan;
}

template <class T>
T element(const SimulatedArrays& arrays, size_t array, size_t index) {
  T value;
  std::memcpy(&value, arrays.contents(array) + index * sizeof(T), sizeof(T));
  return value;
}

TEST(CheckArrays, InputsAreSmallWholeNumbersOfEveryType) {
  SimulatedArrays arrays(1);
  for (const float v : arrays.input<float>("f", 50).values) EXPECT_TRUE(std::abs(v) <= 3 && v == std::floor(v)) << v;
  for (const int v : arrays.input<int>("i", 50).values) EXPECT_TRUE(v >= -3 && v <= 3) << v;
  for (const uint8_t v : arrays.input<uint8_t>("u", 50).values) EXPECT_LE(v, 6);
  for (const double v : arrays.input<double>("d", 50).values) EXPECT_TRUE(std::abs(v) <= 3) << v;
  const auto table = arrays.input<int64_t>("t", {5, -7});
  EXPECT_EQ(table.values, (std::vector<int64_t>{5, -7}));
  EXPECT_EQ(element<int64_t>(arrays, 4, 1), -7);
  EXPECT_EQ(arrays.input<int>("one", {5}).values, std::vector<int>{5});
}

TEST(CheckArrays, WhatIsGivenWronglyIsSaidInASentence) {
  SimulatedArrays arrays(1);
  const auto why = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const std::invalid_argument& x) {
      return x.what();
    }
    return "";
  };
  EXPECT_EQ(why([&] {
              arrays.in_out<int>("sums", {0}, {1, 2});
            }),
            "in_out 'sums' begins with 1 elements and ends with 2: as many.");
  EXPECT_EQ(why([&] { arrays.workspace<int>("own", -1); }), "workspace 'own' has -1 elements: at least 0");
  EXPECT_EQ(why([&] { arrays.of_kernel_ahead(&arrays); }),
            "of_kernel_ahead was given an address at which no array begins");
}

// Every lane counts itself in.
struct Count {
  static constexpr BlockPlan plan = one_warp();
  struct Args {
    Global<uint32_t> counter;
  };
  static void body(const Args& args) { machine::atomic_add(args.counter, 1u); }
};

template <class K>
simulator::Result run(Registry::Arrange<K> arrange, SimulatedArrays& arrays) {
  Registry registry;
  registry.add<K>("kernel", {{.m = 1}}, arrange);
  return registry.kernels().front().run(arrays, {}, {});
}

TEST(CheckArrays, ACounterBeginsAndEndsAsItIsSaid) {
  SimulatedArrays begun(1), forgotten(1), own(1), blank(1);
  EXPECT_TRUE(run<Count>(
                  [](Arrays& arrays, Shape, Count::Args& args) {
                    args.counter = arrays.in_out<uint32_t>("counter", {7}, {39});
                    return 1;
                  },
                  begun)
                  .ok());
  EXPECT_TRUE(compare(begun.all().front(), begun.contents(0)).none());
  EXPECT_TRUE(run<Count>(
                  [](Arrays& arrays, Shape, Count::Args& args) {
                    args.counter = arrays.in_out<uint32_t>("counter", {0}, {0});
                    return 1;
                  },
                  forgotten)
                  .ok());
  const Differences d = compare(forgotten.all().front(), forgotten.contents(0));
  EXPECT_EQ(d.wrong, 1u);
  EXPECT_EQ(d.unwritten, 0u);
  EXPECT_EQ(d.details.front(), "counter[0]: expected 0, got 32");
  EXPECT_TRUE(run<Count>(
                  [](Arrays& arrays, Shape, Count::Args& args) {
                    args.counter = arrays.workspace<uint32_t>("own", {0});
                    return 1;
                  },
                  own)
                  .ok());
  EXPECT_FALSE(own.all().front().output());
  const simulator::Result unset = run<Count>(
      [](Arrays& arrays, Shape, Count::Args& args) {
        args.counter = arrays.workspace<uint32_t>("own", 1);
        return 1;
      },
      blank);
  ASSERT_FALSE(unset.ok());
  EXPECT_EQ(unset.findings.front().rule, "uninitialised.global");
}

// Reads with or without waiting for the kernel ahead.
template <bool Waits>
struct Read {
  static constexpr BlockPlan plan = one_warp();
  struct Args {
    Global<const float> x;
  };
  static void body(const Args& args) {
    if (Waits) machine::grid_dependency_wait();
    machine::load(args.x);
  }
};

template <bool Waits>
std::string rule_of_read(bool behind) {
  SimulatedArrays arrays(1);
  static bool named = false;
  named = behind;
  const simulator::Result r = run<Read<Waits>>(
      [](Arrays& a, Shape, typename Read<Waits>::Args& args) {
        const auto x = a.input<float>("x", 1);
        args.x = x.data;
        if (named) a.of_kernel_ahead(x.data);
        return 1;
      },
      arrays);
  return r.ok() ? "" : r.findings.front().rule;
}

TEST(CheckArrays, WhatTheKernelAheadWritesIsWaitedFor) {
  EXPECT_EQ(rule_of_read<false>(true), "dependent_launch.stale");
  EXPECT_EQ(rule_of_read<true>(true), "");
  EXPECT_EQ(rule_of_read<false>(false), "");
}

struct Pair {
  static constexpr BlockPlan plan = one_warp(2);
  struct Args {};
  static void body(const Args&) {}
};

TEST(CheckArrays, AClusterIsLaunchedWhole) {
  SimulatedArrays whole(1), part(1);
  (void)run<Pair>([](Arrays&, Shape, Pair::Args&) { return 4; }, whole);
  EXPECT_EQ(whole.refusal(), "");
  (void)run<Pair>([](Arrays&, Shape, Pair::Args&) { return 3; }, part);
  EXPECT_EQ(part.refusal(), "arrange returned 3 CTAs: a multiple of the plan's cluster of 2.");
}

TEST(CheckArrays, AToleranceIsAbsoluteAndRelative) {
  SimulatedArrays arrays(1);
  arrays.output<float>("exact", {100});
  arrays.output<float>("absolute", {100}, {}, {.absolute = 0.5});
  arrays.output<float>("relative", {-100}, {}, {.relative = 0.01});
  const auto none = [&](size_t array, float got) {
    return compare(arrays.all()[array], reinterpret_cast<const std::byte*>(&got)).none();
  };
  EXPECT_TRUE(none(0, 100));
  EXPECT_FALSE(none(0, std::nextafter(100.f, 101.f)));
  EXPECT_TRUE(none(1, 100.5f));
  EXPECT_FALSE(none(1, 100.6f));
  EXPECT_TRUE(none(2, -101));
  EXPECT_FALSE(none(2, -101.5f));
  EXPECT_FALSE(none(2, NAN));
  // What was never written is NaN.
  EXPECT_FALSE(compare(arrays.all()[2], arrays.contents(2)).none());
}

}  // namespace
}  // namespace warpwright::check
