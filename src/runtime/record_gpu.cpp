#include "runtime/record_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/launcher.h"
#include "device/recorded.h"

#if WW_HAVE_CUDA
#include <chrono>
#include <thread>

#include "jit/loaded.h"
#include "runtime/gpu_memory.h"
#include "runtime/host_kernels.h"
#include "warpwright/record_launch.h"
#endif

namespace warpwright::runtime {
namespace {

struct Named {
  const char* example;
  std::variant<DenseGemmConfig, SkinnyGemmConfig> config;
};

// The examples of the simulator that are plain products on Hopper.
const std::vector<Named>& named() {
  static const std::vector<Named> list = {
      {"gemm_sm90", device::kRecordedDenseGemmSm90},
      {"gemm_sm90_single", DenseGemmConfig{.tile_m = 128, .tile_n = 256, .stages = 4, .cluster = 1}},
      {"gemm_sm90_three", deepest(DenseGemmConfig{.tile_m = 192, .tile_n = 192})},
      {"gemm_sm90_144", deepest(DenseGemmConfig{.tile_m = 128, .tile_n = 144})},
      {"gemm_sm90_across", deepest(DenseGemmConfig{.tile_m = 128, .tile_n = 64, .axis = ClusterAxis::n})},
      {"gemm_sm90_small", DenseGemmConfig{.tile_m = 64, .tile_n = 64, .stages = 4, .cluster = 1}},
      {"skinny_gemm", deepest(SkinnyGemmConfig{.rows = 64, .tokens = 16, .split = 1})},
      {"skinny_gemm_split", deepest(SkinnyGemmConfig{.rows = 64, .tokens = 8, .split = 4})},
      {"skinny_gemm_wide", deepest(SkinnyGemmConfig{.rows = 128, .tokens = 64, .split = 2})},
      {"skinny_gemm_tiles", deepest(SkinnyGemmConfig{.rows = 128, .tokens = 128, .split = 2})},
  };
  return list;
}

constexpr size_t kMostBars = 60'000;  // a page with more is slow

Status cannot_record(const Kernel& kernel) {
  if (kernel.dense() != nullptr && kernel.dense()->split != DepthSplit::none) {
    return Status(Code::unsupported, "a kernel whose clusters share the depth of a tile is not recorded.");
  }
  return {};
}

}  // namespace

const Example* example_of(const Kernel& kernel) {
  for (const Named& n : named()) {
    if (n.config == kernel.config) return find_example(n.example);
  }
  return nullptr;
}

std::optional<Kernel> kernel_of_example(const std::string& name) {
  for (const Named& n : named()) {
    if (name != n.example) continue;
    for (int plan = 0; plan < plan_count(); ++plan) {
      if (kernel_of(plan).config == n.config) return kernel_of(plan);
    }
    return Kernel{n.config};
  }
  return {};
}

int ctas_of(const Kernel& kernel, Case s, int multiprocessors) {
  const int64_t tiles = kernel.dense() != nullptr ? kernel.dense()->tiles(int(s.m), int(s.n))
                                                  : kernel.skinny()->tiles(int(s.m), int(s.n));
  return int(std::min<int64_t>(tiles, multiprocessors / kernel.cluster())) * kernel.cluster();
}

Result<Kernel> recordable(const GemmShape& shape, const Chip& chip, const std::string& plan) {
  if (!plan.empty()) {
    auto kernel = kernel_of_example(plan);
    if (!kernel) {
      auto parsed = parse_plan(plan, shape);
      if (!parsed) return parsed.status();
      kernel = *parsed;
    }
    if (!can_serve(*kernel, shape)) {
      return Status(Code::unsupported, fmt::format("plan {}: it does not compute {}.", plan, shape.text()));
    }
    if (Status s = cannot_record(*kernel); !s) return s;
    return *kernel;
  }
  const auto usual = choose(shape, chip, "", OnDemand::refused);
  if (!usual) return usual.status();
  if (cannot_record(usual->kernel).ok()) return usual->kernel;
  std::optional<Kernel> best;
  double least = 0;
  for (const Kernel& k : candidates(shape, OnDemand::refused)) {
    if (!cannot_record(k).ok() || !is_modelled(k)) continue;
    const double us = estimate(k, shape, chip.multiprocessors).us;
    if (best && us >= least) continue;
    best = k;
    least = us;
  }
  if (!best) return cannot_record(usual->kernel);
  return *best;
}

TimelineRun timeline_run(const GpuRecording& r, const std::string& kernel, const std::string& problem) {
  size_t bars = 0;
  int most_ctas = 0;
  for (size_t i = 0; i < r.recording.events.size() && bars < kMostBars; ++i) {
    bars += r.recording.events[i].size();
    most_ctas = int(i) / r.plan.warps + 1;
  }
  const RecordedTimeline t = timeline_of(r.plan, r.recording, r.ns_per_cycle, most_ctas);
  TimelineRun run{model_of(t.result), {kernel, std::string(name(r.plan.arch)), problem, ""}};
  run.model.end = std::max<int64_t>(run.model.end, std::llround(t.us * 1e3));
  // Nobody knows when a load has landed that nobody waited for.
  for (TimelineCounter& c : run.model.counters) {
    constexpr std::string_view full = " stages full";
    if (c.name.ends_with(full)) c.name.replace(c.name.size() - full.size(), full.size(), " stages seen full");
  }
  run.info.times = fmt::format("measured on {} by timestamps in the kernel", r.device);
  // Each event holds up the warp that writes it.
  if (r.plain_us > 0) {
    run.info.times +=
        fmt::format(", with which the launch takes {:.1f} us instead of {:.1f} us", r.recorded_us, r.plain_us);
  }
  if (t.shown < t.ctas) run.info.times += fmt::format("; the first {} of {} CTAs", t.shown, t.ctas);
  if (t.lost > 0) run.info.times += fmt::format("; {} events were lost", t.lost);
  return run;
}

#if WW_HAVE_CUDA
namespace {

constexpr int kTimedLaunches = 11;
constexpr std::chrono::milliseconds kIdle(5);
constexpr uint32_t kLeastEvents = 512, kMostEvents = 32768;

Array matrix(const char* name, DType type, int64_t rows, int64_t columns, uint64_t seed) {
  Array array{name, type, rows, columns, false, {}, false};
  array.bytes.resize(array.size());
  fill(array, Data::normal, seed);
  return array;
}

DeviceMemory on_device(const Array& array) {
  DeviceMemory memory(array.bytes.size());
  require(cudaMemcpy(memory.data(), array.bytes.data(), array.bytes.size(), cudaMemcpyHostToDevice),
          "the copy of the operands");
  return memory;
}

template <class Args, class Config>
Args filled(const Config& config, Case s, void* a, void* b, void* d) {
  Args args;
  require(fill(args, config, a, b, d, int(s.m), int(s.n), int(s.k), 1.f, EncodeForGpu{}));
  return args;
}
api::KernelArgs arguments(const Kernel& kernel, Case s, void* a, void* b, void* d) {
  if (kernel.dense() != nullptr) return filled<DenseGemmArgs>(*kernel.dense(), s, a, b, d);
  return filled<SkinnyGemmArgs>(*kernel.skinny(), s, a, b, d);
}

// A kernel with timestamps: the one compiled ahead, or one that is compiled now.
class RecordedKernel {
 public:
  static Result<RecordedKernel> of(const Kernel& kernel, int device) {
    RecordedKernel k;
    if (kernel.dense() != nullptr && *kernel.dense() == device::kRecordedDenseGemmSm90) {
      k.clusters_ = device::recorded_dense_gemm_sm90_clusters();
    } else {
      const jit::Source source = kernel.dense() != nullptr ? jit::source_of(*kernel.dense(), jit::Timestamps::on)
                                                           : jit::source_of(*kernel.skinny(), jit::Timestamps::on);
      const auto loaded = jit::LoadedKernel::get(source, plan_of(kernel));
      if (!loaded) return loaded.status();
      k.loaded_ = *loaded;
      const auto clusters = k.loaded_->prepare(device);
      if (!clusters) return clusters.status();
      k.clusters_ = *clusters;
    }
    if (k.clusters_ == 0) return Status(Code::failed, "the kernel with timestamps does not fit the device.");
    return k;
  }
  int clusters() const { return clusters_; }
  void launch(const api::KernelArgs& args, const record::Buffers& buffers, int ctas, const Stream& stream) const {
    if (loaded_ == nullptr) {
      require(device::launch_recorded_dense_gemm_sm90(std::get<DenseGemmArgs>(args), buffers, ctas, stream.get()));
      return;
    }
    const void* const bytes = std::visit([](const auto& a) -> const void* { return &a; }, args);
    require(loaded_->launch(bytes, buffers, unsigned(ctas), stream.get()), "the launch of a compiled kernel");
  }

