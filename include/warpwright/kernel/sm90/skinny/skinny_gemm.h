// D = epilogue(X * W^T) on Hopper for few rows of X (tokens), limited by reading W (weights), or for few tiles, where
// the split fills the chip. The operands change sides: rows of W are the M side of the MMA, tokens its N side, so that
// no MMA row is wasted. A cluster splits the depth of a tile among its CTAs; each sends its partial sums through
// distributed shared memory to the CTAs that own the tokens, which add them in the order of the ranks: the result does
// not depend on timing. Owners pass their sums, transposed by stmatrix, through an output ring to a store warp. Tails
// are left to the TMA.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/core/descriptor.h"
#include "warpwright/epilogue/ops.h"
#include "warpwright/kernel/config.h"
#include "warpwright/kernel/sm90/accumulate.h"
#include "warpwright/kernel/sm90/plain_factor.h"
#include "warpwright/kernel/sm90/skinny/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/bulk_store.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/ring.h"
#include "warpwright/tile/convert.h"
#include "warpwright/tile/persistent.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

constexpr BlockPlan skinny_gemm_plan(const SkinnyGemmConfig& c) {
  BlockPlan plan("skinny_gemm", Arch::sm90, c.split);
  const int groups = c.warpgroups();
  const int mma_warps = groups * 4;
  plan.role("mma", mma_warps).role("load", 1).role("store", groups);

  const uint32_t alignment = smem_alignment(Swizzle::b128);
  plan.region("input.w", c.w_box().bytes(), c.stages, alignment);
  plan.region("input.x", c.x_box().bytes(), c.stages, alignment);
  plan.region("output", c.output_stage_bytes(), c.output_stages * groups, alignment);
  if (c.split > 1) plan.region("partial", c.partial_bytes(), 1, 16);

  plan.barrier("input.full", c.stages, 1, "mma", {"load", 1});
  plan.barrier("input.empty", c.stages, mma_warps, "load", {"mma", mma_warps});
  // One ring for each warpgroup and its store warp.
  plan.barrier("output.full", c.output_stages * groups, 128, "store", {"mma", 128});
  plan.barrier("output.empty", c.output_stages * groups, 1, "mma", {"store", 1});
  if (c.split > 1) {
    // A warp talks to the warp of the same number in every CTA: one slot for each.
    plan.barrier("partial.full", mma_warps, c.split, "mma", {"mma", c.split});
    plan.barrier("partial.empty", mma_warps, c.owners(), "mma", {"mma", c.owners()});
  } else {
    plan.named_barrier("start", plan.threads()).used_once("start");
  }
  return plan;
}

// A warp has written its share of a slot in each of the first `To` CTAs of the cluster, or read it on their behalf;
// lane r tells CTA r. The accesses are ordinary ones, so both sides use cluster scope.
template <int To>
struct TellCluster {
  static constexpr bool expects_bytes = false;
  WW_FN static void acquired(machine::here) {}
  WW_FN static void publish(Shared<Mbarrier> full, machine::here at) { tell(full, at); }
  WW_FN static void release(Shared<Mbarrier> empty, machine::here at) { tell(empty, at); }

 private:
  WW_FN static void tell(Shared<Mbarrier> barrier, machine::here at) {
    machine::sync_warp(machine::kFullMask, at);
    const uint32_t rank = machine::lane_index();
    if (rank < uint32_t(To)) {
      machine::mbarrier_arrive<Scope::cluster>(machine::map_to_rank(barrier, rank), 1, at);
    }
  }
};

// The tiles of one row of W follow each other. Most often there is one: no division on the way to the first load.
struct WeightsFirst {
  int across;  // tiles along the tokens
  int down;    // along the weights
  WW_HD constexpr int count() const { return across * down; }
  WW_HD constexpr tile::TileCoord at(int i) const {
    return across == 1 ? tile::TileCoord{0, i} : tile::TileCoord{i % across, i / across};
  }
};

template <SkinnyGemmConfig C>
struct SkinnyGemm {
  using Tiles = tile::PersistentTilesOver<WeightsFirst>;
  using Args = SkinnyGemmArgs;
  using InputRing = pipeline::Ring<C.stages>;
  using OutputRing = pipeline::Ring<C.output_stages>;
  using PartialRing = pipeline::Ring<1>;
  static constexpr BlockPlan plan = skinny_gemm_plan(C);

  static_assert(refuse(C) == nullptr, "skinny_gemm: refuse(config) says why this configuration cannot be compiled");

