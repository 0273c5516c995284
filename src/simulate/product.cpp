#include "simulate/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>
#include <variant>

#include "choice/grouped_facts.h"
#include "choice/tuned_grouped.h"
#include "gpu/tensor_map.h"
#include "launch/dense.h"
#include "launch/grouped.h"
#include "launch/packing.h"
#include "problem/validate.h"
#include "reference/blockwise_workload.h"
#include "reference/grouped_workload.h"
#include "reference/problem_workload.h"
#include "sim/timing.h"
#include "simulate/executor.h"
#include "simulate/memory.h"
#include "simulate/run.h"
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

// Clusters that fit the simulated chip of an instance.
int64_t resident_clusters(const catalog::Instance& instance) {
  const Arch arch = catalog::arch_of(instance);
  const int sms = simulator::ChipTiming::of(arch).sms, cluster = launch::cluster_of(instance);
  return arch == Arch::sm90 ? choice::resident_clusters(sms, cluster) : std::max(1, sms / cluster);
}

// Enough for every role to meet its peers: two clusters, or as many as the parts of a tile. On Blackwell parts wait for
// lower ones only, and in a cluster of more than a pair there are peers enough.
int64_t few_clusters(const catalog::Instance& instance) {
  const auto* c = instance.as<DenseGemmSm100Config>();
  if (c == nullptr) return std::max(2, instance.splits);
  return c->split != DepthSplit::none ? 3 : c->cluster() > 2 && !c->batched ? 1 : 2;
}

