// A compiled pipeline as the validators ask for it.
#pragma once
#include "warpwright/schedule/hazard.h"
#include "warpwright/schedule/phase_run.h"
#include "warpwright/schedule/pipeline.h"

namespace warpwright::schedule {

// The accesses of a compiled pipeline as the validators ask for them: tile and slot from the iteration of the body.
struct PipelineModel {
  const Pipeline& pipeline;
  int iterations = 0;  // iterations of the body

  constexpr int body_iteration(const Instance& i) const {
    const int base = i.phase == Phase::prologue ? 0 : i.phase == Phase::kernel ? i.iteration : iterations;
    return base + i.shift;
  }
  constexpr int tile_of(const Instance& i, const Access& a) const {
    return a.tile + pipeline.body.tiles_per_iteration * body_iteration(i);
  }
  constexpr AccessList accesses(const Instance& i) const {
    AccessList list;
    if (i.source < 0 || !i.op.tag.is_data()) return list;
    list = pipeline.body.ops[size_t(i.source)].accesses;
    for (int a = 0; a < list.count; ++a) {
      const int depth = depth_of(pipeline.depths, list.list[a]);
      list.list[a].slot = int8_t(tile_of(i, list.list[a]) % depth);
    }
    return list;
  }
  constexpr OpTicks ticks(const OpDesc& op) const {
    if (!op.tag.is_data()) return {};
    const Counter counter = pipeline.target.counter_of(op.role);
    return {counter, counter == Counter::none ? 0 : pipeline.costs[op.tag].ticks};
  }
  constexpr int tile(const Instance& i, int) const {
    for (const Access& a : pipeline.body.ops[size_t(i.source)].accesses)
      if (a.writes()) return tile_of(i, a);
    return 0;
  }
  constexpr int phase_tile(const Instance& i, int ring) const {
    for (const Access& a : pipeline.body.ops[size_t(i.source)].accesses)
      if (in_ring(pipeline.buffers, ring, a)) return tile_of(i, a);
    return -1;
  }
  constexpr int ring_of(const Access& a) const {
    for (const SharedBuffer& b : pipeline.buffers)
      if (b.id == a.buffer) return b.ring;
    return 0;
  }
  // The copies of a buffer share its tile equally.
  constexpr int64_t bytes(const Instance& i) const {
    int64_t sum = 0;
    for (const Access& mine : pipeline.body.ops[size_t(i.source)].accesses) {
      if (mine.space != Space::shared || !mine.writes()) continue;
      int copies = 0;
      for (const OpNode& n : pipeline.body.ops)
        for (const Access& a : n.accesses) copies += a.writes() && a.overlaps(whole(mine)) && a.tile == mine.tile;
      for (const SharedBuffer& b : pipeline.buffers)
        if (b.id == mine.buffer) sum += b.tile_bytes / copies;
    }
    return sum;
  }

 private:
  static constexpr Access whole(Access a) {
    a.regions = kAllRegions;
    return a;
  }
};

}  // namespace warpwright::schedule
