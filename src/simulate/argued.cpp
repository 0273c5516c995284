// Mutants that change nothing, and why. A synchronization of a shipped kernel that the checker finds redundant is
// removed or stands here.
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
    "an idle warp does nothing behind it, and threads that have left count as arrived";
constexpr const char* kFirstRound = "the first round finds all stages empty: the wait passes on a fresh barrier";
constexpr const char* kEndOfGrid =
    "behind it the grid ends, which makes its writes visible; only the reads of shared memory must be over";

constexpr Argued kArgued[] = {
    {drop, "sync_warp", "", "", "", "it converges lanes, which the lanes of a simulated warp do by themselves"},
    {drop, "mbarrier_arrive", "output.empty", "store", "pipeline/bulk_store.h", kLastStage},
    {advance, "mbarrier_arrive", "output.empty", "store", "pipeline/bulk_store.h", kLastStage},
    {scope, "bulk_wait", "", "store", "", kEndOfGrid},
    {alter, "elect_one", "", "store", "sm90/dense/dense_gemm.h", kPrefetch},
    {drop, "cluster_sync", "", "idle", "", kNothingBehind},
    {postpone, "named_barrier_sync", "", "idle", "", kNothingBehind},
    {alter, "elect_one", "", "store", "sm90/skinny/skinny_gemm.h", kPrefetch},
    {drop, "mbarrier_wait", "input.empty", "load", "sm90/skinny/skinny_gemm.h", kFirstRound},
    {stage, "mbarrier_wait", "input.empty", "load", "sm90/skinny/skinny_gemm.h", kFirstRound},
    {scope, "mbarrier_wait", "partial.empty", "mma", "sm90/skinny/skinny_gemm.h",
     "it drains the ring so that the CTA stays while others read; its warp touches nothing behind it"},
    {drop, "fence_mbarrier_init", "", "load", "sm90/dense/dense_gemm.h",
     "where threads load, no asynchronous copy completes on a barrier and no other CTA arrives"},
    {drop, "grid_dependency_wait", "", "mma", "sm90/dense/dense_gemm.h",
     "where threads load there is depth, the load role has waited, and the MMA warps follow it"},
    {drop, "fence_proxy_async", "", "compute", "demo/ring_copy.h",
     "the fence with which the output stage was published, just before it, covers the same reads"},
    {scope, "cluster_sync", "", "", "demo/cluster_ring.h",
     "what it publishes are initialisations, which fence.mbarrier_init has released; at the end nothing follows"},
    {drop, "cluster_sync", "", "load", "demo/cluster_ring.h",
     "threads that have left count as arrived, and the readers of the same CTA keep its shared memory alive"},
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
