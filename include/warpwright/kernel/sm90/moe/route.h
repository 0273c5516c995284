// The rows of each expert, from the experts of each token, in one launch, without a look from the host: where they
// begin, which token each row is, and which row each pair has. A block works for one expert at a time and reads the
// experts of all pairs twice, once to count those before its own and once to number its own. So the rows are in the
// order of the pairs, whatever runs when, and no block waits for another. All that is read lies in the L2: for 4096
// tokens of 8 experts it is 128 KiB. An expert that every token takes has its rows after those of all chosen ones, a
// row for each token in their order: its block counts as the others do, and then writes numbers that need no search.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/sm90/moe/config.h"
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

constexpr BlockPlan route_plan(const RouteConfig& c) {
  BlockPlan plan("route", c.arch);
  plan.role("route", c.warps);
  plan.blocks_per_sm = c.blocks_per_sm;
  // Two, in turns, so that a warp that still reads one is not overtaken.
  plan.region("counts", uint32_t(c.warps) * 8, 2, 8);
  plan.named_barrier("counted", c.warps * 32);
  return plan;
}

template <RouteConfig C>
struct Route {
  static_assert(refuse(C) == nullptr, "route: refuse(config) says why this configuration cannot be compiled");
  using Args = RouteArgs;
  using Id = stdx::conditional_t<C.id_bytes == 8, int64_t, int32_t>;
  static constexpr BlockPlan plan = route_plan(C);
  static constexpr int kAtOnce = 4;  // pairs of a lane that are on their way together

  // In a warp's share of the pairs: how many belong to experts before this one, and how many to this one.
  struct Counts {
    int ahead = 0, own = 0;
  };

  WW_FN static int tokens(const Args& args) {
    if (args.token_count == nullptr) return args.tokens;
    const uint32_t given = machine::load(Global<const uint32_t>{args.token_count});
    return given < uint32_t(args.tokens) ? int(given) : args.tokens;
  }
  // Experts that tokens choose.
  WW_FN static int chosen(const Args& args) {
    if constexpr (C.shared) {
      return args.experts - args.shared;
    } else {
      return args.experts;
    }
  }
  // Pairs of a token.
  WW_FN static int each(const Args& args) {
    if constexpr (C.shared) {
      return args.top_k + args.shared;
    } else {
      return args.top_k;
    }
  }
  // Where the slot of a pair is.
  WW_FN static int slot_of(const Args& args, int pair) {
    if constexpr (C.shared) {
      return pair + pair / args.top_k * args.shared;
    } else {
      return pair;
    }
  }
  // -1: there is no such expert.
  WW_FN static int expert(const Args& args, int pair) {
    const Id id = machine::load(Global<const Id>{static_cast<const Id*>(args.ids)} + pair);
    return id < 0 || id >= Id(chosen(args)) ? -1 : int(id);
  }

  WW_FN static Counts sum_of_lanes(Counts c) {
    WW_UNROLL
    for (uint32_t distance = 16; distance > 0; distance /= 2) {
      c.ahead += machine::shuffle_xor(c.ahead, distance);
      c.own += machine::shuffle_xor(c.own, distance);
    }
    return c;
  }

