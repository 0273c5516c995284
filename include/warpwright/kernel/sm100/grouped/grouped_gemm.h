// Grouped products on Blackwell (mixtures of experts): every group of rows of A has a matrix of its own. A
// scheduler warp in each CTA walks the table of groups and hands tiles to the other roles; the rest is as in the
// dense kernel. The roles are ordered as in WarpRole1D1D. With an MMA of fewer than 64 columns (few tokens in a
// group, operands exchanged) the scale factors of those columns come through warps of their own:
// grouped_scales.h.
// A tile never reaches over the end of its group: loads may read rows of the next one, whose products are not stored.
// Where a table names the rows, the lanes of the load warp bring them: gather_rows.h. Groups may be columns of A and B
// instead, with a D each: along_k.h.
#pragma once
#include "warpwright/core/refusal.h"
#include "warpwright/kernel/sm100/epilogue_quantize.h"
#include "warpwright/kernel/sm100/gather_rows.h"
#include "warpwright/kernel/sm100/grouped/along_k.h"
#include "warpwright/kernel/sm100/grouped/grouped_scales.h"
#include "warpwright/kernel/sm100/input.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

constexpr DenseGemmDesign grouped_gemm_design(const GroupedGemmSm100Config& config) {
  const DenseGemmSm100Config c = config.dense();
  BlockPlan plan("grouped_gemm_sm100", Arch::sm100, c.cluster());
  warp::declare_roles_1d1d(plan, config.has_sfb(), config.epilogue_warps);
  const uint32_t alignment = smem_alignment(Swizzle::b128);
  plan.region("input.a", c.a_bytes(), c.stages, alignment);
  plan.region("input.b", c.b_bytes(), c.stages, alignment);
  if (c.scaled()) plan.region("input.a_scales", c.a_scale_bytes(), c.stages, 128);
  if (c.scaled() && !config.has_sfb()) plan.region("input.b_scales", c.b_scale_bytes(), c.stages, 128);
  // For groups along k a lane of the MMA warp arrives in addition to the commits: ReleaseCleared.
  const int releases = cluster_of(c).input_empty_arrivals() + (config.by_depth ? 1 : 0);
  plan.barrier("input.full", c.stages, 1, "mma", {"load", 1});
  plan.barrier("input.empty", c.stages, releases, "load", {"mma", releases});
  const OutputPipelineConfig output = declare_output(plan, {.num_stages = c.accumulators,
                                                            .stage_stride_cols = c.accumulator_columns(),
                                                            .cta_group = c.cta_group,
                                                            .tmem_columns = allocation_of(c.tmem_columns())});
  if (config.has_sfb()) declare_sfb(plan, config);
  if (config.out_scaling != BlockScaling::none) declare_quantize(plan, config);
  tile::add_group_scheduler(plan, config.slots(), "scheduler", "load", "mma", "epilogue",
                            config.has_sfb() ? "sfb_tma_load" : nullptr, config.has_sfb() ? "sfb_load" : nullptr);
  return {plan, output};
}

template <GroupedGemmSm100Config C>
struct GroupedGemm {
  static constexpr DenseGemmSm100Config kDense = C.dense();
  static_assert(Refusal<refuse(C)>::none);

  using Args = GroupedGemmSm100Args;
  using Role = warp::WarpRole1D1D<C.has_sfb(), C.epilogue_warps>;
  static constexpr BlockPlan plan = grouped_gemm_design(C).plan;
  static constexpr OutputPipelineConfig output = grouped_gemm_design(C).output;
  static_assert(plan.shared_memory_fits(), "grouped_gemm: the stages exceed the shared memory of a CTA");
  static_assert(plan.role("epilogue").first_thread() == Role::EPILOGUE_WARP_START &&
                    plan.role("load").first_thread() == Role::LOAD_WARP_START &&
                    plan.role("mma").first_thread() == Role::MMA_WARP_START &&
                    plan.role("scheduler").first_thread() == Role::SCHEDULER_WARP_START &&
                    plan.threads() == Role::TOTAL_THREADS_WITH_SCHED,
                "grouped_gemm: the roles stand as WarpRole1D1D has them");

