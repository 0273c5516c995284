// The scales of one stage, and how sums are added to totals by them.
#pragma once
#include "warpwright/kernel/sm90/accumulate.h"
#include "warpwright/kernel/sm90/grouped/stage_scales.h"
#include "warpwright/tile/convert.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// Where a thread's sums are in its tile: its first row, and its four of 16 columns (ScaleSlots::side_place).
struct SumPlace {
  int row = 0;
  int columns = 0;
};

// The scales of all blocks of a warpgroup. Blocks side by side have the same rows.
template <GroupedGemmConfig C>
struct StageScales {
  using Slots = ScaleSlots<C>;
  static constexpr int kColumns = C.out_columns(), kRowBlocks = C.group_rows / 64;
  static constexpr int kHeld = C.row_scales() ? 1 : C.scale_lines();

  float a[kRowBlocks][2];  // the scales of a thread's two rows
  float b[kHeld];          // those of its columns, if many share one: of one block of 128 columns, or of two
  Shared<float> columns;   // otherwise where those of four of its columns are, the next ones 16 behind (side_place)

  WW_FN static StageScales read(Shared<float> slot, const SumPlace& place) {
    StageScales s{};
    WW_UNROLL
    for (int i = 0; i < kRowBlocks; ++i) {
      s.a[i][0] = machine::load(slot + (place.row + 64 * i));
      s.a[i][1] = machine::load(slot + (place.row + 64 * i + 8));
    }
    const Shared<float> side = Slots::side(slot);
    if constexpr (C.row_scales()) {
      s.columns = side + place.columns;
    } else {
      WW_UNROLL
      for (int i = 0; i < kHeld; ++i) s.b[i] = machine::load(side + i);
    }
    return s;
  }

  // `offset`: of the tile's first column in its block of 128. Scales of single columns are read here, since there are
  // too many to hold.
  template <class Totals, class Sums>
  WW_FN void promote(int block, int offset, Totals& totals, const Sums& sums) const {
    const int row_block = block / C.column_blocks(), column_block = block % C.column_blocks();
    const float(&rows)[2] = a[row_block];
    if constexpr (C.row_scales()) {
      WW_UNROLL
      for (int i = 0; i < kColumns / 2; i += 8) {
        const Shared<float> from = columns + (column_block * kColumns + 2 * i);
        const Vec<float, 4> four = machine::load(from.template as<Vec<float, 4>>());
        WW_UNROLL
        for (int j = i; j < i + 8; ++j) {
          const float scale = tile::multiply(rows[j / 2 % 2], four[j / 4 % 2 * 2 + j % 2]);
          totals.set(j, tile::multiply_add(sums.get(j), scale, totals.get(j)));
        }
      }
    } else {
      constexpr int lines = C.block_lines(), step = C.scaled_columns(), in_group = step / 2;
      float scale[lines][2];
      WW_UNROLL
      for (int i = 0; i < lines; ++i) {
        scale[i][0] = tile::multiply(rows[0], b[column_block * lines + i]);
        scale[i][1] = tile::multiply(rows[1], b[column_block * lines + i]);
      }
      WW_UNROLL
      for (int g = 0; g < C.block_scales(); ++g) {
        // Whether a column is in the second block of 128: always, never, or depending on where the tile begins.
        const bool second = lines == 2 && (g * step >= kScaleBlock || (g > 0 && offset + g * step >= kScaleBlock));
        const float of[2] = {second ? scale[lines - 1][0] : scale[0][0], second ? scale[lines - 1][1] : scale[0][1]};
        WW_UNROLL
        for (int i = g * in_group; i < (g + 1) * in_group; ++i) {
          totals.set(i, tile::multiply_add(sums.get(i), of[i / 2 % 2], totals.get(i)));
        }
      }
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