 private:
  const jit::LoadedKernel* loaded_ = nullptr;
  int clusters_ = 0;
};

// Enough for the events of each stage and of each tile that a CTA works on.
uint32_t capacity_for(const Kernel& kernel, Case s, int ctas) {
  const int64_t depth = kernel.dense() != nullptr ? kernel.dense()->tile_k() : kernel.skinny()->tile_k();
  const int64_t tiles = kernel.dense() != nullptr ? kernel.dense()->tiles(int(s.m), int(s.n))
                                                  : kernel.skinny()->tiles(int(s.m), int(s.n));
  const int64_t clusters = std::max(1, ctas / kernel.cluster());
  const int64_t rounds = (tiles + clusters - 1) / clusters;
  const int64_t wanted = rounds * (8 * (s.k / depth + 1) + 96);
  return uint32_t(std::clamp<int64_t>((wanted + 7) / 8 * 8, kLeastEvents, kMostEvents));
}

Status run(const Kernel& kernel, Case s, uint64_t seed, const api::Device& device, GpuRecording& out) {
  auto plain = api::Launcher::prepare(kernel, device);
  if (!plain) return plain.status();
  auto recorded = RecordedKernel::of(kernel, device.number);
  if (!recorded) return recorded.status();
  const DType type = kernel.dense() != nullptr ? kernel.dense()->type : kernel.skinny()->type;
  const DType b_type = kernel.dense() != nullptr ? kernel.dense()->b_type() : type;
  const DType result = kernel.dense() != nullptr ? kernel.dense()->out_type() : kernel.skinny()->out_type();
  const DeviceMemory a = on_device(matrix("A", type, s.m, s.k, seed)),
                     b = on_device(matrix("B", b_type, s.n, s.k, seed + 1));
  const size_t bytes = size_t(s.m) * size_t(s.n) * size_t(bits(result)) / 8;
  const DeviceMemory want(bytes), have(bytes);
  require(cudaMemset(want.data(), 0xff, bytes), "cudaMemset");
  require(cudaMemset(have.data(), 0x55, bytes), "cudaMemset");
  const api::KernelArgs without = arguments(kernel, s, a.data(), b.data(), want.data()),
                        with = arguments(kernel, s, a.data(), b.data(), have.data());

  const Stream stream;
  const Event start, stop;
  std::vector<double> us;
  // A launch that follows another begins at once: the events around it see little but the kernel.
  for (int i = 0; i < kTimedLaunches; ++i) {
    std::this_thread::sleep_for(kIdle);
    for (int twice = 0; twice < 2; ++twice) {
      if (twice == 1) start.record(stream);
      if (Status status = plain->launch(without, stream.get(), 0, false); !status) return status;
    }
    stop.record(stream);
    stop.synchronize();
    us.push_back(stop.us_since(start));
  }
  std::nth_element(us.begin(), us.begin() + kTimedLaunches / 2, us.end());
  out.plain_us = us[kTimedLaunches / 2];

  const int ctas = std::min(ctas_of(kernel, s, device.chip.multiprocessors), recorded->clusters() * kernel.cluster());
  const uint32_t capacity = capacity_for(kernel, s, ctas);
  const size_t warps = size_t(ctas) * size_t(out.plan.warps);
  const record::DeviceBuffers first(warps, capacity), second(warps, capacity);
  require(first.error(), "cudaMalloc of the lists of events");
  require(second.error(), "cudaMalloc of the lists of events");
  std::this_thread::sleep_for(kIdle);
  // The first launch warms the caches and, with the second, tells how fast the SMs' clocks run.
  recorded->launch(with, first.get(), ctas, stream);
  start.record(stream);
  recorded->launch(with, second.get(), ctas, stream);
  stop.record(stream);
  stop.synchronize();
  out.recorded_us = stop.us_since(start);
  Recording warm;
  require(first.fetch(warm), "the copy of the events");
  require(second.fetch(out.recording), "the copy of the events");
  out.ns_per_cycle = record::ns_per_cycle(warm.warps, out.recording.warps);

  std::vector<uint8_t> x(bytes), y(bytes);
  require(cudaMemcpy(x.data(), want.data(), bytes, cudaMemcpyDeviceToHost), "the copy of the result");
  require(cudaMemcpy(y.data(), have.data(), bytes, cudaMemcpyDeviceToHost), "the copy of the result");
  out.same = x == y;
  if (out.ns_per_cycle == 0) return Status(Code::failed, "the kernel with timestamps has written none.");
  return {};
}

}  // namespace

Status record_on_gpu(const Kernel& kernel, Case shape, uint64_t seed, GpuRecording& out) {
  out = {};
  if (Status s = cannot_record(kernel); !s) return s;
  const auto device = api::current_device();
  if (!device) return device.status();
  out.device = device->chip.name;
  out.plan = plan_of(kernel);
  try {
    return run(kernel, shape, seed, *device, out);
  } catch (const CudaFailure& failure) {
    return Status(Code::failed, failure.what());
  }
}

#else

Status record_on_gpu(const Kernel&, Case, uint64_t, GpuRecording&) { return api::current_device().status(); }

#endif

}  // namespace warpwright::runtime
