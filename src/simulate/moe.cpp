#include "simulate/moe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "choice/tuned_grouped.h"
#include "launch/grouped.h"
#include "launch/moe.h"
#include "problem/refused.h"
#include "problem/validate.h"
#include "simulate/executor.h"
#include "simulate/families.h"
#include "simulate/memory.h"
#include "simulate/prepared.h"
#include "simulate/run.h"

namespace warpwright::simulate {
namespace {

using reference::Case;
using reference::Condition;
using reference::Data;
using reference::Draw;
using reference::Routing;
using reference::Workload;

// Experts of the tokens whose rows are added up.
constexpr int64_t kCombined = 5;

// Of k pairs of a token, those of experts that every token takes.
int64_t shared_of(Case s, bool shared) { return shared ? std::clamp<int64_t>(s.k / 2, 1, kCombined - 1) : 0; }

// What a case of the small kernels sends where: m tokens of k pairs among `experts`.
Routing routing_of(Case s, int64_t experts, bool shared, Data data, uint64_t seed) {
  const int64_t everybody = shared_of(s, shared);
  Routing r = reference::drawn_routing(s.m, s.k - everybody, experts - everybody,
                                       s.condition == Condition::varied ? Draw::bad : Draw::skewed, data, seed);
  // An infinite weight is a number.
  if (s.condition == Condition::varied && r.weights.size() > 4) r.weights[4] = std::numeric_limits<float>::infinity();
  // In one condition all their weights are 1, and nobody says so.
  if (shared) r = reference::with_shared(std::move(r), everybody, s.condition != Condition::real, data, seed);
  // Of an odd number of tokens not all are there, of a multiple of four exactly all, of two none.
  if (s.condition != Condition::varied && s.m > 1 && s.m % 2 == 1) r.token_count = s.m - s.m / 4;
  if (s.condition != Condition::varied && s.m % 4 == 0) r.token_count = s.m;
  if (s.m == 2) r.token_count = 0;
  return r;
}
Status takes_small(Case s, bool shared) {
  // Beside an expert that every token takes one is left to choose.
  if (shared && (s.k < 2 || s.n <= shared_of(s, shared))) return problem::refused("n and k: at least 2.");
  if (s.m < 1 || s.n < 1 || s.k < 1) return problem::refused("m, n and k: at least 1.");
  if (s.condition == Condition::alone || s.condition == Condition::varied || s.condition == Condition::real) return {};
  return problem::refused("it has no such condition.");
}

// Every row that is added up is one of very many, of which the others are not there: their offsets are beyond 2^31.
constexpr int32_t kRowsApart = 1 << 20;
void spread_rows(Workload& w) {
  for (reference::Array& a : w.arrays) {
    if (a.name == "rows") {
      a.row_bytes = uint64_t(a.columns) * uint64_t(bits(a.type)) / 8;
      a.distance = a.row_bytes * uint64_t(kRowsApart);
    }
    if (a.name != "slots") continue;
    for (size_t at = 0; at < a.bytes.size(); at += sizeof(int32_t)) {
      int32_t slot = 0;
      std::memcpy(&slot, a.bytes.data() + at, sizeof slot);
      if (slot > 0) slot *= kRowsApart;
      std::memcpy(a.bytes.data() + at, &slot, sizeof slot);
    }
  }
}

Status fill_route(RouteArgs& args, const RouteConfig& c, const Workload& w, const std::vector<void*>& p) {
  const int64_t shared = shared_of(w.shape, c.shared);
  const auto at = [&](const char* name) { return pointer_of(w, p, name); };
  args = {at("ids"),
          static_cast<const float*>(at("weights")),
          static_cast<const uint32_t*>(at("token_count")),
          int32_t(w.shape.m),
          int32_t(w.shape.k - shared),
          int32_t(w.shape.n),
          static_cast<uint32_t*>(at("offsets")),
          static_cast<int32_t*>(at("index")),
          static_cast<int32_t*>(at("slots")),
          static_cast<uint32_t*>(at("status")),
          int32_t(shared),
          static_cast<const float*>(at("shared_weights"))};
  return {};
}
Status fill_combine(CombineArgs& args, const CombineConfig& c, const Workload& w, const std::vector<void*>& p) {
  const int64_t shared = shared_of(w.shape, c.shared);
  const auto at = [&](const char* name) { return pointer_of(w, p, name); };
  args = {at("rows"),
          static_cast<const int32_t*>(at("slots")),
          static_cast<const float*>(at("weights")),
          static_cast<const uint32_t*>(at("token_count")),
          at("out"),
          int32_t(w.shape.m),
          int32_t(w.shape.k - shared),
          int32_t(w.shape.n),
          int32_t(shared),
          static_cast<const float*>(at("shared_weights"))};
  return {};
}

}  // namespace

bool complete(Example& e, const catalog::Instance& instance, const RouteConfig& c) {
  e.takes = [c](Case s) { return takes_small(s, c.shared); };
  e.workload = [c](Case s, Data data, uint64_t seed) {
    Routing r = routing_of(s, s.n, c.shared, data, seed);
    // Weights that are not numbers stand in one of the arrays at a time: the word does not say in which.
    if (c.shared) {
      for (float& weight : s.m % 2 == 0 ? r.shared_weights : r.weights) weight = std::isnan(weight) ? 1 : weight;
    }
    Workload w = reference::route_workload(std::move(r), c.id_bytes, seed);
    w.shape.condition = s.condition;
    return w;
  };
  const auto fill = [c](const Workload& w) {
    return [&w, c](RouteArgs& args, const std::vector<void*>& p, const launch::MapEncoder&) {
      return fill_route(args, c, w, p);
    };
  };
  e.simulate = [=](const Workload& w, const simulator::Options& o, int ctas) {
    return run_filled<RouteArgs>(instance, w, o, ctas ? ctas : 3, fill(w));
  };
  e.launch = [=](const Workload& w, const std::vector<void*>& arrays, void* stream) {
    return launch_filled<RouteArgs>(instance, arrays, stream, fill(w),
                                    [&](const RouteArgs& args) { return launch::work_of(c, args); });
  };
  describe(e, {}, "the rows of each expert, from the experts of each token",
           {{600, 8, 2},
            {300, 7, 4, Condition::varied},
            {65, 7, 3, Condition::varied},
            {201, 40, 4},
            {2, 3, 2},
            {1, c.shared ? 2 : 1, c.shared ? 2 : 1}});
  return true;
}

bool complete(Example& e, const catalog::Instance& instance, const CombineConfig& c) {
  e.takes = [c](Case s) {
    if (s.condition == Condition::far) s.condition = Condition::alone;
    return s.n % 8 != 0 ? problem::refused("n: a multiple of 8.") : takes_small(s, c.shared);
  };
  e.workload = [c](Case s, Data data, uint64_t seed) {
    Workload w = reference::combine_workload(routing_of(s, kCombined, c.shared, data, seed), s.n, data, seed);
    if (s.condition == Condition::far) spread_rows(w);
    w.shape.condition = s.condition;
    return w;
  };
  const auto fill = [c](const Workload& w) {
    return [&w, c](CombineArgs& args, const std::vector<void*>& p, const launch::MapEncoder&) {
      return fill_combine(args, c, w, p);
    };
  };
  e.simulate = [=](const Workload& w, const simulator::Options& o, int ctas) {
    return run_filled<CombineArgs>(instance, w, o, ctas ? ctas : 2, fill(w));
  };
  e.launch = [=](const Workload& w, const std::vector<void*>& arrays, void* stream) {
    return launch_filled<CombineArgs>(instance, arrays, stream, fill(w),
                                      [&](const CombineArgs& args) { return launch::work_of(c, args); });
  };
  describe(e, {}, "the sum of each token's rows, times their weights",
           {{63, 264, 8},
            {40, 520, 3, Condition::varied},
            {9, 256, 2, Condition::real},
            {2, 8, 2},
            {1, 8, c.shared ? 2 : 1},
            {12, 256, 3, Condition::far}});
  return true;
}

// ---- the layer

namespace {

void required(const Status& status) {
  if (!status) throw std::runtime_error(status.message());
}

Result<catalog::Instance> chosen(const GroupedProblem& problem, const choice::Chip& chip) {
  if (Status s = problem::validate(problem, chip.arch); !s) return s;
  auto choice = choice::choose(problem, chip);
  if (!choice) return choice.status();
  return choice->instance;
}

// Launches on one set of arrays, until one of them fails.
class Launches {
 public:
  Launches(Arrays& arrays, const simulator::Options& options, int sm_limit)
      : arrays_(arrays), options_(options), sm_limit_(sm_limit) {}

