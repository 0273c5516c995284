// What the engine says to people: names, the deadlock report, and the rules that are checked when a thread, a CTA or a
// cluster ends.
#pragma once
#include <string>

#include "engine.h"

namespace warpwright::simulator {

std::string waited_for(const Engine&, const Thread&, Wait why, const void* object);
void report_deadlock(Engine&);
void report_livelock(Engine&, uint64_t steps, bool late);

void check_thread_exit(Engine&, Thread&);
void check_cta_exit(Engine&, Cta&);
void check_cluster_exit(Engine&, Cluster&);

// A lane that exits no longer takes part in what its warp, block or cluster still waits for.
void finish_collective_after_exit(Engine&, Warp&);
void named_barriers_after_exit(Engine&, Cta&);
void cluster_barrier_after_exit(Engine&, Cluster&);

}  // namespace warpwright::simulator
