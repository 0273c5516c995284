#include "gpu/own_kernels.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>

#include "gpu/executor.h"
#include "gpu/image.h"

namespace warpwright::gpu {
namespace {

Result<KernelList> load_kernels(const std::string& name, std::span<const std::string> entries, const Device& device) {
  const std::string full = "any/" + name;
  const auto bytes = embedded_image(full, device.arch == Arch::sm90 ? "sm_90a" : "compute_80");
  if (bytes.empty()) {
    return Status(Code::missing, "this build has no device code; install the CUDA toolkit 13 and build again.");
  }
  const auto image = Image::load(bytes, full);
  if (!image) return image.status();
  KernelList kernels;
  for (const std::string& entry : entries) {
    const auto kernel = image->kernel(entry.c_str());
    if (!kernel) return kernel.status();
    kernels.push_back(*kernel);
  }
  return kernels;
}

}  // namespace

Status has_own_kernels(const std::string& name) {
  const auto device = this_device();
  if (!device || !is_cdna(device->arch)) return device.status();
  return Status(Code::unsupported, fmt::format("device {} ({}) is {}: the kernels of {} are for NVIDIA GPUs alone.",
                                               device->number, device->name, device->kind(), name));
}

Result<const KernelList*> own_kernels(const std::string& name, std::span<const std::string> entries) {
  if (Status s = has_own_kernels(name); !s) return s;
  const auto device = this_device();
  static std::mutex mutex;
  static auto* const loaded = new std::map<std::pair<std::string, int>, KernelList>;
  const std::lock_guard lock(mutex);
  const std::pair key(name, device->number);
  auto found = loaded->find(key);
  if (found == loaded->end()) {
    auto now = load_kernels(name, entries, *device);
    if (!now) return now.status();
    found = loaded->emplace(key, std::move(*now)).first;
  }
  return &found->second;
}

}  // namespace warpwright::gpu
