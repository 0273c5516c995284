// Dependences from declared accesses. For two accesses of one place:
//   FLOW    write of tile v  ->  read of tile v
//   ANTI    read of tile v   ->  the write that next takes its place, tile v + depth
//   OUTPUT  write of tile v  ->  that same write
// and an update follows the update of the tile before, and the updates of its own tile that are declared before it. The
// distance is the difference of the iterations in which the two tiles are touched. Nothing depends on roles, and but
// for updates nothing on the order of declaration.
#pragma once
#include "warpwright/schedule/body.h"

namespace warpwright::schedule {

// How many tiles a buffer holds before a place is used again.
struct BufferDepth {
  Space space = Space::shared;
  uint8_t buffer = 0;
  int depth = 1;
};

constexpr int depth_of(const List<BufferDepth>& depths, const Access& a) {
  for (const BufferDepth& d : depths)
    if (d.space == a.space && d.buffer == a.buffer) return d.depth;
  return 1;
}

// Iterations from an access with tile `from` to one with tile `to` of the same buffer place, if they meet at all.
constexpr bool tile_distance(int from, int to, int tiles_per_iteration, int& distance) {
  const int tiles = from - to;
  if (tiles % tiles_per_iteration != 0) return false;
  distance = tiles / tiles_per_iteration;
  return true;
}

// Iterations from one update of a place to another that follows it, if it does.
constexpr bool update_distance(int from, int from_tile, int to, int to_tile, int tiles_per_iteration, int& distance) {
  distance = 0;
  if (from_tile == to_tile && from < to) return true;
  return tile_distance(from_tile + 1, to_tile, tiles_per_iteration, distance);
}

// Cycles from the start of the producer to the earliest start of the consumer.
constexpr int edge_delay(const LoopBody& body, const DepEdge& e) {
  return e.kind == DepKind::output ? 1 : body.ops[size_t(e.producer)].latency + e.lag;
}

constexpr List<DepEdge> access_edges(const LoopBody& body, const List<BufferDepth>& depths) {
  List<DepEdge> edges;
  const auto add = [&edges](int p, int c, DepKind kind, int distance) {
    const DepEdge e{p, c, kind, distance};
    for (const DepEdge& old : edges)
      if (old == e) return;
    edges.push_back(e);
  };
  const int per_iteration = body.tiles_per_iteration;
  for (int p = 0; p < body.size(); ++p) {
    for (const Access& first : body.ops[size_t(p)].accesses) {
      const int depth = depth_of(depths, first);
      for (int c = 0; c < body.size(); ++c) {
        for (const Access& second : body.ops[size_t(c)].accesses) {
          if (!first.overlaps(second)) continue;
          int distance = 0;
          if (first.mode == AccessMode::update && second.mode == AccessMode::update) {
            if (update_distance(p, first.tile, c, second.tile, per_iteration, distance)) {
              add(p, c, DepKind::flow, distance);
            }
            continue;
          }
          if (first.writes() && second.reads() && tile_distance(first.tile, second.tile, per_iteration, distance)) {
            add(p, c, DepKind::flow, distance);
          }
          const bool meets = second.writes() && tile_distance(first.tile + depth, second.tile, per_iteration, distance);
          if (meets && !first.writes()) add(p, c, DepKind::anti, distance);
          // An op never overtakes its own next instance.
          if (meets && first.writes() && p != c) add(p, c, DepKind::output, distance);
        }
      }
    }
  }
  return edges;
}

}  // namespace warpwright::schedule
