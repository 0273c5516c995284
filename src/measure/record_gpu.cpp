#include "measure/record_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "gpu/executor.h"
#include "gpu/memory.h"
#include "gpu/require.h"
#include "gpu/tensor_map.h"
#include "launch/grid.h"
#include "launch/host_kernels.h"
#include "measure/record_buffers.h"
#include "measure/timed_launches.h"

namespace warpwright::measure {
namespace {

Status cannot_record(const catalog::Instance& instance) {
  const auto* const dense = instance.as<DenseGemmConfig>();
  if (dense != nullptr && dense->split != DepthSplit::none) {
    return Status(Code::unsupported, "a kernel whose clusters share the depth of a tile is not recorded.");
  }
  return {};
}

}  // namespace

namespace {
int64_t tiles_of(const catalog::Instance& instance, reference::Case s) {
  if (const auto* c = instance.as<DenseGemmConfig>()) return c->tiles(int(s.m), int(s.n));
  return instance.as<SkinnyGemmConfig>()->tiles(int(s.m), int(s.n));
}
}  // namespace

int ctas_of(const catalog::Instance& instance, reference::Case s, int multiprocessors) {
  const int cluster = choice::cluster_of(instance);
  return int(std::min<int64_t>(tiles_of(instance, s), multiprocessors / cluster)) * cluster;
}

Result<catalog::Instance> recordable(const problem::GemmShape& shape, const choice::Chip& chip,
                                     const std::string& plan) {
  if (!plan.empty()) {
    auto named = choice::parse_plan(plan, shape);
    if (!named) return named.status();
    if (Status s = cannot_record(*named); !s) return s;
    return *named;
  }
  const auto usual = choice::choose(shape, chip, "", choice::OnDemand::refused);
  if (!usual) return usual.status();
  if (cannot_record(usual->instance).ok()) return usual->instance;
  std::optional<catalog::Instance> best;
  double least = 0;
  for (const catalog::Instance& other : choice::candidates(shape, choice::OnDemand::refused)) {
    if (!cannot_record(other).ok() || !choice::is_modelled(other)) continue;
    const double us = choice::estimate(other, shape, chip.multiprocessors).us;
    if (best && us >= least) continue;
    best = other;
    least = us;
  }
  if (!best) return cannot_record(usual->instance);
  return *best;
}

namespace {

constexpr uint32_t kLeastEvents = 512, kMostEvents = 32768;

reference::Array matrix(const char* name, DType type, int64_t rows, int64_t columns, uint64_t seed) {
  reference::Array array{name, type, rows, columns, false, {}, false};
  array.bytes.resize(array.size());
  reference::fill(array, reference::Data::normal, seed);
  return array;
}

gpu::DeviceMemory on_device(const reference::Array& array) {
  gpu::DeviceMemory memory(array.bytes.size());
  gpu::copy_to_device(memory.data(), array.bytes.data(), array.bytes.size(), "the copy of the operands");
  return memory;
}

template <class Args, class Config>
Args filled(const Config& config, reference::Case s, void* a, void* b, void* d) {
  Args args;
  gpu::require(launch::fill(args, config, a, b, d, int(s.m), int(s.n), int(s.k), 1.f, gpu::map_encoder()));
  return args;
}
launch::Arguments arguments(const catalog::Instance& instance, reference::Case s, void* a, void* b, void* d) {
  if (const auto* c = instance.as<DenseGemmConfig>()) return filled<DenseGemmArgs>(*c, s, a, b, d);
  return filled<SkinnyGemmArgs>(*instance.as<SkinnyGemmConfig>(), s, a, b, d);
}

// Enough for the events of each stage and of each tile that a CTA works on.
uint32_t capacity_for(const catalog::Instance& instance, reference::Case s, int ctas) {
  const auto* const dense = instance.as<DenseGemmConfig>();
  const int64_t depth = dense != nullptr ? dense->tile_k() : instance.as<SkinnyGemmConfig>()->tile_k();
  const int64_t clusters = std::max(1, ctas / choice::cluster_of(instance));
  const int64_t rounds = (tiles_of(instance, s) + clusters - 1) / clusters;
  const int64_t wanted = rounds * (8 * (s.k / depth + 1) + 96);
  return uint32_t(std::clamp<int64_t>((wanted + 7) / 8 * 8, kLeastEvents, kMostEvents));
}

Status run(const catalog::Instance& instance, reference::Case s, uint64_t seed, const gpu::Device& device,
           timeline::GpuRecording& out) {
  const auto plain = gpu::ready(instance, device.number);
  if (!plain) return plain.status();
  const auto recorded = gpu::ready(instance, device.number, gpu::Timestamps::on);
  if (!recorded) return recorded.status();
  const auto* const dense = instance.as<DenseGemmConfig>();
  const auto* const skinny = instance.as<SkinnyGemmConfig>();
  const DType type = dense != nullptr ? dense->type : skinny->type;
  const DType b_type = dense != nullptr ? dense->b_type() : type;
  const DType result = dense != nullptr ? dense->out_type() : skinny->out_type();
  const gpu::DeviceMemory a = on_device(matrix("A", type, s.m, s.k, seed)),
                          b = on_device(matrix("B", b_type, s.n, s.k, seed + 1));
  const size_t bytes = size_t(s.m) * size_t(s.n) * size_t(bits(result)) / 8;
  const gpu::DeviceMemory want(bytes), have(bytes);
  gpu::set_bytes(want.data(), 0xff, bytes);
  gpu::set_bytes(have.data(), 0x55, bytes);
  const launch::Arguments without = arguments(instance, s, a.data(), b.data(), want.data()),
                          with = arguments(instance, s, a.data(), b.data(), have.data());

  const gpu::Stream stream;
  const gpu::Event start, stop;
  std::vector<double> us;
  // A launch that follows another begins at once: the events around it see little but the kernel.
  for (int i = 0; i < kTimedLaunches; ++i) {
    std::this_thread::sleep_for(kIdle);
    for (int twice = 0; twice < 2; ++twice) {
      if (twice == 1) start.record(stream);
      if (Status status = gpu::launch(**plain, instance, without, stream.get(), 0, false); !status) return status;
    }
    stop.record(stream);
    stop.synchronize();
    us.push_back(stop.us_since(start));
  }
  std::nth_element(us.begin(), us.begin() + kTimedLaunches / 2, us.end());
  out.plain_us = us[kTimedLaunches / 2];

  const int ctas =
      std::min(ctas_of(instance, s, device.multiprocessors), (*recorded)->clusters() * choice::cluster_of(instance));
  const uint32_t capacity = capacity_for(instance, s, ctas);
  const auto record = [&](const RecordBuffers& buffers) {
    gpu::require((*recorded)->launch_recorded(launch::bytes_of(with), buffers.get(), unsigned(ctas), stream.get()));
  };
  const size_t warps = size_t(ctas) * size_t(out.plan.warps);
  const RecordBuffers first(warps, capacity), second(warps, capacity);
  std::this_thread::sleep_for(kIdle);
  // The first launch warms the caches and, with the second, tells how fast the SMs' clocks run.
  record(first);
  start.record(stream);
  record(second);
  stop.record(stream);
  stop.synchronize();
  out.recorded_us = stop.us_since(start);
  timeline::Recording warm;
  first.fetch(warm);
  second.fetch(out.recording);
  out.ns_per_cycle = record::ns_per_cycle(warm.warps, out.recording.warps);

  std::vector<uint8_t> x(bytes), y(bytes);
  gpu::copy_to_host(x.data(), want.data(), bytes, "the copy of the result");
  gpu::copy_to_host(y.data(), have.data(), bytes, "the copy of the result");
  out.same = x == y;
  if (out.ns_per_cycle == 0) return Status(Code::failed, "the kernel with timestamps wrote none.");
  return {};
}

}  // namespace

Status record_on_gpu(const catalog::Instance& instance, reference::Case shape, uint64_t seed,
                     timeline::GpuRecording& out) {
  out = {};
  if (Status s = cannot_record(instance); !s) return s;
  const auto device = gpu::hopper_device();
  if (!device) return device.status();
  out.device = device->name;
  out.plan = catalog::block_plan(instance);
  try {
    return run(instance, shape, seed, *device, out);
  } catch (const gpu::Failure& failure) {
    return Status(Code::failed, failure.what());
  }
}

}  // namespace warpwright::measure