  static constexpr TileBytes kTileBytes{.a = kDense.a_bytes(),
                                        .b = kDense.b_bytes(),
                                        .a_scales = kDense.scaled() ? kDense.a_scale_bytes() : 0,
                                        .b_scales = kDense.scaled() && !C.has_sfb() ? kDense.b_scale_bytes() : 0,
                                        .gaps = kDense.gap_bytes()};
  using Payload = typename PayloadOf<kDense.scaled(), kTileBytes>::type;
  using FreeInput = stdx::conditional_t<C.by_depth, ReleaseCleared, FreeInputOf<kDense>>;
  using Input = pipeline::InputTilePipeline<Payload, C.stages, 1, FreeInput>;
  static constexpr int kMmaThreads = plan.role("mma").threads(), kEpilogueThreads = plan.role("epilogue").threads();
  using MmaWarp = warp::MmaWarpContext<output, kMmaThreads, kEpilogueThreads>;
  using Load = DenseLoad<kDense>;
  using Epilogue = DenseEpilogue<kDense>;

  static constexpr const char* kBScales = C.has_sfb() ? "sfb" : "input.b_scales";
  WW_FN static pipeline::Ring<C.stages> input_ring(uint32_t base) { return input_ring_of<GroupedGemm, C.stages>(base); }
  WW_FN static Payload payload(uint32_t base) { return payload_of<GroupedGemm, kDense.scaled()>(base); }
  static constexpr Groups kGroups = C.by_depth ? Groups::by_depth : Groups::contiguous;
  using Tiles = tile::ScheduledGroupTiles<C.slots(), kGroups>;
  WW_FN static Tiles tiles(uint32_t base) { return Tiles(tile::group_slots_at<GroupedGemm, C.slots()>(base)); }
  WW_FN static int depth(const Args& args, const tile::GroupTile& tile) {
    return C.pointers || C.by_depth ? tile.k : args.k;
  }
  WW_FN static int k_steps(const Args& args, const tile::GroupTile& tile) {
    if constexpr (C.by_depth) return AlongK<C>::steps(tile);
    return C.dense().steps(depth(args, tile));
  }
  struct Maps {
    const TensorMap *a, *b, *a_scales, *b_scales;
  };
  WW_FN static Maps maps(const Args& args, const tile::GroupTile& tile) {
    if constexpr (C.pointers) {
      const GroupProblem* const problem = args.problems + tile.group;
      return {&problem->a, &problem->b, &problem->a_scales, &problem->b_scales};
    } else {
      return {&args.a, &args.b, &args.a_scales, &args.b_scales};
    }
  }
  // Called by the thread that loads through them: maps in device memory were written by others than the TMA.
  WW_FN static void acquire(const Maps& maps) {
    if constexpr (C.pointers) {
      for (const TensorMap* map : {maps.a, maps.b}) machine::fence_tensormap_acquire(map);
      if constexpr (kDense.scaled()) {
        for (const TensorMap* map : {maps.a_scales, maps.b_scales}) machine::fence_tensormap_acquire(map);
      }
    }
  }

  // Where a tile begins in D: rows of the first operand of the MMA, then of the second one.
  WW_FN static int first_token(const tile::GroupTile& tile) { return tile.first_row + tile.m * C.tile_tokens(); }
  WW_FN static int first_row(const tile::GroupTile& tile, const KernelContext& self) {
    const int within = int(self.rank_m) * kDense.tile_m;
    return within + (C.swap_ab ? tile.n * C.tile_columns() : first_token(tile));
  }
  WW_FN static int first_column(const tile::GroupTile& tile, const KernelContext&) {
    return C.swap_ab ? first_token(tile) : tile.n * C.tile_columns();
  }
  // The same, counted in tiles of factors; each group and each matrix begins a new one.
  WW_FN static int token_scale_row(const tile::GroupTile& tile) {
    return tile.first_block * kScaleTileRows + tile.m * C.tile_tokens();
  }
  WW_FN static int matrix_scale_row(const Args& args, const tile::GroupTile& tile) {
    const int matrix = C.pointers ? 0 : tile.matrix * tile::ceil_div(args.n, kScaleTileRows) * kScaleTileRows;
    return matrix + tile.n * C.tile_columns();
  }
  WW_FN static int first_scale_row(const Args& args, const tile::GroupTile& tile, const KernelContext& self) {
    return int(self.rank_m) * kDense.tile_m + (C.swap_ab ? matrix_scale_row(args, tile) : token_scale_row(tile));
  }
  WW_FN static int second_scale_row(const Args& args, const tile::GroupTile& tile) {
    return C.swap_ab ? token_scale_row(tile) : matrix_scale_row(args, tile);
  }

