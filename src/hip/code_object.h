// AMD code objects in the HIP runtime: loaded once and launched from there.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "hip/abi.h"
#include "warpwright/status.h"

namespace warpwright::hip {

// A kernel on the device that was current when it was loaded. Its LDS is part of the code object: a launch asks for no
// more, so hipFuncSetAttribute, which knows a program's kernels but not a module's, is not needed.
struct Kernel {
  abi::Function function = nullptr;
  int most_threads = 0;  // the most threads that a workgroup may have
  int lds_bytes = 0;     // LDS of a workgroup, as the runtime has read it
};

// `image` must stay: the runtime may read it later. Never unloaded, since a plan may use it until the process ends.
Result<Kernel> load_kernel(std::span<const uint8_t> image, const std::string& name, const std::string& entry);

// A row of `groups` workgroups. The arguments go as one buffer, laid out as the kernel reads them; what is past the
// most work-items of a grid is refused here, with the rule.
Status launch(const Kernel& kernel, uint64_t groups, unsigned threads, const void* arguments, size_t bytes,
              void* stream);

}  // namespace warpwright::hip
