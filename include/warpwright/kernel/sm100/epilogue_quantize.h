// The epilogues of a grouped kernel whose result is the operand of a block-scaled product: SwiGLU results with a factor
// for each block. Factors go to the tiles of core/block_scaling.h, of which each group begins a new one; the rows that
// a group leaves of its last tile, and the columns up to a multiple of four factors, become zero.
#pragma once
#include "warpwright/epilogue/quantize_block.h"
#include "warpwright/kernel/sm100/dense/dense_epilogue.h"
#include "warpwright/kernel/sm100/epilogue_loop.h"
#include "warpwright/kernel/sm100/grouped/config.h"
#include "warpwright/tile/groups.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

// What both kinds have in common. K is the kernel, C its configuration.
template <GroupedGemmSm100Config C, class K>
struct QuantizeParts {
  static constexpr DenseGemmSm100Config kDense = C.dense();
  using Args = typename K::Args;
  using Layout = EpilogueLayout<kDense>;
  using Block = epilogue::QuantizedBlock<C.out_scaling>;
  static constexpr int kPairs = 2 * Block::kElements;  // accumulators of a block

  // The factors of one tile.
  struct Factors {
    float alpha;
    float tensor_scale;
    epilogue::Swiglu swiglu;
  };
  WW_FN static Factors factors(const Args& args, const tile::GroupTile& tile) {
    EpilogueArgs nodes = args.epilogue;
    K::adapt(nodes, args, tile);
    float tensor_scale = 1.f;
    if (C.out_scaling == BlockScaling::nvfp4 && args.matrix_out_scale != nullptr) {  // unreached: not in the API
      tensor_scale = machine::load(Global<const float>{args.matrix_out_scale} + tile.matrix);
    }
    return {nodes.alpha, tensor_scale, {C.clamped_swiglu, args.swiglu_limit, args.swiglu_slope}};
  }

  WW_FN static int blocks(const Args& args) { return args.n / kPairs; }  // of a row
  WW_FN static int padded_rows(const tile::GroupTile& tile) {
    return tile::ceil_div(tile.end_row - tile.first_row, kScaleTileRows) * kScaleTileRows;
  }
  // The first byte of a block of D.
  WW_FN static Global<uint8_t> elements(const Args& args, int row, int block) {
    constexpr int64_t bytes = Block::kWords * 4;
    return Global<uint8_t>{static_cast<uint8_t*>(args.d)} + (int64_t(row) * blocks(args) + block) * bytes;
  }
  // `row` counts from the group's first one. The thread with the last factor of a row also has those after it.
  WW_FN static void store_scale(const Args& args, const tile::GroupTile& tile, int row, int block, uint8_t factor) {
    const int across = tile::ceil_div(blocks(args), kScaleTileColumns);
    const int end = block == blocks(args) - 1 ? across * kScaleTileColumns : block + 1;
    const int64_t first = int64_t(tile.first_block + row / kScaleTileRows) * across;
    const int within = row % 32 * 16 + row % kScaleTileRows / 32 * kScaleTileColumns;
    for (int i = block; i < end; ++i) {
      const int64_t at = (first + i / kScaleTileColumns) * kScaleTileBytes + within + i % kScaleTileColumns;
      machine::store(Global<uint8_t>{static_cast<uint8_t*>(args.d_scales)} + at, i == block ? factor : uint8_t(0));
    }
  }

  // Calls begin(tile), then put(step, values) for every `kRead` accumulators of this thread in order, for every tile.
  template <int kRead, class Begin, class Put>
  WW_FN static void for_each_step(const Args& args, uint32_t base, const KernelContext& self, Begin&& begin,
                                  Put&& put) {
    using Loop = EpilogueLoop<kDense, K>;
    const auto mine = Layout::share();
    Loop::template over_tiles<tile::GroupTile>(
        base, self, K::tiles(base), [&](auto& epilogue, const tile::GroupTile& tile) {
          begin(tile);
          Loop::template in_steps<kRead>(epilogue, mine, args.k > 0,
                                         [&](int step, const auto& values) { put(tile, step, values); });
        });
  }
};

