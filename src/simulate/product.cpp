#include "simulate/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

#include "choice/grouped_facts.h"
#include "choice/tuned_grouped.h"
#include "launch/dense.h"
#include "launch/grouped.h"
#include "reference/problem_workload.h"
#include "sim/timing.h"
#include "simulate/executor.h"
#include "simulate/memory.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::simulate {
namespace {

using reference::Workload;
using simulate::Outcome;

void require(const Status& status) {
  if (!status) throw std::runtime_error(status.message());
}
template <class T>
T required(Result<T> result) {
  require(result.status());
  return *result;
}
const simulator::Instance* compiled_of(const catalog::Instance& instance) {
  const auto compiled = ready(instance);
  if (!compiled) throw NotReady(compiled.status());
  return *compiled;
}

int chip_sms() { return simulator::ChipTiming::of(Arch::sm90).sms; }

// Two clusters, or as many as the parts of a tile.
int few_sms(int cluster, int splits) { return cluster * std::max(2, splits); }

int64_t clusters_of(int cluster, int sm_limit) {
  return launch::allowed_clusters(choice::resident_clusters(chip_sms(), cluster), cluster, sm_limit);
}

Outcome judged(const Workload& w, simulator::Result result, const Arrays& arrays) {
  Outcome out;
  out.sim = std::move(result);
  out.output = arrays.output();
  out.verdict = judge(w, out.output);
  return out;
}

// The launch that copies operands for the TMA, ahead of the kernel on the same stream: on two CTAs, or as a GPU has it
// where the kernel has its own grid too.
simulator::Result pack(const DenseProduct& p, const GemmPointers& pointers, void* copies, const Arrays& arrays,
                       const simulator::Options& options, bool whole_chip) {
  PackRowsConfig config;
  config.element_bytes = bits(p.low.a.type) / 8;
  const PackRowsArgs args = launch::pack_arguments(p.low, p.decision.packing, pointers, copies);
  const auto* const instance = compiled_of({config});
  const int64_t most = whole_chip ? int64_t(chip_sms()) * config.blocks_per_sm : 2;
  const int64_t clusters = std::min(launch::work_of(config, args), most);
  return run_instance(*instance, &args, {uint32_t(std::max<int64_t>(clusters, 1)), 1, 1}, arrays.buffers(), options);
}

void add_up(simulator::Result& result, const simulator::Result& before) {
  result.stats.checks += before.stats.checks;
  result.stats.words += before.stats.words;
  result.stats.wall_s += before.stats.wall_s;
  result.stats.predicted_us += before.stats.predicted_us;
}

}  // namespace

Result<DenseProduct> dense_product(const GemmProblem& problem, const choice::Chip& chip, int64_t offset) {
  if (Status s = validate(problem); !s) return s;
  DenseProduct product{reference::with_packed_addends(problem), {}, {}, offset};
  product.low = launch::lower(product.problem);
  auto decision = launch::decide(product.problem, product.low, chip);
  if (!decision) return decision.status();
  product.decision = std::move(*decision);
  return product;
}

Result<GroupedRun> grouped_run(const GroupedProblem& problem, const reference::GroupedProduct& product,
                               const choice::Chip& chip) {
  if (Status s = validate(problem); !s) return s;
  auto choice = choice::choose(problem, chip);
  if (!choice) return choice.status();
  return GroupedRun{problem, product, std::move(*choice)};
}

