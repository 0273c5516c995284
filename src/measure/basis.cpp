#include "measure/basis.h"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "choice/grouped_facts.h"
#include "gpu/devices.h"
#include "gpu/executor.h"
#include "gpu/memory.h"
#include "gpu/require.h"
#include "measure/basis_table.h"
#include "measure/bench_competitors.h"
#include "measure/bench_measure.h"
#include "measure/grouped_operands.h"

namespace warpwright::measure {
namespace {

// Launches in graphs, so that the host is never in the way.
constexpr double kGraphUs = 1000;
constexpr double kPeerSeconds = 0.006;
constexpr const char* kCopied = "-packed";  // whatever is best after the copy
constexpr double kLongUs = 100;

// A first look, at so few sets of operands that it takes a millisecond or two.
double glance(const LaunchSet& launch, int sets, double about_us, const gpu::Stream& stream) {
  constexpr double glance_us = 300;
  const int few = std::clamp(int(glance_us / about_us), 1, 64);
  const Burst burst(launch, std::min(sets, few), about_us, stream, glance_us);
  if (about_us < glance_us) burst.run(0);  // the first time the graph is loaded
  return burst.run(0);
}

// Fills in the times of the rows, each the product of a launch. A plan that a brief test shows to be far slower keeps
// the time of that test; the peer is always measured.
void time_rows(std::vector<BasisRow>& rows, const std::vector<LaunchSet>& launches, int sets, double about_us,
               const gpu::Stream& stream) {
  constexpr double brief_s = 0.003, far = 1.25;
  if (launches.empty()) return;  // nothing that was compiled ahead serves it
  for (size_t i = 0; i < rows.size(); ++i) rows[i].us = glance(launches[i], sets, about_us, stream);
  const double least =
      std::min_element(rows.begin(), rows.end(), [](const BasisRow& x, const BasisRow& y) { return x.us < y.us; })->us;
  std::vector<size_t> kept;
  std::vector<std::unique_ptr<const Burst>> bursts;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].us > far * least && !rows[i].plan.empty()) continue;
    kept.push_back(i);
    // Operands of a long launch do not stay in L2 until the next.
    const int rotating = about_us > kLongUs ? 1 : sets;
    bursts.push_back(std::make_unique<const Burst>(launches[i], rotating, rows[i].us, stream, kGraphUs));
  }
  const auto times = there_and_back(int(kept.size()), [&](int i) { return bursts[size_t(i)]->run(brief_s); });
  for (size_t i = 0; i < kept.size(); ++i) rows[kept[i]].us = times[i];
}

std::vector<catalog::Instance> instances_for(const BenchShape& shape, const BasisOptions& options) {
  const auto named = options.plans.find(basis_problem(shape));
  if (named == options.plans.end()) return choice::candidates(shape, options.on_demand);
  std::vector<catalog::Instance> list;
  for (const std::string& plan : named->second) {
    const auto instance = choice::parse_plan(plan, shape);
    gpu::require(instance.status());
    list.push_back(*instance);
  }
  return list;
}

std::vector<BasisRow> time_problem(const BenchShape& shape, const BasisOptions& options, const gpu::GpuInfo& gpu,
                                   const gpu::Stream& stream) {
  constexpr double hopeless = 1.5;
  const std::string problem = basis_problem(shape);
  const Operands operands(shape, uint64_t(BenchOptions{}.cache_multiple * double(gpu.l2_bytes)));
  std::vector<BasisRow> rows;
  std::vector<LaunchSet> launches;
  PeerGemm peer;
  if (peer.prepare(shape.m, shape.n, shape.k, shape.dtype)) {
    const LaunchSet launch = peer_launch(peer, operands);
    peer.choose(finalists(peer, launch, operands.sets(), BenchMode::sustained, 1, stream, kPeerSeconds).front());
    rows.push_back({problem, "", 0});
    launches.push_back(launch);
  }
  std::vector<Ours> plans;
  const auto add = [&](const std::string& plan) {
    plans.emplace_back(shape, plan, Following{}, operands);
    rows.push_back({problem, plans.back().name(), 0});
    launches.push_back(plans.back().launch());
  };
  // Operands that have to be copied first: the product after the copy is one of the others.
  if (shape.load == Mover::threads) add(kCopied);
  const double about = choice::floor_of(shape).us() + 3;
  const std::vector<catalog::Instance> instances = instances_for(shape, options);
  gpu::require(gpu::compile(instances));
  const auto predicted = [&](const catalog::Instance& i) { return choice::estimate(i, shape, gpu.sm_count).us; };
  double best = 0;
  for (const catalog::Instance& i : instances) best = best == 0 ? predicted(i) : std::min(best, predicted(i));
  for (const catalog::Instance& instance : instances) {
    // Where each launch takes long the model spares what is hopeless.
    if (about > kLongUs && predicted(instance) > hopeless * best) continue;
    add(catalog::plan_name(instance));
  }
  time_rows(rows, launches, operands.sets(), about, stream);
  return rows;
}

std::vector<BasisRow> time_problem(const GroupedCase& shape, const BasisOptions&, const gpu::GpuInfo& gpu,
                                   const gpu::Stream& stream) {
  const GroupedSets operands(table_for(shape), uint64_t(BenchOptions{}.cache_multiple * double(gpu.l2_bytes)));
  std::vector<BasisRow> rows;
  std::vector<LaunchSet> launches;
  for (const catalog::Instance& instance : choice::instances_for(operands.problem())) {
    rows.push_back({basis_problem(shape), catalog::plan_name(instance), 0});
    launches.push_back(launch_of(operands, instance));
  }
  const double about = choice::floor_of(choice::work_of(operands.problem()), Arch::sm90).us() + 4;
  time_rows(rows, launches, operands.count(), about, stream);
  return rows;
}

template <class Shape>
Status time_all(const std::vector<Shape>& shapes, const BasisOptions& options,
                const std::function<void(const std::vector<BasisRow>&)>& done) {
  if (Status s = bench_ready(false); !s) return s;
  const Budget budget(options.budget_s);
  try {
    const gpu::GpuInfo gpu = gpu::list_gpus().front();
    const gpu::Stream stream;
    for (const Shape& shape : shapes) {
      if (budget.spent()) break;
      done(time_problem(shape, options, gpu, stream));
    }
  } catch (const gpu::Failure& failure) {
    return Status(Code::failed, failure.what());
  }
  return {};
}

}  // namespace

Status time_basis(const std::vector<BenchShape>& shapes, const BasisOptions& options,
                  const std::function<void(const std::vector<BasisRow>&)>& done) {
  return time_all(shapes, options, done);
}

Status time_basis(const std::vector<GroupedCase>& shapes, const BasisOptions& options,
                  const std::function<void(const std::vector<BasisRow>&)>& done) {
  return time_all(shapes, options, done);
}

}  // namespace warpwright::measure