// Tokens are the rows of the MMA: the gate and the up projection of a token lie side by side in tensor memory, and a
// thread has a whole token and makes its blocks in registers.
template <GroupedGemmSm100Config C, class K>
struct QuantizeRows : QuantizeParts<C, K> {
  using Parts = QuantizeParts<C, K>;
  using Parts::kPairs;
  using typename Parts::Args, typename Parts::Block, typename Parts::Layout;

  // All threads of the role.
  WW_FN static void run(const Args& args, uint32_t base, const KernelContext& self) {
    const auto mine = Layout::share();
    typename Parts::Factors factors{};
    const auto begin = [&](const tile::GroupTile& tile) { factors = Parts::factors(args, tile); };
    Parts::template for_each_step<kPairs>(
        args, base, self, begin, [&](const tile::GroupTile& tile, int step, const auto& values) {
          const int block = (K::first_column(tile, self) + int(mine.first_accumulator())) / kPairs + step;
          const int row = K::first_row(tile, self) + mine.row - tile.first_row;
          if (block >= Parts::blocks(args) || row >= Parts::padded_rows(tile)) return;
          uint8_t factor = 0;
          if (row < tile.end_row - tile.first_row) factor = finish(args, factors, tile.first_row + row, block, values);
          Parts::store_scale(args, tile, row, block, factor);
        });
  }

 private:
  WW_FN static uint8_t finish(const Args& args, const typename Parts::Factors& factors, int row, int block,
                              const machine::TmemRegisters<kPairs>& values) {
    float results[Block::kElements];
    WW_UNROLL
    for (int i = 0; i < Block::kElements; ++i) {
      const float gate = args.k > 0 ? tile::multiply(factors.alpha, values.get(2 * i)) : 0.f;
      const float up = args.k > 0 ? tile::multiply(factors.alpha, values.get(2 * i + 1)) : 0.f;
      results[i] = factors.swiglu(gate, up);
    }
    const Block quantized = Block::of(results, factors.tensor_scale);
    using Words = Vec<uint32_t, Block::kWidth>;
    WW_UNROLL
    for (int i = 0; i < Block::kWords / Block::kWidth; ++i) {
      machine::store((Parts::elements(args, row, block) + i * int(sizeof(Words))).template as<Words>(),
                     quantized.words[i]);
    }
    return quantized.factor;
  }
};

inline constexpr int kQuantizedTokens = 8;  // of one step, where tokens are columns

// Tokens are the columns of the MMA: neighbouring lanes have the gate and the up projection of a result, and a warp has
// 16 results of a token. Blocks of 32 belong to two warps, which tell each other their largest magnitudes.
template <GroupedGemmSm100Config C, class K>
struct QuantizeColumns : QuantizeParts<C, K> {
  using Parts = QuantizeParts<C, K>;
  using Parts::kPairs;
  using typename Parts::Args, typename Parts::Block, typename Parts::Layout;
  static constexpr int kTokens = kQuantizedTokens;
  static constexpr bool kTwoWarps = kPairs == 64;
  static_assert(C.out_scaling != BlockScaling::nvfp4 || kPairs == 32);

  // All threads of the role.
  WW_FN static void run(const Args& args, uint32_t base, const KernelContext& self) {
    const int warp = int(machine::warp_index()), lane = int(machine::lane_index());
    typename Parts::Factors factors{};
    int parity = 0;
    const auto begin = [&](const tile::GroupTile& tile) { factors = Parts::factors(args, tile); };
    Parts::template for_each_step<kTokens>(
        args, base, self, begin, [&](const tile::GroupTile& tile, int step, const auto& values) {
          float results[kTokens], largest[kTokens];
          WW_UNROLL
          for (int i = 0; i < kTokens; ++i) {
            const float mine = args.k > 0 ? tile::multiply(factors.alpha, values.get(i)) : 0.f;
            const float other = machine::shuffle_xor(mine, 1);
            results[i] = lane % 2 == 0 ? factors.swiglu(mine, other) : factors.swiglu(other, mine);
            largest[i] = epilogue::magnitude(results[i]);
            WW_UNROLL
            for (uint32_t far = 2; far < 32; far *= 2) {
              largest[i] = epilogue::larger(largest[i], machine::shuffle_xor(largest[i], far));
            }
          }
          if constexpr (kTwoWarps) {
            exchange(base, parity, warp, lane, largest);
            parity ^= 1;
          }
          const int block = (K::first_row(tile, self) + 32 * warp) / kPairs;
          if (block < Parts::blocks(args)) put(args, factors, tile, step, block, results, largest);
        });
  }

