// The product of skinny_gemm.h for e4m3 operands with blockwise scales. The sums of every block along k are multiplied
// by the scale of the tile's weights and that of each token, and added to totals in fp32 while the tensor core makes
// those of the next block. A cluster splits the depth, loads, exchanges and stores as there. What limits it with many
// tokens is the port of shared memory: a thread reads a scale for every fourth token of the N side, but two if the
// tokens are the M side (SkinnyBlockwiseConfig::tokens_first).
#pragma once
#include "warpwright/kernel/sm90/grouped/config.h"
#include "warpwright/kernel/sm90/grouped/scale_ring.h"
#include "warpwright/kernel/sm90/skinny/skinny_gemm.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

constexpr BlockPlan skinny_blockwise_plan(const SkinnyBlockwiseConfig& c) {
  // What is added comes after what is there: the places of the skinny kernel do not move.
  BlockPlan plan = skinny_gemm_plan(c.skinny());
  plan.kernel = "skinny_blockwise";
  plan.role("scales", 1);
  plan.region("scales", c.slot_bytes(), c.stages, 16);
  for (int i = 0; i < plan.barrier_count; ++i) {
    if (!warpwright::detail::same_text(plan.barriers[i].name, "input.full")) continue;
    plan.barriers[i].count = 2;
    plan.barriers[i].arrivals[1] = {"scales", 1};
  }
  for (int i = 0; i < plan.role_count; ++i) {
    plan.roles[i].registers = plan.roles[i].holds_warp(0) ? c.mma_registers() : c.other_registers();
  }
  for (int i = 0; i < plan.named_count; ++i) plan.named[i].threads = plan.threads();
  return plan;
}

template <SkinnyBlockwiseConfig C>
struct SkinnyBlockwise {
  static_assert(refuse(C) == nullptr, "skinny_blockwise: refuse(config) says why this cannot be compiled");

  using Args = SkinnyBlockwiseArgs;
  static constexpr SkinnyGemmConfig kSkinny = C.skinny();
  using Skinny = SkinnyGemm<kSkinny>;
  using Tiles = typename Skinny::Tiles;
  using Sums = typename Skinny::Sums;
  using Quad = typename Skinny::Quad;
  // MMAs read a stage, and all lanes read its scales.
  using Input = pipeline::Consumer<C.stages, TellByWarp>;
  static constexpr int kN = kSkinny.tokens;  // N of the MMA
  static constexpr BlockPlan plan = skinny_blockwise_plan(C);

  WW_FN static Shared<float> scale_slot(uint32_t base, int stage) {
    constexpr uint32_t offset = plan.region("scales").offset;
    return Shared<float>{base + offset}.plus_bytes(C.slot_bytes() * uint32_t(stage));
  }
  WW_FN static Tiles tiles(const SkinnyGemmArgs& p) {
    return Tiles({tile::ceil_div(p.m, C.tokens), tile::ceil_div(p.n, C.rows)});
  }

  // The whole warp. The scales of the next blocks are under way while those of the last ones wait for their stages.
  WW_FN static void bring_scales(const Args& args, uint32_t base, typename Skinny::InputRing input) {
    using Group = ScaleGroup<C.tokens>;
    pipeline::Producer<C.stages, TellByWarp> ring(input);
    const SkinnyGemmArgs& p = args.product;
    const int blocks = tile::ceil_div(p.k, kScaleBlock);
    const auto part = Skinny::depth(p);
    const int end = part.first + part.count;
    const bool wide = ScaleSource::is_wide(args.x_scales, args.x_scales_stride, blocks);
    machine::grid_dependency_wait();
    if (part.count == 0) return;
    Tiles walk = tiles(p);
    for (tile::TileCoord tile; walk.next(tile);) {
      const int token = tile.m * C.tokens + int(machine::lane_index()), line = tile.n * C.rows / kScaleBlock;
      const ScaleSource source{Global<const float>{args.x_scales} + token * args.x_scales_stride,
                               Global<const float>{args.w_scales} + int64_t(line) * blocks,
                               args.x_scales_stride,
                               p.m - token,
                               blocks,
                               wide};
      int k = part.first / Group::kBlocks * Group::kBlocks;
      Group next = source.template read<C.tokens>(k);
      for (; k < end; k += Group::kBlocks) {
        const Group now = next;
        if (k + Group::kBlocks < end) next = source.template read<C.tokens>(k + Group::kBlocks);
        WW_UNROLL
        for (int j = 0; j < Group::kBlocks; ++j) {
          if (k + j < part.first || k + j >= end) continue;
          ring.produce([&](auto stage) {
            now.write(scale_slot(base, stage->index()), j);
            return stdx::move(stage).release();
          });
        }
      }
    }
  }

