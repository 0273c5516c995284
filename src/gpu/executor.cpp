#include "gpu/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "gpu/devices.h"
#include "gpu/graph.h"
#include "gpu/maker.h"
#include "hip/driver.h"
#include "jit/compiler.h"
#include "system/on_cores.h"

namespace warpwright::gpu {
namespace {

Result<Device> describe_amd(int number) {
  const auto gpu = hip::describe(number);
  if (!gpu) return gpu.status();
  const auto arch = arch_of(gpu->architecture);
  if (!arch) {
    return Status(Code::missing, fmt::format("device {} ({}) is {}; for AMD there are kernels for gfx942 and gfx950.",
                                             number, gpu->name, hip::chip_of(gpu->architecture)));
  }
  return Device{number, gpu->name, gpu->compute_units, 0, 0, *arch, gpu->lds_bytes};
}

Result<Device> describe(int number) {
  if (maker() == Maker::amd) return describe_amd(number);
  const abi::Functions& cu = driver();
  const auto attribute = [&](int which) {
    int value = 0;
    (void)cu.device_attribute(&value, which, number);
    return value;
  };
  char name[256] = {};
  if (const abi::Result r = cu.device_name(name, int(sizeof name), number); r != abi::kSuccess) {
    return failure(r, "asking for the name of a device");
  }
  Device device{number, name, attribute(abi::kMultiprocessorCount), attribute(abi::kComputeCapabilityMajor),
                attribute(abi::kComputeCapabilityMinor)};
  const auto arch = arch_of(device.major, device.minor);
  if (!arch) {
    return Status(Code::missing, fmt::format("device {} ({}) has compute capability {}.{}; there are kernels for 8.0, "
                                             "8.6, 8.9, 9.0, 10.0, 10.3 and 12.0.",
                                             number, name, device.major, device.minor));
  }
  device.arch = *arch;
  device.shared_bytes = uint32_t(attribute(abi::kMaxSharedMemoryPerBlockOptin));
  (void)cu.driver_version(&device.driver);
  return device;
}

bool is_block_scaled(const catalog::Instance& instance) {
  if (const auto* c = instance.as<DenseGemmSm100Config>()) return c->scaled();
  const auto* c = instance.as<GroupedGemmSm100Config>();
  return c != nullptr && c->scaling != BlockScaling::none;
}

// A code object's kernel is called as the build calls it (cmake/cdna.cmake): "matmul_pingpong_bf16".
std::string amd_entry(const catalog::Instance& instance) {
  std::string name = catalog::image_name(instance);
  name.erase(0, name.find('/') + 1);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == '-'; }, '_');
  return name;
}

Result<std::unique_ptr<LoadedInstance>> load_amd(const catalog::Instance& instance, const Device& device) {
  const std::string name = catalog::image_name(instance);
  const Arch arch = catalog::arch_of(instance);
  if (arch != device.arch) {
    return Status(Code::missing, fmt::format("{} is for {}; device {} ({}) is {}.", name, warpwright::name(arch),
                                             device.number, device.name, device.kind()));
  }
  const auto image = embedded_image(name, warpwright::name(arch));
  if (image.empty()) {
    return Status(Code::missing, fmt::format("plan = {}: this build has no code object of it; those of "
                                             "src/catalog/cdna.def are compiled where clang++-22 and ld.lld-22 are.",
                                             name));
  }
  return LoadedInstance::load_amd(image, name, amd_entry(instance), catalog::block_plan(instance),
                                  sizeof(CdnaMatmulArgs), device.number, device.multiprocessors);
}

// A launch without work: the driver loads the kernel, and a launch it refuses is refused here.
Status warm_up(const LoadedInstance& loaded) {
  const std::vector<uint8_t> nothing(loaded.facts().argument_bytes, 0);
  return warm([&](void* stream) { return loaded.launch(nothing.data(), loaded.facts().cluster, stream, false); });
}

}  // namespace

std::string Device::kind() const {
  return is_cdna(arch) ? std::string(warpwright::name(arch)) : fmt::format("compute capability {}.{}", major, minor);
}

Result<Device> this_device() {
  const auto number = current_device();
  if (!number) return number.status();
  // The facts of a device never change; asking the driver takes a millisecond.
  static std::mutex mutex;
  static std::array<std::optional<Device>, 64> known;
  const std::lock_guard lock(mutex);
  if (size_t(*number) >= known.size()) return describe(*number);
  auto& entry = known[size_t(*number)];
  if (!entry) {
    auto found = describe(*number);
    if (!found) return found;
    entry = *found;
  }
  return *entry;
}

Result<Device> hopper_device() {
  auto device = this_device();
  if (device && device->arch != Arch::sm90) {
    return Status(Code::missing, fmt::format("device {} ({}) has {}; this needs 9.0, Hopper.", device->number,
                                             device->name, device->kind()));
  }
  return device;
}

