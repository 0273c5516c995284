#include "simulate/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>
#include <variant>

#include "choice/grouped_facts.h"
#include "choice/tuned_grouped.h"
#include "jit/host_compiler.h"
#include "launch/dense.h"
#include "launch/grouped.h"
#include "problem/validate.h"
#include "reference/blockwise_workload.h"
#include "reference/grouped_workload.h"
#include "reference/own_epilogue.h"
#include "reference/problem_workload.h"
#include "sim/timing.h"
#include "simulate/dense/run.h"
#include "simulate/executor.h"
#include "simulate/instance_problem.h"
#include "simulate/memory.h"
#include "simulate/prepared.h"
#include "simulate/run.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::simulate {
namespace {

using reference::Condition;
using reference::Workload;
using simulate::Outcome;

const simulator::Instance* compiled_of(const catalog::Instance& instance) {
  const auto compiled = ready(instance);
  if (!compiled) throw NotReady(compiled.status());
  return *compiled;
}

}  // namespace

Result<DenseProduct> dense_product(const GemmProblem& problem, const choice::Chip& chip, reference::Offset offset,
                                   const choice::ChipLimits& limits) {
  if (Status s = problem::validate(problem, chip.arch); !s) return s;
  return spaced_product(reference::with_packed_addends(problem), chip, offset, limits);
}
Result<DenseProduct> spaced_product(const GemmProblem& problem, const choice::Chip& chip, reference::Offset offset,
                                    const choice::ChipLimits& limits) {
  if (Status s = problem::validate(problem, chip.arch); !s) return s;
  DenseProduct product{problem, {}, {}, offset};
  product.low = problem::lower(product.problem);
  auto decision = choice::choose(product.problem, chip, choice::OnDemand::allowed, limits);
  if (decision && problem.plan.empty() && !jit::host_compiler()) {
    // Without a compiler, a slower instance that is built in is better than none.
    auto ahead = choice::choose(product.problem, chip, choice::OnDemand::refused, limits);
    if (ahead && is_built_in(ahead->choice.instance)) decision = std::move(ahead);
  }
  if (!decision) return decision.status();
  product.decision = std::move(*decision);
  return product;
}

Result<GroupedRun> grouped_run(const GroupedProblem& problem, const reference::GroupedProduct& product,
                               const choice::Chip& chip) {
  if (Status s = problem::validate(problem, chip.arch); !s) return s;
  auto choice = choice::choose(problem, chip);
  if (!choice) return choice.status();
  return GroupedRun{problem, product, std::move(*choice)};
}

Outcome run(const DenseProduct& product, const Workload& workload, const simulator::Options& options, int sm_limit) {
  return run(product, compiled_of, workload, options, sm_limit);
}

Workload workload_of(const GroupedProblem& p, const reference::GroupedProduct& product, Arch arch, reference::Data data,
                     uint64_t seed) {
  if (arch == Arch::sm90) return grouped_product_workload(product, data, seed);
  if (reference::is_of_all(p)) {
    reference::GroupedProduct here = product;
    here.scales_by_columns |= p.groups == Groups::by_depth;
    return grouped_product_workload(here, data, seed);
  }
  Workload w;
  if (p.groups == Groups::none) {
    w = reference::blockwise_workload({p.m, p.n, p.k}, p.out, data, seed);
  } else {
    reference::GroupedSpec spec = reference::spec_of(p, product.rows, product.matrices);
    spec.illegal = product.illegal;
    w = p.scaling == BlockScaling::none ? reference::grouped_blockwise_workload(spec, data, seed)
                                        : reference::grouped_workload(spec, data, seed);
  }
  reference::apply_own(product, seed, w);
  return w;
}

