// What demo shows is what the catalogue means by these names.
#include "simulate/dense/shown.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "catalog/instance.h"
#include "simulate/product.h"

namespace warpwright::simulate {
namespace {

TEST(Shown, AreTheBuiltInLinesOfTheCatalogue) {
  const std::set<std::string> listed = {
#define INSTANCE(name)
#define COVER(name)
#define BUILT_IN(name) name,
#include "catalog/sm100_dense.def"
#include "catalog/sm90_dense.def"
#undef BUILT_IN
#undef COVER
#undef INSTANCE
  };
  std::set<std::string> names;
  for (const Shown& one : shown()) names.emplace(one.name);
  EXPECT_EQ(names, listed);
}

TEST(Shown, HaveTheConfigurationsOfTheirNames) {
  for (const Shown& one : shown()) {
    const auto instance = catalog::parse_instance(one.name);
    ASSERT_TRUE(instance) << instance.status().message();
    EXPECT_TRUE(instance->config == one.config) << one.name;
    EXPECT_EQ(catalog::name_of({one.config}), one.name);
  }
}

// The same problem the way every other command takes it: the same arguments, so the same run.
TEST(Shown, RunAsTheChosenInstanceDoes) {
  for (const Shown& one : shown()) {
    const GemmProblem problem{.m = 256, .n = 256, .k = 128, .plan = one.name};
    const ShownProduct product = shown_product(one, problem, 1);
    const auto chosen = dense_product(problem, choice::simulated_chip(product.example.arch));
    ASSERT_TRUE(chosen) << chosen.status().message();
    const auto usual = example_of(*chosen);
    ASSERT_TRUE(usual) << usual.status().message();
    EXPECT_EQ(product.example.name, usual->name);
    EXPECT_EQ(product.example.plan_name, usual->plan_name);
    EXPECT_EQ(product.example.plan, usual->plan);
    EXPECT_EQ(product.ctas, ctas_on_chip(*chosen));
    simulator::Options timed;
    timed.landing = simulator::Landing::timed;
    const Outcome here = product.example.simulate(product.workload, timed, product.ctas);
    const Outcome there = usual->simulate(product.workload, timed, product.ctas);
    EXPECT_TRUE(here.ok());
    EXPECT_EQ(here.output, there.output);
    EXPECT_EQ(here.sim.stats.checks, there.sim.stats.checks);
    EXPECT_EQ(here.sim.stats.predicted_cycles, there.sim.stats.predicted_cycles);
  }
}

}  // namespace
}  // namespace warpwright::simulate
