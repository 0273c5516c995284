// Machine code in the driver: an image is loaded once and its kernels are launched from there, whether it was compiled
// ahead or just now.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/driver.h"
#include "hip/code_object.h"
#include "warpwright/core/record.h"
#include "warpwright/kernel/instance_facts.h"
#include "warpwright/status.h"

namespace warpwright::gpu {

// An image that this build compiled ahead for chips of a kind ("sm_90a", "gfx950"); empty: it did not.
std::span<const uint8_t> embedded_image(std::string_view name, std::string_view target = "sm_90a");

// Never unloaded: a plan, or a captured graph, may use it until the process ends.
class Image {
 public:
  // `bytes` may go away afterwards.
  static Result<Image> load(std::span<const uint8_t> bytes, std::string_view name);

  Result<abi::KernelHandle> kernel(const char* entry) const;

 private:
  explicit Image(abi::Library library, std::string name) : library_(library), name_(std::move(name)) {}
  abi::Library library_ = nullptr;
  std::string name_;
};

struct Grid {
  unsigned x = 1, y = 1, z = 1;
};
// Any kernel. `arguments` are the addresses of its parameters.
Status launch(abi::KernelHandle kernel, Grid grid, unsigned threads, unsigned shared_bytes, void** arguments,
              void* stream);

// The kernel of an instance (kernel/instance.h), ready on one device: afterwards a launch loads and allocates nothing.
class LoadedInstance {
 public:
  // `image` is the machine code of the instance `name`.
  static Result<std::unique_ptr<LoadedInstance>> load(std::span<const uint8_t> image, std::string_view name,
                                                      int device);
  // The same for a code object in static memory, whose kernel is called `entry`. The plan from which it was compiled
  // says what a launch must know; what the runtime has read must agree.
  static Result<std::unique_ptr<LoadedInstance>> load_amd(std::span<const uint8_t> image, const std::string& name,
                                                          const std::string& entry, const BlockPlan& plan,
                                                          size_t argument_bytes, int device, int compute_units);

  const InstanceFacts& facts() const { return facts_; }
  int device() const { return device_; }
  // Clusters that the device runs at once, at least.
  int clusters() const { return clusters_; }

  // `ctas` is a multiple of the cluster. `dependent`: it may start before the kernel ahead on the stream has ended.
  Status launch(const void* arguments, unsigned ctas, void* stream, bool dependent) const;
  // An instance compiled with timestamps, which takes where to write them.
  Status launch_recorded(const void* arguments, const record::Buffers& buffers, unsigned ctas, void* stream) const;

 private:
  Status put(void** arguments, unsigned ctas, void* stream, bool dependent) const;

  abi::KernelHandle kernel_ = nullptr;
  hip::Kernel amd_kernel_;  // instead of the other
  InstanceFacts facts_;
  int device_ = 0;
  int clusters_ = 0;
};

}  // namespace warpwright::gpu