Outcome run(const GroupedRun& p, const Workload& w, const simulator::Options& given, int sm_limit) {
  simulator::Options options = given;
  options.primary_pending |= is_behind(w.shape.condition);
  PreparedRun prepared = prepare(p, w, sm_limit);
  if (prepared.ctas == 0) return judged(w, {}, prepared.arrays);
  const auto launch = [&] {
    return run_instance(*compiled_of(p.instance()), launch::bytes_of(prepared.args), {prepared.ctas, 1, 1},
                        prepared.arrays.buffers(), options);
  };
  simulator::Result result = launch_as(w, launch, prepared.arrays);
  // Without a launch nobody writes factors or status.
  Outcome out = judged(w, std::move(result), prepared.arrays);
  if (out.sim.ok()) judge_others(w, prepared.arrays.contents(), out.verdict);
  return out;
}

Status launch_on_gpu(const DenseProduct& p, const Workload& w, const std::vector<void*>& arrays, void* stream) {
  GemmProblem problem = problem_of(p, w);
  problem.plan = catalog::name_of(p.instance());
  return gemm(problem, reference::pointers_of(problem, p.offset, w, arrays), stream);
}
Status launch_on_gpu(const GroupedRun& p, const Workload& w, const std::vector<void*>& arrays, void* stream) {
  GroupedProblem problem = p.problem;
  problem.plan = catalog::name_of(p.instance());
  return grouped_gemm(problem, pointers_of(p, w, arrays), stream);
}

namespace {

Example blank(const catalog::Instance& instance, const simulator::Instance& compiled) {
  Example e;
  e.name = catalog::name_of(instance);
  e.plan_name = catalog::plan_name(instance);
  e.tile = tile_of(instance);
  e.instance = catalog::name_of(instance);
  e.arch = compiled.plan->arch;
  e.plan = compiled.plan;
  return e;
}

}  // namespace

int ctas_on_chip(const GroupedRun& p) {
  const catalog::Instance& instance = p.instance();
  const int sms = simulator::ChipTiming::of(catalog::arch_of(instance)).sms;
  const auto facts = choice::facts_of(instance, p.problem, sms);
  return int(std::clamp<int64_t>(facts.waves.tiles, 1, resident_clusters(instance))) * launch::cluster_of(instance);
}

namespace {

template <class Product>
Example launched(const Product& product, std::string plan) {
  Example e;
  e.name = e.instance = catalog::name_of(product.instance());
  e.plan_name = std::move(plan);
  e.arch = catalog::arch_of(product.instance());
  e.launch = [product](const Workload& w, const std::vector<void*>& arrays, void* stream) {
    return launch_on_gpu(product, w, arrays, stream);
  };
  return e;
}

}  // namespace

Example gpu_example_of(const DenseProduct& product) { return launched(product, product.decision.name()); }
Example gpu_example_of(const GroupedRun& product) { return launched(product, catalog::plan_name(product.instance())); }

Result<Example> example_of(const DenseProduct& product) {
  const auto compiled = ready(product.instance());
  if (!compiled) return compiled.status();
  Example e = blank(product.instance(), **compiled);
  e.plan_name = product.decision.name();
  const auto kept = std::make_shared<const DenseProduct>(product);
  e.cases = {{product.problem.m, product.problem.n, product.problem.k}};
  e.takes = [](reference::Case) { return Status(); };
  e.workload = [kept](reference::Case, reference::Data data, uint64_t seed) {
    return reference::workload_of(kept->problem, kept->offset, data, seed);
  };
  e.simulate = [kept](const Workload& w, const simulator::Options& o, int ctas) { return run(*kept, w, o, ctas); };
  return e;
}

Result<Example> example_of(const GroupedRun& product) {
  const auto compiled = ready(product.instance());
  if (!compiled) return compiled.status();
  Example e = blank(product.instance(), **compiled);
  const auto kept = std::make_shared<const GroupedRun>(product);
  e.cases = {{product.problem.m, product.problem.n, product.problem.k}};
  e.takes = [](reference::Case) { return Status(); };
  e.workload = [kept](reference::Case, reference::Data data, uint64_t seed) {
    return workload_of(kept->problem, kept->product, catalog::arch_of(kept->instance()), data, seed);
  };
  e.simulate = [kept](const Workload& w, const simulator::Options& o, int ctas) { return run(*kept, w, o, ctas); };
  return e;
}

}  // namespace warpwright::simulate
