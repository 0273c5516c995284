// Instances on the GPU of this machine: found among those compiled ahead, or compiled now, loaded once and launched.
// The device may be NVIDIA's or AMD's (gpu/maker.h); callers need not know.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "catalog/instance.h"
#include "gpu/image.h"
#include "launch/grid.h"
#include "warpwright/status.h"

namespace warpwright::gpu {

// The device of the calling thread. Missing: no driver, no GPU, or one for which there are no kernels.
struct Device {
  int number = 0;
  std::string name;           // as the driver calls it
  int multiprocessors = 0;    // compute units of AMD
  int major = 0, minor = 0;   // compute capability; AMD's have none
  Arch arch = Arch::sm90;     // whose kernels it runs
  uint32_t shared_bytes = 0;  // shared memory that a block may have
  int driver = 0;             // its version; 0: not known

  // "compute capability 9.0", "gfx942".
  std::string kind() const;
};
Result<Device> this_device();
// The same where only Hopper's kernels will do: also missing on another device.
Result<Device> hopper_device();

// What an image of an instance is compiled for, to run on a device: the one in this build, and the one that is compiled
// when it is first used. They differ where one PTX text serves many chips ("compute_80" and "sm_86"); for AMD there is
// only the first.
struct ImageTarget {
  std::string ahead;
  std::string on_demand;
};
ImageTarget target_of(const catalog::Instance& instance, const Device& device);

// `on`: the kernel takes record::Buffers as a second argument and writes there what its warps do. Never compiled ahead.
enum class Timestamps : bool { off, on };

// Ready on the current device, which has this number: afterwards a launch loads, allocates and compiles nothing. Lives
// as long as the process. Missing: it was not compiled ahead and there is no compiler here; for AMD nothing is compiled
// while a program runs.
Result<const LoadedInstance*> ready(const catalog::Instance& instance, int device,
                                    Timestamps timestamps = Timestamps::off);

// Compiles into the cache, on all cores, those of a list that are not in this build for the current device: each would
// take seconds when it is first used.
Status compile(std::span<const catalog::Instance> list);

// One launch of a persistent grid on at most `sm_limit` SMs (0: all). Without work nothing is launched.
Status launch(const LoadedInstance& loaded, const catalog::Instance& instance, const launch::Arguments& arguments,
              void* stream, int sm_limit, bool dependent);
// The same for a kernel that is not part of the API, whose `work` is known.
Status launch(const LoadedInstance& loaded, const void* arguments, int64_t work, void* stream, int sm_limit = 0,
              bool dependent = false);

}  // namespace warpwright::gpu
