#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "choice/dense.h"
#include "launch/dense.h"
#include "launch/packing.h"
#include "reference/problem_workload.h"
#include "sim/timing.h"
#include "simulate/prepared.h"

namespace warpwright::simulate {
namespace {

using reference::Workload;

// On two CTAs, or as a GPU has it where the kernel has its own grid too.
PreparedRun::Rows rows_to_pack(const DenseProduct& p, const GemmPointers& pointers, void* copies, bool whole_chip) {
  PreparedRun::Rows rows;
  rows.config.element_bytes = bits(p.low.a.type) / 8;
  rows.args = launch::pack_arguments(p.low, p.decision.packing, pointers, copies);
  const int64_t most = whole_chip ? int64_t(simulator::ChipTiming::of(Arch::sm90).sms) * rows.config.blocks_per_sm : 2;
  rows.ctas = unsigned(std::max<int64_t>(1, std::min(launch::work_of(rows.config, rows.args), most)));
  return rows;
}

}  // namespace

int64_t few_clusters(const catalog::Instance& instance) {
  const auto* const blockwise = instance.as<BlockwiseFp8Sm100Config>();
  if (blockwise != nullptr && blockwise->split != DepthSplit::none) return 3;
  const auto* c = instance.as<DenseGemmSm100Config>();
  if (c == nullptr) return std::max(2, instance.splits);
  return c->split != DepthSplit::none ? 3 : c->cluster() > 2 && !c->batched ? 1 : 2;
}

int64_t resident_clusters(const catalog::Instance& instance) {
  const Arch arch = catalog::arch_of(instance);
  const int sms = simulator::ChipTiming::of(arch).sms, cluster = launch::cluster_of(instance);
  return arch == Arch::sm90 ? choice::resident_clusters(sms, cluster) : std::max(1, sms / cluster);
}

void require(const Status& status) {
  if (!status) throw std::runtime_error(status.message());
}
int64_t clusters_of(const catalog::Instance& instance, int sm_limit) {
  const int cluster = launch::cluster_of(instance);
  return launch::allowed_clusters(resident_clusters(instance), cluster,
                                  sm_limit > 0 ? sm_limit : int(few_clusters(instance)) * cluster);
}

void add_grid(PreparedRun& run, const catalog::Instance& instance, int64_t clusters) {
  if (const int64_t bytes = launch::workspace_bytes(instance, run.args, clusters); bytes != 0) {
    launch::set_workspace(run.args, run.arrays.add("workspace", size_t(bytes), simulator::Buffer::Use::inout, true));
  }
  const auto ctas = launch::ctas_of(instance, run.args, clusters);
  require(ctas.status());
  run.ctas = *ctas;
}

GemmProblem problem_of(const DenseProduct& p, const Workload& w) {
  GemmProblem problem = p.problem;
  if (problem.block_scaling != BlockScaling::none) problem.alpha = float(w.alpha);
  return problem;
}

PreparedRun prepare(const DenseProduct& p, const Workload& w, int sm_limit, const launch::MapEncoder& maps) {
  PreparedRun run{Arrays(w), {}, {}, 0};
  const GemmProblem problem = problem_of(p, w);
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return run;
  const catalog::Instance& instance = p.instance();
  const int64_t clusters = clusters_of(instance, sm_limit);
  GemmPointers pointers = reference::pointers_of(problem, p.offset, w, run.arrays.pointers());
  if (w.shape.condition == reference::Condition::in_place) {
    run.arrays.start_in_place(w);
    pointers.c = pointers.d;
  }
  require(launch::check_pointers(problem, p.low, instance, pointers, p.decision.packing));
  if (p.decision.packing.any()) {
    void* const copies =
        run.arrays.add("copies", size_t(p.decision.packing.bytes()), simulator::Buffer::Use::inout, true);
    run.rows = rows_to_pack(p, pointers, copies, sm_limit > 0);
    pointers = launch::packed_pointers(p.decision.packing, pointers, copies);
  }
  require(launch::fill_arguments(run.args, instance, problem, p.decision.kernel, pointers, maps));
  add_grid(run, instance, clusters);
  return run;
}

}  // namespace warpwright::simulate
