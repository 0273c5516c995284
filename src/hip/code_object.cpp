#include "hip/code_object.h"

#include <fmt/format.h>

#include <cstddef>
#include <limits>

#include "hip/driver.h"

namespace warpwright::hip {

Result<Kernel> load_kernel(std::span<const uint8_t> image, const std::string& name, const std::string& entry) {
  if (const auto device = current_device(); !device) return device.status();
  const abi::Functions& hip = driver();
  abi::Module module = nullptr;
  if (const abi::Result r = hip.module_load(&module, image.data()); r != abi::kSuccess) {
    return failure(r, fmt::format("loading {}", name).c_str());
  }
  Kernel kernel;
  if (const abi::Result r = hip.module_function(&kernel.function, module, entry.c_str()); r != abi::kSuccess) {
    return failure(r, fmt::format("{}: finding {}", name, entry).c_str());
  }
  abi::Result r = hip.function_attribute(&kernel.most_threads, abi::kFunctionMaxThreads, kernel.function);
  if (r == abi::kSuccess) r = hip.function_attribute(&kernel.lds_bytes, abi::kFunctionSharedBytes, kernel.function);
  if (r != abi::kSuccess) return failure(r, fmt::format("making {} ready", name).c_str());
  return kernel;
}

Status launch(const Kernel& kernel, uint64_t groups, unsigned threads, const void* arguments, size_t bytes,
              void* stream) {
  // hip_module.cpp of ROCm/clr: groups are counted in 31 bits, work-items in 32.
  constexpr uint64_t most_groups = std::numeric_limits<int32_t>::max(), most = std::numeric_limits<uint32_t>::max();
  if (groups > most_groups || groups * threads > most) {
    return Status(Code::unsupported, fmt::format("grid = {}: workgroups of {} threads are at most {}, since HIP counts "
                                                 "the work-items of a launch in 32 bits.",
                                                 groups, threads, most / threads));
  }
  void* list[] = {abi::launch_word(abi::kBufferPointer), const_cast<void*>(arguments),
                  abi::launch_word(abi::kBufferSize), &bytes, abi::launch_word(abi::kBufferEnd)};
  const abi::Result r = driver().launch(kernel.function, unsigned(groups), 1, 1, threads, 1, 1, 0,
                                        static_cast<abi::Stream>(stream), nullptr, list);
  return r == abi::kSuccess ? Status() : failure(r, "the launch of a kernel");
}

}  // namespace warpwright::hip
