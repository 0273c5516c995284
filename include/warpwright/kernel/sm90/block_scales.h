// The scales of one stage, and how sums are added to totals by them.
#pragma once
#include "warpwright/kernel/sm90/accumulate.h"
#include "warpwright/kernel/sm90/stage_scales.h"
#include "warpwright/tile/convert.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// Where a thread's sums are in its tile: the first of its rows, and, of 16 columns, its four (ScaleSlots::side_place).
struct SumPlace {
  int row = 0;
  int columns = 0;
};

// Of all blocks of a warpgroup. Blocks side by side have the same rows.
template <GroupedGemmConfig C>
struct StageScales {
  using Slots = ScaleSlots<C>;
  static constexpr int kColumns = C.out_columns(), kRowBlocks = C.group_rows / 64;
  // Scales of single columns are many. Blocks of rows that have the same ones share what was read; a lone one reads
  // them when sums are added up, and only then is the stage handed back.
  static constexpr bool kLate = C.row_scales() && kRowBlocks == 1;
  static constexpr int kHeld = kLate ? 1 : C.held_scales();

  float a[kRowBlocks][2];  // of a thread's two rows
  float b[kHeld];          // of its columns: of each, or of one block of 128 columns or two, which share one
  Shared<float> columns;   // where those of four of its columns are, the next ones 16 behind (side_place)

  WW_FN static StageScales read(Shared<float> slot, const SumPlace& place) {
    StageScales s{};
    WW_UNROLL
    for (int i = 0; i < kRowBlocks; ++i) {
      s.a[i][0] = machine::load(slot + (place.row + 64 * i));
      s.a[i][1] = machine::load(slot + (place.row + 64 * i + 8));
    }
    const Shared<float> side = Slots::side(slot);
    if constexpr (C.row_scales()) s.columns = side + place.columns;
    if constexpr (C.row_scales() && !kLate) {
      WW_UNROLL
      for (int i = 0; i < kHeld; i += 4) {
        const Vec<float, 4> four = s.four_columns(i);
        WW_UNROLL
        for (int j = 0; j < 4; ++j) s.b[i + j] = four[j];
      }
    } else if constexpr (!C.row_scales()) {
      WW_UNROLL
      for (int i = 0; i < kHeld; ++i) s.b[i] = machine::load(side + i);
    }
    return s;
  }

  // `offset`: of the tile's first column in its block of 128.
  template <class Totals, class Sums>
  WW_FN void promote(int block, int offset, Totals& totals, const Sums& sums) const {
    const int row_block = block / C.column_blocks(), column_block = block % C.column_blocks();
    const float(&rows)[2] = a[row_block];
    if constexpr (C.row_scales()) {
      WW_UNROLL
      for (int i = 0; i < kColumns / 2; i += 8) {
        const int first = column_block * kColumns / 4 + i / 2;
        Vec<float, 4> four{};
        if constexpr (kLate) four = four_columns(first);
        WW_UNROLL
        for (int j = 0; j < 8; ++j) {
          const int of = j / 4 * 2 + j % 2;
          const float column = kLate ? four[of] : b[kLate ? 0 : first + of];
          const float scale = tile::multiply(rows[j / 2 % 2], column);
          totals.set(i + j, tile::multiply_add(sums.get(i + j), scale, totals.get(i + j)));
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
        // Columns of the second block of 128: always, never, or where the tile lies so.
        const bool second = lines == 2 && (g * step >= kScaleBlock || (g > 0 && offset + g * step >= kScaleBlock));
        const float of[2] = {second ? scale[lines - 1][0] : scale[0][0], second ? scale[lines - 1][1] : scale[0][1]};
        WW_UNROLL
        for (int i = g * in_group; i < (g + 1) * in_group; ++i) {
          totals.set(i, tile::multiply_add(sums.get(i), of[i / 2 % 2], totals.get(i)));
        }
      }
    }
  }

 private:
  WW_FN Vec<float, 4> four_columns(int first) const {
    return machine::load((columns + first * 4).template as<Vec<float, 4>>());
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
