// The product of skinny_gemm.h for e4m3 operands with blockwise scales. The sums of every block along k are multiplied
// by the scale of the tile's weights and that of each token, and added to a second set in fp32. A cluster splits the
// depth, loads, exchanges and stores as there.
#pragma once
#include "warpwright/kernel/sm90/scale_ring.h"
#include "warpwright/kernel/sm90/skinny_gemm.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

constexpr Plan skinny_blockwise_plan(const SkinnyBlockwiseConfig& c) {
  // What is added stands behind what is there: the places of the skinny kernel do not move.
  Plan plan = skinny_gemm_plan(c.skinny());
  plan.kernel = "skinny_blockwise";
  plan.role("scales", 1);
  declare_scales(plan, c.scales(), c.skinny().warpgroups() * 4);
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
  using Quad = typename Skinny::Quad;
  using Brought = Scales<C.scales()>;
  static constexpr Plan plan = skinny_blockwise_plan(C);
  static constexpr int kPairs = C.tokens / 8;  // of neighbouring tokens, of a thread

  WW_FN static typename Brought::Ring scale_ring(uint32_t base) {
    constexpr uint32_t full = plan.barrier("scales.full").offset, empty = plan.barrier("scales.empty").offset;
    return pipeline::ring_at<C.scales().slots>(base, full, empty);
  }
  WW_FN static Shared<float> scale_slots(uint32_t base) {
    constexpr uint32_t offset = plan.region("scales").offset;
    return {base + offset};
  }

  // The whole warp.
  WW_FN static void bring_scales(const Args& args, uint32_t base) {
    typename Brought::Producer ring(scale_ring(base));
    const SkinnyGemmArgs& p = args.product;
    const int blocks = tile::ceil_div(p.k, kScaleBlock);
    const auto part = Skinny::depth(p);
    const ScaleMatrix x{{args.x_scales}, args.x_scales_stride, p.m};
    const ScaleMatrix w{{args.w_scales}, blocks, tile::ceil_div(p.n, kScaleBlock)};
    machine::grid_dependency_wait();
    Tiles walk = Skinny::tiles(p);
    for (tile::TileCoord tile; walk.next(tile);) {
      const int line = tile.n * C.rows / kScaleBlock;
      Brought::bring(
          ring, scale_slots(base), x, tile.m * C.tokens, w, 1, [line](int) { return line; }, part.first, part.count);
    }
  }

  // Those of the tokens of a thread, with that of the weights.
  struct TokenScales {
    Vec<float, 2> of[kPairs];
    WW_FN static TokenScales read(Shared<float> slot) {
      TokenScales s;
      const float weights = machine::load(Brought::few_of(slot));
      const auto tokens = (slot + 2 * (int(machine::lane_index()) % 4)).template as<Vec<float, 2>>();
      WW_UNROLL
      for (int i = 0; i < kPairs; ++i) {
        s.of[i] = machine::load(tokens + 4 * i);
        s.of[i][0] = tile::multiply(weights, s.of[i][0]);
        s.of[i][1] = tile::multiply(weights, s.of[i][1]);
      }
      return s;
    }
  };

  // The sums of one tile, as far as this CTA has its depth. The wait for the next stage is done, and its scales are
  // read, while the tensor core works.
  WW_FN static void accumulate(Totals<C.tokens>& totals, typename Skinny::Sums& sums, typename Skinny::Input& input,
                               typename Brought::Consumer& scales, uint32_t base, int group, int depth) {
    clear(totals);
    if (depth == 0) return;
    TokenScales now{};
    const auto take = [&] {
      TokenScales taken{};
      scales.consume([&](auto slot) {
        taken = TokenScales::read(scale_slots(base).plus_bytes(C.scales().slot_bytes() * uint32_t(slot->index())));
        return stdx::move(slot).release();
      });
      return taken;
    };
    const auto promote = [&] {
      WW_UNROLL
      for (int i = 0; i < C.tokens / 2; ++i) {
        totals.set(i, tile::multiply_add(sums.get(i), now.of[i / 4][i % 2], totals.get(i)));
      }
    };
    now = take();
    input.consume_overlapped(
        depth,
        [&](auto current) {
          Skinny::issue(sums, base, group, current->index(), true);
          return stdx::move(current).keep();
        },
        [&](auto previous, auto current) {
          const TokenScales next = take();
          machine::wgmma_wait<0>();
          return stdx::move(previous).release_keep_then(stdx::move(current), [&](const auto& stage) {
            promote();
            now = next;
            Skinny::issue(sums, base, group, stage.index(), true);
          });
        },
        [&](auto previous) {
          machine::wgmma_wait<0>();
          return stdx::move(previous).release();
        });
    promote();
  }

  // The four warps of a warpgroup.
  WW_FN static void multiply(const Args& args, uint32_t base, typename Skinny::InputRing input_ring, int group) {
    const SkinnyGemmArgs& p = args.product;
    typename Skinny::Input input(input_ring);
    typename Skinny::Output output(Skinny::output_ring(base, group));
    typename Brought::Consumer scales(scale_ring(base));
    typename Skinny::Sums sums;
    Totals<C.tokens> totals;
    const int depth = Skinny::depth(p).count;
    const auto quad = [&](int block) {
      Quad q;
      WW_UNROLL
      for (int i = 0; i < 4; ++i) q[i] = totals.get(block * 4 + i);
      return q;
    };
    int left = Skinny::tiles(p).remaining();
    if constexpr (C.split == 1) {
      for (; left > 0; --left) {
        accumulate(totals, sums, input, scales, base, group, depth);
        Skinny::hand_out(output, base, p, {}, group, 1.f, quad);
      }
    } else {
      constexpr int owners = kSkinny.owners();
      constexpr uint32_t full = plan.barrier("partial.full").offset, empty = plan.barrier("partial.empty").offset;
      const int thread = int(machine::thread_index()), rank = int(machine::cluster_rank());
      const auto slots = pipeline::ring_at<1>(base, full, empty, int(machine::warp_uniform(machine::warp_index())));
      pipeline::Producer<1, TellCluster<owners>, Scope::cluster> send(slots);
      pipeline::Consumer<1, TellCluster<C.split>, Scope::cluster> receive(slots);
      for (; left > 0; --left) {
        accumulate(totals, sums, input, scales, base, group, depth);
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
          Skinny::hand_out(output, base, p, {}, group, 1.f, [&](int block) {
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
      // The owners report here until the last one has read what this warp sent: the CTA must not leave before.
      send.drain();
    }
  }

  WW_FN static void body(const Args& args) {
    check_plan<SkinnyBlockwise>();
    static_assert(plan.barrier("input.full").offset == Skinny::plan.barrier("input.full").offset &&
                      plan.region("output").offset == Skinny::plan.region("output").offset,
                  "the skinny kernel's functions find their memory by its plan");
    constexpr uint32_t full = plan.barrier("input.full").offset, empty = plan.barrier("input.empty").offset;
    constexpr int mma_warps = plan.role("mma").warps, load_warp = plan.role("load").first_warp;
    constexpr int store_warp = plan.role("store").first_warp, scale_warp = plan.role("scales").first_warp;
    const uint32_t base = machine::shared_base();
    const int warp = int(machine::warp_uniform(machine::warp_index()));
    const typename Skinny::InputRing input = pipeline::ring_at<C.stages>(base, full, empty);
    machine::grid_dependency_launch();
    if (warp == load_warp) {
      const bool elected = machine::elect_one();
      if (elected) {
        if (args.product.k > 0) {
          machine::tma_prefetch_map(&args.product.w);
          machine::tma_prefetch_map(&args.product.x);
        }
        pipeline::init_barriers<SkinnyBlockwise>(base);
      }
      machine::sync_warp();
      pipeline::announce_barriers<SkinnyBlockwise>();
      if (elected) Skinny::load(args.product, base, input);
      pipeline::await_peers<SkinnyBlockwise>();
    } else {
      if (warp == store_warp && machine::elect_one()) machine::tma_prefetch_map(&args.product.d);
      machine::sync_warp();
      pipeline::await_barriers<SkinnyBlockwise>();
      if (warp < mma_warps) {
        multiply(args, base, input, warp / 4);
      } else if (warp == scale_warp) {
        bring_scales(args, base);
      } else if (C.split == 1 || int(machine::cluster_rank()) < kSkinny.owners()) {
        const int group = warp - store_warp;
        if (machine::elect_one()) Skinny::store(args.product, base, Skinny::output_ring(base, group), group);
      }
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