 private:
  // Two buffers are enough: whoever has passed the second barrier has read the first one.
  WW_FN static void exchange(uint32_t base, int parity, int warp, int lane, float (&largest)[kTokens]) {
    constexpr uint32_t at = K::plan.region("quantize.largest").offset,
                       bytes = K::plan.region("quantize.largest").stage_bytes;
    constexpr uint32_t id = K::plan.named_barrier("quantize").id;
    const Shared<float> all{base + at + bytes * uint32_t(parity)};
    if (lane == 0) {
      WW_UNROLL
      for (int i = 0; i < kTokens; ++i) machine::store(all + (warp * kTokens + i), largest[i]);
    }
    machine::named_barrier_sync(id, uint32_t(K::kEpilogueThreads));
    WW_UNROLL
    for (int i = 0; i < kTokens; ++i) {
      largest[i] = epilogue::larger(largest[i], machine::load(all + ((warp ^ 1) * kTokens + i)));
    }
  }

  WW_FN static void put(const Args& args, const typename Parts::Factors& factors, const tile::GroupTile& tile, int step,
                        int block, const float (&results)[kTokens], const float (&largest)[kTokens]) {
    const int lane = int(machine::lane_index());
    const int half = kTwoWarps ? int(machine::warp_index()) % 2 : 0;  // of the block
    const int tokens = tile.end_row - tile.first_row, first = tile.m * C.tile_tokens() + step * kTokens;
    WW_UNROLL
    for (int i = 0; i < kTokens; ++i) {
      const auto factor = epilogue::BlockScale<C.out_scaling>::of(largest[i], factors.tensor_scale);
      const float scaled = tile::multiply(results[i], factor.by);
      const float next = machine::shuffle_xor(scaled, 2);
      if (first + i < tokens) {
        // Lanes 2i and 2i + 1 have the same result.
        const Global<uint8_t> to = Parts::elements(args, tile.first_row + first + i, block);
        if constexpr (Block::kType == DType::e4m3) {
          if (lane % 2 == 0) machine::store(to + (16 * half + lane / 2), tile::narrow<DType::e4m3>(scaled).bits);
        } else {
          if (lane % 4 == 0) machine::store(to + (8 * half + lane / 4), tile::pack2_e2m1(scaled, next));
        }
        if (half == 0 && lane == 0) Parts::store_scale(args, tile, first + i, block, factor.code);
      }
    }
    // The last tokens of a group fill up its last tile of factors.
    const bool last = first + kTokens >= tokens && first < tokens;
    if (last && half == 0) {
      for (int row = tokens + lane; row < Parts::padded_rows(tile); row += 32) {
        Parts::store_scale(args, tile, row, block, 0);
      }
    }
  }
};

template <GroupedGemmSm100Config C, class K>
using QuantizeEpilogue = stdx::conditional_t<C.swap_ab, QuantizeColumns<C, K>, QuantizeRows<C, K>>;

// Adds what they need to the block plan, after its roles.
constexpr void declare_quantize(BlockPlan& plan, const GroupedGemmSm100Config& c) {
  if (!c.swap_ab || scale_block(c.out_scaling) != 32) return;
  plan.region("quantize.largest", uint32_t(c.epilogue_warps * kQuantizedTokens) * uint32_t(sizeof(float)), 2, 16);
  plan.named_barrier("quantize", kWarpThreads * c.epilogue_warps);
}

}  // namespace warpwright::inline WW_WORLD::kernel::sm100
