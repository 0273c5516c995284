// D = A * B^T on Blackwell for e4m3 operands with fp32 scales: one for each row of A and 128 elements along k, one for
// each block of 128 x 128 of B. The tensor core knows nothing of them: every block along k is a product of its own in
// an accumulator of its own, which the epilogue multiplies by its scales and adds to fp32 sums in registers. The scales
// of A travel through the input ring, so a stage is free when its MMAs are complete and the epilogue has read its
// scales.
//
// Where few tiles leave SMs idle, clusters share the depth of a tile: each adds its blocks, and what the others found
// comes through device memory (kernel/fixup.h).
//
// Groups may be ranges of k, with a D each. Then every row of B
// has scales as the rows of A have, and they travel beside
// those.
// With groups of rows (mixtures of experts) every role walks the table of groups for itself, the whole warp together.
// Where another table names the rows, the lanes of the load warp bring them (gather_rows.h), and the epilogue reads
// their scales from device memory, a block ahead.
#pragma once
#include "warpwright/core/refusal.h"
#include "warpwright/kernel/sm100/blockwise/quantized_results.h"
#include "warpwright/kernel/sm100/dense/dense_gemm.h"
#include "warpwright/kernel/sm100/gather_rows.h"
#include "warpwright/kernel/sm100/input.h"
#include "warpwright/tile/groups.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

constexpr DenseGemmDesign blockwise_fp8_design(const BlockwiseFp8Sm100Config& config) {
  const DenseGemmSm100Config c = config.dense();
  BlockPlan plan("blockwise_fp8_sm100", Arch::sm100, c.cluster());
  const int epilogue_warps = c.epilogue_warps;
  plan.role("epilogue", epilogue_warps).role("load", 1).role("mma", 1);
  declare_epilogue_roles(plan, c);
  const uint32_t alignment = smem_alignment(Swizzle::b128);
  plan.region("input.a", c.a_bytes(), c.stages, alignment);
  plan.region("input.b", c.b_bytes(), c.stages, alignment);
  const int commits = cluster_of(c).input_empty_arrivals();
  if (!config.gathered) plan.region("input.scales", config.scales_bytes(), c.stages, 128);
  plan.barrier("input.full", c.stages, 1, "mma", {"load", 1});
  if (config.gathered) {
    plan.barrier("input.empty", c.stages, commits, "load", {"mma", commits});
  } else {
    plan.barrier("input.empty", c.stages, commits + epilogue_warps, "load", {"mma", commits},
                 {"epilogue", epilogue_warps});
  }
  const OutputPipelineConfig output = declare_output(
      plan, {.num_stages = c.accumulators, .stage_stride_cols = c.accumulator_columns(), .cta_group = c.cta_group});
  declare_epilogue_rings(plan, c);
  if (config.quantized()) declare_largest(plan, config);
  return {plan, output};
}

template <BlockwiseFp8Sm100Config C>
struct BlockwiseFp8 {
  static_assert(Refusal<refuse(C)>::none);
  using Dense = DenseGemm<C.dense()>;
  using Load = typename Dense::Load;
  using Epilogue = DenseEpilogue<C.dense()>;
  using Results =
      stdx::conditional_t<C.quantized(), QuantizedResults<C, BlockwiseFp8>, EpilogueResults<C.dense(), BlockwiseFp8>>;
  using Args = BlockwiseFp8Sm100Args;
  static constexpr DenseGemmSm100Config kDense = C.dense();
  static constexpr BlockPlan plan = blockwise_fp8_design(C).plan;
  static constexpr OutputPipelineConfig output = blockwise_fp8_design(C).output;
  static_assert(plan.shared_memory_fits(), "blockwise_fp8: the input stages exceed the shared memory of a CTA");
  static constexpr int kSums = Epilogue::Layout::kWidth;  // of one thread
  // Columns of one tcgen05.ld; of two warpgroups a thread has fewer registers.
  static constexpr int kRead = C.quantized() ? 16 : kSums % 32 == 0 ? 32 : kSums % 16 == 0 ? 16 : 8;
  static_assert(C.block % kRead == 0, "blockwise_fp8: the columns of one tcgen05.ld have one scale of B");
  static_assert(kDense.tile_k() == C.block, "blockwise_fp8: a stage is one block of the scales along k");

  using Payload = typename PayloadOf<
      !C.gathered,
      TileBytes{.a = kDense.a_bytes(), .b = kDense.b_bytes(), .a_scales = C.gathered ? 0 : C.scales_bytes()},
      pipeline::BlockwiseFP8Payload>::type;
  using FreeInput = typename Dense::FreeInput;
  using Input = pipeline::InputTilePipeline<Payload, C.stages, 1, FreeInput>;
  static constexpr int kMmaThreads = plan.role("mma").threads(), kEpilogueThreads = plan.role("epilogue").threads();
  using MmaWarp = warp::MmaWarp<output, kMmaThreads, kEpilogueThreads>;