  // The pairs from `first` to `end`, by a whole warp.
  WW_FN static Counts count(const Args& args, int own, int first, int end) {
    Counts c;
    for (int pair = first + int(machine::lane_index()); pair < end; pair += 32 * kAtOnce) {
      WW_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        if (pair + 32 * i >= end) continue;
        const int e = expert(args, pair + 32 * i);
        c.ahead += e >= 0 && e < own ? 1 : 0;
        c.own += e == own ? 1 : 0;
      }
    }
    return sum_of_lanes(c);
  }
  // Numbers those of the expert from `row` on. Where `speaks`, pairs without an expert get their -1 here.
  WW_FN static void number(const Args& args, int own, int row, int first, int end, bool speaks) {
    const int lane = int(machine::lane_index());
    for (int begin = first; begin < end; begin += 32 * kAtOnce) {
      int experts[kAtOnce];
      WW_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        const int pair = begin + 32 * i + lane;
        experts[i] = pair < end ? expert(args, pair) : INT32_MAX;
      }
      WW_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        const int pair = begin + 32 * i + lane;
        const uint32_t those = machine::ballot(experts[i] == own);
        if (experts[i] == own) {
          const int at = row + stdx::popcount(those & ((1u << lane) - 1));
          machine::store(Global<int32_t>{args.index} + at, pair / args.top_k);
          machine::store(Global<int32_t>{args.slots} + slot_of(args, pair), at);
        } else if (speaks && experts[i] < 0) {
          machine::store(Global<int32_t>{args.slots} + slot_of(args, pair), -1);
        }
        row += stdx::popcount(those);
      }
    }
  }

  // The rows of an expert that every token takes, from `row` on, by the whole block.
  WW_FN static void number_all(const Args& args, int own, int row, int there) {
    for (int token = int(machine::thread_index()); token < there; token += C.warps * 32) {
      machine::store(Global<int32_t>{args.index} + (row + token), token);
      machine::store(Global<int32_t>{args.slots} + (token * each(args) + args.top_k + own - chosen(args)), row + token);
    }
  }

  // By the warps of the block that has the first expert, each its share; one lane adds what it found to the word.
  WW_FN static uint32_t faults(const Args& args, int first, int end) {
    bool expert_wrong = false, weight_wrong = false;
    for (int pair = first + int(machine::lane_index()); pair < end; pair += 32) {
      const float weight = machine::load(Global<const float>{args.weights} + pair);
      weight_wrong = weight_wrong || weight != weight;
      expert_wrong = expert_wrong || expert(args, pair) < 0;
    }
    if constexpr (C.shared) {
      // All threads of the block take these in turn: which warp looks at which does not matter.
      const int all = args.shared_weights == nullptr ? 0 : tokens(args) * args.shared;
      for (int i = int(machine::thread_index()); i < all; i += C.warps * 32) {
        const float weight = machine::load(Global<const float>{args.shared_weights} + i);
        weight_wrong = weight_wrong || weight != weight;
      }
    }
    return (machine::ballot(expert_wrong) != 0 ? uint32_t(kExpertOutOfRange) : 0) |
           (machine::ballot(weight_wrong) != 0 ? uint32_t(kWeightNotANumber) : 0);
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<Route>();
    constexpr uint32_t counts = plan.region("counts").offset, bytes = plan.region("counts").stage_bytes;
    constexpr uint32_t barrier = plan.named_barrier("counted").id;
    const uint32_t base = machine::shared_base();
    const int warp = int(machine::warp_index()), there = tokens(args), pairs = there * args.top_k;
    const int share = (pairs + C.warps - 1) / C.warps;
    const int first = warp * share < pairs ? warp * share : pairs, end = first + share < pairs ? first + share : pairs;
    // Pairs of tokens that are not there have no row.
    for (int slot = there * each(args) + int(machine::cluster_index()) * C.warps * 32 + int(machine::thread_index());
         slot < args.tokens * each(args); slot += int(machine::cluster_count()) * C.warps * 32) {
      machine::store(Global<int32_t>{args.slots} + slot, -1);
    }
    int turn = 0;
    for (int own = int(machine::cluster_index()); own < args.experts; own += int(machine::cluster_count()), turn ^= 1) {
      const Shared<Vec<int, 2>> all{base + counts + bytes * uint32_t(turn)};
      const Counts mine = count(args, own, first, end);
      if (machine::lane_index() == 0) machine::store(all + warp, {{mine.ahead, mine.own}});
      machine::named_barrier_sync(barrier, uint32_t(C.warps * 32));
      int row = 0, ahead = 0, total = 0;
      for (int w = 0; w < C.warps; ++w) {
        const Vec<int, 2> theirs = machine::load(all + w);
        ahead += theirs[0];
        if (w < warp) row += theirs[1];
        total += theirs[1];
      }
      if constexpr (C.shared) {
        if (own >= chosen(args)) {
          ahead += (own - chosen(args)) * there;
          total = there;
          number_all(args, own, ahead, there);
        } else {
          number(args, own, ahead + row, first, end, own == 0);
        }
      } else {
        number(args, own, ahead + row, first, end, own == 0);
      }
      if (machine::thread_index() != 0) continue;
      machine::store(Global<uint32_t>{args.offsets} + own, uint32_t(ahead));
      if (own == args.experts - 1)
        machine::store(Global<uint32_t>{args.offsets} + args.experts, uint32_t(ahead + total));
    }
    if (args.status != nullptr && machine::cluster_index() == 0) report(args, first, end, turn);
  }

  // By the first block: its warps hand what they found to one thread, which writes the word.
  WW_FN static void report(const Args& args, int first, int end, int turn) {
    constexpr uint32_t counts = plan.region("counts").offset, bytes = plan.region("counts").stage_bytes;
    constexpr uint32_t barrier = plan.named_barrier("counted").id;
    const Shared<Vec<int, 2>> all{machine::shared_base() + counts + bytes * uint32_t(turn)};
    const uint32_t found = faults(args, first, end);
    if (machine::lane_index() == 0) machine::store(all + machine::warp_index(), {{int(found), 0}});
    machine::named_barrier_sync(barrier, uint32_t(C.warps * 32));
    if (machine::thread_index() != 0) return;
    uint32_t word = 0;
    for (int w = 0; w < C.warps; ++w) word |= uint32_t(machine::load(all + w)[0]);
    if (args.token_count != nullptr) {
      if (machine::load(Global<const uint32_t>{args.token_count}) > uint32_t(args.tokens)) word |= kTokensOutOfRange;
    }
    machine::store(Global<uint32_t>{args.status}, word);
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
