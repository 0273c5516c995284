// Tensor memory as its users see it: the allocation, the stages in it, and the barriers that say when a pair may use it
// and when it may be freed.
// Warps own it through MmaWarp and EpilogueWarp (warp/); these are the parts.
#pragma once
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/output_config.h"

namespace warpwright::inline WW_WORLD::pipeline {

// Columns of tensor memory that a warp has allocated and must free.
template <int cta_group, uint32_t columns = kTmemColumns>
class TmemAllocation {
 public:
  static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
  static_assert(columns >= 32 && columns <= kTmemColumns && (columns & (columns - 1)) == 0,
                "tensor memory is allocated in powers of two from 32 to 512 columns");

  // By a whole warp, in pair mode by one warp of each CTA. The address is for other warps to read after a barrier.
  WW_FN static TmemAllocation allocate(Shared<uint32_t> slot, machine::here at = {}) {
    machine::tcgen05_alloc<cta_group>(slot, columns, at);
    machine::sync_warp(machine::kFullMask, at);
    return from_shared(slot, at);
  }
  WW_FN static TmemAllocation from_shared(Shared<uint32_t> slot, machine::here at = {}) {
    return TmemAllocation(::warpwright::Tmem{machine::load(slot, at)});
  }

  WW_FN ::warpwright::Tmem base() const { return base_; }
  // No further allocation of this CTA: CTAs that wait for columns may go ahead.
  WW_FN void release_lock(machine::here at = {}) const { machine::tcgen05_relinquish<cta_group>(at); }
  WW_FN void deallocate(machine::here at = {}) const { machine::tcgen05_dealloc<cta_group>(base_, columns, at); }

 private:
  WW_FN explicit TmemAllocation(::warpwright::Tmem base) : base_(base) {}
  ::warpwright::Tmem base_;
};

// One accumulator.
template <OutputPipelineConfig opc>
class TmemStage {
 public:
  WW_FN TmemStage(::warpwright::Tmem allocation, int index)
      : address_(allocation.column(opc.first_column + uint32_t(opc.stage_stride_cols) * uint32_t(index))) {}

  WW_FN ::warpwright::Tmem address() const { return address_; }
  WW_FN uint32_t offset() const { return address_.address; }  // the word that tcgen05 instructions take
  WW_FN ::warpwright::Tmem column(uint32_t n) const { return address_.column(n); }
  WW_FN ::warpwright::Tmem lane(uint32_t n) const { return address_.lane(n); }

 private:
  ::warpwright::Tmem address_;
};

// Its one phase completes when the other CTA of the pair has allocated: the leader's MMAs write to the tensor memory of
// both. The other one writes to its own only and need not wait.
template <int cta_group>
class TmemPeerBarrier {
 public:
  WW_FN explicit TmemPeerBarrier(Shared<Mbarrier> allocated) : allocated_(allocated) {}

  // By the whole warp that allocated, once in a kernel's life. At cluster scope: an allocation is not an asynchronous
  // operation, which a plain arrival would carry.
  WW_FN void meet(machine::here at = {}) const {
    if constexpr (cta_group == 2) {
      if (machine::cluster_rank() % 2 == 0) {
        machine::mbarrier_wait<Scope::cluster>(allocated_, machine::Phase::consumer(), at);
      } else if (machine::elect_one(at)) {
        machine::mbarrier_arrive<Scope::cluster>(machine::map_to_leader(allocated_), 1, at);
      }
    }
  }

 private:
  Shared<Mbarrier> allocated_;
};

// Its one phase completes when no epilogue thread, of either CTA of a pair, will touch the memory any more.
template <int cta_group>
class TmemDeallocBarrier {
 public:
  WW_FN explicit TmemDeallocBarrier(Shared<Mbarrier> done) : done_(done) {}

  // At cluster scope, once in a kernel's life: the peer frees what this CTA has allocated and read.
  WW_FN void signal_peer(machine::here at = {}) const {
    if constexpr (cta_group == 2) {
      machine::mbarrier_arrive<Scope::cluster>(machine::map_to_rank(done_, machine::cluster_rank() ^ 1), 1, at);
    }
  }
  WW_FN void signal_self(machine::here at = {}) const { machine::mbarrier_arrive(done_, 1, at); }
  // By every epilogue thread, after the wait for its last tcgen05.ld.
  WW_FN void signal_complete(machine::here at = {}) const {
    machine::tcgen05_fence_before(at);
    signal_peer(at);
    signal_self(at);
  }

  WW_FN void wait(machine::here at = {}) const {
    machine::mbarrier_wait<cta_group == 2 ? Scope::cluster : Scope::cta>(done_, machine::Phase::consumer(), at);
    machine::tcgen05_fence_after(at);
  }
  // By the whole warp that allocated.
  template <uint32_t columns>
  WW_FN void complete_dealloc(TmemAllocation<cta_group, columns> tmem, machine::here at = {}) const {
    tmem.release_lock(at);
    wait(at);
    tmem.deallocate(at);
  }

 private:
  Shared<Mbarrier> done_;
};

}  // namespace warpwright::inline WW_WORLD::pipeline