  WW_FN static pipeline::Ring<C.stages> input_ring(uint32_t base) {
    return input_ring_of<BlockwiseFp8, C.stages>(base);
  }
  WW_FN static Payload payload(uint32_t base) {
    constexpr uint32_t a = plan.region("input.a").offset, b = plan.region("input.b").offset;
    if constexpr (C.gathered) {
      return {{base + a}, {base + b}};
    } else {
      constexpr uint32_t scales = plan.region("input.scales").offset;
      return {{base + a}, {base + b}, {base + scales}};
    }
  }
  static constexpr bool kSplit = C.split == DepthSplit::split_k;
  using Single =
      stdx::conditional_t<kSplit, tile::SplitTiles<tile::GroupedSerpentine>, tile::WholeTiles<tile::GroupedSerpentine>>;
  static constexpr Groups kGroups = C.by_depth ? Groups::by_depth : Groups::contiguous;
  static constexpr int kUnit = C.by_depth ? C.block : 1;  // of k, at which groups along it begin
  using Tiles = stdx::conditional_t<
      C.grouped, stdx::conditional_t<kSplit, tile::SplitGroupTiles, tile::PersistentGroupTiles<kGroups, kUnit>>,
      tile::PersistentTilesOver<Single>>;
  using Tile = stdx::conditional_t<C.grouped, stdx::conditional_t<kSplit, tile::GroupJob, tile::GroupTile>, tile::Job>;
  template <tile::Walker>
  WW_FN static Tiles walk(const Args& args, uint32_t) {
    constexpr int rows = kDense.tile_m * kDense.cluster_m;
    const int tiles_n = tile::ceil_div(args.n, C.tile_n);
    if constexpr (C.grouped && kSplit) {
      return Tiles(args.groups, rows, tiles_n, tile::SplitK{0, blocks(args), args.splits, 1});
    } else if constexpr (C.grouped) {
      return Tiles(args.groups, rows, tiles_n);
    } else {
      const tile::GroupedSerpentine raster{tile::ceil_div(args.m, rows), tiles_n, C.raster_group};
      if constexpr (kSplit) {
        return Tiles({raster, {raster.count(), blocks(args), args.splits, 1}});
      } else {
        return Tiles({raster, blocks(args)});
      }
    }
  }
  // Which part of a tile's depth this cluster has.
  WW_FN static const tile::Job& share_of(const Tile& tile) requires(kSplit) {
    if constexpr (C.grouped) {
      return tile.share;
    } else {
      return tile;
    }
  }
  // Those blocks along k of a tile that this cluster multiplies.
  WW_FN static int first_block([[maybe_unused]] const Tile& tile) {
    if constexpr (C.by_depth) {
      return tile.first_k / C.block;
    } else if constexpr (kSplit) {
      return share_of(tile).k.first;
    } else {
      return 0;
    }
  }
  WW_FN static int end_block(const Args& args, [[maybe_unused]] const Tile& tile) {
    if constexpr (C.by_depth) {
      return (tile.first_k + tile.k) / C.block;
    } else if constexpr (kSplit) {
      return share_of(tile).k.end();
    } else {
      return blocks(args);
    }
  }
  WW_FN static int first_row(const Tile& tile, const KernelContext& self) {
    if constexpr (C.grouped) {
      return tile.first_row + (tile.m * kDense.cluster_m + int(self.rank_m)) * kDense.tile_m;
    } else {
      return Dense::first_row(tile, self);
    }
  }
  WW_FN static int first_column(const Tile& tile, const KernelContext&) { return tile.n * C.tile_n; }
  WW_FN static int matrix(const Tile& tile) {
    if constexpr (C.grouped) {
      return tile.matrix;
    } else {
      return 0;
    }
  }
  // As in GroupedGemm.
  WW_FN static int number(const Tile& tile) requires(C.grouped) { return C.by_depth ? tile.group : tile.matrix; }
  // The factor of a group's matrix, and where the group's results go.
  WW_FN static void adapt(EpilogueArgs& nodes, const Args& args, const Tile& tile) {
    if (args.matrix_alpha != nullptr) {
      nodes.alpha = machine::load(Global<const float>{args.matrix_alpha} + matrix(tile));
    }
    if constexpr (C.epilogue.bias == Bias::per_column) move_to_bias<C.epilogue.bias_type>(nodes, number(tile));
    if constexpr (C.by_depth && C.epilogue.source) move_to_group<C.epilogue.source_type>(nodes, tile, args.m);
  }
  WW_FN static Target target(const Args& args, [[maybe_unused]] const Tile& tile) {
    const int columns = C.dense().result_columns(args.n);
    const Target all{args.d, columns, args.d_row_stride != 0 ? args.d_row_stride : columns};
    if constexpr (C.by_depth) {
      return of_group<C.out_type>(all, tile, args.m);
    } else {
      return all;
    }
  }
  // How many scales at the beginning of a stage belong to rows before the tile.
  WW_FN static int scales_ahead(int row) { return C.grouped && !C.by_depth ? row % 4 : 0; }
  WW_FN static int blocks(const Args& args) { return tile::ceil_div(args.k, C.block); }