  // The scales of a block that belong to a thread's sums: of two tokens, or of the pair in each eight.
  struct Scales {
    static constexpr int kPairs = C.tokens_first ? 1 : kN / 8;
    Vec<float, 2> pairs[kPairs];

    WW_FN static Scales read(Shared<float> slot, [[maybe_unused]] int group) {
      Scales s;
      const int lane = int(machine::lane_index());
      if constexpr (C.tokens_first) {
        const Shared<float> mine = slot + (group * 64 + int(machine::warp_index()) % 4 * 16 + lane / 4);
        s.pairs[0] = {machine::load(mine), machine::load(mine + 8)};
      } else {
        const auto mine = (slot + 2 * (lane % 4)).template as<Vec<float, 2>>();
        WW_UNROLL
        for (int i = 0; i < kPairs; ++i) s.pairs[i] = machine::load(mine + 4 * i);
      }
      return s;
    }
    WW_FN float of_sum(int i) const { return C.tokens_first ? pairs[0][i / 2 % 2] : pairs[i / 4 % kPairs][i % 2]; }
  };
  WW_FN static void promote(Totals<kN>& totals, const Sums& sums, const Scales& by) {
    WW_UNROLL
    for (int i = 0; i < kN / 2; ++i) totals.set(i, tile::multiply_add(sums.get(i), by.of_sum(i), totals.get(i)));
  }

  // The sums of one tile, as far as this CTA has its depth. While one set of sums is added up, the tensor core fills
  // the other. ptxas accepts this only if no MMA is under way at the end of a loop iteration: so several blocks follow
  // each other without a loop.
  WW_FN static void accumulate(Totals<kN>& totals, Sums (&sums)[2], Input& input, uint32_t base, int group, int depth) {
    clear(totals);
    // Waits for the MMAs that read `held`, with `Left` later ones under way.
    const auto add_up = [&]<int Left>(stdx::integral_constant<int, Left>, auto held, const Sums& of) {
      if constexpr (C.tokens_first || C.mma_registers() == 0) {
        const Scales by = Scales::read(scale_slot(base, held->index()), group);
        machine::wgmma_wait<Left>();
        stdx::move(held).release();
        promote(totals, of, by);
      } else {  // the scales do not fit beside all sums
        machine::wgmma_wait<Left>();
        promote(totals, of, Scales::read(scale_slot(base, held->index()), group));
        stdx::move(held).release();
      }
    };
    const auto run = [&](auto blocks) {
      auto held = input.acquire_linear();
      Skinny::issue(sums[0], base, group, held->index(), true);
      WW_UNROLL
      for (int i = 1; i < blocks(); ++i) {
        auto next = input.acquire_linear();
        Skinny::issue(sums[i % 2], base, group, next->index(), true);
        add_up(stdx::integral_constant<int, 1>{}, stdx::move(held), sums[(i - 1) % 2]);
        held = stdx::move(next);
      }
      add_up(stdx::integral_constant<int, 0>{}, stdx::move(held), sums[(blocks() - 1) % 2]);
    };
    for (; depth >= 4; depth -= 4) run(stdx::integral_constant<int, 4>{});
    if (depth & 2) run(stdx::integral_constant<int, 2>{});
    if (depth & 1) run(stdx::integral_constant<int, 1>{});
  }

