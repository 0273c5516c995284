// The product of skinny_gemm.h for e4m3 operands with blockwise scales. The sums of every block along k are multiplied
// by the scale of the tile's weights and that of each token, and added to totals in fp32 while the tensor core makes
// those of the next block. A cluster splits the depth, loads, exchanges and stores as there.
#pragma once
#include "warpwright/kernel/config_grouped_sm90.h"
#include "warpwright/kernel/sm90/scale_ring.h"
#include "warpwright/kernel/sm90/skinny_gemm.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

constexpr Plan skinny_blockwise_plan(const SkinnyBlockwiseConfig& c) {
  // What is added stands behind what is there: the places of the skinny kernel do not move.
  Plan plan = skinny_gemm_plan(c.skinny());
  plan.kernel = "skinny_blockwise";
  plan.role("scales", 1);
  const int mma_warps = c.skinny().warpgroups() * 4;
  plan.region("scales", c.scale_slot_bytes(), c.kScaleSlots, 16);
  plan.barrier("scales.full", c.kScaleSlots, 1, "mma", {"scales", 1});
  plan.barrier("scales.empty", c.kScaleSlots, mma_warps, "scales", {"mma", mma_warps});
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
  using Input = typename Skinny::Input;
  using ScaleProducer = pipeline::Producer<C.kScaleSlots, TellByWarp>;
  using ScaleConsumer = pipeline::Consumer<C.kScaleSlots, TellByWarp>;
  static constexpr Plan plan = skinny_blockwise_plan(C);

  WW_FN static pipeline::Ring<C.kScaleSlots> scale_ring(uint32_t base) {
    constexpr uint32_t full = plan.barrier("scales.full").offset, empty = plan.barrier("scales.empty").offset;
    return pipeline::ring_at<C.kScaleSlots>(base, full, empty);
  }
  WW_FN static Shared<float> scale_slot(uint32_t base, int slot) {
    constexpr uint32_t offset = plan.region("scales").offset;
    return Shared<float>{base + offset}.plus_bytes(C.scale_slot_bytes() * uint32_t(slot));
  }

  // The whole warp. The scales of the next blocks are on their way while those of the last ones wait for their slots.
  WW_FN static void bring_scales(const Args& args, uint32_t base) {
    using Group = ScaleGroup<C.tokens>;
    ScaleProducer ring(scale_ring(base));
    const SkinnyGemmArgs& p = args.product;
    const int blocks = tile::ceil_div(p.k, kScaleBlock);
    const auto part = Skinny::depth(p);
    const int end = part.first + part.count;
    const bool wide = ScaleSource::is_wide(args.x_scales, args.x_scales_stride, blocks);
    machine::grid_dependency_wait();
    if (part.count == 0) return;
    Tiles walk = Skinny::tiles(p);
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
          ring.produce([&](auto slot) {
            now.write(scale_slot(base, slot->index()), j);
            return stdx::move(slot).release();
          });
        }
      }
    }
  }

  // Adds the sums of a block to the totals, by the scales of the next slot.
  WW_FN static void promote(Totals<C.tokens>& totals, const Sums& sums, ScaleConsumer& scales, uint32_t base) {
    scales.consume([&](auto slot) {
      const Shared<float> first = scale_slot(base, slot->index()) + 2 * (int(machine::lane_index()) % 4);
      const auto tokens = first.template as<Vec<float, 2>>();
      WW_UNROLL
      for (int i = 0; i < C.tokens / 8; ++i) {
        const Vec<float, 2> by = machine::load(tokens + 4 * i);
        WW_UNROLL
        for (int j = 4 * i; j < 4 * i + 4; ++j) {
          totals.set(j, tile::multiply_add(sums.get(j), by[j % 2], totals.get(j)));
        }
      }
      return stdx::move(slot).release();
    });
  }

  // The sums of one tile, as far as this CTA has its depth. While one set of sums is added up, the tensor core fills
  // the other. ptxas takes this only where no MMA is under way at the end of a round of a loop: so several blocks
  // follow each other without one.
  WW_FN static void accumulate(Totals<C.tokens>& totals, Sums (&sums)[2], Input& input, ScaleConsumer& scales,
                               uint32_t base, int group, int depth) {
    clear(totals);
    const auto run = [&](auto blocks) {
      auto held = input.acquire_linear();
      Skinny::issue(sums[0], base, group, held->index(), true);
      WW_UNROLL
      for (int i = 1; i < blocks(); ++i) {
        auto next = input.acquire_linear();
        Skinny::issue(sums[i % 2], base, group, next->index(), true);
        machine::wgmma_wait<1>();
        stdx::move(held).release();
        held = stdx::move(next);
        promote(totals, sums[(i - 1) % 2], scales, base);
      }
      machine::wgmma_wait<0>();
      stdx::move(held).release();
      promote(totals, sums[(blocks() - 1) % 2], scales, base);
    };
    for (; depth >= 4; depth -= 4) run(stdx::integral_constant<int, 4>{});
    if (depth & 2) run(stdx::integral_constant<int, 2>{});
    if (depth & 1) run(stdx::integral_constant<int, 1>{});
  }

  // The four warps of a warpgroup.
  WW_FN static void multiply(const Args& args, uint32_t base, typename Skinny::InputRing input_ring, int group) {
    const SkinnyGemmArgs& p = args.product;
    Input input(input_ring);
    typename Skinny::Output output(Skinny::output_ring(base, group));
    ScaleConsumer scales(scale_ring(base));
    Sums sums[2];
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

  // The loading warp: the first bytes are what everybody waits for, so it starts as early as it can.
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
    if (elected) Skinny::load(p, base, input);
    pipeline::await_peers<SkinnyBlockwise>();
  }

  WW_FN static void body(const Args& args) {
    check_plan<SkinnyBlockwise>();
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
      // Not for the operands' sake: without depth nothing is loaded, and D may be what the kernel ahead still reads.
      machine::grid_dependency_wait();
      multiply(args, base, input, warp / 4);
    } else {
      if constexpr (other_registers != 0) machine::registers_decrease<other_registers>();
      if (warp == scale_warp) {
        bring_scales(args, base);
      } else if (C.split == 1 || int(machine::cluster_rank()) < kSkinny.owners()) {
        const int group = warp - store_warp;
        if (machine::elect_one()) Skinny::store(args.product, base, Skinny::output_ring(base, group), group);
      }
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