  // This CTA's rows of B. In the map of gates and ups, the matrix is the first dimension.
  WW_FN static void load_b(const Args& args, Shared<uint8_t> to, const Tile& tile, const KernelContext& self, int k,
                           Shared<Mbarrier> full) {
    const int row = first_column(tile, self) + int(self.place_in_pair) * kDense.b_rows();
    if constexpr (C.epilogue.pair()) {
      Load::template load_box<false, 5>(to, &args.b, {{k, 0, 0, row / 2, matrix(tile)}}, full, 0);
    } else {
      Load::template load_box<false, 2>(to, &args.b, {{k, matrix(tile) * args.n + row}}, full, 0);
    }
  }

  // The load role where a table names the rows: the whole warp, of which one thread brings B. The table of the next
  // tile is read while this one is loaded.
  WW_FN static void gather(const Args& args, uint32_t base, const KernelContext& self) {
    using Rows = GatheredRows<kDense.tile_m>;
    Input input(input_ring(base), payload(base));
    auto jobs = walk<tile::Walker::warp>(args, base);
    Tile next;
    Rows next_rows;
    bool wrong = false;
    const auto look_ahead = [&] {
      if (!jobs.next(next)) return false;
      const bool found = next_rows.load(args.a_index, args.a_rows, first_row(next, self), next.end_row);
      wrong = wrong || found;
      return true;
    };
    for (bool more = look_ahead(); more;) {
      const Tile job = next;
      const Rows rows = next_rows;
      more = look_ahead();
      for (int block = first_block(job); block < end_block(args, job); ++block) {
        auto stage = input.acquire_producer();
        const auto to = stage->tile();
        if (self.elect_one_thread) {
          if (self.elect_one_cta) stage->expect_tiles(C.cta_group);
          load_b(args, to.b, job, self, block * C.block, stage->full());
        }
        rows.template copy<C.cta_group>(to.a, &args.a, block * C.block, stage->full());
        stdx::move(stage).release();
      }
    }
    jobs.template report<true>();
    if (machine::ballot(wrong) != 0 && self.elect_one_thread) tile::add_faults(args.groups, kIndexOutOfRange);
    if constexpr (C.dependent) machine::grid_dependency_launch();
    if constexpr (kDense.cluster() > 1) {
      if (self.elect_one_thread) input.drain_producer();
    }
  }

  // The whole warp, of which one thread issues.
  WW_FN static void load(const Args& args, uint32_t base, const KernelContext& self) {
    Input input(input_ring(base), payload(base));
    auto jobs = walk<tile::Walker::warp>(args, base);
    for (Tile job; jobs.next(job);) {
      if (!self.elect_one_thread) continue;
      const int row = first_row(job, self);
      for (int block = first_block(job); block < end_block(args, job); ++block) {
        auto stage = input.acquire_producer();
        if (self.elect_one_cta) stage->expect_tiles(C.cta_group);
        const auto to = stage->tile();
        Load::template load_box<false, 2>(to.a, &args.a, {{block * C.block, row}}, stage->full(), 0);
        load_b(args, to.b, job, self, block * C.block, stage->full());
        Load::template load_box<false, 2>(to.a_scales.template as<uint8_t>(), &args.a_scales,
                                          {{row - scales_ahead(row), block}}, stage->full(), 0);
        if constexpr (C.by_depth) {
          Load::template load_box<false, 2>(to.a_scales.template as<uint8_t>().plus_bytes(C.scales_box().bytes()),
                                            &args.b_scale_map, {{first_column(job, self), block}}, stage->full(), 0);
        }
        stdx::move(stage).release();
      }
    }
    if constexpr (C.grouped) jobs.report();
    // Lets the next kernel on the stream have the multiprocessors that the last tiles leave idle.
    if constexpr (C.dependent) machine::grid_dependency_launch();
    if constexpr (kDense.cluster() > 1) {
      if (self.elect_one_thread) input.drain_producer();
    }
  }

