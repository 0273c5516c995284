#include "measure/bench_competitors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "choice/measured.h"
#include "gpu/require.h"
#include "warpwright/core/ceil_div.h"

namespace warpwright::measure {
namespace {

constexpr int64_t kMostSets = 4096;
// A prime: no two rows of a matrix hold the same values unless there are millions of them.
constexpr int64_t kPoolElements = 4194301;

size_t padded(int64_t elements, DType type) { return size_t(ceil_div(elements * bits(type) / 8, 256) * 256); }

void spread(const gpu::DeviceMemory& pool, size_t pool_bytes, const gpu::DeviceMemory& to, size_t bytes) {
  for (size_t at = 0; at < bytes; at += pool_bytes) {
    gpu::copy_on_device(to.data() + at, pool.data(), std::min(pool_bytes, bytes - at));
  }
}

double difference(const reference::Array& have, const reference::Array& want) {
  double error = 0, norm = 0;
  for (int64_t i = 0; i < have.rows * have.columns; ++i) {
    const double x = reference::element(have, i), y = reference::element(want, i);
    error += (x - y) * (x - y);
    norm += y * y;
  }
  return std::sqrt(error / norm);  // an element that was never written stays NaN
}

}  // namespace

void fill_normal(DType type, uint64_t seed, const gpu::DeviceMemory& to, size_t bytes) {
  // Drawing them takes longer than many a measurement.
  static std::map<std::pair<DType, uint64_t>, reference::Array> drawn;
  reference::Array& pool = drawn[{type, seed}];
  if (pool.bytes.empty()) {
    pool = {"pool", type, 1, kPoolElements, false, {}};
    pool.bytes.resize(pool.size());
    reference::fill(pool, reference::Data::normal, seed);
  }
  const gpu::DeviceMemory values(pool.bytes.size());
  gpu::copy_to_device(values.data(), pool.bytes.data(), pool.bytes.size());
  spread(values, pool.bytes.size(), to, bytes);
  gpu::synchronize("the copy of the operands");
}

Operands::Operands(const BenchShape& shape, uint64_t least_bytes)
    : shape_(shape),
      a_stride_(padded(shape.m * shape.k, shape.dtype)),
      b_stride_(padded(shape.n * shape.k, shape.b_dtype())),
      d_stride_(padded(shape.m * shape.n, shape.epilogue.out)),
      sets_(int(std::clamp<int64_t>(ceil_div(int64_t(least_bytes), int64_t(a_stride_ + b_stride_ + d_stride_)), 2,
                                    kMostSets))),
      a_(a_stride_ * size_t(sets_)),
      b_(b_stride_ * size_t(sets_)),
      d_(d_stride_ * size_t(sets_)) {
  // Two seeds: with equal rows in A and B the diagonal would be a sum of squares, where 8-bit sums lose most.
  fill_normal(shape.dtype, 1, a_, a_stride_ * size_t(sets_));
  fill_normal(shape.b_dtype(), 2, b_, b_stride_ * size_t(sets_));
}

void Operands::poison(int set) const { gpu::set_bytes(d(set), 0xff, d_stride_); }

reference::Array Operands::result(int set) const {
  reference::Array array{"D", shape_.epilogue.out, shape_.m, shape_.n, true, {}};
  array.bytes.resize(array.size());
  gpu::copy_to_host(array.bytes.data(), d(set), array.bytes.size(), "the copy of the result");
  return array;
}

GemmProblem problem_of(const BenchShape& s, const std::string& plan, Following following) {
  GemmProblem p;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.a = {s.dtype, s.a_major};
  p.b = {s.b_dtype(), s.b_major};
  p.d.type = s.epilogue.out;
  p.dependent = following.dependent;
  p.b_is_constant = following.constant_b;
  p.plan = plan;
  return p;
}

Ours::Ours(const BenchShape& shape, const std::string& plan, Following following, const Operands& operands)
    : operands_(operands) {
  auto made = make_plan(problem_of(shape, plan, following));
  gpu::require(made.status());
  plan_ = std::make_shared<const GemmPlan>(std::move(*made));
  if (const size_t bytes = plan_->workspace_bytes(); bytes > 0) {
    workspace_ = std::make_shared<const gpu::DeviceMemory>(bytes);
    gpu::set_bytes(workspace_->data(), 0, bytes);
    gpu::synchronize("clearing the workspace");
  }
  if (plan.empty() && choice::asks_to_measure(Tuning::usual)) {
    // Now, because launches that are captured are not measured.
    const gpu::Stream stream;
    launch()(0, stream);
    stream.synchronize();
  }
}

LaunchSet Ours::launch() const {
  return [plan = plan_, workspace = workspace_, &operands = operands_](int set, const gpu::Stream& stream) {
    GemmPointers pointers{.a = operands.a(set), .b = operands.b(set), .d = operands.d(set)};
    if (workspace != nullptr) {
      pointers.workspace = workspace->data();
      pointers.workspace_bytes = plan->workspace_bytes();
    }
    gpu::require(plan->run(pointers, stream.get()));
  };
}

LaunchSet peer_launch(const PeerGemm& peer, const Operands& operands) {
  return [&](int set, const gpu::Stream& stream) {
    gpu::require(peer.launch(operands.a(set), operands.b(set), operands.d(set), stream.get()));
  };
}

std::vector<int> finalists(PeerGemm& peer, const LaunchSet& launch, int sets, BenchMode mode, size_t most,
                           const gpu::Stream& stream, double seconds) {
  constexpr double gap_s = 0.002;
  constexpr int launches = 9;
  const auto us = there_and_back(peer.choices(), [&](int choice) {
    peer.choose(choice);
    if (mode == BenchMode::sustained) return brief_us(launch, sets, stream, seconds);
    return CoolLaunch(launch, sets, stream).several(launches, gap_s);
  });
  std::vector<int> order(us.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int x, int y) { return us[size_t(x)] < us[size_t(y)]; });
  if (order.size() > most) order.resize(most);
  return order;
}

double compare_results(const LaunchSet& ours, const LaunchSet& peers, const Operands& operands,
                       const gpu::Stream& stream) {
  reference::Array results[2];
  const LaunchSet* const launches[] = {&ours, &peers};
  for (int i = 0; i < 2; ++i) {
    operands.poison(0);
    gpu::synchronize("spoiling the result");
    (*launches[i])(0, stream);
    stream.synchronize();
    results[i] = operands.result(0);
  }
  return difference(results[0], results[1]);
}

}  // namespace warpwright::measure
