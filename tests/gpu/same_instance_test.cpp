// The API on a GPU and the simulator are one thing: for 200 random problems both take the same instance and, on whole
// numbers, give the same bytes; what one refuses the other refuses with the same sentence. Needs an H200, for which the
// simulator chooses.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "catalog/instance.h"
#include "choice/dense.h"
#include "choice/random_problems.h"
#include "gpu/executor.h"
#include "gpu/random_gemm.h"
#include "jit/host_compiler.h"
#include "measure/gemm_check.h"
#include "measure/grouped_check.h"
#include "reference/problem_workload.h"
#include "simulate/product.h"
#include "system/on_cores.h"

namespace warpwright {
namespace {

using measure::GemmOutcome;
using measure::GemmTrial;
using random_problems::Dense;
using random_problems::Grouped;
using random_problems::Problem;
using reference::Data;
using simulate::Outcome;

constexpr uint64_t kSeed = 1;

bool same_chip(const gpu::Device& device) {
  const choice::Chip chip = choice::h200();
  return device.name == chip.name && device.multiprocessors == chip.multiprocessors;
}

// What the simulator would run, and how.
struct Simulated {
  std::string instance;
  Outcome outcome;
};
Simulated simulate_problem(const Problem& problem) {
  simulator::Options options;
  options.landing = simulator::Landing::eager;
  options.check = false;
  if (const auto* d = std::get_if<Dense>(&problem)) {
    const auto product = simulate::dense_product(d->problem, choice::h200(), d->offset);
    if (!product) return {product.status().message(), {}};
    const auto work = workload_of(product->problem, product->offset, Data::integers, kSeed);
    return {catalog::name_of(product->instance()), simulate::run(*product, work, options, 0)};
  }
  const auto& g = std::get<Grouped>(problem);
  const auto run = simulate::grouped_run(g.problem, g.product, choice::h200());
  if (!run) return {run.status().message(), {}};
  const auto work = grouped_product_workload(run->product, Data::integers, kSeed);
  return {catalog::name_of(run->instance()), simulate::run(*run, work, options, 0)};
}

Status run_on_gpu(const Problem& problem, GemmOutcome& outcome) {
  GemmTrial trial{.data = Data::integers, .seed = kSeed};
  if (const auto* d = std::get_if<Dense>(&problem)) {
    trial.offset = d->offset;
    return check_gemm(d->problem, trial, outcome);
  }
  const auto& g = std::get<Grouped>(problem);
  return check_grouped(g.problem, g.product, trial, outcome);
}

// The instances of these problems, each once.
std::vector<catalog::Instance> chosen(const std::vector<int>& numbers) {
  std::vector<catalog::Instance> list;
  const auto add = [&](const catalog::Instance& instance) {
    const catalog::Instance image{instance.config};
    if (std::find(list.begin(), list.end(), image) == list.end()) list.push_back(image);
  };
  for (const int number : numbers) {
    const Problem problem = random_problems::draw(number);
    if (const auto* d = std::get_if<Dense>(&problem)) {
      if (const auto p = simulate::dense_product(d->problem, choice::h200(), d->offset)) add(p->instance());
    } else {
      const auto& g = std::get<Grouped>(problem);
      if (const auto p = simulate::grouped_run(g.problem, g.product, choice::h200())) add(p->instance());
    }
  }
  return list;
}

// Ten problems a test, so that a run can be cut into shards.
constexpr int kOfATest = 10;

class SameInstance : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const auto device = gpu::hopper_device();
    if (!device) GTEST_SKIP() << device.status().message();
    if (!same_chip(*device)) GTEST_SKIP() << device->name << " is not the chip that the simulator chooses for";
  }
};

TEST_P(SameInstance, gives_the_bytes_of_the_simulator) {
  std::vector<int> numbers;
  for (int i = 0; i < kOfATest; ++i) numbers.push_back(GetParam() * kOfATest + i);
  // Both compilers, several instances at a time; afterwards they are in the caches.
  const std::vector<catalog::Instance> instances = chosen(numbers);
  const Status compiled = gpu::compile(instances);
  ASSERT_TRUE(compiled) << compiled.message();
  system::on_cores(instances.size(), 0, [&](size_t i) {
    (void)jit::obtain_shared_object(catalog::source_of(instances[i])).ok();
  });
  for (const int number : numbers) {
    const Problem problem = random_problems::draw(number);
    SCOPED_TRACE("problem " + std::to_string(number) + ": " + random_problems::text(problem));
    const Simulated simulated = simulate_problem(problem);
    GemmOutcome outcome;
    const Status s = run_on_gpu(problem, outcome);
    EXPECT_TRUE(s) << s.message();
    EXPECT_EQ(outcome.instance, simulated.instance);
    EXPECT_TRUE(outcome.verdict.ok) << outcome.verdict.wrong << " wrong, " << outcome.verdict.unwritten
                                    << " unwritten, " << outcome.stray_bytes << " stray bytes";
    EXPECT_TRUE(simulated.outcome.ok());
    EXPECT_EQ(outcome.output, simulated.outcome.output);
  }
}

INSTANTIATE_TEST_SUITE_P(h200, SameInstance, testing::Range(0, random_problems::kCount / kOfATest),
                         [](const auto& info) {
                           const int first = info.param * kOfATest;
                           return "problems_" + std::to_string(first) + "_to_" + std::to_string(first + kOfATest - 1);
                         });

// What is served is compared above; here nothing is compiled.
TEST(SameSentence, RefusalsOfTheSimulatorAreThoseOfTheApi) {
  const auto device = gpu::hopper_device();
  if (!device) GTEST_SKIP() << device.status().message();
  if (!same_chip(*device)) GTEST_SKIP() << device->name << " is not the chip that the simulator chooses for";
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    const GemmProblem p = random_problems::draw_questionable(i);
    const auto product = simulate::dense_product(p, choice::h200());
    if (product) continue;
    ++refused;
    const auto plan = make_plan(p);
    EXPECT_EQ(plan.status().code(), product.status().code()) << i;
    EXPECT_EQ(plan.status().message(), product.status().message()) << i;
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace warpwright