  // The whole warp. The leader computes a fresh product for every block along k; in a pair the other CTA only owns its
  // part of tensor memory.
  WW_FN static void own_and_multiply(const Args& args, uint32_t base, const KernelContext& self) {
    FreeInput free;
    if constexpr (kDense.cluster() > 1) free.mask = self.input_release_mask;
    Input input(input_ring(base), payload(base), free);
    auto mma = MmaWarp::create(warp::output_storage<BlockwiseFp8, output>(base), self.mma_complete_mask);
    auto jobs = walk<tile::Walker::warp>(args, base);
    for (Tile job; self.elect_one_cta && jobs.next(job);) {
      for (int block = first_block(job); block < end_block(args, job); ++block) {
        auto product = mma.acquire_k_stage_linear();
        auto stage = input.acquire_consumer();
        if (machine::elect_one()) PlainMultiply<kDense>::issue(product->tmem().address(), stage->tile(), true);
        stdx::move(stage).release();
        stdx::move(product).release();
      }
    }
    stdx::move(mma).release();
  }

  // Columns that share one scale of B; those of a thread start at multiples of it.
  static constexpr int kScaled = C.block % kSums == 0 ? kSums : kRead;

  // Adds one product, times its scales, to the sums of this thread's row. `b_scales` is where those of this block along
  // k start; columns past the end of the matrix have none. Gates and ups, which come in turn, each have their own.
  WW_FN static void promote(float (&sums)[kSums], Tmem product, float a_scale, Global<const float> b_scales, int column,
                            int columns, int depth) {
    constexpr int turns = kDense.operands();
    float scale[kSums / kScaled][turns];
    WW_UNROLL
    for (int i = 0; i < kSums / kScaled; ++i) {
      const int at = column + i * kScaled;
      WW_UNROLL
      for (int j = 0; j < turns; ++j) {
        const int row = (at + j * columns) / turns;  // of B
        scale[i][j] = at < columns ? a_scale * machine::load(b_scales + int64_t(row / C.block) * depth) : 0.f;
      }
    }
    WW_UNROLL
    for (int first = 0; first < kSums; first += kRead) {
      machine::TmemRegisters<kRead> values;
      EpilogueLoop<kDense, BlockwiseFp8>::read(values, product.column(uint32_t(first)));
      WW_UNROLL
      for (int i = 0; i < kRead; ++i) {
        sums[first + i] = tile::multiply_add(values.get(i), scale[first / kScaled][i % turns], sums[first + i]);
      }
    }
  }

  // The same with a scale for each column, from `b_scales` on.
  WW_FN static void promote_by_column(float (&sums)[kSums], Tmem product, float a_scale, Shared<float> b_scales) {
    using Four = Vec<float, 4>;
    WW_UNROLL
    for (int first = 0; first < kSums; first += kRead) {
      machine::TmemRegisters<kRead> values;
      EpilogueLoop<kDense, BlockwiseFp8>::read(values, product.column(uint32_t(first)));
      WW_UNROLL
      for (int i = 0; i < kRead; i += 4) {
        const Four four = machine::load((b_scales + (first + i)).template as<Four>());
        WW_UNROLL
        for (int j = 0; j < 4; ++j) {
          const float scale = tile::multiply(a_scale, four[j]);
          sums[first + i + j] = tile::multiply_add(values.get(i + j), scale, sums[first + i + j]);
        }
      }
    }
  }

  // The scales of this thread's row, block after block, where gathered rows have them. A row that is not there has
  // none.
  class RowScales {
   public:
    WW_FN RowScales(const Args& args, int row, int end, int depth, int first, int count) : left_(0) {
      if (row >= end || count == 0) return;
      const int taken = machine::load(Global<const int32_t>{args.a_index} + row);
      if (uint32_t(taken) >= uint32_t(args.a_rows)) return;
      next_ = Global<const float>{args.a_row_scales} + (int64_t(taken) * depth + first);
      left_ = count;
      fetch();
    }
    WW_FN float take() {
      const float scale = ahead_;
      fetch();
      return scale;
    }

   private:
    WW_FN void fetch() {
      ahead_ = 0;
      if (left_ == 0) return;
      ahead_ = machine::load(next_);
      next_ = next_ + 1;
      --left_;
    }
    Global<const float> next_{};
    int left_;
    float ahead_ = 0;
  };

