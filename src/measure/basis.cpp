#include "measure/basis.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <random>

#include "gpu/devices.h"
#include "gpu/memory.h"
#include "gpu/require.h"
#include "measure/bench_competitors.h"
#include "measure/bench_measure.h"

namespace warpwright::measure {
namespace {

// Launches in graphs, so that the host is never in the way.
constexpr double kGraphUs = 1000;
constexpr double kPeerSeconds = 0.006;
constexpr const char* kCopied = "-packed";  // whatever is best behind the copy

// A first look, at so few sets of operands that it takes a millisecond or two.
double glance(const LaunchSet& launch, int sets, double about_us, const gpu::Stream& stream) {
  constexpr double glance_us = 300;
  const int few = std::clamp(int(glance_us / about_us), 1, 64);
  const Burst burst(launch, std::min(sets, few), about_us, stream, glance_us);
  if (about_us < glance_us) burst.run(0);  // the first time the graph is loaded
  return burst.run(0);
}

std::vector<BasisRow> time_problem(const BenchShape& shape, const BasisOptions& options, const gpu::GpuInfo& gpu,
                                   const gpu::Stream& stream) {
  constexpr double brief_s = 0.003, far = 1.25, long_us = 100, hopeless = 1.5;
  const Operands operands(shape, uint64_t(BenchOptions{}.cache_multiple * double(gpu.l2_bytes)));
  std::vector<BasisRow> rows;
  std::vector<LaunchSet> launches;
  PeerGemm peer;
  if (peer.prepare(shape.m, shape.n, shape.k, shape.dtype)) {
    const LaunchSet launch = peer_launch(peer, operands);
    peer.choose(finalists(peer, launch, operands.sets(), BenchMode::sustained, 1, stream, kPeerSeconds).front());
    rows.push_back({shape, "", 0});
    launches.push_back(launch);
  }
  std::vector<Ours> plans;
  const auto add = [&](const std::string& plan) {
    plans.emplace_back(shape, plan, Following{}, operands);
    rows.push_back({shape, plans.back().name(), 0});
    launches.push_back(plans.back().launch());
  };
  // Operands that have to be copied first: the product behind the copy is one of the others.
  if (shape.load == Mover::threads) add(kCopied);
  const double about = choice::floor_of(shape).us() + 3;
  const std::vector<catalog::Instance> instances = choice::candidates(shape, options.on_demand);
  const auto predicted = [&](const catalog::Instance& i) { return choice::estimate(i, shape, gpu.sm_count).us; };
  double best = 0;
  for (const catalog::Instance& i : instances) best = best == 0 ? predicted(i) : std::min(best, predicted(i));
  for (const catalog::Instance& instance : instances) {
    // Where each launch takes long the model spares what is hopeless.
    if (about > long_us && predicted(instance) > hopeless * best) continue;
    add(catalog::plan_name(instance));
  }
  if (launches.empty()) return rows;  // nothing that was compiled ahead serves it
  for (size_t i = 0; i < rows.size(); ++i) rows[i].us = glance(launches[i], operands.sets(), about, stream);
  const double least =
      std::min_element(rows.begin(), rows.end(), [](const BasisRow& x, const BasisRow& y) { return x.us < y.us; })->us;
  std::vector<size_t> kept;
  std::vector<std::unique_ptr<const Burst>> bursts;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].us > far * least && !rows[i].plan.empty()) continue;
    kept.push_back(i);
    // Operands of a long launch do not stay in L2 until the next.
    const int sets = about > long_us ? 1 : operands.sets();
    bursts.push_back(std::make_unique<const Burst>(launches[i], sets, rows[i].us, stream, kGraphUs));
  }
  const auto times = there_and_back(int(kept.size()), [&](int i) { return bursts[size_t(i)]->run(brief_s); });
  for (size_t i = 0; i < kept.size(); ++i) rows[kept[i]].us = times[i];
  return rows;
}

}  // namespace

std::vector<BenchShape> draw_shapes(int count, uint64_t draw, DType dtype) {
  std::mt19937_64 random(draw);
  // The standard's distributions differ between libraries.
  const auto unit = [&] { return double(random() >> 11) * 0x1p-53; };
  const auto between = [&](double least, double most) {
    return int64_t(std::lround(least * std::pow(most / least, unit())));
  };
  const auto in_eights = [](int64_t extent) { return (extent + 7) / 8 * 8; };
  std::vector<BenchShape> shapes;
  for (int i = 0; i < count; ++i) {
    BenchShape shape;
    shape.m = between(1, 8192);
    shape.n = between(256, 32768);
    shape.k = between(256, 16384);
    shape.dtype = dtype;
    shape.epilogue = factor_and_conversion(usual_result(dtype));
    if (i % 4 != 3) {
      shape.n = in_eights(shape.n);
      shape.k = in_eights(shape.k);
    }
    if (shape.k * bits(dtype) % 128 != 0) shape.load = shape.store = Mover::threads;
    if (shape.n * bits(shape.epilogue.out) % 128 != 0) shape.store = Mover::threads;
    shapes.push_back(shape);
  }
  return shapes;
}

Status time_basis(const std::vector<BenchShape>& shapes, const BasisOptions& options,
                  const std::function<void(const std::vector<BasisRow>&)>& done) {
  if (Status s = bench_ready(false); !s) return s;
  const Budget budget(options.budget_s);
  try {
    const gpu::GpuInfo gpu = gpu::list_gpus().front();
    const gpu::Stream stream;
    for (const BenchShape& shape : shapes) {
      if (budget.spent()) break;
      done(time_problem(shape, options, gpu, stream));
    }
  } catch (const gpu::Failure& failure) {
    return Status(Code::failed, failure.what());
  }
  return {};
}

}  // namespace warpwright::measure
