// What a placement costs in memory: how many tiles each shared buffer must hold, from the lifetimes, and how many
// registers are alive at once.
#pragma once
#include "warpwright/schedule/strategy.h"

namespace warpwright::schedule {

struct SharedBuffer {
  Name name = {};
  uint8_t id = 0;      // Access::buffer
  int tile_bytes = 0;  // bytes of one slot
  uint8_t ring = 0;    // buffers of one ring share the barriers of a slot
};

// So deep that no reuse ever has to wait.
constexpr int free_depth(const LoopBody& body) { return 64 * body.tiles_per_iteration; }

constexpr List<BufferDepth> uniform_depths(const List<SharedBuffer>& buffers, int depth) {
  List<BufferDepth> d;
  for (const SharedBuffer& b : buffers) d.push_back({Space::shared, b.id, depth});
  return d;
}

constexpr int64_t shared_bytes(const List<SharedBuffer>& buffers, const List<BufferDepth>& depths) {
  int64_t sum = 0;
  for (const SharedBuffer& b : buffers)
    for (const BufferDepth& d : depths)
      if (d.space == Space::shared && d.buffer == b.id) sum += int64_t(d.depth) * b.tile_bytes;
  return sum;
}

namespace detail {

// Whether no slot of the buffer is written again before its readers are done, when it has `depth` slots.
constexpr bool depth_holds(const LoopBody& body, const List<int>& start, int interval, uint8_t buffer, int depth) {
  const auto touches = [buffer](const Access& a) { return a.space == Space::shared && a.buffer == buffer; };
  for (int p = 0; p < body.size(); ++p) {
    for (const Access& first : body.ops[size_t(p)].accesses) {
      if (!touches(first)) continue;
      const int delay = first.writes() ? 1 : body.ops[size_t(p)].latency > 1 ? body.ops[size_t(p)].latency : 1;
      for (int c = 0; c < body.size(); ++c) {
        for (const Access& second : body.ops[size_t(c)].accesses) {
          int distance = 0;
          if (!touches(second) || !second.writes() || (first.regions & second.regions) == 0) continue;
          if (p == c || !tile_distance(first.tile + depth, second.tile, body.tiles_per_iteration, distance)) continue;
          if (start[size_t(c)] - start[size_t(p)] + interval * distance < delay) return false;
        }
      }
    }
  }
  return true;
}

}  // namespace detail

// The fewest slots with which the placement stays right; 0 if no number below free_depth does.
constexpr int smallest_depth(const LoopBody& body, const List<int>& start, int interval, uint8_t buffer) {
  for (int depth = 1; depth < free_depth(body); ++depth)
    if (detail::depth_holds(body, start, interval, buffer, depth)) return depth;
  return 0;
}

struct RegisterPressure {
  int accumulators = 0;
  int peak = 0;  // accumulators included
  Name at = {};  // the op at whose start the peak is reached
};

// Registers of a value are taken from the issue of the op that writes it until its last reader is done, which is
// when the next value may take them.
constexpr RegisterPressure register_pressure(const LoopBody& body, const List<int>& start, int interval) {
  struct Life {
    int begin = 0, end = 0, registers = 0;
  };
  RegisterPressure r;
  List<Life> lives;
  uint8_t counted = 0;
  for (int w = 0; w < body.size(); ++w) {
    const OpNode& writer = body.ops[size_t(w)];
    for (const Access& a : writer.accesses) {
      if (a.space == Space::accumulator && (counted & a.regions) != a.regions) {
        r.accumulators += writer.op.vgpr_def;
        counted = uint8_t(counted | a.regions);
      }
      if (a.space != Space::registers || !a.writes()) continue;
      Life life{start[size_t(w)], start[size_t(w)] + 1, writer.op.vgpr_def};
      for (int c = 0; c < body.size(); ++c) {
        for (const Access& b : body.ops[size_t(c)].accesses) {
          int distance = 0;
          if (!b.reads() || !a.overlaps(b) || !tile_distance(a.tile, b.tile, body.tiles_per_iteration, distance)) {
            continue;
          }
          const int busy = body.ops[size_t(c)].latency > 1 ? body.ops[size_t(c)].latency : 1;
          const int end = start[size_t(c)] + interval * distance + busy;
          if (end > life.end) life.end = end;
        }
      }
      lives.push_back(life);
    }
  }
  r.peak = r.accumulators;
  const auto floor_div = [](int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); };
  for (int i = 0; i < body.size(); ++i) {
    int sum = r.accumulators;
    for (const Life& l : lives) {
      // Copies of the value, of earlier and later iterations, that are alive at this cycle.
      const int row = start[size_t(i)];
      sum += l.registers * (floor_div(l.end - 1 - row, interval) - floor_div(l.begin - 1 - row, interval));
    }
    if (sum > r.peak) r.peak = sum, r.at = body.ops[size_t(i)].name;
  }
  return r;
}

}  // namespace warpwright::schedule
