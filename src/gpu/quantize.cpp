#include "gpu/quantize.h"

#include <fmt/format.h>

#include "gpu/graph.h"
#include "gpu/image.h"
#include "gpu/own_kernels.h"
#include "launch/quantize.h"

namespace warpwright::gpu {

Status quantize(Quantization kind, DType type, bool given_tensor_scale, const QuantizeArgs& args, void* stream) {
  if (Status s = has_own_kernels("quantize"); !s) return s;
  // The first launch of a kernel loads it.
  const RelaxedCapture relaxed;
  const auto kernels = own_kernels("quantize", launch::quantize_entries());
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
