#include "gpu/quantize.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/executor.h"
#include "gpu/graph.h"
#include "gpu/image.h"
#include "launch/quantize.h"

namespace warpwright::gpu {
namespace {

using Kernels = std::vector<abi::KernelHandle>;  // by launch::quantize_entries()

Result<Kernels> load() {
  constexpr const char* name = "any/quantize";
  const auto device = this_device();
  if (!device) return device.status();
  const std::span<const uint8_t> bytes = embedded_image(name, device->arch == Arch::sm90 ? "sm_90a" : "compute_80");
  if (bytes.empty()) {
    return Status(Code::missing, "this build has no device code; install the CUDA toolkit 13 and build again.");
  }
  const auto image = Image::load(bytes, name);
  if (!image) return image.status();
  Kernels kernels;
  for (const std::string& entry : launch::quantize_entries()) {
    const auto kernel = image->kernel(entry.c_str());
    if (!kernel) return kernel.status();
    kernels.push_back(*kernel);
  }
  return kernels;
}

// Loaded once for each device. A failure is not kept: the next call may find what this one lacked.
Result<const Kernels*> loaded(int device) {
  static std::mutex mutex;
  static auto* const by_device = new std::map<int, Kernels>;
  const std::lock_guard lock(mutex);
  auto found = by_device->find(device);
  if (found == by_device->end()) {
    auto now = load();
    if (!now) return now.status();
    found = by_device->emplace(device, std::move(*now)).first;
  }
  return &found->second;
}

}  // namespace

Status quantize(Quantization kind, DType type, bool given_tensor_scale, const QuantizeArgs& args, void* stream) {
  const auto device = current_device();
  if (!device) return device.status();
  // The first launch of a kernel loads it.
  const RelaxedCapture relaxed;
  const auto kernels = loaded(*device);
  if (!kernels) return kernels.status();
  const launch::QuantizeSteps steps = launch::quantize_steps(kind, type, given_tensor_scale, args);
  for (int i = 0; i < steps.count; ++i) {
    const launch::QuantizeStep& step = steps.list[size_t(i)];
    QuantizeArgs all = args;
    void* list[] = {step.entry == launch::kBeginTensorScale ? static_cast<void*>(&all.tensor_scale) : &all};
    const Status s = launch((**kernels)[size_t(step.entry)], {step.across, step.down}, step.threads, 0, list, stream);
    if (!s) return Status(s.code(), fmt::format("the quantization could not be launched: {}", s.message()));
  }
  return {};
}

}  // namespace warpwright::gpu
