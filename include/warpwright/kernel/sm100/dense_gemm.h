// D = epilogue(A * B^T) on Blackwell. A load warp fills the input ring by TMA, each CTA its slice of what the cluster
// shares; the MMA warp of the leading CTA multiplies into one of several accumulators in tensor memory while four
// epilogue warps store the one before. With cta_group 2 a pair of CTAs is one such machine: the even CTA issues the
// MMAs, both load, both hold half of the rows and store them. Tails are the TMA's, which reads zeros beyond a matrix,
// and the epilogue's, which stores nothing there.
#pragma once
#include "warpwright/core/descriptor.h"
#include "warpwright/core/instr_descriptor.h"
#include "warpwright/core/plan.h"
#include "warpwright/epilogue/ops.h"
#include "warpwright/kernel/config_sm100.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/input_tile.h"
#include "warpwright/tile/convert.h"
#include "warpwright/tile/persistent.h"
#include "warpwright/warp/epilogue_warp.h"
#include "warpwright/warp/kernel_context.h"
#include "warpwright/warp/mma_warp.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

WW_HD constexpr ClusterConfig cluster_of(const DenseGemmSm100Config& c) {
  return {c.cluster_m, c.cluster_n, c.cta_group};
}

struct DenseGemmDesign {
  Plan plan;
  OutputPipelineConfig output;
};
constexpr DenseGemmDesign dense_gemm_design(const DenseGemmSm100Config& c) {
  Plan plan("dense_gemm_sm100", Arch::sm100, c.cluster());
  // Warp i may read lanes 32 * (i % 4) and up: four epilogue warps from a multiple of four cover all lanes.
  plan.role("epilogue", 4).role("load", 1).role("mma", 1);
  const uint32_t alignment = smem_alignment(Swizzle::b128);
  plan.region("input.a", c.a_bytes() * uint32_t(c.k_group), c.stages, alignment);
  plan.region("input.b", c.b_bytes() * uint32_t(c.k_group), c.stages, alignment);
  const int releases = cluster_of(c).input_empty_arrivals();
  plan.barrier("input.full", c.stages, 1, "mma", {"load", 1});
  plan.barrier("input.empty", c.stages, releases, "load", {"mma", releases});
  const OutputPipelineConfig output = declare_output(
      plan, {.num_stages = c.accumulators, .stage_stride_cols = c.accumulator_columns(), .cta_group = c.cta_group});
  return {plan, output};
}

template <DenseGemmSm100Config C>
struct DenseGemm {
  static_assert(C.type == DType::bf16 || C.type == DType::fp16 || C.type == DType::tf32 || C.type == DType::e4m3,
                "dense_gemm: A and B are bf16, fp16, tf32 or e4m3");
  static_assert(C.out_type == DType::fp32 || C.out_type == DType::bf16 || C.out_type == DType::fp16,
                "dense_gemm: D is fp32, bf16 or fp16");
  static_assert(C.cta_group == 1 || C.cta_group == 2, "dense_gemm: cta_group is 1 or 2");
  static_assert(C.cluster_m >= 1 && C.cluster_n >= 1 && C.cluster() <= 16, "dense_gemm: a cluster has 1 to 16 CTAs");
  static_assert(C.cta_group == 1 || C.cluster_m % 2 == 0,
                "dense_gemm: cta_group 2 pairs CTAs along M, so cluster_m must be even");
  static_assert(C.tile_m == 64 || C.tile_m == 128, "dense_gemm: a CTA has 64 or 128 rows of a tile");
  static_assert(C.tile_n >= 8 && C.tile_n <= 256 && C.tile_n % (C.cta_group == 1 ? 8 : 16) == 0,
                "dense_gemm: tile_n is a multiple of 8 (of 16 in a pair of CTAs) up to 256");
  static_assert(C.stages >= 1 && C.k_group >= 1, "dense_gemm: the input ring has at least one stage of one tile");
  static_assert(C.accumulators >= 1 && C.accumulators <= 4, "dense_gemm: there are 1 to 4 accumulators");
  static_assert(C.accumulator_columns() * C.accumulators <= int(kTmemColumns),
                "dense_gemm: the accumulators exceed the 512 columns of tensor memory");
  static_assert(C.tile_m % (8 * C.cluster_n) == 0,
                "dense_gemm: a CTA's slice of A must be a multiple of 8 rows, one swizzle atom");
  static_assert(C.b_rows() % (8 * C.groups_m()) == 0,
                "dense_gemm: a CTA's slice of B must be a multiple of 8 rows, one swizzle atom");
  static_assert(C.raster_group >= 1, "dense_gemm: a raster group has at least one row of tiles");

