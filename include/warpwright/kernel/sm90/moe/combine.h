// out[t] = the sum over a token's pairs, in their order and in fp32, of weight * row. The rows of a token lie anywhere;
// each is read once, as a whole, so this takes as long as memory takes. Weights are applied here and not in the product
// before: there a row would be rounded after its weight, here it was rounded before, which is no less accurate and
// leaves the product the kernel that all others use.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/sm90/moe/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/tile/convert.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

constexpr BlockPlan combine_plan(const CombineConfig& c) {
  BlockPlan plan("combine", c.arch);
  plan.role("combine", c.warps);
  plan.blocks_per_sm = c.blocks_per_sm;
  return plan;
}

template <CombineConfig C>
struct Combine {
  static_assert(refuse(C) == nullptr, "combine: refuse(config) says why this configuration cannot be compiled");
  using Args = CombineArgs;
  using Element = storage_t<C.type>;
  using Eight = Vec<uint32_t, 4>;
  static constexpr BlockPlan plan = combine_plan(C);
  static constexpr int kAtOnce = 4;  // rows of a token that are loaded together

  // Pairs of a token.
  WW_FN static int each(const Args& args) {
    if constexpr (C.shared) {
      return args.top_k + args.shared;
    } else {
      return args.top_k;
    }
  }
  // The weight of pair j of a token; `weights` are the token's own.
  WW_FN static float weight_of(const Args& args, Global<const float> weights, int token, int j) {
    if constexpr (C.shared) {
      if (j >= args.top_k) {
        if (args.shared_weights == nullptr) return 1.0f;
        return machine::load(Global<const float>{args.shared_weights} +
                             (int64_t(token) * args.shared + j - args.top_k));
      }
    }
    return machine::load(weights + j);
  }

  // Eight columns of a token, by one lane.
  WW_FN static void add_up(const Args& args, int token, int column) {
    float sums[8] = {};
    const Global<const int32_t> slots = Global<const int32_t>{args.slots} + int64_t(token) * each(args);
    const Global<const float> weights = Global<const float>{args.weights} + int64_t(token) * args.top_k;
    for (int first = 0; first < each(args); first += kAtOnce) {
      Eight eight[kAtOnce] = {};
      float weight[kAtOnce] = {};
      bool there[kAtOnce] = {};
      WW_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i >= each(args)) continue;
        const int slot = machine::load(slots + (first + i));
        const float given = weight_of(args, weights, token, first + i);
        weight[i] = given;
        there[i] = slot >= 0 && given == given;  // a number
        if (!there[i]) continue;
        const Global<const Element> row{static_cast<const Element*>(args.rows)};
        eight[i] = machine::load((row + (int64_t(slot) * args.columns + column)).template as<const Eight>());
      }
      WW_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        if (!there[i]) continue;
        WW_UNROLL
        for (int j = 0; j < 4; ++j) {
          const tile::FloatPair pair = tile::unpack2<C.type>(eight[i][j]);
          sums[2 * j] = tile::multiply_add(weight[i], pair.low, sums[2 * j]);
          sums[2 * j + 1] = tile::multiply_add(weight[i], pair.high, sums[2 * j + 1]);
        }
      }
    }
    Eight result;
    WW_UNROLL
    for (int j = 0; j < 4; ++j) result[j] = tile::pack2<C.type>(sums[2 * j], sums[2 * j + 1]);
    const Global<Element> out{static_cast<Element*>(args.out)};
    machine::store((out + (int64_t(token) * args.columns + column)).template as<Eight>(), result);
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<Combine>();
    int tokens = args.tokens;
    if (args.token_count != nullptr) {
      const uint32_t given = machine::load(Global<const uint32_t>{args.token_count});
      if (given < uint32_t(tokens)) tokens = int(given);
    }
    const int64_t in_token = (args.columns + kCombineColumns - 1) / kCombineColumns, all = in_token * tokens;
    const int64_t warps = int64_t(machine::cluster_count()) * C.warps;
    for (int64_t i = int64_t(machine::cluster_index()) * C.warps + machine::warp_index(); i < all; i += warps) {
      const int column = int(i % in_token) * kCombineColumns + int(machine::lane_index()) * 8;
      if (column < args.columns) add_up(args, int(i / in_token), column);
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
