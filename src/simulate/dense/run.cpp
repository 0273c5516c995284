#include "simulate/dense/run.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "launch/grid.h"
#include "simulate/prepared.h"

namespace warpwright::simulate {

using reference::Condition;
using reference::Workload;

Outcome judged(const Workload& w, simulator::Result result, const Arrays& arrays) {
  Outcome out;
  out.sim = std::move(result);
  out.output = arrays.output();
  out.verdict = judge(w, out.output);
  return out;
}

bool is_behind(Condition condition) { return condition == Condition::behind || condition == Condition::constant; }

void add_up(simulator::Result& result, const simulator::Result& before) {
  result.stats.checks += before.stats.checks;
  result.stats.words += before.stats.words;
  result.stats.wall_s += before.stats.wall_s;
  result.stats.predicted_us += before.stats.predicted_us;
}

Outcome run(const DenseProduct& p, CompiledOf compiled_of, const Workload& w, const simulator::Options& given,
            int sm_limit) {
  const catalog::Instance& instance = p.instance();
  simulator::Options options = given;
  // The grid of clusters that cancel each other's launch does not depend on how many run at once.
  const auto* blackwell = instance.as<DenseGemmSm100Config>();
  if (blackwell != nullptr && blackwell->source == TileSource::clc && sm_limit == 0 && given.resident_clusters == 0) {
    options.resident_clusters = 2;
  }
  const Condition condition = w.shape.condition;
  options.primary_pending |= is_behind(condition);
  PreparedRun prepared = prepare(p, w, sm_limit);
  if (prepared.ctas == 0) return judged(w, {}, prepared.arrays);
  const auto buffers = prepared.arrays.buffers();
  simulator::Result packed;
  if (prepared.rows) {
    packed = run_instance(*compiled_of({prepared.rows->config}), &prepared.rows->args, {prepared.rows->ctas, 1, 1},
                          buffers, options);
    if (!packed.ok()) return judged(w, std::move(packed), prepared.arrays);
  }
  const auto launch = [&] {
    return run_instance(*compiled_of(instance), launch::bytes_of(prepared.args), {prepared.ctas, 1, 1}, buffers,
                        options);
  };
  simulator::Result result = launch_as(w, launch, prepared.arrays);
  add_up(result, packed);
  return judged(w, std::move(result), prepared.arrays);
}

int ctas_on_chip(const DenseProduct& p) {
  const catalog::Instance& instance = p.instance();
  const GemmProblem& q = p.problem;
  int64_t work = p.decision.choice.estimate.tiles;
  if (const auto* c = instance.as<DenseGemmConfig>()) {
    // Every cluster has a part of a depth that is shared evenly.
    const int64_t parts =
        c->split == DepthSplit::stream_k ? resident_clusters(instance) * c->cluster : std::max(1, instance.splits);
    work = c->tiles(int(q.m), int(q.n), int(q.batch)) * parts;
  } else if (const auto* blackwell = instance.as<DenseGemmSm100Config>()) {
    work = blackwell->jobs(int(q.m), int(q.n), int(q.k), int(q.batch), std::max(1, instance.splits));
  }
  return int(std::clamp<int64_t>(work, 1, resident_clusters(instance))) * launch::cluster_of(instance);
}

}  // namespace warpwright::simulate