  static constexpr EpilogueConfig epilogue_config() {
    EpilogueConfig e = C.epilogue;
    e.out = C.out_type;
    return e;
  }
  static_assert(!C.epilogue.pair(), "dense_gemm: an activation of two accumulators has no kernel here");
  using Ops = epilogue::EpilogueOps<epilogue_config()>;

  using Args = DenseGemmSm100Args;
  static constexpr Plan plan = dense_gemm_design(C).plan;
  static constexpr OutputPipelineConfig output = dense_gemm_design(C).output;
  static_assert(plan.shared_memory_fits(), "dense_gemm: the input stages exceed the shared memory of a CTA");

  static constexpr InstrDesc kMma{
      .kind = mma_kind(C.type, C.type), .a = C.type, .b = C.type, .m = C.mma_m(), .n = C.tile_n};
  static_assert(idesc_error(kMma, C.cta_group) == nullptr, "dense_gemm: there is no MMA of this shape");

  using Payload = pipeline::StandardPayload<TileBytes{.a = C.a_bytes(), .b = C.b_bytes()}>;
  using FreeInput = stdx::conditional_t<(C.cluster() > 1), pipeline::ReleaseByWarpCommitMulticast<C.cta_group>,
                                        pipeline::ReleaseByWarpCommit<C.cta_group>>;
  using Input = pipeline::InputTilePipeline<Payload, C.stages, C.k_group, FreeInput>;
  static constexpr int kMmaThreads = plan.role("mma").threads(), kEpilogueThreads = plan.role("epilogue").threads();
  using MmaWarp = warp::MmaWarpContext<output, kMmaThreads, kEpilogueThreads>;
  using EpilogueWarp = warp::EpilogueWarpContext<output, kMmaThreads, kEpilogueThreads>;

  WW_FN static pipeline::Ring<C.stages> input_ring(uint32_t base) {
    constexpr uint32_t full = plan.barrier("input.full").offset, empty = plan.barrier("input.empty").offset;
    return pipeline::ring_at<C.stages>(base, full, empty);
  }
  WW_FN static Payload payload(uint32_t base) {
    constexpr uint32_t a = plan.region("input.a").offset, b = plan.region("input.b").offset;
    return {{base + a}, {base + b}};
  }

  // The tiles of a raster are those of a whole cluster.
  WW_FN static tile::PersistentTiles tiles(const Args& args) {
    return tile::PersistentTiles({tile::ceil_div(args.m, C.tile_m * C.cluster_m),
                                  tile::ceil_div(args.n, C.tile_n * C.cluster_n), C.raster_group});
  }
  WW_FN static int first_row(tile::TileCoord tile, const KernelContext& self) {
    return (tile.m * C.cluster_m + int(self.rank_m)) * C.tile_m;
  }
  WW_FN static int first_column(tile::TileCoord tile, const KernelContext& self) {
    return (tile.n * C.cluster_n + int(self.rank_n)) * C.tile_n;
  }
  // Stages that one tile of the result takes.
  WW_FN static int k_steps(const Args& args) { return tile::ceil_div(args.k, C.tile_k() * C.k_group); }

  // One box to this CTA, or to all CTAs of `receivers`; its bytes count on the barrier of the leader of each of them.
  template <bool Multicast>
  WW_FN static void load_box(Shared<uint8_t> to, const TensorMap* map, machine::Coords<2> from, Shared<Mbarrier> full,
                             uint16_t receivers) {
    if constexpr (Multicast) {
      const Shared<Mbarrier> bar{C.cta_group == 2 ? machine::map_to_leader(full).address : full.address};
      machine::tma_load_multicast<CacheHint::normal, C.cta_group>(to, map, from, bar, receivers);
    } else if constexpr (C.cta_group == 2) {
      machine::tma_load_pair(to, map, from, machine::map_to_leader(full));
    } else {
      machine::tma_load(to, map, from, full);
    }
  }