  // Some of a thread's sums, from `first` on, in the form that Fixup takes.
  struct SomeSums {
    float (&sums)[kSums];
    int first;
    WW_FN float get(int i) const { return sums[first + i]; }
    WW_FN void set(int i, float value) { sums[first + i] = value; }
  };
  // Adds what other clusters have multiplied of the tile; false: another one finishes it.
  WW_FN static bool complete(float (&sums)[kSums], const Args& args, const KernelContext& self,
                             const Tile& job) requires(kSplit) {
    const tile::Job& share = share_of(job);
    const int64_t tiles = C.tiles(args.m, args.groups.groups, args.n);
    const Fixup<kDense.fixup()> shared(args.workspace, tiles, self.rank, machine::thread_index(), share);
    WW_UNROLL
    for (int first = 0; first < kSums; first += kRead) {
      SomeSums some{sums, first};
      shared.template exchange<kRead>(some, first);
    }
    shared.finish();
    return share.last();
  }

  // All threads of the role.
  WW_FN static void epilogue(const Args& args, uint32_t base, const KernelContext& self) {
    const auto mine = Epilogue::Layout::share();
    const Payload tiles_in = payload(base);
    Input input(input_ring(base), tiles_in);
    Results results(args, base, mine);
    using Loop = EpilogueLoop<kDense, BlockwiseFp8>;
    Loop::template over_tiles<Tile>(
        base, self, walk<tile::Walker::warp>(args, base), [&](auto& epilogue, const Tile& job) {
          const int column = first_column(job, self) + int(mine.first_accumulator()), depth = blocks(args);
          const int64_t scales = int64_t(matrix(job)) * tile::ceil_div(args.n, C.block) * depth;
          float sums[kSums] = {};
          [[maybe_unused]] const auto add = [&](const auto& product, float a_scale, int block) {
            promote(sums, product.lane(mine.lanes).column(mine.first_accumulator()), a_scale,
                    Global<const float>{args.b_scales + scales + block}, column, args.n, depth);
          };
          if constexpr (C.gathered) {
            RowScales own(args, first_row(job, self) + mine.row, job.end_row, depth, first_block(job),
                          end_block(args, job) - first_block(job));
            for (int block = first_block(job); block < end_block(args, job); ++block) {
              const float a_scale = own.take();
              epilogue.output().consumer().consume([&](auto product) {
                add(product->tmem(), a_scale, block);
                return stdx::move(product).release();
              });
            }
          } else {
            const int scale_row = mine.row + scales_ahead(first_row(job, self));
            for (int block = first_block(job); block < end_block(args, job); ++block) {
              epilogue.per_k_stage(input).run([&](auto stage) {
                if constexpr (C.by_depth) {
                  const Shared<float> scales_in = tiles_in.a_scales(stage->input_stage_index());
                  const float a_scale = machine::load(scales_in + scale_row);
                  promote_by_column(sums, stage->tmem().lane(mine.lanes).column(mine.first_accumulator()), a_scale,
                                    scales_in + (C.scales_box().inner + int(mine.first_accumulator())));
                } else {
                  add(stage->tmem(), machine::load(tiles_in.a_scales(stage->input_stage_index()) + scale_row), block);
                }
                return stdx::move(stage).release();
              });
            }
          }
          if constexpr (kSplit) {
            if (!complete(sums, args, self, job)) return;
          }
          if constexpr (C.quantized()) {
            results.put(sums, job, self);
          } else {
            results.begin(job, self);
            WW_UNROLL
            for (int step = 0; step < Epilogue::kSteps; ++step) {
              results.put(step, [&](int i) { return sums[step * Epilogue::kColumns + i]; });
            }
          }
        });
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<BlockwiseFp8>();
    constexpr int load_warp = plan.role("load").first_warp, mma_warp = plan.role("mma").first_warp;
    const uint32_t base = machine::shared_base();
    const KernelContext self = warp::kernel_context<cluster_of(kDense)>();
    const int warp = int(machine::warp_uniform(self.warp));
    pipeline::run_block<BlockwiseFp8>(base, [&] {
      // All roles that read device memory wait for the previous kernel: the epilogue, the load warp and, since all walk
      // the table of groups, the MMA warp. The roles that move data for the epilogue wait for themselves.
      if constexpr (C.dependent) {
        constexpr int last_reader = C.grouped ? mma_warp : load_warp;
        if (warp <= last_reader) machine::grid_dependency_wait();
      }
      if (warp == load_warp) {
        if constexpr (C.gathered) {
          gather(args, base, self);
        } else {
          load(args, base, self);
        }
      } else if (warp == mma_warp) {
        own_and_multiply(args, base, self);
      } else {
        Epilogue::template run<BlockwiseFp8>(warp, args, base, self, [&] { epilogue(args, base, self); });
      }
    });
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100