  void put(const catalog::Instance& instance, const void* args, int64_t work, int64_t most) {
    launch(instance, args, unsigned(std::clamp<int64_t>(work, 1, sm_limit_ > 0 ? sm_limit_ : most)));
  }
  void put(const catalog::Instance& instance, const GroupedProblem& problem, const GroupedPointers& pointers) {
    required(launch::check_pointers(problem, pointers, catalog::arch_of(instance)));
    launch::Arguments args;
    required(launch::fill_arguments(args, instance, problem, pointers, map_encoder()));
    const int cluster = launch::cluster_of(instance);
    const int64_t clusters = launch::allowed_clusters(
        resident_clusters(instance), cluster, sm_limit_ > 0 ? sm_limit_ : int(few_clusters(instance)) * cluster);
    if (const int64_t bytes = launch::workspace_bytes(instance, args, clusters); bytes > 0) {
      launch::set_workspace(args, arrays_.add("sums", size_t(bytes), simulator::Buffer::Use::inout, true));
    }
    const auto ctas = launch::ctas_of(instance, args, clusters);
    required(ctas.status());
    launch(instance, launch::bytes_of(args), *ctas);
  }
  simulator::Result take() { return std::move(result_); }

 private:
  void launch(const catalog::Instance& instance, const void* args, unsigned ctas) {
    if (!result_.ok()) return;
    const auto compiled = ready(instance);
    if (!compiled) throw NotReady(compiled.status());
    simulator::Result next = run_instance(**compiled, args, {ctas, 1, 1}, arrays_.buffers(), options_);
    next.stats.checks += result_.stats.checks;
    next.stats.words += result_.stats.words;
    next.stats.wall_s += result_.stats.wall_s;
    next.stats.predicted_us += result_.stats.predicted_us;
    result_ = std::move(next);
  }

