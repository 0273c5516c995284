#include "simulate/dense/shown.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "problem/lower.h"
#include "reference/problem_workload.h"
#include "simulate/dense/run.h"
#include "simulate/instance_problem.h"
#include "simulate/product.h"

namespace warpwright::simulate {
namespace {

const simulator::Instance* compiled_here(const catalog::Instance& instance) {
  const auto all = shown();
  const auto one = std::ranges::find(all, instance.config, &Shown::config);
  if (one == all.end()) throw std::logic_error("a kernel that is shown asks for another one.");
  return one->compiled();
}

}  // namespace

std::span<const Shown> shown() {
  static const Shown list[] = {{"sm90/dense-128x256-c2-s4/bf16-nt", kShownSm90, shown_sm90},
                               {"sm100/dense-128x256-c2x1-s6-pair/bf16", kShownSm100, shown_sm100}};
  return list;
}

ShownProduct shown_product(const Shown& kernel, const GemmProblem& problem, uint64_t seed) {
  DenseProduct product{reference::with_packed_addends(problem), {}, {}, {}};
  product.low = product.decision.kernel = problem::lower(product.problem);
  product.decision.choice.instance = {kernel.config};
  const catalog::Instance& instance = product.instance();

  ShownProduct shown;
  shown.workload = reference::product_workload(product.problem, 0, reference::Data::normal, seed);
  shown.ctas = ctas_on_chip(product);
  Example& e = shown.example;
  e.name = e.instance = kernel.name;
  const std::string_view name = kernel.name;
  const size_t begin = name.find('/') + 1;
  e.plan_name = name.substr(begin, name.rfind('/') - begin);
  e.tile = tile_of(instance);
  e.arch = catalog::arch_of(instance);
  e.plan = kernel.compiled()->plan;
  e.cases = {{problem.m, problem.n, problem.k}};
  const auto kept = std::make_shared<const DenseProduct>(std::move(product));
  e.simulate = [kept](const reference::Workload& w, const simulator::Options& o, int ctas) {
    return run(*kept, compiled_here, w, o, ctas);
  };
  return shown;
}

}  // namespace warpwright::simulate