  // Like Skinny::hand_out(), and with tokens first in their order: a row in memory is a row of the MMA.
  template <class Quads>
  WW_FN static void hand_out(typename Skinny::Output& output, uint32_t base, const SkinnyGemmArgs& p, int group,
                             Quads quad) {
    if constexpr (!C.tokens_first) {
      Skinny::hand_out(output, base, p, {}, group, 1.f, quad);
    } else {
      output.produce([&](auto stage) {
        constexpr TensorBox box = C.d_box();
        constexpr SmemTile tile{C.out, box.outer, box.inner, box.swizzle};
        const auto to = Skinny::output_stage(base, group, stage->index()).template as<Vec<uint32_t, 4>>();
        const int row = int(machine::warp_index()) % 4 * 16 + int(machine::lane_index()) % 16;
        WW_UNROLL
        for (int block = 0; block < Skinny::kBlocks; ++block) {
          const Quad v = quad(block);
          const uint32_t packed[2] = {tile::pack2<C.out>(v[0], v[1]), tile::pack2<C.out>(v[2], v[3])};
          const int column = block * 8;
          const uint32_t at = box.bytes() * uint32_t(column / box.inner) + tile.offset(row, column % box.inner);
          machine::stmatrix<false>(to.plus_bytes(at), packed);
        }
        return stdx::move(stage).release();
      });
    }
  }

  // One thread of an owner.
  WW_FN static void store(const SkinnyGemmArgs& p, uint32_t base, int group) {
    const typename Skinny::OutputRing ring = Skinny::output_ring(base, group);
    if constexpr (!C.tokens_first) {
      Skinny::store(p, base, ring, group);
    } else {
      Tiles walk = tiles(p);
      pipeline::bulk_store_all(ring, walk.remaining(), [&](int stage) {
        tile::TileCoord tile;
        walk.next(tile);
        WW_UNROLL
        for (int i = 0; i < C.owned_columns() / C.d_box().inner; ++i) {
          const int column = tile.n * C.rows + Skinny::first_token() + i * C.d_box().inner;
          machine::tma_store(&p.d, machine::Coords<2>{column, tile.m * C.tokens + group * 64},
                             Skinny::output_stage(base, group, stage).plus_bytes(C.d_box().bytes() * uint32_t(i)));
        }
      });
    }
  }

  // One thread. With tokens first, they are in a stage where the skinny kernel has its weights.
  WW_FN static void load(const SkinnyGemmArgs& p, uint32_t base, typename Skinny::InputRing ring) {
    if constexpr (!C.tokens_first) {
      Skinny::load(p, base, ring);
    } else {
      pipeline::Producer<C.stages, pipeline::PublishByTma> input(ring);
      const auto part = Skinny::depth(p);
      machine::grid_dependency_wait();
      Tiles walk = tiles(p);
      for (tile::TileCoord tile; walk.next(tile);) {
        for (int i = 0; i < part.count; ++i) {
          input.produce([&](auto stage) {
            const int k = (part.first + i) * kSkinny.tile_k();
            stage->expect_bytes(Skinny::kWBytes + Skinny::kXBytes);
            machine::tma_load<CacheHint::evict_first>(Skinny::x_stage(base, stage->index()), &p.w,
                                                      machine::Coords<2>{k, tile.n * C.rows}, stage->full());
            machine::tma_load<CacheHint::evict_last>(Skinny::w_stage(base, stage->index()), &p.x,
                                                     machine::Coords<2>{k, tile.m * C.tokens}, stage->full());
            return stdx::move(stage).release();
          });
        }
      }
    }
  }