  // Rows of the second operand of the MMA. In the map of gates and ups, `row` counts within the matrix.
  WW_FN static void load_second(Shared<uint8_t> to, const TensorMap* map, int k, int row,
                                [[maybe_unused]] const tile::GroupTile& tile, Shared<Mbarrier> full) {
    if constexpr (C.epilogue.pair()) {
      Load::template load_box<false, 5>(to, map, {{k, 0, 0, row / 2, tile.matrix}}, full, 0);
    } else {
      Load::template load_box<false, 2>(to, map, {{k, row}}, full, 0);
    }
  }

  // The load role where a table names the rows: the whole warp, of which one thread brings the matrix. The table of the
  // next tile is read while this one is loaded.
  WW_FN static void gather(const Args& args, uint32_t base, const KernelContext& self) {
    using Rows = GatheredRows<C.swap_ab ? kDense.b_rows() : kDense.tile_m>;
    Input input(input_ring(base), payload(base));
    auto walk = tiles(base);
    tile::GroupTile next;
    Rows next_rows;
    bool wrong = false;
    const auto first_taken = [&](const tile::GroupTile& tile) {
      return C.swap_ab ? first_column(tile, self) + int(self.place_in_pair) * kDense.b_rows() : first_row(tile, self);
    };
    const auto look_ahead = [&] {
      if (!walk.next(next)) return false;
      const bool found = next_rows.load(args.a_index, args.a_rows, first_taken(next), next.end_row);
      wrong = wrong || found;
      return true;
    };
    for (bool more = look_ahead(); more;) {
      const tile::GroupTile tile = next;
      const Rows rows = next_rows;
      more = look_ahead();
      for (int step = 0; step < k_steps(args, tile); ++step) {
        const int k = step * kDense.tile_k();
        input.producer().produce([&](auto stage) {
          const auto to = stage->tile();
          Rows::meet();
          if (self.elect_one_thread) {
            if (self.elect_one_cta) stage->expect_tiles(C.cta_group);
            if constexpr (C.swap_ab) {
              const int row = tile.matrix * args.n + first_row(tile, self);
              Load::template load_box<false, 2>(to.a, &args.a, {{k, row}}, stage->full(), 0);
            } else {
              const int row = first_column(tile, self) + int(self.place_in_pair) * kDense.b_rows() +
                              (C.epilogue.pair() ? 0 : tile.matrix * args.n);
              load_second(to.b, &args.b, k, row, tile, stage->full());
            }
          }
          rows.template copy<C.cta_group>(C.swap_ab ? to.b : to.a, C.swap_ab ? &args.b : &args.a, k, stage->full());
          return stdx::move(stage).release();
        });
      }
    }
    if (machine::ballot(wrong) != 0 && self.elect_one_thread) tile::add_faults(args.groups, kIndexOutOfRange);
    if constexpr (C.dependent) machine::grid_dependency_launch();
    if constexpr (C.cta_group > 1) {
      if (self.elect_one_thread) input.producer().drain();
    }
  }