  // One thread.
  WW_FN static void load(const Args& args, uint32_t base, const KernelContext& self) {
    constexpr TensorBox a_slice = C.a_box(), b_slice = C.b_box();
    Input input(input_ring(base), payload(base));
    const int steps = k_steps(args);
    const uint32_t a_offset = a_slice.bytes() * self.a_slice, b_offset = b_slice.bytes() * self.b_slice;
    tile::PersistentTiles walk = tiles(args);
    for (tile::TileCoord tile; walk.next(tile);) {
      const int a_row = first_row(tile, self) + int(self.a_slice) * a_slice.outer;
      const int b_row =
          first_column(tile, self) + int(self.place_in_pair) * C.b_rows() + int(self.b_slice) * b_slice.outer;
      for (int step = 0; step < steps; ++step) {
        input.producer().produce([&](auto stage) {
          // The leader counts the bytes of the whole pair, whichever CTA sends them.
          if (self.elect_one_cta) stage->expect_tiles(C.cta_group);
          WW_UNROLL
          for (int i = 0; i < C.k_group; ++i) {
            const int k = (step * C.k_group + i) * C.tile_k();
            const auto to = stage->tile(i);
            load_box<(C.cluster_n > 1)>(to.a.plus_bytes(a_offset), &args.a, {k, a_row}, stage->full(),
                                        self.a_multicast_mask);
            load_box<(C.groups_m() > 1)>(to.b.plus_bytes(b_offset), &args.b, {k, b_row}, stage->full(),
                                         self.b_multicast_mask);
          }
          return stdx::move(stage).release();
        });
      }
    }
    // The MMAs of other CTAs report here until the last one has read what this CTA sent.
    if constexpr (C.cluster() > 1) input.producer().drain();
  }

  // One thread: adds the product of one tile along K to the accumulator.
  template <class Tile>
  WW_FN static void issue(Tmem sums, const Tile& operands, bool fresh) {
    constexpr uint32_t shape = encode_idesc(kMma);
    constexpr auto kind = machine::MmaKind(uint8_t(kMma.kind));
    constexpr int step = mma_k(C.type);
    constexpr uint32_t step_bytes = SmemTile{C.type, C.tile_m, C.tile_k()}.linear(0, step);
    const uint64_t a = encode_sm100(k_major_desc(C.type, Swizzle::b128, C.tile_m, operands.a.address));
    const uint64_t b = encode_sm100(k_major_desc(C.type, Swizzle::b128, C.b_rows(), operands.b.address));
    WW_UNROLL
    for (int i = 0; i < C.tile_k() / step; ++i) {
      const uint32_t along_k = step_bytes * uint32_t(i);
      machine::tcgen05_mma<kind, C.cta_group>(sums, advance_desc(a, along_k), advance_desc(b, along_k), shape,
                                              i != 0 || !fresh);
    }
  }

  // The MMA warp of the leader. An accumulator without a product (k = 0) is passed on all the same: the epilogue knows
  // not to read it.
  WW_FN static void multiply(const Args& args, uint32_t base, const KernelContext& self,
                             pipeline::OutputTilePipeline<output>& accumulators) {
    FreeInput free;
    if constexpr (C.cluster() > 1) free.mask = self.input_release_mask;
    Input input(input_ring(base), payload(base), free);
    const int steps = k_steps(args);
    for (int left = tiles(args).remaining(); left > 0; --left) {
      accumulators.producer().produce([&](auto sums) {
        for (int step = 0; step < steps; ++step) {
          input.consumer().consume([&](auto stage) {
            if (machine::elect_one()) {
              WW_UNROLL
              for (int i = 0; i < C.k_group; ++i) issue(sums->tmem().address(), stage->tile(i), step == 0 && i == 0);
            }
            return stdx::move(stage).release();
          });
        }
        return stdx::move(sums).release();
      });
    }
  }

  // The whole warp; in a pair that of the other CTA only owns its part of tensor memory.
  WW_FN static void own_and_multiply(const Args& args, uint32_t base, const KernelContext& self) {
    MmaWarp::run(warp::output_storage<DenseGemm, output>(base), self.mma_complete_mask, [&](auto mma) {
      if (self.elect_one_cta) multiply(args, base, self, mma->output());
      return stdx::move(mma).release();
    });
  }

  static constexpr int kWidth = C.accumulator_columns();
  // Of one tcgen05.ld: a thread holds so many results of its row.
  static constexpr int kColumns = kWidth % 32 == 0 ? 32 : kWidth % 16 == 0 ? 16 : 8;
  static constexpr int kVector = 128 / bits(C.out_type);  // results in one store
  using Values = machine::TmemRegisters<kColumns>;

