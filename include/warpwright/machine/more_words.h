// Words that no shipped kernel has a use for, and kernels of one's own may: the other atomic operations on whole
// numbers, shuffles along the lanes, votes. machine.h does not include them.
#pragma once
#if defined(__CUDACC__)
#include "warpwright/machine/cuda/atomics.h"
#include "warpwright/machine/cuda/lanes.h"
#else
#include "warpwright/machine/sim/atomics.h"
#include "warpwright/machine/sim/lanes.h"
#endif
