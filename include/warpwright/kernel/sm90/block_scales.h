// The scales of one block of sums, and how the sums are added to the totals by them.
#pragma once
#include "warpwright/kernel/sm90/accumulate.h"
#include "warpwright/kernel/sm90/scale_ring.h"
#include "warpwright/tile/convert.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

template <GroupedGemmConfig C>
struct BlockScales {
  using Brought = Scales<C.scales()>;
  static constexpr int kColumns = C.out_columns();
  static constexpr int kHeld = C.row_scales() ? 1 : C.block_scales();

  float a[2];             // of a thread's two rows
  float b[kHeld];         // of its columns, if many share one
  Shared<float> columns;  // otherwise those of four of its columns, the next ones 16 behind (ScaleRing::side_place)

  // `row` is the thread's first, `columns` the block of columns.
  WW_FN static BlockScales of(Shared<float> slot, int row, int columns) {
    BlockScales s{};
    s.a[0] = machine::load(slot + row);
    s.a[1] = machine::load(slot + (row + 8));
    s.read_columns(slot, columns);
    return s;
  }
  WW_FN void read_columns(Shared<float> slot, int block) {
    const Shared<float> side = Brought::few_of(slot);
    if constexpr (C.row_scales()) {
      columns = side + (block * kColumns + int(machine::lane_index()) % 4 * 4);
    } else {
      WW_UNROLL
      for (int i = 0; i < kHeld; ++i) b[i] = machine::load(side + (block * kHeld + i));
    }
  }

  // `rows` are the scales of the rows. Scales of single columns are read here: there are too many to be held.
  template <class Totals, class Sums>
  WW_FN void promote(const float (&rows)[2], Totals& totals, const Sums& sums) const {
    if constexpr (C.row_scales()) {
      WW_UNROLL
      for (int i = 0; i < kColumns / 2; i += 8) {
        const Vec<float, 4> four = machine::load((columns + 2 * i).template as<Vec<float, 4>>());
        WW_UNROLL
        for (int j = i; j < i + 8; ++j) {
          const float scale = tile::multiply(rows[j / 2 % 2], four[j / 4 % 2 * 2 + j % 2]);
          totals.set(j, tile::multiply_add(sums.get(j), scale, totals.get(j)));
        }
      }
    } else {
      constexpr int in_group = C.scaled_columns() / 2;  // registers of columns with one scale
      WW_UNROLL
      for (int g = 0; g < kHeld; ++g) {
        const float scale[2] = {tile::multiply(rows[0], b[g]), tile::multiply(rows[1], b[g])};
        WW_UNROLL
        for (int i = g * in_group; i < (g + 1) * in_group; ++i) {
          totals.set(i, tile::multiply_add(sums.get(i), scale[i / 2 % 2], totals.get(i)));
        }
      }
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