  // Where a thread of the epilogue finds its results: one lane of tensor memory is one row of the tile.
  struct Share {
    uint32_t lanes;  // first lane of the warp
    int row;         // of this thread, in the CTA's part of the tile
    int column;      // of tensor memory's first column, in the tile
    bool used;
  };
  WW_FN static Share share() {
    constexpr int first_warp = plan.role("epilogue").first_warp;
    static_assert(first_warp % 4 == 0, "the warp's place in its warpgroup decides which lanes it may read");
    const int warp = int(machine::warp_index()) - first_warp, lane = int(machine::lane_index());
    const uint32_t lanes = uint32_t(warp) * 32;
    if constexpr (C.tile_m == 128) {
      return {lanes, warp * 32 + lane, 0, true};
    } else if constexpr (C.cta_group == 1) {
      return {lanes, warp * 16 + lane, 0, lane < 16};
    } else {
      return {lanes, warp % 2 * 32 + lane, warp / 2 * kWidth, true};
    }
  }

  WW_FN static void read(Values& values, Tmem from, machine::here at = {}) {
    machine::tcgen05_ld<machine::TmemShape::b32x32, kColumns>(values, from, at);
    machine::tcgen05_wait_ld(at);
  }

  WW_FN static void store_vector(void* d, int64_t offset, const float (&value)[kVector]) {
    if constexpr (C.out_type == DType::fp32) {
      machine::store(Global<float>{static_cast<float*>(d) + offset}.template as<Vec<float, 4>>(),
                     Vec<float, 4>{{value[0], value[1], value[2], value[3]}});
    } else {
      Vec<uint32_t, 4> packed;
      WW_UNROLL
      for (int i = 0; i < 4; ++i) packed[i] = tile::pack2<C.out_type>(value[2 * i], value[2 * i + 1]);
      machine::store(Global<uint16_t>{static_cast<uint16_t*>(d) + offset}.template as<Vec<uint32_t, 4>>(), packed);
    }
  }

  // The results of one tcgen05.ld, which belong to `row` from `column` on.
  WW_FN static void store_values(const Args& args, const EpilogueArgs& nodes, const Values& values, int row, int column,
                                 bool has_product) {
    WW_UNROLL
    for (int i = 0; i < kColumns; i += kVector) {
      if (column + i < args.n) {
        float value[kVector];
        WW_UNROLL
        for (int e = 0; e < kVector; ++e) {
          value[e] = Ops{}(has_product ? values.get(i + e) : 0.f, row, column + i + e, nodes);
        }
        store_vector(args.d, int64_t(row) * args.n + column + i, value);
      }
    }
  }

  // All threads of the role.
  WW_FN static void epilogue(const Args& args, uint32_t base, const KernelContext& self) {
    const Share mine = share();
    const bool has_product = k_steps(args) > 0;
    const EpilogueArgs nodes = Ops::prepare(args.epilogue);
    EpilogueWarp::run(EpilogueWarp::Sync::wait(), warp::output_storage<DenseGemm, output>(base), self.mma_complete_mask,
                      [&](auto epilogue) {
                        tile::PersistentTiles walk = tiles(args);
                        for (tile::TileCoord tile; walk.next(tile);) {
                          const int row = first_row(tile, self) + mine.row;
                          const int column = first_column(tile, self) + mine.column;
                          const bool stores = mine.used && row < args.m;
                          Values values;
                          epilogue->output().consumer().consume([&](auto sums) {
                            const Tmem from = sums->tmem().lane(mine.lanes);
                            for (int first = 0; first < kWidth - kColumns; first += kColumns) {
                              if (has_product) read(values, from.column(uint32_t(first)));
                              if (stores) store_values(args, nodes, values, row, column + first, has_product);
                            }
                            // What is in registers needs no accumulator: the next MMAs may have it during the last
                            // stores.
                            if (has_product) read(values, from.column(uint32_t(kWidth - kColumns)));
                            return stdx::move(sums).release();
                          });
                          if (stores) store_values(args, nodes, values, row, column + kWidth - kColumns, has_product);
                        }
                        return stdx::move(epilogue).release();
                      });
  }

  WW_FN static void body(const Args& args) {
    check_plan<DenseGemm>();
    constexpr int load_warp = plan.role("load").first_warp, mma_warp = plan.role("mma").first_warp;
    const uint32_t base = machine::shared_base();
    const KernelContext self = warp::kernel_context<cluster_of(C)>();
    const int warp = int(machine::warp_uniform(self.warp));
    if (warp == load_warp && args.k > 0 && self.elect_one_thread) {
      machine::tma_prefetch_map(&args.a);
      machine::tma_prefetch_map(&args.b);
    }
    pipeline::set_up_barriers<DenseGemm>(base);
    if (warp == load_warp) {
      if (self.elect_one_thread) load(args, base, self);
    } else if (warp == mma_warp) {
      own_and_multiply(args, base, self);
    } else {
      epilogue(args, base, self);
    }
    // What a pair does to each other outlives either of them.
    pipeline::leave_cluster<DenseGemm>();
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100
