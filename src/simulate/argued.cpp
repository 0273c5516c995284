// Mutants that change nothing, and why. A synchronization of a shipped kernel that the checker finds redundant is
// either removed or listed here.
#include <string>

#include "simulate/mutants.h"

namespace warpwright::simulate {
namespace {

using simulator::Fault;
using enum Fault::Action;

struct Argued {
  Fault::Action action;
  const char* word;
  const char* object;  // what its name begins with
  const char* role;    // empty: any
  const char* file;    // what its name ends with; empty: any
  const char* why;
};

constexpr const char* kLastStage =
    "the last stages of a run are handed back, as every handle is, and nobody fills them again";
constexpr const char* kPrefetch = "it guards a prefetch, which is a hint";
constexpr const char* kNothingBehind =
    "an idle warp does nothing after it, and threads that have left count as arrived";
constexpr const char* kFirstRound = "the first round finds all stages empty: the wait passes on a fresh barrier";
constexpr const char* kEndOfGrid =
    "the grid ends right after it, which makes its writes visible; only the reads of shared memory must be over";

constexpr const char* kUnelected = "the role does not use the lane that was elected for all";
constexpr const char* kFencedBefore =
    "each stage was handed back with the same fence after its loads, and the thread loads nothing after the last one";
constexpr const char* kTold =
    "the initialisations are released by fence.mbarrier_init, and barriers have told the others what they must know at "
    "the end";
constexpr const char* kInPairs = "a tile takes both stages of the ring: they are handed over in pairs, in either order";
constexpr const char* kCoveredByOutput =
    "the fence with which the output stage was published, just before it, covers the same reads";
constexpr const char* kOneLane = "the lane that arrives is the one that sent and waited";
constexpr const char* kMetTwice =
    "the warp meets twice between its loads and its arrival, and each meeting orders them";
constexpr const char* kEmptyGroups =
    "what it would wait for has been waited for, or the group is empty because operands go through registers";
constexpr const char* kThrottled =
    "the answer that the role has waited for follows the scheduler's look at the throttle";
constexpr const char* kContent =
    "the simulator is content with less: a commit carries what its thread has seen complete at either scope; the PTX "
    "memory model asks for the cluster's (pipeline/output_per_k.h)";

// The first that fits counts.
constexpr Argued kArgued[] = {
    {drop, "sync_warp", "", "sfb_load", "sm100/grouped/grouped_scales.h", kMetTwice},
    {advance, "mbarrier_arrive", "sfb.empty", "sfb_load", "sm100/grouped/grouped_scales.h", kMetTwice},
    {drop, "sync_warp", "", "", "",
     "it brings lanes together that have parted without a wait, or not at all, which the checker takes to be together"},
    {drop, "mbarrier_arrive", "output.empty", "store", "pipeline/bulk_store.h", kLastStage},
    {advance, "mbarrier_arrive", "output.empty", "store", "pipeline/bulk_store.h", kLastStage},
    {advance, "mbarrier_arrive", "output.empty", "store", "sm90/grouped/grouped_gemm.h", kOneLane},
    {scope, "bulk_wait", "", "store", "", kEndOfGrid},
    {drop, "bulk_wait", "", "store", "sm90/grouped/grouped_gemm.h", kEndOfGrid},
    {add, "bulk_wait", "", "store", "sm90/grouped/grouped_gemm.h", kEndOfGrid},
    {alter, "elect_one", "", "store", "sm90/dense/dense_gemm.h", kPrefetch},
    {alter, "elect_one", "", "store", "sm90/skinny/skinny_gemm.h", kPrefetch},
    {alter, "elect_one", "", "store", "sm90/skinny/skinny_blockwise.h", kPrefetch},
    {alter, "elect_one", "", "store", "sm90/grouped/grouped_gemm.h", kPrefetch},
    {alter, "elect_one", "", "", "sm100/dense/dense_gemm.h", kUnelected},
    {alter, "elect_one", "", "", "sm100/blockwise/blockwise_fp8.h", kUnelected},
    {alter, "elect_one", "", "", "sm100/grouped/grouped_gemm.h", kUnelected},
    {drop, "cluster_sync", "", "idle", "", kNothingBehind},
    {postpone, "named_barrier_sync", "", "idle", "", kNothingBehind},
    {postpone, "named_barrier_sync", "", "scales", "sm90/grouped/grouped_gemm.h",
     "without factors that role is idle: it does nothing after it"},
    {drop, "cluster_sync", "", "scales", "sm90/grouped/grouped_gemm.h",
     "without factors that role is idle: it does nothing after it"},
    {stage, "named_barrier_sync", "", "", "", "all who meet there take the other id, which nobody else uses"},
    {scope, "cluster_sync", "", "", "", kTold},
    {postpone, "cluster_sync", "", "epilogue", "",
     "the role reaches nothing of another CTA before barriers that follow the waits of the other roles"},
    {drop, "cluster_sync", "", "load", "demo/cluster_ring.h",
     "threads that have left count as arrived, and the readers of the same CTA keep its shared memory alive"},
    {drop, "mbarrier_wait", "input.empty", "load", "sm90/skinny/skinny_gemm.h", kFirstRound},
    {stage, "mbarrier_wait", "input.empty", "load", "sm90/skinny/skinny_gemm.h", kFirstRound},
    {scope, "mbarrier_wait", "partial.empty", "mma", "",
     "it drains the ring so that the CTA stays while others read; its warp touches nothing after it"},
    {drop, "fence_mbarrier_init", "", "load", "sm90/dense/dense_gemm.h",
     "where threads load, no asynchronous copy completes on a barrier and no other CTA arrives"},
    {drop, "grid_dependency_wait", "", "mma", "sm90/dense/dense_gemm.h",
     "where threads load there is depth, the load role has waited, and the MMA warps follow it"},
    {drop, "fence_proxy_async", "", "compute", "demo/ring_copy.h", kCoveredByOutput},
    {drop, "fence_proxy_async", "", "epilogue", "sm100/epilogue_results.h", kCoveredByOutput},
    {drop, "fence_proxy_async", "", "load", "tile/clc.h",
     "the throttle hands the reads of the role to the scheduler, which fences before it asks"},
    {advance, "mbarrier_arrive", "clc.empty", "load", "tile/clc.h",
     "the throttle hands the reads of the role to the scheduler, which fences before it asks"},
    {scope, "fence_proxy_async", "", "scheduler", "tile/clc.h", "the answer that it reads lies in its own CTA"},
    {drop, "mbarrier_wait", "clc.throttle.empty", "load", "", kThrottled},
    {stage, "mbarrier_wait", "clc.throttle.empty", "load", "", kThrottled},
    {stage, "mbarrier_arrive", "output.full", "", "", kInPairs},
    {stage, "mbarrier_wait", "output.empty", "", "", kInPairs},
    {stage, "mbarrier_wait", "output.full", "store", "", kInPairs},
    {drop, "tcgen05_fence_before", "", "epilogue", "sm100/epilogue_loop.h", kFencedBefore},
    {drop, "tcgen05_fence_before", "", "epilogue", "demo/tmem_lifecycle.h", kFencedBefore},
    {advance, "mbarrier_arrive", "tmem.done", "epilogue", "", kFencedBefore},
    {postpone, "tcgen05_wait_ld", "", "epilogue", "sm100/epilogue_loop.h",
     "registers that happen to be there in time; the wait for the last columns orders all loads of the tile"},
    {advance, "mbarrier_arrive", "tmem.peer", "mma", "",
     "what it moves past is the thread's own read of the address; the allocation stays before it"},
    {postpone, "tcgen05_commit", "input.empty", "mma", "sm100/blockwise/blockwise_fp8.h",
     "the epilogue's arrival on the same barrier follows the completion of the same MMAs"},
    {drop, "tcgen05_fence_after", "", "mma", "sm100/grouped/grouped_gemm.h",
     "the wait for the factors, which comes before the first MMA, has the same fence"},
    {advance, "mbarrier_arrive", "input.empty", "mma", "sm100/grouped/grouped_gemm.h",
     "it moves past the commit, which arrives by itself; the meeting behind the writes it speaks for is farther ahead"},
    {scope, "mbarrier_wait", "accum.full", "epilogue", "sm100/blockwise/blockwise_fp8.h", kContent},
    {scope, "mbarrier_wait", "input.full", "mma", "sm100/blockwise/blockwise_fp8.h", kContent},
    {drop, "cp_async_wait", "", "mma", "sm80/dense_gemm.h", kEmptyGroups},
    {add, "cp_async_wait", "", "mma", "sm80/dense_gemm.h", kEmptyGroups},
    {drop, "cp_async_commit", "", "mma", "sm80/dense_gemm.h", kEmptyGroups},
};

}  // namespace

std::string argument_for(const Fault& f) {
  for (const Argued& a : kArgued) {
    if (f.action == a.action && f.word == a.word && f.object.starts_with(a.object) &&
        (*a.role == 0 || f.role == a.role) && f.file.ends_with(a.file))
      return a.why;
  }
  return {};
}

}  // namespace warpwright::simulate