  // The whole warp, of which one thread issues.
  WW_FN static void load(const Args& args, uint32_t base, const KernelContext& self) {
    Input input(input_ring(base), payload(base));
    auto walk = tiles(base);
    int group = -1;
    for (tile::GroupTile tile; walk.next(tile);) {
      if (!self.elect_one_thread) continue;
      const Maps from = maps(args, tile);
      if (tile.group != group) acquire(from);
      group = tile.group;
      const int matrix = C.pointers ? 0 : tile.matrix * args.n;
      const int a_row = first_row(tile, self) + (C.swap_ab ? matrix : 0);
      const int b_row = first_column(tile, self) + int(self.place_in_pair) * kDense.b_rows() +
                        (C.swap_ab || C.epilogue.pair() ? 0 : matrix);
      for (int step = 0; step < k_steps(args, tile); ++step) {
        const int k = step * kDense.tile_k();
        input.producer().produce([&](auto stage) {
          if (self.elect_one_cta) stage->expect_tiles(C.cta_group);
          const auto to = stage->tile();
          if constexpr (C.by_depth) {
            const int first = tile.first_k - AlongK<C>::head(tile);
            AlongK<C>::load(args, to, first + k, a_row, b_row, stage->full());
          } else {
            Load::template load_box<false, 2>(to.a, from.a, {{k, a_row}}, stage->full(), 0);
            load_second(to.b, from.b, k, b_row, tile, stage->full());
          }
          if constexpr (kDense.scaled()) {
            using Slices = typename Load::Slices;
            Slices::load_scales(to.a_scales, *from.a_scales, kDense.a_scale_blocks(),
                                first_scale_row(args, tile, self) / kScaleTileRows, k, stage->full());
            if constexpr (!C.has_sfb()) {
              Slices::load_scales(to.b_scales, *from.b_scales, kDense.b_scale_blocks(),
                                  second_scale_row(args, tile) / kScaleTileRows, k, stage->full());
            }
          }
          return stdx::move(stage).release();
        });
      }
    }
    // Lets the next kernel on the stream have the multiprocessors that the last tiles leave idle.
    if constexpr (C.dependent) machine::grid_dependency_launch();
    if constexpr (C.cta_group > 1) {
      if (self.elect_one_thread) input.producer().drain();
    }
  }

  // The whole MMA warp of the leader.
  WW_FN static void multiply(const Args& args, uint32_t base, const KernelContext& self,
                             pipeline::OutputTilePipeline<output>& accumulators) {
    FreeInput free;
    if constexpr (C.cta_group > 1) free.mask = self.input_release_mask;
    Input input(input_ring(base), payload(base), free);
    auto walk = tiles(base);
    const Tmem memory = accumulators.tmem().base();
    const auto over_k = [&](auto&& product) {
      for (tile::GroupTile tile; walk.next(tile);) {
        accumulators.producer().produce([&](auto sums) {
          for (int step = 0; step < k_steps(args, tile); ++step) {
            input.consumer().consume([&](auto stage) {
              product(tile, sums->tmem().address(), stage->index(), stage->tile(), step);
              return stdx::move(stage).release();
            });
          }
          return stdx::move(sums).release();
        });
      }
    };
    if constexpr (C.has_sfb()) {
      using Scales = GroupedScales<C, GroupedGemm>;
      using Scaled = BlockScaledMultiply<kDense>;
      auto factors = Scales::reader(base);
      over_k([&](const tile::GroupTile&, Tmem sums, int index, const auto& operands, int step) {
        factors.consume([&](auto slot) {
          if (machine::elect_one()) {
            Scaled::template issue<false>(sums, Scaled::scales(memory, index), 0, operands, step == 0);
          }
          return stdx::move(slot).release();
        });
      });
    } else if constexpr (C.by_depth) {
      over_k([&](const tile::GroupTile& tile, Tmem sums, int, const auto& operands, int step) {
        AlongK<C>::multiply(sums, tile, operands, step);
      });
    } else {
      over_k([&](const tile::GroupTile& tile, Tmem sums, int index, const auto& operands, int step) {
        if (machine::elect_one()) {
          DenseMultiply<kDense>::issue(sums, memory, index, second_scale_row(args, tile), operands, step == 0);
        }
      });
    }
  }
  WW_FN static void own_and_multiply(const Args& args, uint32_t base, const KernelContext& self) {
    MmaWarp::run(warp::output_storage<GroupedGemm, output>(base), self.mma_complete_mask, [&](auto mma) {
      if constexpr (C.has_sfb()) GroupedScales<C, GroupedGemm>::Allocated::arrive();
      if (self.elect_one_cta) {
        multiply(args, base, self, mma->output());
      } else if constexpr (C.cta_group == 2) {
        // The scheduler of this CTA waits for every reader.
        auto walk = tiles(base);
        for (tile::GroupTile tile; walk.next(tile);) {
        }
      }
      return stdx::move(mma).release();
    });
  }

