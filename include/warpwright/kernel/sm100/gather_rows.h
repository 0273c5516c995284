// Rows of A that a table names, for the load role of the kernels with groups. Blackwell's TMA takes four rows from a
// list with one copy, so each lane of the load warp knows four neighbouring rows of the tile and brings them itself.
// They land where a box of whole tiles would have put them; nothing of A is copied in memory.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/sm100/config.h"
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

// The rows of one tile in the shared memory of one CTA, known to the whole warp.
template <int Rows>
class GatheredRows {
  static constexpr int kInCopy = 4, kOfWarp = kInCopy * kWarpThreads;
  static constexpr int kCopies = (Rows + kOfWarp - 1) / kOfWarp;  // of a lane
  static_assert(Rows % kInCopy == 0, "a copy brings four rows");

 public:
  // Rows of the product from `first` up to `end`. Those past the end, and those that A does not have, are zeros;
  // returns whether the table names such a row.
  WW_FN bool load(const int32_t* index, int a_rows, int first, int end, machine::here at = {}) {
    bool wrong = false;
    WW_UNROLL
    for (int i = 0; i < kCopies; ++i) {
      WW_UNROLL
      for (int j = 0; j < kInCopy; ++j) {
        const int row = own(i) + j;
        rows_[i][j] = a_rows;
        if (row >= Rows || first + row >= end) continue;
        const int taken = machine::load(Global<const int32_t>{index} + (first + row), at);
        if (uint32_t(taken) < uint32_t(a_rows)) {
          rows_[i][j] = taken;
        } else {
          wrong = true;
        }
      }
    }
    return wrong;
  }
  // For a stage that is free, before its one arrival, so that a lane that brings nothing does not fall a round behind.
  WW_FN static void meet([[maybe_unused]] machine::here at = {}) {
    if constexpr (Rows % kOfWarp != 0) machine::sync_warp(machine::kFullMask, at);
  }
  // Their parts from column k on, into the tile at `to`.
  template <int CtaGroup>
  WW_FN void copy(Shared<uint8_t> to, const TensorMap* map, int k, Shared<Mbarrier> full, machine::here at = {}) const {
    WW_UNROLL
    for (int i = 0; i < kCopies; ++i) {
      if (own(i) >= Rows) continue;
      const Shared<uint8_t> lines = to.plus_bytes(swizzle_bytes(Swizzle::b128) * uint32_t(own(i)));
      const machine::Coords<5> from{{k, rows_[i][0], rows_[i][1], rows_[i][2], rows_[i][3]}};
      if constexpr (CtaGroup == 2) {
        machine::tma_gather4_pair(lines, map, from, machine::map_to_leader(full), at);
      } else {
        machine::tma_gather4(lines, map, from, full, at);
      }
    }
  }

 private:
  // The first row of this lane's copy.
  WW_FN static int own(int copy) { return copy * kOfWarp + int(machine::lane_index()) * kInCopy; }
  int rows_[kCopies][kInCopy];
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100
