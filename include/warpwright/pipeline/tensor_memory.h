// Ownership of tensor memory (sm_100a), as a linear handle: allocated by one warp, freed by the same warp after its
// last user has arrived.
#pragma once
#include "warpwright/core/linear.h"
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::pipeline {

template <int CtaGroup>
class TmemOwner {
 public:
  using Here = machine::here;
  TmemOwner(TmemOwner&&) = default;
  TmemOwner& operator=(TmemOwner&&) = default;

  // By a whole warp. The hardware writes the address to `slot`; a barrier must stand between this and other readers.
  // `done` completes its first phase when no other warp will touch the memory any more.
  WW_FN static TmemOwner create(Shared<uint32_t> slot, uint32_t columns, Shared<Mbarrier> done, machine::here at = {}) {
    machine::tcgen05_alloc<CtaGroup>(slot, columns, at);
    return TmemOwner(slot, columns, done);
  }

  WW_FN Tmem memory(machine::here at = {}) const { return {machine::load(slot_, at)}; }

  // By the whole warp that created it.
  WW_FN static void release(TmemOwner& owner, Here at) {
    machine::tcgen05_relinquish<CtaGroup>(at);
    machine::mbarrier_wait(owner.done_, machine::Phase::consumer(), at);
    machine::tcgen05_fence_after(at);
    machine::tcgen05_dealloc<CtaGroup>(owner.memory(at), owner.columns_, at);
  }

 private:
  WW_FN TmemOwner(Shared<uint32_t> slot, uint32_t columns, Shared<Mbarrier> done)
      : slot_(slot), columns_(columns), done_(done) {}

  Shared<uint32_t> slot_;
  uint32_t columns_;
  Shared<Mbarrier> done_;
};

// A user's last word about the memory: its tcgen05.ld are complete and stay before the arrival.
WW_FN void leave_tensor_memory(Shared<Mbarrier> done, machine::here at = {}) {
  machine::tcgen05_fence_before(at);
  machine::mbarrier_arrive(done, 1, at);
}

}  // namespace warpwright::inline WW_WORLD::pipeline
