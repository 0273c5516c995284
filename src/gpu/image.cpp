#include "gpu/image.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/cubin.h"
#include "gpu/embedded.h"
#include "gpu/maker.h"

namespace warpwright::gpu {
namespace {

// What makes a launch: the grid, the cluster and whether it may start early.
class LaunchConfig {
 public:
  LaunchConfig(Grid grid, unsigned threads, unsigned shared_bytes, void* stream) {
    config_ = {{grid.x, grid.y, grid.z},         {threads, 1, 1}, shared_bytes,
               static_cast<abi::Stream>(stream), attributes_,     0};
  }
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  void cluster(unsigned ctas) {
    abi::LaunchAttribute& a = attributes_[config_.attribute_count++];
    a.id = abi::kLaunchClusterDimension;
    a.value.cluster = {ctas, 1, 1};
  }
  void dependent() {
    abi::LaunchAttribute& a = attributes_[config_.attribute_count++];
    a.id = abi::kLaunchProgrammaticStreamSerialization;
    a.value.programmatic_stream_serialization = 1;
  }
  const abi::LaunchConfig* get() const { return &config_; }

 private:
  abi::LaunchAttribute attributes_[2] = {};
  abi::LaunchConfig config_ = {};
};

constexpr const char* kEntry = "warpwright_kernel";
constexpr unsigned kPortableCluster = 8;

}  // namespace

std::span<const uint8_t> embedded_image(std::string_view name, std::string_view target) {
  for (const EmbeddedImage& image : embedded_images()) {
    if (name == image.name && target == image.target) return {image.begin, image.end};
  }
  return {};
}

Result<Image> Image::load(std::span<const uint8_t> bytes, std::string_view name) {
  if (const auto device = current_device(); !device) return device.status();
  abi::Library library = nullptr;
  if (const abi::Result r = driver().library_load(&library, bytes.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
      r != abi::kSuccess) {
    return failure(r, fmt::format("loading {}", name).c_str());
  }
  return Image(library, std::string(name));
}

Result<abi::KernelHandle> Image::kernel(const char* entry) const {
  abi::KernelHandle kernel = nullptr;
  if (const abi::Result r = driver().library_kernel(&kernel, library_, entry); r != abi::kSuccess) {
    return failure(r, fmt::format("{}: finding {}", name_, entry).c_str());
  }
  return kernel;
}

Status launch(abi::KernelHandle kernel, Grid grid, unsigned threads, unsigned shared_bytes, void** arguments,
              void* stream) {
  const LaunchConfig config(grid, threads, shared_bytes, stream);
  return status_of(driver().launch(config.get(), kernel, arguments, nullptr), "the launch of a kernel");
}

Result<std::unique_ptr<LoadedInstance>> LoadedInstance::load(std::span<const uint8_t> bytes, std::string_view name,
                                                             int device) {
  const auto image = Image::load(bytes, name);
  if (!image) return image.status();
  auto loaded = std::make_unique<LoadedInstance>();
  const auto kernel = image->kernel(kEntry);
  if (!kernel) return kernel.status();
  loaded->kernel_ = *kernel;
  loaded->device_ = device;
  const auto known = facts_of(bytes);
  if (!known) return known.status();
  const InstanceFacts& facts = loaded->facts_ = *known;
  const abi::Functions& cu = driver();
  const auto what = fmt::format("making {} ready", name);
  if (const abi::Result r =
          cu.kernel_attribute(abi::kFunctionMaxDynamicSharedBytes, int(facts.shared_bytes), *kernel, device);
      r != abi::kSuccess) {
    return failure(r, what.c_str());
  }
  if (facts.cluster > kPortableCluster) {
    if (const abi::Result r = cu.kernel_attribute(abi::kFunctionNonPortableClusterSize, 1, *kernel, device);
        r != abi::kSuccess) {
      return failure(r, what.c_str());
    }
  }
  int count = 0;
  if (facts.cluster > 1) {
    LaunchConfig config({facts.cluster}, facts.threads, facts.shared_bytes, nullptr);
    config.cluster(facts.cluster);
    if (const abi::Result r = cu.resident_clusters(&count, *kernel, config.get()); r != abi::kSuccess) {
      return failure(r, what.c_str());
    }
  } else {
    int multiprocessors = 0;
    abi::Result r = cu.device_attribute(&multiprocessors, abi::kMultiprocessorCount, device);
    if (r == abi::kSuccess) r = cu.resident_blocks(&count, *kernel, int(facts.threads), facts.shared_bytes);
    if (r != abi::kSuccess) return failure(r, what.c_str());
    count *= multiprocessors;
  }
  if (count == 0) return Status(Code::failed, fmt::format("{} does not fit the device.", name));
  loaded->clusters_ = count;
  return loaded;
}

Result<std::unique_ptr<LoadedInstance>> LoadedInstance::load_amd(std::span<const uint8_t> bytes,
                                                                 const std::string& name, const std::string& entry,
                                                                 const BlockPlan& plan, size_t argument_bytes,
                                                                 int device, int compute_units) {
  const auto kernel = hip::load_kernel(bytes, name, entry);
  if (!kernel) return kernel.status();
  auto loaded = std::make_unique<LoadedInstance>();
  loaded->amd_kernel_ = *kernel;
  loaded->facts_ = facts_of(plan, argument_bytes);
  loaded->device_ = device;
  loaded->clusters_ = std::max(1, compute_units);
  const InstanceFacts& facts = loaded->facts_;
  // It addresses its LDS by number and counts on every wave.
  if (kernel->most_threads < int(facts.threads) || kernel->lds_bytes < int(facts.shared_bytes)) {
    return Status(Code::failed,
                  fmt::format("{}: the code object has at most {} threads and {} bytes of LDS, its plan "
                              "{} and {}.",
                              name, kernel->most_threads, kernel->lds_bytes, facts.threads, facts.shared_bytes));
  }
  return loaded;
}

Status LoadedInstance::put(void** arguments, unsigned ctas, void* stream, bool dependent) const {
  LaunchConfig config({ctas}, facts_.threads, facts_.shared_bytes, stream);
  if (facts_.cluster > 1) config.cluster(facts_.cluster);
  if (dependent) config.dependent();
  return status_of(driver().launch(config.get(), kernel_, arguments, nullptr), "the launch of a kernel");
}

Status LoadedInstance::launch(const void* arguments, unsigned ctas, void* stream, bool dependent) const {
  if (amd_kernel_.function != nullptr) {
    return hip::launch(amd_kernel_, ctas, facts_.threads, arguments, facts_.argument_bytes, stream);
  }
  void* list[] = {const_cast<void*>(arguments)};
  return put(list, ctas, stream, dependent);
}
Status LoadedInstance::launch_recorded(const void* arguments, const record::Buffers& buffers, unsigned ctas,
                                       void* stream) const {
  record::Buffers copy = buffers;
  void* list[] = {const_cast<void*>(arguments), &copy};
  return put(list, ctas, stream, false);
}

}  // namespace warpwright::gpu
