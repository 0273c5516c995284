// The dynamic scheduler of sm_100: the grid has one cluster for every tile of a raster, and a cluster that is running
// cancels the launch of another one and does its tile (clusterlaunchcontrol.try_cancel). One thread of the cluster
// asks; the answer is multicast into a ring of 16-byte responses, which every role of every CTA reads for itself.
//
//   constexpr BlockPlan make() { BlockPlan p(...); p.role("load", 1).role("epilogue", 4).role("scheduler", 1);
//                           add_clc(p, C, "scheduler", "load", "epilogue"); ... }
//   if (load warp, one thread)       tile::ClcTiles<C, R, tile::Walker::thread, true> walk(raster, clc);
//   if (epilogue warps, all lanes)   tile::ClcTiles<C, R, tile::Walker::warp> walk(raster, clc);
//                                    for (tile::TileCoord tile; walk.next(tile);) ...
//   if (scheduler warp, one thread)  tile::run_clc_scheduler<C>(clc);
//
// The launch grid is raster.count() * cluster CTAs along x. With 0 stages every cluster does the tile it was launched
// for, and the block plan needs no scheduler role.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/ring.h"
#include "warpwright/tile/config.h"
#include "warpwright/tile/raster.h"

namespace warpwright::inline WW_WORLD::tile {

using ::warpwright::ClcConfig;

// The size of a response in shared memory.
inline constexpr uint32_t kClcResponseBytes = 16;

namespace detail {
constexpr int role_warps(const BlockPlan& plan, const char* name) {
  for (int i = 0; i < plan.role_count; ++i)
    if (warpwright::detail::same_text(plan.roles[i].name, name)) return plan.roles[i].warps;
  return 0;  // check_block_plan reports that the role is missing
}
}  // namespace detail

// Adds the response ring and its barriers to the block plan, after its roles. `load` and the other readers are the
// roles whose warps walk the tiles: every warp of them, in every CTA of the cluster, each with one ClcTiles.
constexpr void add_clc(BlockPlan& plan, const ClcConfig& c, const char* scheduler, const char* load,
                       const char* reader = nullptr, const char* reader2 = nullptr, const char* reader3 = nullptr,
                       const char* reader4 = nullptr) {
  if (!c.scheduled()) return;
  const char* const names[5] = {load, reader, reader2, reader3, reader4};
  ArrivalSpec reads[5] = {};
  int total = 0;
  for (int i = 0; i < 5; ++i) {
    if (names[i] == nullptr) continue;
    reads[i] = {names[i], detail::role_warps(plan, names[i]) * c.cluster};
    total += reads[i].per_phase;
  }
  plan.region("clc.response", kClcResponseBytes, c.stages, kClcResponseBytes);
  plan.barrier("clc.full", c.stages, 1, load, {scheduler, 1});
  // Only CTA 0 uses its own. The scheduler reads the responses too, but it overwrites what it reads itself.
  plan.barrier("clc.empty", c.stages, total, scheduler, reads[0], reads[1], reads[2], reads[3], reads[4]);
  if (!c.throttle) return;
  plan.barrier("clc.throttle.full", c.stages, 1, scheduler, {load, 1});
  plan.barrier("clc.throttle.empty", c.stages, 1, load, {scheduler, 1});
}

// The addresses of one CTA. They carry no position, so they may be passed around.
template <ClcConfig C>
struct ClcRing {
  static constexpr int kStages = C.scheduled() ? C.stages : 1;
  pipeline::Ring<kStages> responses{};
  pipeline::Ring<kStages> throttle{};
  Shared<machine::ClcResponse> response{};
};

// The rings that add_clc() has added to the plan of K, in the shared memory at `base`.
template <class K, ClcConfig C>
WW_FN ClcRing<C> clc_at(uint32_t base) {
  ClcRing<C> ring;
  static_assert(K::plan.cluster == C.cluster, "clc: the configuration's cluster is not the plan's");
  if constexpr (C.scheduled()) {
    static_assert(K::plan.arch == Arch::sm100, "clc: cluster launch control needs sm_100");
    static_assert(K::plan.barrier("clc.full").stages == C.stages, "clc: the plan was made with another configuration");
    constexpr uint32_t full = K::plan.barrier("clc.full").offset, empty = K::plan.barrier("clc.empty").offset;
    constexpr uint32_t response = K::plan.region("clc.response").offset;
    ring.responses = pipeline::ring_at<C.stages>(base, full, empty);
    ring.response = {base + response};
    if constexpr (C.throttle) {
      constexpr uint32_t begun = K::plan.barrier("clc.throttle.full").offset;
      constexpr uint32_t seen = K::plan.barrier("clc.throttle.empty").offset;
      ring.throttle = pipeline::ring_at<C.stages>(base, begun, seen);
    }
  }
  return ring;
}

// Who walks: one thread of a warp, or all its lanes together. Either way the warp arrives once for a response.
enum class Walker : uint8_t { thread, warp };

namespace detail {
// The next write to the slot is made by the asynchronous proxy on behalf of CTA 0's scheduler: a proxy fence by each
// reader and an arrival that releases to the cluster order the ordinary loads before it.
template <int Cluster>
WW_FN void order_response_reads(machine::here at) {
  constexpr ProxySpace space = Cluster > 1 ? ProxySpace::shared_cluster : ProxySpace::shared_cta;
  machine::fence_proxy_async<space>(at);
}

template <int Cluster, Walker W>
struct ReleaseResponse {
  WW_FN static void acquired(machine::here) {}
  WW_FN static void release(Shared<Mbarrier> empty, machine::here at) {
    order_response_reads<Cluster>(at);
    if constexpr (W == Walker::warp) {
      machine::sync_warp(machine::kFullMask, at);
      if (machine::lane_index() != 0) return;
    }
    if (Cluster == 1 || machine::cluster_rank() == 0) {
      machine::mbarrier_arrive(empty, 1, at);
    } else {
      machine::mbarrier_arrive<Scope::cluster>(machine::map_to_rank(empty, 0), 1, at);
    }
  }
};

// The scheduler's own reading: the thread that reads is the thread that asks for the next write.
template <int Cluster>
struct KeepResponse {
  WW_FN static void acquired(machine::here) {}
  WW_FN static void release(Shared<Mbarrier>, machine::here at) { order_response_reads<Cluster>(at); }
};

inline constexpr int kNoMoreTiles = -1;

// The raster index of the tile that a response gives to this cluster.
template <int Cluster>
WW_FN int tile_of(const machine::ClcResponse& r, machine::here at) {
  return machine::clc_is_canceled(r, at) ? int(machine::clc_first_ctaid(r, at).x) / Cluster : kNoMoreTiles;
}
}  // namespace detail

// The tiles of this cluster, as one role sees them. `Signals`: this is the load role, which tells the scheduler that it
// has begun a tile. next() ends after the response that says there is no more work, and must be called until then: the
// scheduler waits for every reader of every response.
template <ClcConfig C, Sequence S, Walker W, bool Signals = false>
class ClcTiles {
 public:
  using Item = typename SequenceItem<S>::type;
  WW_FN ClcTiles(S tiles, const ClcRing<C>& ring)
      : tiles_(tiles), response_(ring.response), responses_(ring.responses), throttle_(ring.throttle) {}
  ClcTiles(const ClcTiles&) = delete;
  ClcTiles& operator=(const ClcTiles&) = delete;