  using Element = storage_t<C.type>;
  using Result = storage_t<C.out_type()>;
  using Ops = epilogue::EpilogueOps<C.epilogue>;
  using Quad = Vec<float, 4>;
  static constexpr int kResults = 4 / C.operands();  // results that a thread makes of a quad
  using Results = Vec<float, kResults>;
  static constexpr int kBlocks = C.owned_tokens() / 8;   // blocks of 8 tokens of an owner
  static constexpr int kThreads = C.warpgroups() * 128;  // threads of the role mma
  static constexpr uint32_t kW = plan.region("input.w").offset, kWBytes = plan.region("input.w").stage_bytes;
  static constexpr uint32_t kX = plan.region("input.x").offset, kXBytes = plan.region("input.x").stage_bytes;
  static constexpr uint32_t kOutput = plan.region("output").offset, kOutputBytes = plan.region("output").stage_bytes;

  WW_FN static Shared<Element> w_stage(uint32_t base, int stage) { return {base + kW + kWBytes * uint32_t(stage)}; }
  WW_FN static Shared<Element> x_stage(uint32_t base, int stage) { return {base + kX + kXBytes * uint32_t(stage)}; }
  WW_FN static Shared<Result> output_stage(uint32_t base, int group, int stage) {
    return {base + kOutput + kOutputBytes * uint32_t(group * C.output_stages + stage)};
  }
  // Where the quad of a block goes in its owner's memory, from CTA `source`.
  WW_FN static Shared<Quad> partial(uint32_t base, int source, int block, int thread) {
    constexpr uint32_t offset = plan.region("partial").offset;
    return Shared<Quad>{base + offset} + ((source * kBlocks + block) * kThreads + thread);
  }

  WW_FN static Tiles tiles(const Args& args) {
    return Tiles({tile::ceil_div(args.m, C.tokens), tile::ceil_div(args.n, C.rows)});
  }
  // This CTA's part of the depth, in stages.
  struct Depth {
    int first, count;
  };
  WW_FN static Depth depth(const Args& args) {
    const int all = tile::ceil_div(args.k, C.tile_k());
    if constexpr (C.split == 1) return {0, all};
    const int rank = int(machine::cluster_rank());
    const int least = all / C.split, more = all % C.split;  // the first `more` CTAs take one stage more
    return {rank * least + (rank < more ? rank : more), least + (rank < more ? 1 : 0)};
  }

  WW_FN static void load_weights(const Args& args, uint32_t base, int stage, int k, const tile::TileCoord& tile,
                                 Shared<Mbarrier> full) {
    // Weights are read by few CTAs, tokens by all.
    if constexpr (C.epilogue.pair()) {
      machine::tma_load<CacheHint::evict_first>(
          w_stage(base, stage), &args.w, machine::Coords<4>{k * C.tile_k(), 0, 0, tile.n * C.rows / kPairedRows}, full);
    } else {
      machine::tma_load<CacheHint::evict_first>(w_stage(base, stage), &args.w,
                                                machine::Coords<2>{k * C.tile_k(), tile.n * C.rows}, full);
    }
  }
  WW_FN static void load_tokens(const Args& args, uint32_t base, int stage, int k, const tile::TileCoord& tile,
                                Shared<Mbarrier> full) {
    machine::tma_load<CacheHint::evict_last>(x_stage(base, stage), &args.x,
                                             machine::Coords<2>{k * C.tile_k(), tile.m * C.tokens}, full);
  }

  // One thread.
  WW_FN static void load(const Args& args, uint32_t base, InputRing ring) {
    pipeline::Producer<C.stages, pipeline::PublishByTma> input(ring);
    const Depth part = depth(args);
    const int end = part.first + part.count;
    Tiles walk = tiles(args);
    tile::TileCoord tile;
    bool more = walk.next(tile);
    int k = part.first;
    if (more && args.weights_are_constant) {  // unreached [blockwise]: a problem with blockwise factors cannot say so
      // The first round of the ring: its weights at once, its tokens when the kernel ahead has ended. A stage is not
      // full before the bytes of both have come.
      const int early = part.count < C.stages ? part.count : C.stages;
      for (; k < part.first + early; ++k) {
        input.produce([&](auto stage) {
          stage->expect_bytes(kWBytes + kXBytes);
          load_weights(args, base, stage->index(), k, tile, stage->full());
          return stdx::move(stage).release();
        });
      }
      machine::grid_dependency_wait();
      for (int i = 0; i < early; ++i) load_tokens(args, base, i, part.first + i, tile, ring.full + i);
    } else {
      machine::grid_dependency_wait();
    }
    for (; more; more = walk.next(tile)) {
      for (; k < end; ++k) {
        input.produce([&](auto stage) {
          stage->expect_bytes(kWBytes + kXBytes);
          load_weights(args, base, stage->index(), k, tile, stage->full());
          load_tokens(args, base, stage->index(), k, tile, stage->full());
          return stdx::move(stage).release();
        });
      }
      k = part.first;
    }
  }

