// The types that the MMA warp and the epilogue warps must agree on.
#pragma once
#include "warpwright/pipeline/output_tile.h"
#include "warpwright/pipeline/warp_group_barrier.h"

namespace warpwright::inline WW_WORLD::warp {

// Where the two sides meet in shared memory; declare_output places all of it in the block plan.
template <OutputPipelineConfig opc>
struct OutputStorage {
  Shared<uint32_t> tmem_address;
  pipeline::Ring<opc.num_stages> accum;
  Shared<Mbarrier> done;
  Shared<Mbarrier> peer = {};  // only with a pair of CTAs
};

// The types that MmaWarp and EpilogueWarp of one configuration share.
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
struct WarpContextTypes {
  static_assert(mma_threads == kWarpThreads, "tensor memory is allocated and freed by one warp");
  static_assert(epilogue_threads >= kTmemLanes && epilogue_threads % kWarpThreads == 0,
                "a warp reaches 32 of the 128 lanes of tensor memory: the epilogue has at least four warps");
  static_assert(opc.sync_is_legal(), "named barriers of a kernel have the ids 1 to 15");
  using Pipeline = pipeline::OutputTilePipeline<opc>;
  using Tmem = typename Pipeline::Tmem;
  using Dealloc = pipeline::TmemDeallocBarrier<opc.cta_group>;
  using Sync = pipeline::WarpGroupBarrier<mma_threads + epilogue_threads, int(opc.sync_id)>;
  using Storage = OutputStorage<opc>;
  static constexpr OutputPipelineConfig config = opc;
};

namespace detail {
// What either side has once it knows the address.
template <OutputPipelineConfig opc>
struct WarpCore {
  using Pipeline = pipeline::OutputTilePipeline<opc>;
  WW_FN WarpCore(OutputStorage<opc> storage, typename Pipeline::Tmem tmem, uint16_t mask)
      : output(storage.accum, tmem, mask), dealloc(storage.done) {}
  Pipeline output;
  pipeline::TmemDeallocBarrier<opc.cta_group> dealloc;
};
}  // namespace detail

// The addresses that declare_output() has given the plan of K, in the shared memory at `base`.
template <class K, OutputPipelineConfig opc>
WW_FN OutputStorage<opc> output_storage(uint32_t base) {
  constexpr uint32_t address = K::plan.region("tmem.address").offset, done = K::plan.barrier("tmem.done").offset;
  constexpr uint32_t full = K::plan.barrier("accum.full").offset, empty = K::plan.barrier("accum.empty").offset;
  constexpr uint32_t id = K::plan.named_barrier("tmem.allocated").id;
  static_assert(id == opc.sync_id,
                "the config's sync_id is not the plan's tmem.allocated: use what declare_output gave");
  OutputStorage<opc> storage{{base + address}, pipeline::ring_at<opc.num_stages>(base, full, empty), {base + done}};
  if constexpr (opc.cta_group == 2) {
    constexpr uint32_t peer = K::plan.barrier("tmem.peer").offset;
    storage.peer = {base + peer};
  }
  return storage;
}

}  // namespace warpwright::inline WW_WORLD::warp