  // The four warps of a warpgroup.
  WW_FN static void multiply(const Args& args, uint32_t base, typename Skinny::InputRing input_ring, int group) {
    const SkinnyGemmArgs& p = args.product;
    Input input(input_ring);
    typename Skinny::Output output(Skinny::output_ring(base, group));
    Sums sums[2];
    Totals<kN> totals;
    const int depth = Skinny::depth(p).count;
    const auto quad = [&](int block) {
      Quad q;
      WW_UNROLL
      for (int i = 0; i < 4; ++i) q[i] = totals.get(block * 4 + i);
      return q;
    };
    int left = tiles(p).remaining();
    if constexpr (C.split == 1) {
      for (; left > 0; --left) {
        accumulate(totals, sums, input, base, group, depth);
        hand_out(output, base, p, group, quad);
      }
    } else {
      constexpr int owners = kSkinny.owners();
      constexpr uint32_t full = plan.barrier("partial.full").offset, empty = plan.barrier("partial.empty").offset;
      const int thread = int(machine::thread_index()), rank = int(machine::cluster_rank());
      const auto slots = pipeline::ring_at<1>(base, full, empty, int(machine::warp_uniform(machine::warp_index())));
      pipeline::Producer<1, TellCluster<owners>, Scope::cluster> send(slots);
      pipeline::Consumer<1, TellCluster<C.split>, Scope::cluster> receive(slots);
      for (; left > 0; --left) {
        accumulate(totals, sums, input, base, group, depth);
        send.produce([&](auto slot) {
          WW_UNROLL
          for (int owner = 0; owner < owners; ++owner) {
            WW_UNROLL
            for (int block = 0; block < Skinny::kBlocks; ++block) {
              machine::store(machine::map_to_rank(Skinny::partial(base, rank, block, thread), uint32_t(owner)),
                             quad(owner * Skinny::kBlocks + block));
            }
          }
          return stdx::move(slot).release();
        });
        if (rank >= owners) continue;
        receive.consume([&](auto slot) {
          hand_out(output, base, p, group, [&](int block) {
            Quad sum = machine::load(Skinny::partial(base, 0, block, thread));
            WW_UNROLL
            for (int source = 1; source < C.split; ++source) {
              const Quad more = machine::load(Skinny::partial(base, source, block, thread));
              WW_UNROLL
              for (int i = 0; i < 4; ++i) sum[i] += more[i];
            }
            return sum;
          });
          return stdx::move(slot).release();
        });
      }
      // The owners report here until the last one has read what this warp sent, so the CTA must not leave before.
      send.drain();
    }
  }

  // The loading warp: all others wait for the first bytes, so it starts as early as it can.
  WW_FN static void start_and_load(const SkinnyGemmArgs& p, uint32_t base, typename Skinny::InputRing input) {
    constexpr int registers = plan.role("load").registers;
    const bool elected = machine::elect_one();
    if (elected) {
      if (p.k > 0) {
        machine::tma_prefetch_map(&p.w);
        machine::tma_prefetch_map(&p.x);
      }
      pipeline::init_barriers<SkinnyBlockwise>(base);
    }
    machine::sync_warp();
    pipeline::announce_barriers<SkinnyBlockwise>();
    if constexpr (registers != 0) machine::registers_decrease<registers>();
    if (elected) load(p, base, input);
    pipeline::await_peers<SkinnyBlockwise>();
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<SkinnyBlockwise>();
    static_assert(plan.barrier("input.full").offset == Skinny::plan.barrier("input.full").offset &&
                      plan.region("output").offset == Skinny::plan.region("output").offset,
                  "the skinny kernel's functions find their memory by its plan");
    constexpr uint32_t full = plan.barrier("input.full").offset, empty = plan.barrier("input.empty").offset;
    constexpr int mma_warps = plan.role("mma").warps, load_warp = plan.role("load").first_warp;
    constexpr int store_warp = plan.role("store").first_warp, scale_warp = plan.role("scales").first_warp;
    constexpr int mma_registers = plan.role("mma").registers, other_registers = plan.role("scales").registers;
    const uint32_t base = machine::shared_base();
    const int warp = int(machine::warp_uniform(machine::warp_index()));
    const typename Skinny::InputRing input = pipeline::ring_at<C.stages>(base, full, empty);
    machine::grid_dependency_launch();
    if (warp == load_warp) {
      start_and_load(args.product, base, input);
      return;
    }
    if (warp == store_warp && machine::elect_one()) machine::tma_prefetch_map(&args.product.d);
    machine::sync_warp();
    pipeline::await_barriers<SkinnyBlockwise>();
    if (warp < mma_warps) {
      if constexpr (mma_registers != 0) machine::registers_increase<mma_registers>();
      // Not for the operands' sake, since without depth none are loaded: the previous kernel may still be reading D.
      machine::grid_dependency_wait();
      multiply(args, base, input, warp / 4);
    } else {
      if constexpr (other_registers != 0) machine::registers_decrease<other_registers>();
      if (warp == scale_warp) {
        bring_scales(args, base, input);
      } else if (C.split == 1 || int(machine::cluster_rank()) < kSkinny.owners()) {
        const int group = warp - store_warp;
        if (machine::elect_one()) store(args.product, base, group);
      }
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