  using Input = pipeline::Consumer<C.stages, pipeline::ReleaseByWarp<pipeline::Readers::async>>;
  using Output = pipeline::Producer<C.output_stages, pipeline::PublishByThread<pipeline::To::async>>;
  using Sums = machine::Accumulator<C.tokens>;

  // Starts the MMAs of one stage on this warpgroup's 64 rows of W; `fresh` forgets what the accumulators held.
  WW_FN static void issue(Sums& sums, uint32_t base, int group, int stage, bool fresh) {
    constexpr uint32_t group_bytes = SmemTile{C.type, 64, C.tile_k()}.bytes();
    constexpr int step = mma_k(C.type);
    constexpr uint32_t step_bytes = SmemTile{C.type, 64, C.tile_k()}.linear(0, step);
    const uint32_t w_address = w_stage(base, stage).address + group_bytes * uint32_t(group);
    const uint64_t w = encode_sm90(k_major_desc(C.type, Swizzle::b128, 64, w_address));
    const uint64_t x = encode_sm90(k_major_desc(C.type, Swizzle::b128, C.tokens, x_stage(base, stage).address));
    machine::wgmma_fence();
    WW_UNROLL
    for (int i = 0; i < C.tile_k() / step; ++i) {
      const uint32_t along_k = step_bytes * uint32_t(i);
      machine::wgmma_ss<C.type>(sums, advance_desc(w, along_k), advance_desc(x, along_k), i != 0 || !fresh);
    }
    machine::wgmma_commit();
  }

  // The first token of those that this CTA owns.
  WW_FN static int first_token() { return C.split == 1 ? 0 : int(machine::cluster_rank()) * C.owned_tokens(); }

  // The whole list for one element. Sum i of a block is that of weight + 8 * (i / 2) and token + 8 * block + i % 2; of
  // pairs, the first two are gates and the others their ups. Elements past the edges of the matrix are not stored, and
  // nothing is read for them.
  struct Finish {
    int token, weight, m, n;
    typename Ops::Args args;
    Global<const float> x_scales, w_scales;
    float scale = 1;

    WW_FN static Finish of(const Args& args, const tile::TileCoord& tile, int group) {
      const int lane = int(machine::lane_index());
      Finish f{tile.m * C.tokens + first_token() + 2 * (lane % 4),
               (tile.n * C.rows + group * 64 + int(machine::warp_index()) % 4 * 16) / C.operands() + lane / 4,
               args.m,
               args.n / C.operands(),
               Ops::prepare(args.epilogue),
               {args.x_scales},
               {args.w_scales}};
      if constexpr (C.scaling == Scaling::tensor) {
        f.scale = tile::multiply(machine::load(f.x_scales), machine::load(f.w_scales));
      }
      return f;
    }
    // `column` is a column of the product.
    WW_FN float scaled(float sum, int row, int column) const {
      if constexpr (C.scaling == Scaling::tensor) sum = tile::multiply(scale, sum);
      if constexpr (C.scaling == Scaling::row_column) {
        sum = tile::multiply(tile::multiply(sum, machine::load(x_scales + row)), machine::load(w_scales + column));
      }
      return sum;
    }
    WW_FN float operator()(float sum, int block, int i) const requires(!C.epilogue.pair()) {
      const int row = token + 8 * block + i % 2, column = weight + 8 * (i / 2);
      if (row >= m || column >= n) return 0.f;
      return Ops{}(scaled(sum, row, column), row, column, args);
    }
    WW_FN float operator()(float gate, float up, int block, int i) const requires(C.epilogue.pair()) {
      const int row = token + 8 * block + i % 2, column = weight;
      if (row >= m || column >= n) return 0.f;
      return Ops{}(scaled(gate, row, column), scaled(up, row, n + column), row, column, args);
    }
  };

