#include "measure/basis.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <random>

#include "gpu/devices.h"
#include "gpu/memory.h"
#include "gpu/require.h"
#include "measure/bench_competitors.h"
#include "measure/bench_measure.h"

namespace warpwright::measure {
namespace {

// Launches in a graph, so that the host is never in the way.
double brief(const LaunchSet& launch, int sets, double about_us, double seconds, const gpu::Stream& stream) {
  return Burst(launch, sets, about_us, stream, seconds * 1e6).run(seconds);
}

std::vector<BasisRow> time_problem(const BenchShape& shape, const BasisOptions& options, const gpu::GpuInfo& gpu,
                                   const gpu::Stream& stream) {
  constexpr double glance_s = 0.0008, brief_s = 0.005, far = 1.3;
  const Operands operands(shape, uint64_t(BenchOptions{}.cache_multiple * double(gpu.l2_bytes)));
  std::vector<BasisRow> rows;
  std::vector<LaunchSet> launches;
  PeerGemm peer;
  if (peer.prepare(shape.m, shape.n, shape.k, shape.dtype)) {
    const LaunchSet launch = peer_launch(peer, operands);
    peer.choose(finalists(peer, launch, operands.sets(), BenchMode::sustained, 1, stream).front());
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
  const bool copied = shape.load == Mover::threads;
  if (copied) add("");
  for (const catalog::Instance& instance : choice::candidates(shape, options.on_demand)) {
    if (!copied) add(catalog::plan_name(instance));
  }
  if (launches.empty()) return rows;  // nothing that was compiled ahead serves it
  const double about = choice::floor_of(shape).us() + 3;
  std::vector<double> glances;
  for (const LaunchSet& launch : launches) glances.push_back(brief(launch, operands.sets(), about, glance_s, stream));
  const double least = *std::min_element(glances.begin(), glances.end());
  std::vector<size_t> kept;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (glances[i] <= far * least || rows[i].plan.empty()) kept.push_back(i);
  }
  const auto times = there_and_back(int(kept.size()), [&](int i) {
    return brief(launches[kept[size_t(i)]], operands.sets(), least, brief_s, stream);
  });
  for (size_t i = 0; i < rows.size(); ++i) rows[i].us = glances[i];
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
  const auto begin = std::chrono::steady_clock::now();
  try {
    const gpu::GpuInfo gpu = gpu::list_gpus().front();
    const gpu::Stream stream;
    for (const BenchShape& shape : shapes) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      if (options.budget_s > 0 && spent.count() > options.budget_s) break;
      done(time_problem(shape, options, gpu, stream));
    }
  } catch (const gpu::Failure& failure) {
    return Status(Code::failed, failure.what());
  }
  return {};
}

}  // namespace warpwright::measure
