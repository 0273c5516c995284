// The scheduler of grouped kernels: one warp of each CTA walks the table of groups and hands the tiles to the other
// roles through a short ring in shared memory, so that a CTA reads the table once and its other warps compute nothing.
//
//   constexpr BlockPlan make() { ...roles...; add_group_scheduler(p, 2, "scheduler", "load", "mma", "epilogue"); ... }
//   scheduler:    run_group_scheduler(group_slots_at<K, 2>(base), table, tile_rows, tiles_n);          whole warp
//   other roles:  ScheduledGroupTiles<2> tiles(group_slots_at<K, 2>(base));                            whole warps
//                 for (GroupTile tile; tiles.next(tile);) ...
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/pipeline/ring.h"
#include "warpwright/tile/clc.h"
#include "warpwright/tile/groups.h"

namespace warpwright::inline WW_WORLD::tile {

// The size of a slot in shared memory.
inline constexpr uint32_t kGroupSlotBytes = 32;

// Adds the ring to the block plan, after its roles. Every warp of every reader takes every tile.
constexpr void add_group_scheduler(BlockPlan& plan, int stages, const char* scheduler, const char* reader,
                                   const char* reader2 = nullptr, const char* reader3 = nullptr,
                                   const char* reader4 = nullptr, const char* reader5 = nullptr) {
  const char* const names[5] = {reader, reader2, reader3, reader4, reader5};
  ArrivalSpec reads[5] = {};
  int total = 0;
  for (int i = 0; i < 5; ++i) {
    if (names[i] == nullptr) continue;
    reads[i] = {names[i], detail::role_warps(plan, names[i])};
    total += reads[i].per_phase;
  }
  plan.region("schedule.slot", kGroupSlotBytes, stages, kGroupSlotBytes);
  plan.barrier("schedule.full", stages, 1, reader, {scheduler, 1});
  plan.barrier("schedule.empty", stages, total, scheduler, reads[0], reads[1], reads[2], reads[3], reads[4]);
}

// The addresses of one CTA. They carry no position, so they may be passed around.
template <int Stages>
struct GroupSlots {
  pipeline::Ring<Stages> ring;
  Shared<Vec<int, 4>> slot;  // two for each stage
};
// The ring that add_group_scheduler() has added to the plan of K, in the shared memory at `base`.
template <class K, int Stages>
WW_FN GroupSlots<Stages> group_slots_at(uint32_t base) {
  static_assert(K::plan.barrier("schedule.full").stages == Stages, "groups: the plan has another number of slots");
  constexpr uint32_t full = K::plan.barrier("schedule.full").offset, empty = K::plan.barrier("schedule.empty").offset;
  constexpr uint32_t slot = K::plan.region("schedule.slot").offset;
  return {pipeline::ring_at<Stages>(base, full, empty), {base + slot}};
}

namespace detail {
// Threads have read the slot, and will write it, by ordinary accesses.
struct ReleaseSlot {
  WW_FN static void acquired(machine::here) {}
  WW_FN static void release(Shared<Mbarrier> empty, machine::here at) {
    machine::sync_warp(machine::kFullMask, at);
    if (machine::lane_index() == 0) machine::mbarrier_arrive(empty, 1, at);
  }
};
}  // namespace detail

// The tiles as one converged warp sees them. Call next() until it returns false: the scheduler waits for every reader.
// A slot says where a group along k begins; for other groups, it has their first block of factors.
template <int Stages, Groups G = Groups::contiguous>
class ScheduledGroupTiles {
 public:
  WW_FN explicit ScheduledGroupTiles(const GroupSlots<Stages>& slots) : slot_(slots.slot), slots_(slots.ring) {}
  ScheduledGroupTiles(const ScheduledGroupTiles&) = delete;
  ScheduledGroupTiles& operator=(const ScheduledGroupTiles&) = delete;

  WW_FN bool next(GroupTile& tile, machine::here at = {}) {
    slots_.consume(
        [&](auto stage) {
          const Vec<int, 4> group = machine::load(slot_ + 2 * stage->index(), at);
          const Vec<int, 4> place = machine::load(slot_ + (2 * stage->index() + 1), at);
          tile = {group[0], group[1], group[2], group[3], place[0], place[1], place[2], place[3]};
          if constexpr (G == Groups::by_depth) tile.first_k = place[2];
          return stdx::move(stage).release();
        },
        at);
    return tile.group >= 0;
  }

 private:
  Shared<Vec<int, 4>> slot_;
  pipeline::Consumer<Stages, detail::ReleaseSlot> slots_;
};

// Called by the whole warp of the scheduler, in every CTA of the cluster, all of which do the same tiles. Adds: other
// warps add what they find to the status word.
template <bool Adds = false, Groups G = Groups::contiguous, int Stages>
WW_FN void run_group_scheduler(const GroupSlots<Stages>& slots, const GroupTable& table, int tile_rows, int tiles_n,
                               int tile_columns = 1, machine::here at = {}) {
  GroupTiles<G> tiles(table, tile_rows, tiles_n, tile_columns);
  pipeline::Producer<Stages, pipeline::PublishByThread<pipeline::To::threads>> ring(slots.ring);
  const bool speaks = machine::lane_index() == 0;
  int index = int(machine::cluster_index());
  for (bool more = true; more; index += int(machine::cluster_count())) {
    GroupTile tile;
    more = tiles.at(index, tile, at);
    if (speaks) {
      ring.produce(
          [&](auto stage) {
            const Shared<Vec<int, 4>> slot = slots.slot + 2 * stage->index();
            machine::store(slot, {{more ? tile.group : -1, tile.matrix, tile.first_row, tile.end_row}}, at);
            const int begin = G == Groups::by_depth ? tile.first_k : tile.first_block;
            machine::store(slot + 1, {{tile.m, tile.n, begin, tile.k}}, at);
            return stdx::move(stage).release();
          },
          at);
    }
  }
  tiles.template report<Adds>(at);
  if (speaks) ring.drain(at);
}

}  // namespace warpwright::inline WW_WORLD::tile
