#include "measure/bench_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "choice/choose.h"
#include "gpu/devices.h"
#include "gpu/driver.h"
#include "gpu/executor.h"
#include "gpu/require.h"
#include "measure/bench_competitors.h"
#include "measure/bench_stats.h"
#include "measure/peer_cublas.h"
#include "problem/lower.h"
#include "problem/refused.h"

namespace warpwright::measure {

const char* name(BenchMode mode) { return mode == BenchMode::sustained ? "sustained" : "cool"; }

Result<BenchShape> bench_shape(int64_t m, int64_t n, int64_t k, DType dtype, const std::string& plan) {
  const GemmProblem problem = problem::plain_product(m, n, k, dtype);
  if (Status status = warpwright::validate(problem); !status) return status;
  for (const auto& [argument, value] : {std::pair{"m", m}, {"n", n}, {"k", k}})
    if (value < 1)
      return problem::refused(
          fmt::format("{} = {}: there is nothing to measure, it must be at least 1.", argument, value));
  const BenchShape shape = problem::lower(problem).shape;
  if (const auto plans = choice::choose(shape, choice::h200(), plan); !plans) return plans.status();
  return shape;
}

Status bench_ready(bool needs_peer) {
  const auto missing = [](std::string sentence) { return Status(Code::missing, std::move(sentence)); };
  if (const Status& driver = gpu::driver_status(); !driver)
    return missing("bench needs an NVIDIA GPU and its driver: " + driver.message());
  const auto gpus = gpu::list_gpus();
  if (gpus.empty()) return missing("bench needs an NVIDIA GPU, and none was found.");
  if (gpus.front().cc_major != 9)
    return missing(fmt::format("bench needs a GPU of compute capability 9.0; {} has {}.{}.", gpus.front().name,
                               gpus.front().cc_major, gpus.front().cc_minor));
  return needs_peer ? peer_status() : Status();
}

namespace {

// Both sum in fp32 in their own order and round to 16 bits once; the tensor core's sums of 8-bit products have 14 bits.
double largest_difference(const BenchShape& shape) { return bits(shape.dtype) == 8 ? 3e-2 : 1e-2; }

// What the library would compile one after the other, at the first use of each.
void compile_chosen(std::span<const BenchShape> shapes, const BenchOptions& options) {
  const auto device = gpu::this_device();
  gpu::require(device.status());
  const choice::Chip chip{device->name, device->multiprocessors, device->arch, device->driver};
  std::vector<catalog::Instance> chosen;
  for (const BenchShape& shape : shapes) {
    const GemmProblem problem = problem_of(shape, options.plan, {options.dependent, options.constant_b});
    if (const auto decision = choice::choose(problem, chip)) chosen.push_back(decision->choice.instance);
  }
  (void)gpu::compile(chosen);  // what does not compile says so when it is used
}

void bench_one(const BenchShape& shape, const BenchOptions& options, const gpu::GpuInfo& gpu, BenchReport& report,
               const std::function<void(const BenchRow&)>& done) {
  const size_t first = report.rows.size();
  PeerGemm peer;
  const Status prepared = peer.prepare(shape.m, shape.n, shape.k, shape.dtype);
  if (prepared.code() == Code::unsupported) {
    ++report.peer_refused;
    return;
  }
  gpu::require(prepared);
  const gpu::Stream stream;
  const Operands operands(shape, uint64_t(options.cache_multiple * double(gpu.l2_bytes)));
  const Ours ours(shape, options.plan, {options.dependent, options.constant_b}, operands);
  const LaunchSet our_launch = ours.launch(), peers = peer_launch(peer, operands);

  BenchRow row;
  row.shape = shape;
  row.plan = ours.name();
  row.origin = ours.origin();
  row.operand_sets = operands.sets();
  row.early = early_share(our_launch, operands.sets(), stream);
  row.difference = compare_results(our_launch, peers, operands, stream);
  row.wrong = !(row.difference <= largest_difference(shape));
  const auto add = [&](BenchRow finished, BenchMode mode) {
    finished.mode = mode;
    report.rows.push_back(finished);
    done(finished);
  };
  if (row.wrong) return add(row, options.modes.front());
  for (const BenchMode mode : options.modes) {
    // Each finalist against us in full rounds: the peer's best is the one against which we look worst.
    BenchRow worst;
    for (const int choice : finalists(peer, peers, operands.sets(), mode, size_t(options.finalists), stream)) {
      peer.choose(choice);
      BenchRow against = row;
      against.peer_choice = choice;
      against.peer_early = early_share(peers, operands.sets(), stream);
      summarize(against, measure_pair(our_launch, peers, operands.sets(), mode, options, stream));
      if (worst.ratio == 0 || against.ratio < worst.ratio) worst = against;
    }
    add(worst, mode);
  }
  mark_counting(report.rows, first);
}

}  // namespace

Status bench_dense(const std::vector<BenchShape>& shapes, const BenchOptions& options, BenchReport& report,
                   const std::function<void(const BenchRow&)>& row) {
  if (Status s = bench_ready(); !s) return s;
  const gpu::GpuInfo gpu = gpu::list_gpus().front();
  report = {};
  report.device = gpu.name;
  report.peer = peer_version();
  report.l2_bytes = gpu.l2_bytes;
  try {
    report.copy_gbps = copy_gbps(gpu::Stream());
    const Budget budget(options.budget_s);
    for (size_t i = 0; i < shapes.size(); ++i) {
      if (budget.spent()) {
        ++report.left_out;
        continue;
      }
      constexpr size_t together = 32;
      if (i % together == 0) compile_chosen(std::span(shapes).subspan(i, std::min(together, shapes.size() - i)), options);
      bench_one(shapes[i], options, gpu, report, row);
    }
  } catch (const gpu::Failure& failure) {
    return Status(Code::failed, failure.what());
  }
  summarize(report);
  return {};
}

Status time_plans(const BenchShape& shape, std::vector<PlanTime>& times) {
  if (Status s = bench_ready(); !s) return s;
  constexpr double brief_s = 0.008, gap_s = 0.001;
  constexpr int launches = 9;
  times.clear();
  try {
    const gpu::GpuInfo gpu = gpu::list_gpus().front();
    const gpu::Stream stream;
    const Operands operands(shape, uint64_t(BenchOptions{}.cache_multiple * double(gpu.l2_bytes)));
    const auto measure = [&](PlanTime time, const LaunchSet& launch) {
      time.sustained_us = brief_us(launch, operands.sets(), stream, brief_s);
      time.cool_us = CoolLaunch(launch, operands.sets(), stream).several(launches, gap_s);
      times.push_back(time);
    };
    PeerGemm peer;
    gpu::require(peer.prepare(shape.m, shape.n, shape.k, shape.dtype));
    const LaunchSet peers = peer_launch(peer, operands);
    peer.choose(finalists(peer, peers, operands.sets(), BenchMode::sustained, 1, stream).front());
    measure({"", "cuBLASLt"}, peers);
    for (const catalog::Instance& instance : choice::candidates(shape, choice::OnDemand::refused)) {
      const Ours ours(shape, catalog::plan_name(instance), {}, operands);
      measure({ours.name(), choice::plan_text(instance), 0, 0, choice::estimate(instance, shape, gpu.sm_count).us},
              ours.launch());
    }
  } catch (const gpu::Failure& failure) {
    return Status(Code::failed, failure.what());
  }
  return {};
}

Status profile_dense(const BenchShape& shape, const std::string& plan, int peer_choice) {
  if (Status s = bench_ready(); !s) return s;
  try {
    const gpu::Stream stream;
    const Operands operands(shape, 1);
    PeerGemm peer;
    gpu::require(peer.prepare(shape.m, shape.n, shape.k, shape.dtype));
    if (peer_choice >= peer.choices())
      return Status(Code::invalid_argument, fmt::format("cuBLASLt offers {} algorithms; number {} does not exist.",
                                                        peer.choices(), peer_choice));
    peer.choose(peer_choice);
    const Ours ours(shape, plan, {}, operands);
    const LaunchSet launches[2] = {ours.launch(), peer_launch(peer, operands)};
    for (const LaunchSet& launch : launches) launch(0, stream);
    stream.synchronize();
    gpu::require(gpu::driver().profiler_start(), "the start of the profiler");
    for (const LaunchSet& launch : launches) launch(1, stream);
    stream.synchronize();
    gpu::require(gpu::driver().profiler_stop(), "the end of the profiler");
  } catch (const gpu::Failure& failure) {
    return Status(Code::failed, failure.what());
  }
  return {};
}

}  // namespace warpwright::measure
