#include "runtime/bench_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/launch.h"
#include "runtime/gpu.h"
#include "runtime/peer_cublas.h"
#include "runtime/problem.h"

#if WW_HAVE_CUDA
#include <cuda_profiler_api.h>

#include <chrono>
#include <thread>

#include "runtime/gpu_memory.h"
#include "runtime/host_kernels.h"
#endif

namespace warpwright::runtime {

const char* name(BenchMode mode) { return mode == BenchMode::sustained ? "sustained" : "cool"; }

bool BenchReport::ok() const {
  return std::none_of(rows.begin(), rows.end(), [](const BenchRow& row) { return row.wrong; });
}

std::optional<std::string> refuse_bench(const BenchShape& s, int plan) {
  Problem problem;
  problem.m = s.m;
  problem.n = s.n;
  problem.k = s.k;
  problem.dtype = problem.out_dtype = s.dtype;
  if (auto why = validate(problem)) return why;
  if (s.k == 0) return "k = 0: there is nothing to measure.";
  if (plan >= 0 && !can_serve(plan, s))
    return fmt::format("plan = {}: it is {} for {}, which cannot serve m = {} in {}.", plan, plan_text(plan),
                       name(plan_type(plan)), s.m, name(s.dtype));
  return {};
}

std::optional<std::string> bench_missing() {
#if WW_HAVE_CUDA
  if (auto problem = gpu_driver_problem()) return "bench needs an NVIDIA GPU and its driver: " + *problem + ".";
  const auto gpus = list_gpus();
  if (gpus.empty()) return "bench needs an NVIDIA GPU, and none was found.";
  if (gpus.front().cc_major != 9)
    return fmt::format("bench needs a GPU of compute capability 9.0; {} has {}.{}.", gpus.front().name,
                       gpus.front().cc_major, gpus.front().cc_minor);
  return peer_problem();
#else
  return "bench needs device code, and this build has none; install the CUDA toolkit 13 and build again.";
#endif
}

#if WW_HAVE_CUDA
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// A captured sequence of launches.
class Graph {
 public:
  template <class Body>
  Graph(const Stream& stream, Body&& body) {
    cudaGraph_t graph = nullptr;
    require(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    body();
    require(cudaStreamEndCapture(stream.get(), &graph), "cudaStreamEndCapture");
    const cudaError_t error = cudaGraphInstantiate(&graph_, graph, 0);
    (void)cudaGraphDestroy(graph);
    require(error, "cudaGraphInstantiate");
  }
  ~Graph() {
    if (graph_ != nullptr) (void)cudaGraphExecDestroy(graph_);
  }
  Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  void replay(const Stream& stream) const { require(cudaGraphLaunch(graph_, stream.get()), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

// Sets of A, B and D. Normal values: zeros or a constant would draw less power and run faster than real data.
class Operands {
 public:
  Operands(const BenchShape& shape, uint64_t least_bytes)
      : shape_(shape),
        a_stride_(padded(shape.m * shape.k)),
        b_stride_(padded(shape.n * shape.k)),
        d_stride_(padded(shape.m * shape.n)),
        sets_(int(std::clamp<int64_t>(ceil_div(int64_t(least_bytes), int64_t(a_stride_ + b_stride_ + d_stride_)), 2,
                                      most_sets))),
        a_(a_stride_ * size_t(sets_)),
        b_(b_stride_ * size_t(sets_)),
        d_(d_stride_ * size_t(sets_)) {
    Array pool{"pool", shape.dtype, 1, pool_elements, false, {}};
    pool.bytes.resize(pool.size());
    runtime::fill(pool, Data::normal, 1);
    const DeviceMemory values(pool.bytes.size());
    require(cudaMemcpy(values.data(), pool.bytes.data(), pool.bytes.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
    spread(values, pool.bytes.size(), a_, a_stride_ * size_t(sets_));
    spread(values, pool.bytes.size(), b_, b_stride_ * size_t(sets_));
    require(cudaDeviceSynchronize(), "the copy of the operands");
  }

  int sets() const { return sets_; }
  void* a(int set) const { return a_.data() + a_stride_ * size_t(set); }
  void* b(int set) const { return b_.data() + b_stride_ * size_t(set); }
  void* d(int set) const { return d_.data() + d_stride_ * size_t(set); }

  void poison(int set) const { require(cudaMemset(d(set), 0xff, d_stride_), "cudaMemset"); }
  Array result(int set) const {
    Array array{"D", shape_.dtype, shape_.m, shape_.n, true, {}};
    array.bytes.resize(array.size());
    require(cudaMemcpy(array.bytes.data(), d(set), array.bytes.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return array;
  }

 private:
  static constexpr int64_t most_sets = 4096;
  // A prime: no two rows of a matrix hold the same values unless there are millions of them.
  static constexpr int64_t pool_elements = 4194301;
  static size_t padded(int64_t elements) { return size_t(ceil_div(elements * 2, 256) * 256); }
  static void spread(const DeviceMemory& pool, size_t pool_bytes, const DeviceMemory& to, size_t bytes) {
    for (size_t at = 0; at < bytes; at += pool_bytes) {
      require(cudaMemcpyAsync(to.data() + at, pool.data(), std::min(pool_bytes, bytes - at), cudaMemcpyDeviceToDevice),
              "cudaMemcpy");
    }
  }

  BenchShape shape_;
  size_t a_stride_, b_stride_, d_stride_;
  int sets_;
  DeviceMemory a_, b_, d_;
};

// Puts the product of one set of operands on a stream.
using LaunchSet = std::function<void(int set, const Stream&)>;

template <class Args, class Config>
std::vector<Args> arguments(const BenchShape& shape, const Operands& operands, const Config& config) {
  std::vector<Args> args(size_t(operands.sets()));
  for (int i = 0; i < operands.sets(); ++i) {
    require(fill(args[size_t(i)], config, operands.a(i), operands.b(i), operands.d(i), int(shape.m), int(shape.n),
                 int(shape.k), 1.f, EncodeForGpu{}));
  }
  return args;
}

LaunchSet our_launch(const BenchShape& shape, const Operands& operands, int plan, bool dependent) {
  const int instance = instance_of(plan);
  if (is_skinny(plan)) {
    auto args = arguments<SkinnyGemmArgs>(shape, operands, device::kSkinnyGemmSm90[instance]);
    for (SkinnyGemmArgs& a : args) a.weights_are_constant = dependent;
    return [args = std::move(args), instance, dependent](int set, const Stream& stream) {
      require(device::launch_skinny_gemm_sm90(instance, args[size_t(set)], stream.get(), 0, dependent));
    };
  }
  auto args = arguments<DenseGemmArgs>(shape, operands, device::kDenseGemmSm90[instance]);
  return [args = std::move(args), instance](int set, const Stream& stream) {
    require(device::launch_dense_gemm_sm90(instance, args[size_t(set)], stream.get()));
  };
}

LaunchSet peer_launch(const PeerGemm& peer, const Operands& operands) {
  return [&](int set, const Stream& stream) {
    require(peer.launch(operands.a(set), operands.b(set), operands.d(set), stream.get()));
  };
}

// Time of one launch when launches follow each other for about `seconds`.
double brief_us(const LaunchSet& launch, int sets, const Stream& stream, double seconds) {
  constexpr int batch = 8;
  const Event start, stop;
  int launched = 0;
  double us = 0;
  launch(0, stream);
  start.record(stream);
  do {
    for (int i = 0; i < batch; ++i, ++launched) launch(launched % sets, stream);
    stop.record(stream);
    stop.synchronize();
    us = stop.us_since(start);
  } while (us < seconds * 1e6);
  return us / launched;
}

double difference(const Array& have, const Array& want) {
  double error = 0, norm = 0;
  for (int64_t i = 0; i < have.rows * have.columns; ++i) {
    const double x = element(have, i), y = element(want, i);
    error += (x - y) * (x - y);
    norm += y * y;
  }
  return std::sqrt(error / norm);  // NaN, what nobody wrote, stays NaN
}

double compare_results(const LaunchSet& ours, const LaunchSet& peers, const Operands& operands, const Stream& stream) {
  Array results[2];
  const LaunchSet* const launches[] = {&ours, &peers};
  for (int i = 0; i < 2; ++i) {
    operands.poison(0);
    require(cudaDeviceSynchronize(), "cudaMemset");
    (*launches[i])(0, stream);
    stream.synchronize();
    results[i] = operands.result(0);
  }
  return difference(results[0], results[1]);
}

// One competitor running without a pause: graphs of about 10 ms, the next one queued before the last has ended.
class Burst {
 public:
  Burst(const LaunchSet& launch, int sets, double us, const Stream& stream)
      : stream_(stream),
        launches_(sets * std::clamp(int(graph_us / (us * sets)), 1, std::max(1, most_nodes / sets))),
        graph_(stream, [&] {
          for (int i = 0; i < launches_; ++i) launch(i % sets, stream);
        }) {}

  double run(double seconds) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    start_.record(stream_);
    int replays = 0;
    for (; std::chrono::steady_clock::now() < until || replays < 2; ++replays) {
      if (replays >= 2) queued_[replays % 2].synchronize();
      graph_.replay(stream_);
      queued_[replays % 2].record(stream_);
    }
    stop_.record(stream_);
    stop_.synchronize();
    return stop_.us_since(start_) / (double(replays) * launches_);
  }

 private:
  static constexpr double graph_us = 1e4;
  static constexpr int most_nodes = 4096;
  const Stream& stream_;
  int launches_;
  Graph graph_;
  Event start_, stop_, queued_[2];
};

// Single launches after a pause, timed by event nodes inside the graph, which the host's wake-up cannot disturb.
class CoolLaunch {
 public:
  CoolLaunch(const LaunchSet& launch, int sets, const Stream& stream) : stream_(stream) {
    for (int set = 0; set < std::min(sets, most_graphs); ++set) {
      graphs_.emplace_back(stream, [&] {
        require(cudaEventRecordWithFlags(start_.get(), stream.get(), cudaEventRecordExternal), "cudaEventRecord");
        launch(set, stream);
        require(cudaEventRecordWithFlags(stop_.get(), stream.get(), cudaEventRecordExternal), "cudaEventRecord");
      });
    }
  }

  double run(double gap_s) {
    std::this_thread::sleep_for(std::chrono::duration<double>(gap_s));
    graphs_[size_t(next_++) % graphs_.size()].replay(stream_);
    stream_.synchronize();
    return stop_.us_since(start_);
  }

 private:
  static constexpr int most_graphs = 64;
  const Stream& stream_;
  Event start_, stop_;
  std::vector<Graph> graphs_;
  int next_ = 0;
};

// Measures every choice forwards and then backwards, since the chip warms up on the way; the mean for each.
template <class Measure>
std::vector<double> there_and_back(int choices, Measure&& measure) {
  std::vector<double> us(size_t(choices), 0);
  for (int i = 0; i < 2 * choices; ++i) {
    const int choice = i < choices ? i : 2 * choices - 1 - i;
    us[size_t(choice)] += measure(choice) / 2;
  }
  return us;
}

// The peer's algorithms that are close to its fastest in a brief test. Which of them wins depends on the mode: one may
// need fewer cycles, another less power.
std::vector<int> finalists(PeerGemm& peer, const LaunchSet& launch, int sets, const Stream& stream) {
  constexpr double seconds = 0.03, close = 1.04;
  constexpr size_t most = 3;
  const auto us = there_and_back(peer.choices(), [&](int choice) {
    peer.choose(choice);
    return brief_us(launch, sets, stream, seconds);
  });
  std::vector<int> order(us.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int x, int y) { return us[size_t(x)] < us[size_t(y)]; });
  const double limit = us[size_t(order.front())] * close;
  while (order.size() > most || us[size_t(order.back())] > limit) order.pop_back();
  return order;
}

// Gives the peer the finalist for which `measure` is least.
template <class Measure>
void choose_fastest(PeerGemm& peer, const std::vector<int>& candidates, Measure&& measure) {
  const auto us = there_and_back(int(candidates.size()), [&](int i) {
    peer.choose(candidates[size_t(i)]);
    return measure();
  });
  peer.choose(candidates[size_t(std::min_element(us.begin(), us.end()) - us.begin())]);
}

// `measure(who)` gives one figure of competitor 0, ours, or 1, the peer.
template <class Measure>
void measure_rounds(BenchRow& row, int rounds, Measure&& measure) {
  std::vector<double> us[2], ratios;
  for (int round = 0; round <= rounds; ++round) {
    double got[2];
    for (int i = 0; i < 2; ++i) {
      const int who = (i + round) % 2;
      got[who] = measure(who);
    }
    if (round == 0) continue;
    for (int who = 0; who < 2; ++who) us[who].push_back(got[who]);
    ratios.push_back(got[1] / got[0]);
  }
  row.us = median(us[0]);
  row.peer_us = median(us[1]);
  row.ratio = row.peer_us / row.us;
  row.ratio_lo = *std::min_element(ratios.begin(), ratios.end());
  row.ratio_hi = *std::max_element(ratios.begin(), ratios.end());
  const double m = double(row.shape.m), n = double(row.shape.n), k = double(row.shape.k);
  row.tflops = 2 * m * n * k / row.us * 1e-6;
  row.gbps = 2 * (m * k + n * k + m * n) / row.us * 1e-3;
}

// Short products are usually called one at a time, long ones back to back: that mode decides. A mode measured alone
// decides whatever it is.
void mark_counting(BenchReport& report, size_t first) {
  constexpr double long_us = 50;
  const bool is_long = std::any_of(report.rows.begin() + std::ptrdiff_t(first), report.rows.end(),
                                   [](const BenchRow& r) { return r.mode == BenchMode::sustained && r.us > long_us; });
  const bool alone = report.rows.size() - first == 1;
  for (size_t i = first; i < report.rows.size(); ++i)
    report.rows[i].counts = alone || (report.rows[i].mode == BenchMode::sustained) == is_long;
}

void bench_shape(const BenchShape& shape, const BenchOptions& options, const GpuInfo& gpu, BenchReport& report,
                 const std::function<void(const BenchRow&)>& done) {
  // Both sum in fp32 in their own order and round to 16 bits once.
  constexpr double largest_difference = 1e-2;
  const size_t first = report.rows.size();
  const Stream stream;
  const Operands operands(shape, uint64_t(options.cache_multiple * double(gpu.l2_bytes)));
  const int plan = options.plan >= 0 ? options.plan : choose_plan(shape, gpu.sm_count);
  PeerGemm peer;
  require(peer.prepare(shape.m, shape.n, shape.k, shape.dtype));
  const LaunchSet launches[2] = {our_launch(shape, operands, plan, options.dependent), peer_launch(peer, operands)};

  BenchRow row;
  row.shape = shape;
  row.plan = plan_text(plan);
  row.operand_sets = operands.sets();
  row.difference = compare_results(launches[0], launches[1], operands, stream);
  row.wrong = !(row.difference <= largest_difference);
  const auto add = [&](BenchMode mode) {
    row.mode = mode;
    report.rows.push_back(row);
    done(row);
  };
  if (row.wrong) return add(options.modes.front());
  const int sets = operands.sets();
  const std::vector<int> candidates = finalists(peer, launches[1], sets, stream);
  for (const BenchMode mode : options.modes) {
    if (mode == BenchMode::sustained) {
      const double us = brief_us(launches[0], sets, stream, 0.01);
      choose_fastest(peer, candidates, [&] { return Burst(launches[1], sets, us, stream).run(options.burst_s); });
      const Burst bursts[2] = {{launches[0], sets, us, stream}, {launches[1], sets, us, stream}};
      measure_rounds(row, options.rounds, [&](int who) { return bursts[who].run(options.burst_s); });
    } else {
      const auto several = [&](CoolLaunch& single) {
        std::vector<double> us;
        for (int i = 0; i < options.cool_launches; ++i) us.push_back(single.run(options.cool_gap_s));
        return median(us);
      };
      choose_fastest(peer, candidates, [&] {
        CoolLaunch single(launches[1], sets, stream);
        return several(single);
      });
      CoolLaunch singles[2] = {{launches[0], sets, stream}, {launches[1], sets, stream}};
      measure_rounds(row, options.rounds, [&](int who) { return several(singles[who]); });
    }
    row.peer_choice = peer.chosen();
    add(mode);
  }
  mark_counting(report, first);
}

}  // namespace

std::optional<std::string> bench_dense(const std::vector<BenchShape>& shapes, const BenchOptions& options,
                                       BenchReport& report, const std::function<void(const BenchRow&)>& row) {
  if (auto missing = bench_missing()) return missing;
  const GpuInfo gpu = list_gpus().front();
  report = {};
  report.device = gpu.name;
  report.peer = peer_version();
  report.l2_bytes = gpu.l2_bytes;
  try {
    for (const BenchShape& shape : shapes) bench_shape(shape, options, gpu, report, row);
  } catch (const CudaFailure& failure) {
    return failure.what();
  }
  double logs = 0;
  int measured = 0;
  for (const BenchRow& r : report.rows) {
    if (r.wrong || !r.counts) continue;
    logs += std::log(r.ratio);
    report.min = measured++ == 0 ? r.ratio : std::min(report.min, r.ratio);
  }
  if (measured > 0) report.geomean = std::exp(logs / measured);
  return {};
}

std::optional<std::string> time_plans(const BenchShape& shape, std::vector<PlanTime>& times) {
  if (auto missing = bench_missing()) return missing;
  constexpr double brief_s = 0.008, gap_s = 0.001;
  times.clear();
  try {
    const GpuInfo gpu = list_gpus().front();
    const Stream stream;
    const Operands operands(shape, uint64_t(BenchOptions{}.cache_multiple * double(gpu.l2_bytes)));
    const auto measure = [&](int plan, const LaunchSet& launch) {
      const double sustained = brief_us(launch, operands.sets(), stream, brief_s);
      CoolLaunch single(launch, operands.sets(), stream);
      std::vector<double> us(9);
      for (double& one : us) one = single.run(gap_s);
      return PlanTime{plan, sustained, median(us)};
    };
    PeerGemm peer;
    require(peer.prepare(shape.m, shape.n, shape.k, shape.dtype));
    const LaunchSet peers = peer_launch(peer, operands);
    peer.choose(finalists(peer, peers, operands.sets(), stream).front());
    times.push_back(measure(-1, peers));
    for (int plan = 0; plan < plan_count(); ++plan) {
      if (can_serve(plan, shape)) times.push_back(measure(plan, our_launch(shape, operands, plan, false)));
    }
  } catch (const CudaFailure& failure) {
    return failure.what();
  }
  return {};
}

std::optional<std::string> profile_dense(const BenchShape& shape, int plan, int peer_choice) {
  if (auto missing = bench_missing()) return missing;
  try {
    const Stream stream;
    const Operands operands(shape, 1);
    PeerGemm peer;
    require(peer.prepare(shape.m, shape.n, shape.k, shape.dtype));
    if (peer_choice >= peer.choices())
      return fmt::format("cuBLASLt offers {} algorithms, there is no number {}.", peer.choices(), peer_choice);
    peer.choose(peer_choice);
    if (plan < 0) plan = choose_plan(shape, list_gpus().front().sm_count);
    const LaunchSet launches[2] = {our_launch(shape, operands, plan, false), peer_launch(peer, operands)};
    for (const LaunchSet& launch : launches) launch(0, stream);
    stream.synchronize();
    require(cudaProfilerStart(), "cudaProfilerStart");
    for (const LaunchSet& launch : launches) launch(1, stream);
    stream.synchronize();
    require(cudaProfilerStop(), "cudaProfilerStop");
  } catch (const CudaFailure& failure) {
    return failure.what();
  }
  return {};
}

#else

std::optional<std::string> bench_dense(const std::vector<BenchShape>&, const BenchOptions&, BenchReport&,
                                       const std::function<void(const BenchRow&)>&) {
  return bench_missing();
}
std::optional<std::string> profile_dense(const BenchShape&, int, int) { return bench_missing(); }
std::optional<std::string> time_plans(const BenchShape&, std::vector<PlanTime>&) { return bench_missing(); }

#endif

}  // namespace warpwright::runtime