  // What a user-defined function is told about a tile: its matrix or, where every group has a result, its group.
  WW_FN static int number(const tile::GroupTile& tile) { return C.pointers || C.by_depth ? tile.group : tile.matrix; }
  // The factor of a tile's matrix, and where the tile's results go.
  WW_FN static void adapt(EpilogueArgs& nodes, const Args& args, const tile::GroupTile& tile) {
    if constexpr (C.pointers) {
      nodes.alpha = machine::load(Global<const float>{&args.problems[tile.group].alpha});
    } else if (args.matrix_alpha != nullptr) {
      nodes.alpha = machine::load(Global<const float>{args.matrix_alpha} + tile.matrix);
    }
    if constexpr (C.epilogue.bias == Bias::per_column) move_to_bias<C.epilogue.bias_type>(nodes, number(tile));
    if constexpr (C.by_depth && C.epilogue.source) move_to_group<C.epilogue.source_type>(nodes, tile, args.m);
  }
  WW_FN static Target target(const Args& args, const tile::GroupTile& tile) {
    if constexpr (C.pointers) {
      const GroupProblem* const problem = args.problems + tile.group;
      const int stored = machine::load(Global<const int32_t>{args.groups.extents} + (4 * tile.group + 1));
      const int columns = stored < args.groups.columns ? stored : args.groups.columns;
      const int64_t stride = machine::load(Global<const int64_t>{&problem->d_row_stride});
      return {machine::load(Global<void* const>{&problem->d}), columns, stride != 0 ? stride : columns};
    } else {
      const int columns = C.dense().result_columns(args.n);
      const Target all{args.d, columns, args.d_row_stride != 0 ? args.d_row_stride : columns};
      if constexpr (C.by_depth) {
        return of_group<C.out_type>(all, tile, args.m);
      } else {
        return all;
      }
    }
  }
  // All threads of the role.
  WW_FN static void finish_tiles(const Args& args, uint32_t base, const KernelContext& self) {
    using Loop = EpilogueLoop<kDense, GroupedGemm>;
    const auto mine = Epilogue::Layout::share();
    EpilogueResults<kDense, GroupedGemm> results(args, base, mine);
    Loop::template over_tiles<tile::GroupTile>(
        base, self, tiles(base), [&](auto& epilogue, const tile::GroupTile& tile) {
          results.begin(tile, self);
          const bool has_product = depth(args, tile) > 0;
          Loop::template in_steps<Epilogue::kColumns>(
              epilogue, mine, has_product, [&](int step, const typename Epilogue::Values& values) {
                results.put(step, [&](int i) { return has_product ? values.get(i) : 0.f; });
              });
        });
  }

  WW_FN static bool is_sfb_writer() {
    if constexpr (C.has_sfb()) return Role::is_sfb_load();
    return false;
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<GroupedGemm>();
    const uint32_t base = machine::shared_base();
    const KernelContext self = warp::kernel_context<cluster_of(kDense)>();
    pipeline::run_block<GroupedGemm>(base, [&] {
      // All roles that read device memory wait for the previous kernel; barriers and tensor memory were set up before.
      if constexpr (C.dependent) {
        if (!Role::is_mma() && !is_sfb_writer()) machine::grid_dependency_wait();
      }
      if (Role::is_load()) {
        if constexpr (C.gathered) {
          gather(args, base, self);
        } else {
          load(args, base, self);
        }
      } else if (Role::is_mma()) {
        own_and_multiply(args, base, self);
      } else if (Role::is_scheduler()) {
        tile::run_group_scheduler<C.gathered, kGroups>(tile::group_slots_at<GroupedGemm, C.slots()>(base), args.groups,
                                                       C.tile_tokens(), tile::ceil_div(args.n, C.tile_columns()),
                                                       C.tile_columns());
      } else if (Role::is_epilogue()) {
        if constexpr (C.out_scaling != BlockScaling::none) {
          QuantizeEpilogue<C, GroupedGemm>::run(args, base, self);
        } else {
          finish_tiles(args, base, self);
        }
      } else if constexpr (C.has_sfb()) {
        if (Role::is_sfb_tma_load()) {
          GroupedScales<C, GroupedGemm>::load(args, base, self);
        } else {
          GroupedScales<C, GroupedGemm>::write(args, base);
        }
      }
    });
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100