  WW_FN bool next(Item& tile, machine::here at = {}) {
    const int index = begun_ ? next_index(at) : int(machine::cluster_index());
    begun_ = true;
    if (index == detail::kNoMoreTiles) return false;
    tile = tiles_.at(index);
    if constexpr (C.scheduled() && C.throttle && Signals) {
      const bool speaks = W == Walker::thread || machine::lane_index() == 0;
      if (speaks && machine::cluster_rank() == 0) {
        throttle_.produce([](auto stage) { return stdx::move(stage).release(); }, at);
      }
    }
    return true;
  }

 private:
  WW_FN int next_index([[maybe_unused]] machine::here at) {
    int index = detail::kNoMoreTiles;
    if constexpr (C.scheduled()) {
      responses_.consume(
          [&](auto stage) {
            index = detail::tile_of<C.cluster>(machine::load(response_ + stage->index(), at), at);
            return stdx::move(stage).release();
          },
          at);
    }
    return index;
  }

  static constexpr int kStages = ClcRing<C>::kStages;
  S tiles_;
  Shared<machine::ClcResponse> response_;
  pipeline::Consumer<kStages, detail::ReleaseResponse<C.cluster, W>> responses_;
  pipeline::Producer<kStages, pipeline::PublishByThread<pipeline::To::threads>> throttle_;
  bool begun_ = false;
};

// Called by one thread of the scheduler warp in every CTA; it asks in CTA 0 and returns at once in the others. It
// returns when every reader has taken the last response, so CTA 0 outlives the arrivals of its peers.
template <ClcConfig C>
WW_FN void run_clc_scheduler(const ClcRing<C>& ring, machine::here at = {}) {
  if constexpr (C.scheduled()) {
    if (C.cluster > 1 && machine::cluster_rank() != 0) return;
    pipeline::Consumer<C.stages, pipeline::ReleaseByThread<pipeline::Readers::async>> throttle(ring.throttle);
    pipeline::Producer<C.stages, pipeline::PublishByTma, C.cluster == 1 ? Scope::cta : Scope::cluster> query(
        ring.responses);
    pipeline::Consumer<C.stages, detail::KeepResponse<C.cluster>> answer(ring.responses);
    for (int index = 0; index != detail::kNoMoreTiles;) {
      if constexpr (C.throttle) throttle.consume([](auto stage) { return stdx::move(stage).release(); }, at);
      query.produce(
          [&](auto stage) {
            const Shared<machine::ClcResponse> slot = ring.response + stage->index();
            // Every CTA gets its own copy of the answer, on its own barrier.
            machine::mbarrier_arrive_expect_tx(stage->full(), kClcResponseBytes, at);
            for (int rank = 1; rank < C.cluster; ++rank) {
              machine::mbarrier_arrive_expect_tx(machine::map_to_rank(stage->full(), uint32_t(rank)), kClcResponseBytes,
                                                 at);
            }
            if constexpr (C.cluster > 1) {
              machine::clc_try_cancel_multicast(slot, stage->full(), at);
            } else {
              machine::clc_try_cancel(slot, stage->full(), at);
            }
            return stdx::move(stage).release();
          },
          at);
      answer.consume(
          [&](auto stage) {
            index = detail::tile_of<C.cluster>(machine::load(ring.response + stage->index(), at), at);
            return stdx::move(stage).release();
          },
          at);
    }
    query.drain(at);
  }
}

}  // namespace warpwright::inline WW_WORLD::tile
