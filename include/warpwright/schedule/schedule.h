// Software pipelines as values. Everything in this room is constexpr: the same functions serve constant evaluation,
// where a wrong schedule does not compile, and the command-line tool.
//
//   list.h           List, the growing array of this room
//   types.h, op.h    the words: OpDesc, one operation (structural, so it may be a template argument)
//   error.h          Diagnostic, one code for each rule; Checked<T>; require<make>(): a diagnostic as a compile error
//   cost.h           TargetCostModel: tag -> resource, latency, occupancy, role, ticks, label; annotate()
//   target.h         Target: units, counters and capacities of gfx942, gfx950, sm80 and sm90a, with their checks
//   geometry.h       counter ticks of a CDNA kernel from its tile shape
//   access.h         Access: which buffer, parts, K tile and wave roles an op touches
//   body.h           PipelineBody builds the ops of one iteration; LoopBody has ops and dependences
//   graph.h          dependences from declared accesses
//   mii.h            the smallest initiation interval that units and recurrences allow, with its certificate
//   entry.h          ScheduleEntry, EntryBuilder, Schedule (three phases), freeze<make>() to arrays for a kernel
//   registry.h       schedules of your own for the tool; host only, not included here
//   text.h           to_text() of diagnostics and entries; host only, not included here
//   block.h          MMABlockSpec and its expansion
//   program.h        PipelineProgram: blocks, or explicit lists of ops, of one iteration
//   trace.h          what the waves execute: prologue, n iterations, epilogue
//   hazard.h         validator 1: happens-before of shared memory for every pair of wave roles
//   version.h        validator 2: K tiles followed through every copy
//   strategy.h       modulo scheduling: the strategy concept, identity, greedy, iterative; exact.h: exact, up to 16 ops
//   depth.h          slots of each buffer from the lifetimes, registers alive at once
//   sync.h           which dependences need waits and meetings of the waves; the fewest barriers
//   peel.h           prologue, kernel, epilogue and short runs, with exact waits
//   priority.h       s_setprio around clusters of MFMAs
//   phase.h          producer and consumer as programs of their own, with the mbarriers of their rings
//   phase_check.h    validator 1 for such programs: parity, arrivals, hand-over of the slots
//   phase_run.h      validator 2 for such programs: both run against each other
//   pipeline.h       compile(body, target, options): all of the above; pipeline_model.h: as the validators see it
//   interleave.h     validator 2 with time in it: several waves, everything that waits leave open at its worst moment
//   proof.h          verify() a run and prove() a pipeline with both validators
//   certificate.h    the smallest interval as sums that a reader can check; host only, not included here
//   block_pipeline.h a pipeline from declared blocks, and the ping-pong as such blocks
//   bodies.h         the bodies of the matmul kernels of each target; mma_sync.h: a finer one for sm_80
//   timeline.h       ASCII and SVG pictures of a kernel iteration; host only, not included here
//   legacy/          the reference's derivations and schedules, as they are, with their standing
//
// A schedule comes about in this order: declare ops with PipelineBody; annotate() them for a target; give each OpNode
// its accesses; derive edges; order; expand to entries; validate; freeze. compile() does all but the first and the
// last. Evaluated as a constant it stays inside the default limits of g++, clang and nvcc for bodies of 24 ops,
// staggered roles and the proof of a run included. Lists grow, so a function that makes a schedule takes no capacity
// parameter and cannot truncate; freeze() evaluates it twice, for the sizes and for the entries. Four things keep all
// compilers content in constant evaluation: no conditional operator whose branches are lists by value (g++ 12 frees one
// twice), no member templates of a class that its own members use before the end of the class (clang), and, since nvcc
// 13 takes what it does not destroy for leaked, no list parameter by value made from {} and no member that is an array
// of lists. The room needs no standard library beyond core/std.h, so that a kernel compiled by NVRTC can make its own
// schedule.
#pragma once
#include "warpwright/schedule/block_pipeline.h"
#include "warpwright/schedule/exact.h"
#include "warpwright/schedule/geometry.h"
#include "warpwright/schedule/graph.h"
#include "warpwright/schedule/hazard.h"
#include "warpwright/schedule/mii.h"
#include "warpwright/schedule/pipeline.h"
#include "warpwright/schedule/proof.h"
#include "warpwright/schedule/version.h"