int64_t clusters_of(const catalog::Instance& instance, int sm_limit) {
  const int cluster = launch::cluster_of(instance);
  return launch::allowed_clusters(resident_clusters(instance), cluster,
                                  sm_limit > 0 ? sm_limit : int(few_clusters(instance)) * cluster);
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
  const int64_t most = whole_chip ? int64_t(simulator::ChipTiming::of(Arch::sm90).sms) * config.blocks_per_sm : 2;
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

Result<DenseProduct> dense_product(const GemmProblem& problem, const choice::Chip& chip, reference::Offset offset) {
  if (Status s = problem::validate(problem, chip.arch); !s) return s;
  DenseProduct product{reference::with_packed_addends(problem), {}, {}, offset};
  product.low = problem::lower(product.problem);
  auto decision = choice::choose(product.problem, chip);
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

Outcome run(const DenseProduct& p, const Workload& w, const simulator::Options& given, int sm_limit) {
  Arrays arrays(w);
  GemmProblem problem = p.problem;
  // The factors of the tensors, with which the operands were quantized.
  if (problem.block_scaling != BlockScaling::none) problem.alpha = float(w.alpha);
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return judged(w, {}, arrays);
  const catalog::Instance& instance = p.instance();
  const auto* const compiled = compiled_of(instance);
  const int64_t clusters = clusters_of(instance, sm_limit);
  simulator::Options options = given;
  // The grid of clusters that cancel each other's launch does not depend on how many run at once.
  const auto* blackwell = instance.as<DenseGemmSm100Config>();
  if (blackwell != nullptr && blackwell->source == TileSource::clc && sm_limit == 0 && given.resident_clusters == 0) {
    options.resident_clusters = 2;
  }

  const GemmPointers pointers = reference::pointers_of(problem, p.offset, w, arrays.pointers());
  require(launch::check_pointers(problem, p.low, instance, pointers, p.decision.packing));
  simulator::Result packed;
  GemmPointers seen = pointers;
  if (p.decision.packing.any()) {
    void* const copies = arrays.add("copies", size_t(p.decision.packing.bytes()), simulator::Buffer::Use::inout, true);
    packed = pack(p, pointers, copies, arrays, options, sm_limit > 0);
    if (!packed.ok()) return judged(w, std::move(packed), arrays);
    seen = launch::packed_pointers(p.decision.packing, pointers, copies);
  }
  launch::Arguments args;
  require(launch::fill_arguments(args, instance, problem, p.decision.kernel, seen, map_encoder()));
  if (const int64_t bytes = launch::workspace_bytes(instance, args, clusters); bytes > 0) {
    launch::set_workspace(args, arrays.add("workspace", size_t(bytes), simulator::Buffer::Use::inout, true));
  }
  const unsigned ctas = required(launch::ctas_of(instance, args, clusters));
  simulator::Result result = run_instance(*compiled, launch::bytes_of(args), {ctas, 1, 1}, arrays.buffers(), options);
  add_up(result, packed);
  return judged(w, std::move(result), arrays);
}

Workload workload_of(const GroupedProblem& p, const reference::GroupedProduct& product, Arch arch, reference::Data data,
                     uint64_t seed) {
  if (arch == Arch::sm90) return grouped_product_workload(product, data, seed);
  if (p.groups == Groups::none) return reference::blockwise_workload({p.m, p.n, p.k}, p.out, data, seed);
  const reference::GroupedSpec spec = reference::spec_of(p, product.rows, product.matrices);
  return p.scaling == BlockScaling::none ? reference::grouped_blockwise_workload(spec, data, seed)
                                         : reference::grouped_workload(spec, data, seed);
}

Outcome run(const GroupedRun& p, const Workload& w, const simulator::Options& options, int sm_limit) {
  Arrays arrays(w);
  const GroupedProblem& problem = p.problem;
  if (problem.m == 0 || problem.n == 0 || problem.group_count == 0) return judged(w, {}, arrays);
  const catalog::Instance& instance = p.instance();
  const auto* const compiled = compiled_of(instance);
  const GroupedPointers pointers = catalog::arch_of(instance) == Arch::sm90
                                       ? reference::grouped_pointers(p.product, w, arrays.pointers())
                                       : reference::grouped_pointers(problem, w, arrays.pointers());
  require(launch::check_pointers(problem, pointers));
  launch::Arguments args;
  require(launch::fill_arguments(args, instance, problem, pointers, map_encoder()));
  const unsigned ctas = required(launch::ctas_of(instance, args, clusters_of(instance, sm_limit)));
  return judged(w, run_instance(*compiled, launch::bytes_of(args), {ctas, 1, 1}, arrays.buffers(), options), arrays);
}

Status launch_on_gpu(const DenseProduct& p, const Workload& w, const std::vector<void*>& arrays, void* stream) {
  const GemmPointers pointers = reference::pointers_of(p.problem, p.offset, w, arrays);
  launch::Arguments args;
  const catalog::Instance& instance = p.instance();
  if (Status s = launch::fill_arguments(args, instance, p.problem, p.decision.kernel, pointers, gpu::map_encoder());
      !s) {
    return s;
  }
  const int64_t work = launch::work_of(*instance.as<MmaSyncGemmConfig>(), std::get<MmaSyncGemmArgs>(args));
  return launch_arguments(instance, launch::bytes_of(args), work, stream);
}

namespace {

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
  const catalog::Instance& instance = p.instance();
  const GemmProblem& q = p.problem;
  int64_t work = p.decision.choice.estimate.tiles;
  if (const auto* c = instance.as<DenseGemmConfig>()) {
    // Of a depth that is shared evenly every cluster has a part.
    const int64_t parts =
        c->split == DepthSplit::stream_k ? resident_clusters(instance) * c->cluster : std::max(1, instance.splits);
    work = c->tiles(int(q.m), int(q.n), int(q.batch)) * parts;
  } else if (const auto* blackwell = instance.as<DenseGemmSm100Config>()) {
    work = blackwell->jobs(int(q.m), int(q.n), int(q.k), int(q.batch), std::max(1, instance.splits));
  }
  return int(std::clamp<int64_t>(work, 1, resident_clusters(instance))) * launch::cluster_of(instance);
}
int ctas_on_chip(const GroupedRun& p) {
  const catalog::Instance& instance = p.instance();
  const int sms = simulator::ChipTiming::of(catalog::arch_of(instance)).sms;
  const auto facts = choice::facts_of(instance, p.problem, sms);
  return int(std::clamp<int64_t>(facts.waves.tiles, 1, resident_clusters(instance))) * launch::cluster_of(instance);
}

Example gpu_example_of(const DenseProduct& product) {
  Example e;
  e.name = e.instance = catalog::name_of(product.instance());
  e.plan_name = product.decision.name();
  e.arch = catalog::arch_of(product.instance());
  e.launch = [product](const Workload& w, const std::vector<void*>& arrays, void* stream) {
    return launch_on_gpu(product, w, arrays, stream);
  };
  return e;
}

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
