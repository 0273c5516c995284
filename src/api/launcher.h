// The registry of kernels: one way to launch an instance, whether it was compiled ahead or is compiled now.
#pragma once
#include <functional>
#include <variant>

#include "runtime/plan_choice.h"
#include "warpwright/status.h"

namespace warpwright::jit {
class LoadedKernel;
}

namespace warpwright::api {

using KernelArgs = std::variant<DenseGemmArgs, SkinnyGemmArgs>;

// What the current device is. Missing: this build has no device code, the machine no driver or no GPU, or the device is
// not a Hopper.
struct Device {
  int number = 0;
  runtime::Chip chip;
};
Result<Device> current_device();

// Captures what `launch` puts on a stream and throws it away: the driver loads the kernel, and a launch it refuses is
// refused here.
Status warm(const std::function<Status(void* stream)>& launch);

class Launcher {
 public:
  // Makes a kernel ready on the current device: afterwards a launch loads, allocates and compiles nothing.
  static Result<Launcher> prepare(const runtime::Kernel& kernel, const Device& device);

  // The arguments are those of the kernel. `sm_limit` 0: the whole device.
  Status launch(const KernelArgs& args, void* stream, int sm_limit, bool dependent) const;
  // That would run at once.
  int clusters(int sm_limit) const;

 private:
  explicit Launcher(const runtime::Kernel& kernel) : kernel_(kernel) {}
  Status launch_ahead(const KernelArgs& args, void* stream, int sm_limit, bool dependent) const;

  runtime::Kernel kernel_;
  [[maybe_unused]] const jit::LoadedKernel* loaded_ = nullptr;  // null: compiled ahead
  int clusters_ = 0;                                            // at most so many run at once
};

}  // namespace warpwright::api
