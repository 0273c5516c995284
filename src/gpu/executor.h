// Instances on the GPU of this machine: found among those compiled ahead, or compiled now, loaded once and launched.
#pragma once
#include <string>

#include "catalog/instance.h"
#include "gpu/image.h"
#include "launch/grid.h"
#include "warpwright/status.h"

namespace warpwright::gpu {

// The device of the calling thread. Missing: no driver, no GPU, or one for which there are no kernels.
struct Device {
  int number = 0;
  std::string name;  // as the driver calls it
  int multiprocessors = 0;
  int major = 0, minor = 0;
};
Result<Device> hopper_device();

// For which chips the image of an instance is compiled: "sm_90a".
std::string target_of(const catalog::Instance& instance);

// `on`: the kernel takes record::Buffers as a second argument and writes there what its warps do. Never compiled ahead.
enum class Timestamps : bool { off, on };

// Ready on the device, which must be current: afterwards a launch loads, allocates and compiles nothing. Lives as long
// as the process. Missing: it was not compiled ahead and there is no compiler here.
Result<const LoadedInstance*> ready(const catalog::Instance& instance, int device,
                                    Timestamps timestamps = Timestamps::off);

// One launch of a persistent grid on at most `sm_limit` SMs (0: all). Without work nothing is launched.
Status launch(const LoadedInstance& loaded, const catalog::Instance& instance, const launch::Arguments& arguments,
              void* stream, int sm_limit, bool dependent);
// The same for a kernel that is not behind the API, whose `work` is known.
Status launch(const LoadedInstance& loaded, const void* arguments, int64_t work, void* stream, int sm_limit = 0,
              bool dependent = false);

}  // namespace warpwright::gpu
