// The shipped ring kernel, for comparison with the hand-written ring_raw.cu.
#include "warpwright/kernel/demo/ring_copy.h"

using namespace warpwright;
extern "C" __global__ void __launch_bounds__(192, 1) ring(const __grid_constant__ RingCopyArgs args) {
  kernel::sm90::RingCopy<RingCopyConfig{}>::body(args);
}