  // Writes a thread's results of a block of 8 tokens, transposed: a row in memory is one token.
  WW_FN static void write_block(Shared<Result> to, int block, const Results& v) {
    constexpr SmemTile tile{C.out_type(), C.owned_tokens(), C.group_columns(), C.d_box().swizzle};
    constexpr int matrices = kResults / 2;
    const int lane = int(machine::lane_index());
    const int warp_column = int(machine::warp_index()) % 4 * (C.group_columns() / 4);
    if constexpr (bits(C.out_type()) == 16) {
      // Lanes 0..7 name the rows of the first matrix, 8..15 those of the second, which lies 8 rows of W further.
      const int column = warp_column + lane / 8 % matrices * 8;
      uint32_t packed[matrices];
      WW_UNROLL
      for (int i = 0; i < matrices; ++i) packed[i] = tile::pack2<C.out_type()>(v[2 * i], v[2 * i + 1]);
      machine::stmatrix<true>(to.template as<Vec<uint32_t, 4>>().plus_bytes(tile.offset(block * 8 + lane % 8, column)),
                              packed);
    } else {
      WW_UNROLL
      for (int i = 0; i < kResults; ++i) {
        const int row = block * 8 + 2 * (lane % 4) + i % 2, column = warp_column + lane / 4 + 8 * (i / 2);
        machine::store(to.plus_bytes(tile.offset(row, column)), Ops::convert(v[i]));
      }
    }
  }

  // Passes the owner's tokens of the warpgroup's 64 rows of W to its store warp; `quad(block)` gives a thread's four
  // sums of a block of 8 tokens: two rows of W by two tokens.
  template <class Quads>
  WW_FN static void hand_out(Output& output, uint32_t base, const Args& args, const tile::TileCoord& tile, int group,
                             [[maybe_unused]] float alpha, Quads quad) {
    const auto finish = [&] {
      if constexpr (C.plain_epilogue()) {
        return [alpha](float sum, int, int) { return alpha * sum; };
      } else {
        return Finish::of(args, tile, group);
      }
    }();
    output.produce([&](auto stage) {
      const Shared<Result> to = output_stage(base, group, stage->index());
      WW_UNROLL
      for (int block = 0; block < kBlocks; ++block) {
        const Quad sum = quad(block);
        Results v;
        WW_UNROLL
        for (int i = 0; i < kResults; ++i) {
          if constexpr (C.epilogue.pair()) {
            v[i] = finish(sum[i], sum[i + 2], block, i);
          } else {
            v[i] = finish(sum[i], block, i);
          }
        }
        write_block(to, block, v);
      }
      if constexpr (C.epilogue.source || C.epilogue.residual) machine::fence_proxy_async<ProxySpace::global>();
      return stdx::move(stage).release();
    });
  }

  // The four warps of a warpgroup.
  WW_FN static void multiply(const Args& args, uint32_t base, InputRing input_ring, OutputRing output_ring, int group) {
    Input input(input_ring);
    Output output(output_ring);
    Sums sums[1];
    const Depth part = depth(args);
    // The factor of a plain epilogue, loaded while the first weights are under way.
    const float alpha = plain_factor<C>(args.epilogue, args.x_scales, args.w_scales);
    const auto step = [&](int stage, bool fresh) { issue(sums[0], base, group, stage, fresh); };
    // Calls then(tile, own) with own(block) the sums of this CTA.
    const auto finish_tile = [&](const tile::TileCoord& tile, auto then) {
      const auto quads = [](const auto& values) {
        return [&values](int block) {
          Quad quad;
          WW_UNROLL
          for (int i = 0; i < 4; ++i) quad[i] = values.get(block * 4 + i);
          return quad;
        };
      };
      if constexpr (C.promote_k > 0) {
        Totals<C.tokens> totals[1];
        accumulate_promoted<true>(totals, sums, input, part.count, C.promote_k / C.tile_k(), step, [] {});
        then(tile, quads(totals[0]));
      } else {
        accumulate_stages<true>(sums, input, part.count, step);
        then(tile, quads(sums[0]));
      }
    };
    const auto each_tile = [&](auto then) {
      if constexpr (C.plain_epilogue()) {
        for (int left = tiles(args).remaining(); left > 0; --left) finish_tile({}, then);
      } else {
        Tiles walk = tiles(args);
        for (tile::TileCoord tile; walk.next(tile);) finish_tile(tile, then);
      }
    };
    if constexpr (C.split == 1) {
      each_tile([&](const tile::TileCoord& tile, auto own) { hand_out(output, base, args, tile, group, alpha, own); });
    } else {
      constexpr uint32_t full = plan.barrier("partial.full").offset, empty = plan.barrier("partial.empty").offset;
      const int thread = int(machine::thread_index());
      const int rank = int(machine::cluster_rank());
      const PartialRing slots =
          pipeline::ring_at<1>(base, full, empty, int(machine::warp_uniform(machine::warp_index())));
      pipeline::Producer<1, TellCluster<C.owners()>, Scope::cluster> send(slots);
      pipeline::Consumer<1, TellCluster<C.split>, Scope::cluster> receive(slots);
      each_tile([&](const tile::TileCoord& tile, auto own) {
        send.produce([&](auto slot) {
          WW_UNROLL
          for (int owner = 0; owner < C.owners(); ++owner) {
            WW_UNROLL
            for (int block = 0; block < kBlocks; ++block) {
              machine::store(machine::map_to_rank(partial(base, rank, block, thread), uint32_t(owner)),
                             own(owner * kBlocks + block));
            }
          }
          return stdx::move(slot).release();
        });
        if (rank >= C.owners()) return;
        receive.consume([&](auto slot) {
          hand_out(output, base, args, tile, group, alpha, [&](int block) {
            Quad sum = machine::load(partial(base, 0, block, thread));
            WW_UNROLL
            for (int source = 1; source < C.split; ++source) {
              const Quad more = machine::load(partial(base, source, block, thread));
              WW_UNROLL
              for (int i = 0; i < 4; ++i) sum[i] += more[i];
            }
            return sum;
          });
          return stdx::move(slot).release();
        });
      });
      // The owners report here until the last one has read what this warp sent, so the CTA must not leave before.
      send.drain();
    }
  }

