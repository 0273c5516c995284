// Images for instances that this build did not compile: what a cubin says of itself, and no code. With them every
// launch of the catalogue can be prepared and recorded in seconds; of the machine code they prove nothing.
#pragma once
#include "catalog/instance.h"
#include "gpu/executor.h"
#include "warpwright/kernel/instance_facts.h"

namespace warpwright::recorded {

// Puts an image into this program's cache, where the library finds it in place of a compiled one. Does nothing for an
// instance that is compiled into this program. False: there is no compiler here, so that nobody would look there.
bool put_image(const catalog::Instance& instance, const gpu::ImageTarget& target, unsigned long argument_bytes);
// For every listed instance of Blackwell and of mma.sync that makes products, and for Hopper's kernels that teach, on
// the current device.
bool put_images(Arch arch);

}  // namespace warpwright::recorded