ImageTarget target_of(const catalog::Instance& instance, const Device& device) {
  const std::string chip = fmt::format("sm_{}{}", device.major, device.minor);
  switch (catalog::arch_of(instance)) {
    case Arch::sm80: {
      if (device.arch == Arch::sm90) return {"sm_90a", "sm_90a"};
      const auto* c = instance.as<MmaSyncGemmConfig>();
      const bool narrow = c != nullptr && (c->type == DType::e4m3 || c->type == DType::e5m2);
      return {narrow ? "compute_89" : "compute_80", chip};
    }
    case Arch::sm100:
      // ptxas 13.0 has tcgen05.mma with block scales (.scale_vec) for one chip at a time, and the rest for a family.
      if (is_block_scaled(instance)) return {chip + "a", chip + "a"};
      return {"sm_100f", "sm_100f"};
    case Arch::gfx942:
    case Arch::gfx950:
      return {name(catalog::arch_of(instance)), ""};
    case Arch::sm90:
      break;
  }
  return {"sm_90a", "sm_90a"};
}

Result<const LoadedInstance*> ready(const catalog::Instance& instance, int device, Timestamps timestamps) {
  // Held while compiling: two threads that ask for one kernel compile it once.
  static std::mutex mutex;
  using Key = std::tuple<std::string, int, Timestamps>;
  static auto* const loaded = new std::map<Key, std::unique_ptr<LoadedInstance>>;
  const std::string name = catalog::image_name(instance);
  const std::lock_guard lock(mutex);
  const Key key(name, device, timestamps);
  if (const auto found = loaded->find(key); found != loaded->end()) return found->second.get();
  const auto here = this_device();
  if (!here) return here.status();
  if (is_cdna(here->arch) || is_cdna(catalog::arch_of(instance))) {
    auto fresh = load_amd(instance, *here);
    if (!fresh) return fresh.status();
    return loaded->emplace(key, std::move(*fresh)).first->second.get();
  }
  // The first call of a program may be one that is captured.
  const RelaxedCapture relaxed;
  const ImageTarget target = target_of(instance, *here);
  std::span<const uint8_t> image;
  if (timestamps == Timestamps::off) image = embedded_image(name, target.ahead);
  jit::Bytes compiled;
  if (image.empty()) {
    if (Status s = catalog::check_formula(instance); !s) return s;
    const std::string first = timestamps == Timestamps::on ? "#define WW_RECORD\n" : "";
    auto binary = jit::obtain({first + catalog::source_of(instance), target.on_demand});
    if (!binary) return binary.status();
    compiled = std::move(binary->cubin);
    image = compiled;
  }
  auto fresh = LoadedInstance::load(image, name, device);
  if (!fresh) return fresh.status();
  if (timestamps == Timestamps::off) {
    if (Status s = warm_up(**fresh); !s) return s;
  }
  return loaded->emplace(key, std::move(*fresh)).first->second.get();
}

Status compile(std::span<const catalog::Instance> list) {
  const auto device = this_device();
  if (!device) return device.status();
  std::vector<jit::Source> sources;
  for (const catalog::Instance& instance : list) {
    const ImageTarget target = target_of(instance, *device);
    if (is_cdna(device->arch) || !embedded_image(catalog::image_name(instance), target.ahead).empty()) continue;
    sources.push_back({catalog::source_of(instance), target.on_demand});
  }
  std::mutex mutex;
  Status first;
  system::on_cores(sources.size(), 0, [&](size_t i) {
    const auto binary = jit::obtain(sources[i]);
    const std::lock_guard lock(mutex);
    if (!binary && first) first = binary.status();
  });
  return first;
}

Status launch(const LoadedInstance& loaded, const catalog::Instance& instance, const launch::Arguments& arguments,
              void* stream, int sm_limit, bool dependent) {
  const int64_t clusters = launch::allowed_clusters(loaded.clusters(), int(loaded.facts().cluster), sm_limit);
  const auto ctas = launch::ctas_of(instance, arguments, clusters);
  if (!ctas) return ctas.status();
  if (*ctas == 0) return {};
  return loaded.launch(launch::bytes_of(arguments), *ctas, stream, dependent);
}

Status launch(const LoadedInstance& loaded, const void* arguments, int64_t work, void* stream, int sm_limit,
              bool dependent) {
  if (work == 0) return {};
  const auto cluster = int(loaded.facts().cluster);
  const int64_t clusters = std::min(launch::allowed_clusters(loaded.clusters(), cluster, sm_limit), work);
  return loaded.launch(arguments, unsigned(clusters * cluster), stream, dependent);
}

}  // namespace warpwright::gpu
