// A named barrier between two roles that yields a proof: the holder of the token has waited.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::pipeline {

// `id` comes from the block plan (OutputPipelineConfig::sync_id, or plan.named_barrier("...").id).
template <int threads, int id>
class WarpGroupBarrier {
 public:
  static_assert(id >= 1 && id <= 15, "named barriers of a kernel have the ids 1 to 15; 0 is the block barrier");
  static_assert(threads >= 32 && threads % 32 == 0, "a named barrier counts whole warps");

  // Only wait() makes one: what the other side wrote before its arrival is visible to the holder.
  class [[nodiscard("what was waited for is proven by the token")]] Token {
    friend class WarpGroupBarrier;
    WW_FN Token() {}
  };

  // Does not wait for the others; orders what this thread did before.
  WW_FN static void arrive(machine::here at = {}) { machine::named_barrier_arrive(id, threads, at); }
  // Arrives and waits.
  WW_FN static Token wait(machine::here at = {}) {
    machine::named_barrier_sync(id, threads, at);
    return Token();
  }
};

}  // namespace warpwright::inline WW_WORLD::pipeline
