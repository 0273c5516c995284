// From the sums of an MMA warpgroup to what grouped_gemm.h stores: bias and swiglu, or a user-defined function, and the
// scales of a result in e4m3. All of it happens in the registers of the sums.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/epilogue/activation.h"
#include "warpwright/epilogue/own.h"
#include "warpwright/epilogue/quantize_block.h"
#include "warpwright/kernel/sm90/grouped/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/tile/convert.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

template <GroupedGemmConfig C>
struct GroupedEpilogue {
  using Args = GroupedGemmArgs;
  static constexpr int kColumns = C.out_columns();
  static constexpr bool kPlain = !C.bias && !C.swiglu && C.out != DType::e4m3 && C.own == 0;

  // Where this warpgroup's part of the tile is.
  struct Place {
    int matrix;   // the matrix B
    int row;      // the first one of D
    int rows;     // how many from there on
    int column;   // the first one of D
    int own_row;  // the same row in the matrix of D, as a user-defined function is told
    int batch;    // the number of that matrix
  };

  template <DType T>
  WW_FN static tile::FloatPair two_of(Global<const storage_t<T>> from) {
    if constexpr (T == DType::bf16) {
      return tile::unpack2<T>(machine::load(from.template as<const uint32_t>()));
    } else {
      const Vec<float, 2> both = machine::load(from.template as<const Vec<float, 2>>());
      return {both[0], both[1]};
    }
  }

  // Which sum of its block is a thread's result `r`: its gate (0) or its up (1) where the block has both.
  WW_FN static constexpr int register_of(int operand, int r) {
    return C.in_pairs() ? gate_register(r) + operand * kGateToUp : r;
  }

  // Adds the biases of the columns from `column` of D on, to gates and to ups. Two neighbouring columns are both inside
  // D or both outside.
  template <DType T, class Values, int Blocks>
  WW_FN static void add_bias(Values (&values)[Blocks], const Args& args, const Place& place, int row_block) {
    using Element = storage_t<T>;
    const int width = args.n / C.operands(), first = place.column + int(machine::lane_index()) % 4 * 2;
    const Global<const Element> bias =
        Global<const Element>{static_cast<const Element*>(args.bias)} + (place.matrix * args.bias_stride + first);
    WW_UNROLL
    for (int operand = 0; operand < C.operands(); ++operand) {
      const Global<const Element> half = bias + operand * width;
      Values& sums = values[row_block * C.column_blocks() + operand % C.column_blocks()];
      WW_UNROLL
      for (int i = 0; i < kColumns / 2; i += 4) {
        if (first + 2 * i >= width) break;
        const tile::FloatPair pair = two_of<T>(half + 2 * i);
        WW_UNROLL
        for (int j = i; j < i + 4; ++j) {
          const int at = register_of(operand, j);
          sums.set(at, tile::add(sums.get(at), j % 2 == 0 ? pair.low : pair.high));
        }
      }
    }
  }

  // The biases of two columns.
  WW_FN static tile::FloatPair column_bias(const Args& args, int64_t at) {
    if (args.bias_is_bf16) return two_of<DType::bf16>(Global<const bf16>{static_cast<const bf16*>(args.bias)} + at);
    return two_of<DType::fp32>(Global<const float>{static_cast<const float*>(args.bias)} + at);
  }
  WW_FN static float row_bias(const Args& args, int64_t at) {
    if (args.bias_is_bf16) {
      return tile::widen<DType::bf16>(machine::load(Global<const bf16>{static_cast<const bf16*>(args.bias)} + at));
    }
    return machine::load(Global<const float>{static_cast<const float*>(args.bias)} + at);
  }

  // Applies the user-defined function to every sum. Past the end of the group or of D there is no bias, and no store.
  template <class Values>
  WW_FN static void apply_own(Values& sums, const Args& args, const Place& place, int row_block) {
    const int lane = int(machine::lane_index());
    const int row = 64 * row_block + int(machine::warp_index()) % 4 * 16 + lane / 4,
              column = place.column + lane % 4 * 2;
    float of_row[2] = {0, 0};
    if constexpr (C.row_bias) {
      WW_UNROLL
      for (int half = 0; half < 2; ++half) {
        if (row + 8 * half < place.rows) of_row[half] = row_bias(args, place.row + row + 8 * half);
      }
    }
    WW_UNROLL
    for (int i = 0; i < kColumns / 2; i += 4) {
      tile::FloatPair of_columns{0, 0};
      if constexpr (C.bias) {
        if (column + 2 * i < args.n) of_columns = column_bias(args, place.matrix * args.bias_stride + column + 2 * i);
      }
      WW_UNROLL
      for (int j = i; j < i + 4; ++j) {
        const int half = j / 2 % 2;
        const float bias = C.row_bias ? of_row[half] : j % 2 == 0 ? of_columns.low : of_columns.high;
        sums.set(j, epilogue::Own<C.own>{}({.x = sums.get(j),
                                            .bias = bias,
                                            .beta = args.beta,
                                            .row = place.own_row + row + 8 * half,
                                            .column = column + 2 * i + j % 2,
                                            .batch = place.batch}));
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

  // Finishes one row of blocks; the first registers of its first block then hold what is to be converted and stored.
  template <class Values, int Blocks>
  WW_FN static void finish(Values (&values)[Blocks], const Args& args, const Place& place, int row_block) {
    const int first = row_block * C.column_blocks();
    if constexpr (C.own != 0) {
      apply_own(values[first], args, place, row_block);
    } else if constexpr (C.bias) {
      if (args.bias != nullptr && args.bias_is_bf16) add_bias<DType::bf16>(values, args, place, row_block);
      if (args.bias != nullptr && !args.bias_is_bf16) add_bias<DType::fp32>(values, args, place, row_block);
    }
    if constexpr (C.swiglu) {
      const Values& ups = values[first + C.column_blocks() - 1];
      // A result takes the place of a sum that was read for it or for an earlier one.
      WW_UNROLL
      for (int r = 0; r < kColumns / 2; ++r) {
        const float gate = values[first].get(register_of(0, r)), up = ups.get(register_of(1, r));
        values[first].set(r, tile::multiply(epilogue::silu(gate), up));
      }
    }
    if constexpr (C.out == DType::e4m3) quantize(values[first], args, place, row_block);
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
