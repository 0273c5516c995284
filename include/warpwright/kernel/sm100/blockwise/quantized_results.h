// The end of a blockwise product whose result is the operand of another: swiglu of gates and ups, in e4m3, with a scale
// for every 128 results of a row. Each warpgroup has a part of these; they exchange their largest values through shared
// memory. Scales are stored by columns, as blockwise_fp8.h reads those of A.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/epilogue/quantize_block.h"
#include "warpwright/kernel/sm100/epilogue_layout.h"
#include "warpwright/kernel/sm100/grouped/config.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

// Adds room for that exchange, after the roles. Two buffers in turn, so that a slow reader is not overwritten.
constexpr void declare_largest(BlockPlan& plan, const BlockwiseFp8Sm100Config& c) {
  plan.region("largest", uint32_t(c.dense().epilogue_groups() * c.dense().tile_m) * sizeof(uint32_t), 2, 128);
  plan.named_barrier("largest", kWarpThreads * c.epilogue_warps);
}

// One for each thread of the epilogue, for all its tiles. K is the kernel.
template <BlockwiseFp8Sm100Config C, class K>
class QuantizedResults {
  static constexpr DenseGemmSm100Config kDense = C.dense();
  using Layout = EpilogueLayout<kDense>;
  using Ops = epilogue::EpilogueOps<Layout::kNodes>;
  using Args = typename K::Args;
  static constexpr int kSums = Layout::kWidth, kResults = kSums / 2, kInWord = 4, kWords = 4;

 public:
  WW_FN QuantizedResults(const Args& args, uint32_t base, const typename Layout::Share& mine)
      : args_(args), base_(base), mine_(mine) {}

  // All threads of the role; the sums are spent.
  template <class Tile>
  WW_FN void put(float (&sums)[kSums], const Tile& tile, const KernelContext& self) {
    EpilogueArgs nodes = args_.epilogue;
    K::adapt(nodes, args_, tile);
    // Magnitudes are ordered like the integers with their bits, NaN above all.
    uint32_t largest = 0;
    WW_UNROLL
    for (int i = 0; i < kResults; ++i) {
      sums[i] = Ops{}(sums[2 * i], sums[2 * i + 1], nodes, epilogue::Source{});
      const uint32_t magnitude = stdx::bit_cast<uint32_t>(sums[i]) & 0x7fff'ffffu;
      if (magnitude > largest) largest = magnitude;
    }
    const float scale = epilogue::scale_of_block(stdx::bit_cast<float>(of_all(largest)));
    const int row = K::first_row(tile, self) + mine_.row;
    const int column = Layout::template first_result_column<K>(tile, self) + mine_.column();
    const int columns = C.dense().result_columns(args_.n);
    if (row >= tile.end_row || column >= columns) return;
    const float inverse = tile::reciprocal(scale);
    auto* const to = static_cast<uint8_t*>(args_.d) + (int64_t(row) * columns + column);
    WW_UNROLL
    for (int i = 0; i < kResults; i += kInWord * kWords) {
      Vec<uint32_t, kWords> words;
      WW_UNROLL
      for (int w = 0; w < kWords; ++w) {
        const float* const four = sums + i + w * kInWord;
        words[w] = tile::pack4<DType::e4m3>(tile::multiply(four[0], inverse), tile::multiply(four[1], inverse),
                                            tile::multiply(four[2], inverse), tile::multiply(four[3], inverse));
      }
      machine::store(Global<uint8_t>{to + i}.template as<Vec<uint32_t, kWords>>(), words);
    }
    if (mine_.group == 0) {
      const int64_t at = int64_t(column / C.block) * C.padded_rows(args_.m) + row;
      machine::store(Global<float>{args_.d_scales} + at, scale);
    }
  }

 private:
  // The largest of the row's results, over this warpgroup and the others.
  WW_FN uint32_t of_all(uint32_t largest) {
    constexpr uint32_t id = K::plan.named_barrier("largest").id, threads = K::plan.named_barrier("largest").threads;
    constexpr uint32_t at = K::plan.region("largest").offset, bytes = K::plan.region("largest").stage_bytes;
    const Shared<uint32_t> all{base_ + at + bytes * turn_};
    turn_ ^= 1u;
    machine::store(all + (mine_.group * kDense.tile_m + mine_.row), largest);
    machine::named_barrier_sync(id, threads);
    WW_UNROLL
    for (int i = 1; i < kDense.epilogue_groups(); ++i) {
      const int group = (mine_.group + i) % kDense.epilogue_groups();
      const uint32_t other = machine::load(all + (group * kDense.tile_m + mine_.row));
      if (other > largest) largest = other;
    }
    return largest;
  }

  const Args& args_;
  uint32_t base_;
  typename Layout::Share mine_;
  uint32_t turn_ = 0;
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100
