// The words of a CDNA kernel: what a wave of 64 may use of the hardware, the same in both worlds. A wave runs in
// lockstep, so a kernel is written for the wave: Lanes is one 32-bit value for each lane (a VGPR), a plain integer is
// the same for all of them (an SGPR), and a branch is taken by the wave as a whole. docs/vocabulary.md lists the words.
#pragma once
#if defined(__AMDGCN__)
#include "warpwright/machine/amdgcn/cdna.h"
#else
#include "warpwright/machine/sim/cdna.h"
#endif