  Arrays& arrays_;
  const simulator::Options& options_;
  const int sm_limit_;
  simulator::Result result_;
};

}  // namespace

Result<MoeRun> moe_run(const MoeProblem& problem, const choice::Chip& chip) {
  if (chip.arch != Arch::sm90 && chip.arch != Arch::sm100) {
    return problem::refused(
        fmt::format("target = {}: moe has kernels for sm90 and sm100.", warpwright::name(chip.arch)));
  }
  if (Status s = validate(problem); !s) return s;
  MoeRun run{problem, {launch::route_config(problem, chip.arch)}, {}, {}, {launch::combine_config(problem, chip.arch)}};
  auto gate_up = chosen(launch::gate_up_problem(problem), chip);
  if (!gate_up) return gate_up.status();
  auto down = chosen(launch::down_problem(problem), chip);
  if (!down) return down.status();
  run.gate_up = *gate_up;
  run.down = *down;
  return run;
}

Outcome run(const MoeRun& r, const Workload& w, const simulator::Options& options, int sm_limit) {
  Arrays arrays(w);
  const MoeProblem& p = r.problem;
  const MoePointers pointers = reference::moe_pointers(w, arrays.pointers());
  Outcome out;
  if (p.tokens > 0) {
    required(launch::check_pointers(p, pointers));
    const Arch arch = catalog::arch_of(r.route);
    void* const workspace =
        arrays.add("workspace", launch::workspace_bytes(p, arch), simulator::Buffer::Use::inout, true);
    const launch::MoeLaunches l = launch::moe_launches(p, arch, pointers, workspace);
    Launches launches(arrays, options, sm_limit);
    launches.put(r.route, &l.route, launch::work_of(*r.route.as<RouteConfig>(), l.route), 3);
    launches.put(r.gate_up, launch::gate_up_problem(p), l.gate_up);
    launches.put(r.down, launch::down_problem(p), l.down);
    launches.put(r.combine, &l.combine, launch::work_of(*r.combine.as<CombineConfig>(), l.combine), 2);
    out.sim = launches.take();
  }
  out.output = arrays.output();
  out.verdict = judge(w, out.output);
  if (out.sim.ok() && p.tokens > 0) judge_others(w, arrays.contents(), out.verdict);
  return out;
}

}  // namespace warpwright::simulate
