// The second validator, independent of the first: run the schedule in program order, one role at a time, and follow the
// number of the K tile through every copy. Each MMA must multiply operands of one tile, and every (place of the result,
// tile) must occur exactly once. It knows nothing of waits; it finds wrong orders, lost ops and wrong peeling.
#pragma once
#include "warpwright/schedule/trace.h"

namespace warpwright::schedule {

// accesses() as for the other validator; tile(instance, n) is the K tile that a load of global memory brings when it is
// the n-th instance of such a load.
template <class M>
concept VersionModel = AccessModel<M> && requires(const M& m, const Instance& i, int n) {
  int(m.tile(i, n));
};

namespace detail {

inline constexpr int kNoTile = -1000;

// Tile number of each part of each place. Places are few, so a list searched in order is enough.
class PlaceMap {
 public:
  constexpr void set(const Access& a, int tile) {
    for (int bit = 0; bit < 8; ++bit)
      if ((a.regions >> bit & 1) != 0) at(a, bit) = tile;
  }
  // The tile of all parts, or kNoTile if they differ.
  constexpr int get(const Access& a) {
    int tile = kNoTile;
    for (int bit = 0; bit < 8; ++bit) {
      if ((a.regions >> bit & 1) == 0) continue;
      const int here = at(a, bit);
      if (tile != kNoTile && here != tile) return kNoTile;
      tile = here;
    }
    return tile;
  }

 private:
  struct Place {
    Space space;
    uint8_t buffer;
    int8_t slot;
    int8_t bit;
    int tile;
  };
  constexpr int& at(const Access& a, int bit) {
    for (Place& p : places_)
      if (p.space == a.space && p.buffer == a.buffer && p.slot == a.slot && p.bit == bit) return p.tile;
    places_.push_back({a.space, a.buffer, a.slot, int8_t(bit), kNoTile});
    return places_.back().tile;
  }
  List<Place> places_;
};

// Which tile each place holds and which results each tile has reached, as one role sees it.
class VersionTracker {
 public:
  constexpr VersionTracker(int role, int tiles, const TargetCostModel& names, Diagnostics& found)
      : role_(role), tiles_(tiles), names_(names), found_(found) {}

  // `loaded`: the tile that a load of global memory brings; of any other op it follows from what the op reads.
  constexpr void execute(const Instance& i, const AccessList& accesses, int loaded = kNoTile) {
    int tile = kNoTile, last = kNoTile;
    bool any = false, equal = true;
    for (const Access& a : accesses) {
      if (a.space == Space::accumulator || !a.reads() || !a.made_by(role_)) continue;
      last = places_.get(a);
      if (!any) tile = last;
      any = true;
      equal = equal && last == tile && last != kNoTile;
    }
    if (i.op.role == OpRole::global_load) {
      tile = loaded;
    } else if (!equal) {
      found_.push_back({.code = Code::version_mismatch,
                        .a = names_.name(i.op),
                        .have = tile,
                        .need = last,
                        .role_a = role_,
                        .iteration = i.iteration,
                        .phase = i.phase});
    }
    for (const Access& a : accesses) {
      if (!a.writes() || !a.made_by(role_)) continue;
      if (a.space != Space::accumulator) {
        places_.set(a, tile);
      } else {
        Result& r = result_of(a.regions, i);
        if (equal && tile >= 0 && tile < tiles_) ++r.count[size_t(tile)];
      }
    }
  }

  constexpr void finish() {
    for (const Result& r : results_) {
      for (int tile = 0; tile < tiles_; ++tile) {
        if (r.count[size_t(tile)] == 1) continue;
        found_.push_back({.code = Code::op_lost,
                          .a = r.name,
                          .b = Name("tile ").add(tile),
                          .have = r.count[size_t(tile)],
                          .need = 1,
                          .role_a = role_});
      }
    }
  }

 private:
  struct Result {
    uint8_t regions;
    Name name;
    List<int> count;
  };
  constexpr Result& result_of(uint8_t regions, const Instance& i) {
    for (Result& r : results_)
      if (r.regions == regions) return r;
    results_.push_back({regions, names_.name(i.op), List<int>(size_t(tiles_), 0)});
    return results_.back();
  }

  int role_;
  int tiles_;
  const TargetCostModel& names_;
  Diagnostics& found_;
  PlaceMap places_;
  List<Result> results_;
};

}  // namespace detail

// VERSION_MISMATCH: an MMA with operands of several tiles (a, with have and need the tiles of its first and last
// operand). OP_LOST: a result that a tile reached another number of times than once (have; b names the tile).
template <VersionModel Model>
constexpr Diagnostics simulate_versions(const Trace& t, const Model& model, const TargetCostModel& names, int tiles) {
  Diagnostics found;
  for (int role = 0; role < t.roles; ++role) {
    detail::VersionTracker tracker(role, tiles, names, found);
    int loads = 0;
    for (const Instance& i : t.instances) {
      if (!i.op.tag.is_data()) continue;
      const int loaded = i.op.role == OpRole::global_load ? model.tile(i, loads++) : detail::kNoTile;
      tracker.execute(i, model.accesses(i), loaded);
    }
    tracker.finish();
  }
  return found;
}

template <VersionModel Model>
constexpr Diagnostics simulate_versions(const Schedule& s, const RunShape& shape, int iterations, const Model& model,
                                        const TargetCostModel& names) {
  return simulate_versions(make_trace(s, shape, iterations), model, names, model.total_tiles(iterations));
}

}  // namespace warpwright::schedule