  // One thread of an owner.
  WW_FN static void store(const Args& args, uint32_t base, OutputRing ring, int group) {
    Tiles walk = tiles(args);
    pipeline::bulk_store_all(ring, walk.remaining(), [&](int stage) {
      tile::TileCoord tile;
      walk.next(tile);
      WW_UNROLL
      for (int i = 0; i < C.group_columns() / C.d_box().inner; ++i) {
        const int column = (tile.n * C.rows + group * 64) / C.operands() + i * C.d_box().inner;
        machine::tma_store(&args.d, machine::Coords<2>{column, tile.m * C.tokens + first_token()},
                           output_stage(base, group, stage).plus_bytes(C.d_box().bytes() * uint32_t(i)));
      }
    });
  }

  WW_FN static OutputRing output_ring(uint32_t base, int group) {
    constexpr uint32_t full = plan.barrier("output.full").offset, empty = plan.barrier("output.empty").offset;
    return pipeline::ring_at<C.output_stages>(base, full, empty, group * C.output_stages);
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<SkinnyGemm>();
    constexpr uint32_t full = plan.barrier("input.full").offset, empty = plan.barrier("input.empty").offset;
    constexpr int mma_warps = plan.role("mma").warps;
    constexpr int load_warp = plan.role("load").first_warp, store_warp = plan.role("store").first_warp;
    static_assert(plan.role("mma").first_warp == 0, "a warpgroup starts at a multiple of four warps");
    const uint32_t base = machine::shared_base();
    const int warp = int(machine::warp_uniform(machine::warp_index()));
    const InputRing input = pipeline::ring_at<C.stages>(base, full, empty);
    machine::grid_dependency_launch();
    if (warp == load_warp) {
      // It starts at once: only its own CTA's barriers are needed, and all others wait for the first bytes.
      const bool elected = machine::elect_one();
      if (elected) {
        if (args.k > 0) {
          machine::tma_prefetch_map(&args.w);
          machine::tma_prefetch_map(&args.x);
        }
        pipeline::init_barriers<SkinnyGemm>(base);
      }
      machine::sync_warp();
      pipeline::announce_barriers<SkinnyGemm>();
      if (elected) load(args, base, input);
      pipeline::await_peers<SkinnyGemm>();
    } else {
      if (warp == store_warp && machine::elect_one()) machine::tma_prefetch_map(&args.d);
      machine::sync_warp();
      pipeline::await_barriers<SkinnyGemm>();
      if (warp < mma_warps) {
        // Not for the operands' sake, since without depth none are loaded: the previous kernel may still be reading D.
        // The store follows the MMA warps.
        machine::grid_dependency_wait();
        multiply(args, base, input, output_ring(base, warp / 4), warp / 4);
      } else if (C.split == 1 || int(machine::cluster_rank()) < C.owners()) {
        const int group = warp - store_warp;
        if (machine::elect_one()) store(args, base, output_ring(base, group), group);
      }
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
