// The words a kernel may use of the hardware: same names in every world. Which world is chosen per translation unit.
// machine/cuda/ and machine/sim/ have the same files with the same signatures; docs/vocabulary.md lists them.
#pragma once
#if defined(__CUDACC__)
#include "warpwright/machine/cuda/barrier.h"
#include "warpwright/machine/cuda/control.h"
#include "warpwright/machine/cuda/fence.h"
#include "warpwright/machine/cuda/identity.h"
#include "warpwright/machine/cuda/matrix.h"
#include "warpwright/machine/cuda/mbarrier.h"
#include "warpwright/machine/cuda/memory.h"
#include "warpwright/machine/cuda/mma.h"
#include "warpwright/machine/cuda/tcgen05.h"
#include "warpwright/machine/cuda/tma.h"
#include "warpwright/machine/cuda/warp.h"
#include "warpwright/machine/cuda/wgmma.h"
#else
#include "warpwright/machine/sim/barrier.h"
#include "warpwright/machine/sim/control.h"
#include "warpwright/machine/sim/fence.h"
#include "warpwright/machine/sim/identity.h"
#include "warpwright/machine/sim/matrix.h"
#include "warpwright/machine/sim/mbarrier.h"
#include "warpwright/machine/sim/memory.h"
#include "warpwright/machine/sim/mma.h"
#include "warpwright/machine/sim/tcgen05.h"
#include "warpwright/machine/sim/tma.h"
#include "warpwright/machine/sim/warp.h"
#include "warpwright/machine/sim/wgmma.h"
#endif
