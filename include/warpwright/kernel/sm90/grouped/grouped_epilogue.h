// From the sums of an MMA warpgroup to what grouped_gemm.h stores: bias, swiglu, and the scales of a result in e4m3.
// All of it happens in the registers of the sums.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/epilogue/activation.h"
#include "warpwright/epilogue/quantize_block.h"
#include "warpwright/kernel/sm90/grouped/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/tile/convert.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

template <GroupedGemmConfig C>
struct GroupedEpilogue {
  using Args = GroupedGemmArgs;
  static constexpr int kColumns = C.out_columns();
  static constexpr bool kPlain = !C.bias && !C.swiglu && C.out != DType::e4m3;

  // Where the tile's part of this warpgroup is.
  struct Place {
    int matrix;  // the matrix B
    int row;     // the first one of D
    int rows;    // how many from there on
    int column;  // the first one of D
  };

  // Adds those of the columns from `column` of D on to both halves. Pairs of columns are inside D or not.
  template <DType T, class Values, int Blocks>
  WW_FN static void add_bias(Values (&values)[Blocks], const Args& args, const Place& place, int row_block) {
    using Element = storage_t<T>;
    const int width = args.n / C.column_blocks(), first = place.column + int(machine::lane_index()) % 4 * 2;
    const Global<const Element> bias =
        Global<const Element>{static_cast<const Element*>(args.bias)} + (place.matrix * args.bias_stride + first);
    WW_UNROLL
    for (int half_block = 0; half_block < C.column_blocks(); ++half_block) {
      const Global<const Element> half = bias + half_block * width;
      Values& sums = values[row_block * C.column_blocks() + half_block];
      WW_UNROLL
      for (int i = 0; i < kColumns / 2; i += 4) {
        if (first + 2 * i >= width) break;
        tile::FloatPair pair;
        if constexpr (T == DType::bf16) {
          pair = tile::unpack2<T>(machine::load((half + 2 * i).template as<const uint32_t>()));
        } else {
          const Vec<float, 2> both = machine::load((half + 2 * i).template as<const Vec<float, 2>>());
          pair = {both[0], both[1]};
        }
        WW_UNROLL
        for (int j = i; j < i + 4; ++j) {
          sums.set(j, tile::add(sums.get(j), j % 2 == 0 ? pair.low : pair.high));
        }
      }
    }
  }

  // The four lanes of a row share its columns. `row` is the first of the block.
  template <class Values>
  WW_FN static void quantize(Values& values, const Args& args, const Place& place, int block) {
    // Magnitudes are ordered like the integers with their bits, NaN above all.
    uint32_t largest[2] = {0, 0};
    WW_UNROLL
    for (int i = 0; i < kColumns / 2; ++i) {
      const uint32_t magnitude = stdx::bit_cast<uint32_t>(values.get(i)) & 0x7fff'ffffu;
      if (magnitude > largest[i / 2 % 2]) largest[i / 2 % 2] = magnitude;
    }
    const int lane = int(machine::lane_index());
    float inverse[2];
    WW_UNROLL
    for (int i = 0; i < 2; ++i) {
      WW_UNROLL
      for (uint32_t distance = 1; distance < 4; distance *= 2) {
        const uint32_t other = machine::shuffle_xor(largest[i], distance);
        if (other > largest[i]) largest[i] = other;
      }
      const float scale = epilogue::scale_of_block(stdx::bit_cast<float>(largest[i]));
      inverse[i] = tile::reciprocal(scale);
      const int row = 64 * block + int(machine::warp_index()) % 4 * 16 + lane / 4 + 8 * i;
      if (lane % 4 == 0 && row < place.rows) {
        const int64_t at = (place.row + row) * args.d_scales_stride + place.column / kScaleBlock;
        machine::store(Global<float>{args.d_scales} + at, scale);
      }
    }
    WW_UNROLL
    for (int i = 0; i < kColumns / 2; ++i) values.set(i, tile::multiply(values.get(i), inverse[i / 2 % 2]));
  }

  // Finishes one row of blocks; its first block then holds what is to be converted and stored.
  template <class Values, int Blocks>
  WW_FN static void finish(Values (&values)[Blocks], const Args& args, const Place& place, int row_block) {
    const int first = row_block * C.column_blocks();
    if constexpr (C.bias) {
      if (args.bias != nullptr && args.bias_is_bf16) add_bias<DType::bf16>(values, args, place, row_block);
      if (args.bias != nullptr && !args.bias_is_bf16) add_bias<DType::fp32>(values, args, place, row_block);
    }
    if constexpr (C.swiglu) {
      WW_UNROLL
      for (int i = 0; i < kColumns / 2; ++i) {
        values[first].set(i, tile::multiply(epilogue::silu(values[first].get(i)), values[first + 1].get(i)));
      }
    }
    if constexpr (C.out == DType::e4m3) quantize(values[first], args, place, row_block);
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
