// Random problems of the API in the simulator, each by the instance that is chosen for it on an H200: right, and
// nothing reported. tests/gpu/same_instance_test.cpp compares the same problems with a GPU.
//
//   WARPWRIGHT_FULL   all of them; otherwise the first 30, since most instances have to be compiled
#include "choice/random_problems.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <variant>

#include "choice/dense.h"
#include "reference/problem_workload.h"
#include "simulate/product.h"

namespace warpwright {
namespace {

using random_problems::Dense;
using random_problems::Grouped;
using reference::Data;
using reference::Workload;
using simulate::Outcome;
using simulator::Landing;

int count() { return std::getenv("WARPWRIGHT_FULL") != nullptr ? random_problems::kCount : 30; }

template <class Product>
void expect_right_and_clean(const Product& product, const Workload& w) {
  SCOPED_TRACE(catalog::name_of(product.instance()));
  for (const Landing landing : {Landing::eager, Landing::late}) {
    simulator::Options options;
    options.landing = landing;
    const Outcome out = simulate::run(product, w, options, 0);
    ASSERT_TRUE(out.sim.ok()) << out.sim.findings.front().text();
    EXPECT_TRUE(out.verdict.ok) << out.verdict.wrong << " wrong, " << out.verdict.unwritten << " unwritten";
  }
}

class RandomProblem : public testing::TestWithParam<int> {};

TEST_P(RandomProblem, is_right_and_clean_by_the_instance_chosen_for_it) {
  const random_problems::Problem problem = random_problems::draw(GetParam());
  SCOPED_TRACE(random_problems::text(problem));
  if (const auto* d = std::get_if<Dense>(&problem)) {
    const auto product = simulate::dense_product(d->problem, choice::h200(), d->offset);
    ASSERT_TRUE(product) << product.status().message();
    expect_right_and_clean(*product, workload_of(product->problem, product->offset, Data::integers, 1));
  } else {
    const auto& g = std::get<Grouped>(problem);
    const auto run = simulate::grouped_run(g.problem, g.product, choice::h200());
    ASSERT_TRUE(run) << run.status().message();
    expect_right_and_clean(*run, grouped_product_workload(run->product, Data::integers, 1));
  }
}

INSTANTIATE_TEST_SUITE_P(h200, RandomProblem, testing::Range(0, count()),
                         [](const auto& info) { return "number_" + std::to_string(info.param); });

// What validate() refuses, and with which sentence, is what make_plan() says before it asks for a device. The sentences
// of the choice, which must know the device, are compared on a GPU (tests/gpu/same_instance_test.cpp).
TEST(QuestionableProblem, IsRefusedByTheSimulatorWithTheSentenceOfTheApi) {
  constexpr int problems = 2000;
  int illegal = 0, unsupported = 0, served = 0;
  for (int i = 0; i < problems; ++i) {
    const GemmProblem p = random_problems::draw_questionable(i);
    const Status api = validate(p);
    const auto product = simulate::dense_product(p, choice::h200());
    if (!api) {
      ++illegal;
      EXPECT_EQ(product.status().code(), Code::invalid_argument) << i;
      EXPECT_EQ(product.status().message(), api.message()) << i;
      continue;
    }
    (product ? served : unsupported) += 1;
    if (product) continue;
    EXPECT_NE(product.status().code(), Code::ok);
    EXPECT_TRUE(product.status().message().ends_with('.')) << product.status().message();
  }
  EXPECT_GT(illegal, problems / 4);
  EXPECT_GT(unsupported, problems / 100);
  EXPECT_GT(served, problems / 4);
}

}  // namespace
}  // namespace warpwright