Outcome run(const DenseProduct& p, const Workload& w, const simulator::Options& options, int sm_limit) {
  Arrays arrays(w);
  const GemmProblem& problem = p.problem;
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return judged(w, {}, arrays);
  const catalog::Instance& instance = p.instance();
  const auto* const compiled = compiled_of(instance);
  const launch::MapEncoder& maps = map_encoder();
  launch::Arguments args;
  require(launch::prepare_arguments(args, instance, problem, p.decision.kernel, maps));
  const int cluster = compiled->plan->cluster;
  const int64_t clusters = clusters_of(cluster, sm_limit > 0 ? sm_limit : few_sms(cluster, instance.splits));

  const GemmPointers pointers = reference::pointers_of(problem, p.offset, w, arrays.pointers());
  require(launch::check_pointers(problem, p.low, instance, pointers, p.decision.packing));
  void* sums = nullptr;
  if (auto* dense = std::get_if<DenseGemmArgs>(&args)) {
    const auto& c = *instance.as<DenseGemmConfig>();
    const int64_t bytes = c.workspace_bytes(dense->m, dense->n, dense->batches, dense->splits, int(clusters));
    if (bytes > 0) sums = arrays.add("workspace", size_t(bytes), simulator::Buffer::Use::inout, true);
  }
  simulator::Result packed;
  GemmPointers seen = pointers;
  if (p.decision.packing.any()) {
    void* const copies = arrays.add("copies", size_t(p.decision.packing.bytes()), simulator::Buffer::Use::inout, true);
    packed = pack(p, pointers, copies, arrays, options, sm_limit > 0);
    if (!packed.ok()) return judged(w, std::move(packed), arrays);
    seen = launch::packed_pointers(p.decision.packing, pointers, copies);
  }
  require(launch::set_addresses(args, instance, problem, seen, maps));
  if (sums != nullptr) std::get<DenseGemmArgs>(args).workspace = sums;
  const unsigned ctas = required(launch::ctas_of(instance, args, clusters));
  simulator::Result result = run_instance(*compiled, launch::bytes_of(args), {ctas, 1, 1}, arrays.buffers(), options);
  add_up(result, packed);
  return judged(w, std::move(result), arrays);
}

Outcome run(const GroupedRun& p, const Workload& w, const simulator::Options& options, int sm_limit) {
  Arrays arrays(w);
  const GroupedProblem& problem = p.problem;
  if (problem.m == 0 || problem.n == 0 || problem.group_count == 0) return judged(w, {}, arrays);
  const auto* const compiled = compiled_of(p.instance());
  const int cluster = compiled->plan->cluster;
  const int64_t clusters = clusters_of(cluster, sm_limit > 0 ? sm_limit : few_sms(cluster, 1));
  const GroupedPointers pointers = reference::grouped_pointers(p.product, w, arrays.pointers());
  require(launch::check_pointers(problem, pointers));
  launch::Arguments args;
  require(launch::fill_arguments(args, p.instance(), problem, pointers, map_encoder()));
  const unsigned ctas = required(launch::ctas_of(p.instance(), args, clusters));
  return judged(w, run_instance(*compiled, launch::bytes_of(args), {ctas, 1, 1}, arrays.buffers(), options), arrays);
}

namespace {

// SMs that the timed run, which stands for the whole chip, may take; the others are small.
int ctas_for(int64_t work, int cluster) {
  return int(std::min<int64_t>(work, choice::resident_clusters(chip_sms(), cluster))) * cluster;
}

Example blank(const catalog::Instance& instance, const simulator::Instance& compiled) {
  Example e;
  e.name = catalog::name_of(instance);
  e.plan_name = catalog::plan_name(instance);
  e.instance = catalog::name_of(instance);
  e.arch = compiled.plan->arch;
  e.plan = compiled.plan;
  return e;
}

}  // namespace

int ctas_on_chip(const DenseProduct& p) {
  const GemmProblem& q = p.problem;
  if (const auto* c = p.instance().as<DenseGemmConfig>()) {
    const int64_t parts = c->split == DepthSplit::stream_k ? chip_sms() : std::max(1, p.instance().splits);
    return ctas_for(c->tiles(int(q.m), int(q.n), int(q.batch)) * parts, c->cluster);
  }
  const auto& c = *p.instance().as<SkinnyGemmConfig>();
  return ctas_for(c.tiles(int(q.m), int(q.n)), c.split);
}
int ctas_on_chip(const GroupedRun& p) {
  const int cluster = catalog::block_plan(p.instance()).cluster;
  const auto facts = choice::facts_of(p.instance(), p.problem, chip_sms());
  return ctas_for(std::max<int64_t>(1, facts.waves.tiles), cluster);
}

Result<Example> example_of(const DenseProduct& product) {
  const auto compiled = ready(product.instance());
  if (!compiled) return compiled.status();
  Example e = blank(product.instance(), **compiled);
  e.plan_name = product.decision.name();
  const auto kept = std::make_shared<const DenseProduct>(product);
  e.cases = {{product.problem.m, product.problem.n, product.problem.k}};
  e.refuse = [](reference::Case) { return std::nullopt; };
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
  e.refuse = [](reference::Case) { return std::nullopt; };
  e.workload = [kept](reference::Case, reference::Data data, uint64_t seed) {
    return grouped_product_workload(kept->product, data, seed);
  };
  e.simulate = [kept](const Workload& w, const simulator::Options& o, int ctas) { return run(*kept, w, o, ctas); };
  return e;
}

}  // namespace warpwright::simulate
