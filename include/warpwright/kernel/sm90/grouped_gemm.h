// D = A * B^T on Hopper, for one product or for groups of rows with a B each; e4m3 operands have blockwise scales. The
// arrangement is that of dense_gemm.h: a load role, MMA warpgroups with their rows in registers, an output ring and a
// store warp for each. The tensor core knows nothing of scales: the sums of every block along k are multiplied by
// theirs and added to a second set in fp32, while the tensor core works for the other warpgroup. Scales come through a
// ring of their own. Rows beyond a group are loaded, since they hurt nobody, but never stored.
#pragma once
#include "warpwright/core/descriptor.h"
#include "warpwright/kernel/sm90/accumulate.h"
#include "warpwright/kernel/sm90/dense_epilogue.h"
#include "warpwright/kernel/sm90/scale_ring.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/tile/grouped_raster.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

constexpr Plan grouped_gemm_plan(const GroupedGemmConfig& c) {
  Plan plan("grouped_gemm", Arch::sm90, c.cluster);
  const int groups = c.warpgroups(), mma_warps = groups * 4;
  // 2*224 + 56 make the 3*168 of the launch; the walk over groups needs more than the 40 of dense_gemm_plan().
  const int mma = groups == 1 ? 0 : 224, others = groups == 1 ? 0 : 56;
  plan.role("mma", mma_warps, mma).role("load", 1, others).role("store", groups, others);
  plan.role("scales", 1, others);
  if (groups == 1) plan.role("idle", 1, others);

  const uint32_t alignment = smem_alignment(Swizzle::b128);
  plan.region("input.a", c.a_bytes(), c.stages, alignment);
  plan.region("input.b", c.b_bytes(), c.stages, alignment);
  plan.region("output", c.d_box().bytes(), c.output_stages * groups, alignment);
  const int releases = mma_warps * c.cluster;
  plan.barrier("input.full", c.stages, 1, "mma", {"load", 1});
  plan.barrier("input.empty", c.stages, releases, "load", {"mma", releases});
  plan.barrier("output.full", c.output_stages * groups, 128, "store", {"mma", 128});
  plan.barrier("output.empty", c.output_stages * groups, 1, "mma", {"store", 1});
  if (c.scaled()) declare_scales(plan, c.scales(), mma_warps);
  if (c.cluster == 1) plan.named_barrier("start", plan.threads());
  return plan;
}

template <GroupedGemmConfig C>
struct GroupedGemm {
  static_assert(refuse(C) == nullptr, "grouped_gemm: refuse(config) says why this configuration cannot be compiled");

  using Args = GroupedGemmArgs;
  using InputRing = pipeline::Ring<C.stages>;
  using OutputRing = pipeline::Ring<C.output_stages>;
  using Input = pipeline::Consumer<C.stages, pipeline::ReleaseToCluster<C.cluster, pipeline::Readers::async>>;
  using Output = pipeline::Producer<C.output_stages, pipeline::PublishByThread<pipeline::To::async>>;
  using Sums = machine::Accumulator<C.tile_n>;
  using Epilogue = DenseEpilogue<C.dense()>;
  using Element = storage_t<C.out>;
  using Brought = Scales<C.scales()>;
  static constexpr Plan plan = grouped_gemm_plan(C);
  static constexpr int kBlocks = C.group_blocks();
  static constexpr int kSubtiles = C.tile_n / C.d_box().inner;  // of a block of 64 rows
  static constexpr uint32_t kA = plan.region("input.a").offset, kB = plan.region("input.b").offset;
  static constexpr uint32_t kOutput = plan.region("output").offset, kOutputBytes = plan.region("output").stage_bytes;

  WW_FN static Shared<uint8_t> a_stage(uint32_t base, int stage) { return {base + kA + C.a_bytes() * uint32_t(stage)}; }
  WW_FN static Shared<uint8_t> b_stage(uint32_t base, int stage) { return {base + kB + C.b_bytes() * uint32_t(stage)}; }
  WW_FN static Shared<Element> output_stage(uint32_t base, int group, int stage) {
    return {base + kOutput + kOutputBytes * uint32_t(group * C.output_stages + stage)};
  }
  WW_FN static OutputRing output_ring(uint32_t base, int group) {
    constexpr uint32_t full = plan.barrier("output.full").offset, empty = plan.barrier("output.empty").offset;
    return pipeline::ring_at<C.output_stages>(base, full, empty, group * C.output_stages);
  }
  WW_FN static typename Brought::Ring scale_ring(uint32_t base) {
    constexpr uint32_t full = plan.barrier("scales.full").offset, empty = plan.barrier("scales.empty").offset;
    return pipeline::ring_at<C.scales().slots>(base, full, empty);
  }
  WW_FN static Shared<float> scale_slots(uint32_t base) {
    constexpr uint32_t offset = plan.region("scales").offset;
    return {base + offset};
  }

  WW_FN static int depth(const Args& args) { return tile::ceil_div(args.k, C.tile_k()); }
  using Tiles = tile::GroupedTiles<C.groups>;
  WW_FN static Tiles tiles(const Args& args) {
    return Tiles(args.groups, C.tile_m * C.cluster_m(), tile::ceil_div(args.n, C.tile_n * C.cluster_n()),
                 C.raster_group);
  }
  // Of this CTA's tile, in its group.
  WW_FN static int first_row(const tile::TileCoord& tile) {
    if constexpr (C.cluster_m() == 1) return tile.m * C.tile_m;
    return (tile.m * C.cluster + int(machine::cluster_rank())) * C.tile_m;
  }
  WW_FN static int first_column(const tile::TileCoord& tile) {
    if constexpr (C.cluster_n() == 1) return tile.n * C.tile_n;
    return (tile.n * C.cluster + int(machine::cluster_rank())) * C.tile_n;
  }

  template <bool Multicast>
  WW_FN static void load_operand(Shared<uint8_t> to, const TensorMap* map, TensorBox box, int k, int line, int rank,
                                 Shared<Mbarrier> full) {
    if constexpr (Multicast) {
      constexpr uint16_t everyone = (1u << C.cluster) - 1;
      machine::tma_load_multicast(to.plus_bytes(box.bytes() * uint32_t(rank)), map,
                                  machine::Coords<2>{k, line + rank * box.outer}, full, everyone);
    } else {
      machine::tma_load(to, map, machine::Coords<2>{k, line}, full);
    }
  }

  // One thread. await_peers() returns when the peers' barriers may be used.
  template <class AwaitPeers>
  WW_FN static void load(const Args& args, uint32_t base, InputRing ring, AwaitPeers&& await_peers) {
    pipeline::Producer<C.stages, pipeline::PublishByTma> input(ring);
    const int rank = int(machine::cluster_rank());
    const int stages = depth(args);
    auto walk = tiles(args);
    tile::GroupedTile tile;
    const bool any = walk.next(tile);
    await_peers();
    for (bool more = any; more; more = walk.next(tile)) {
      const int a_line = tile.rows.first + first_row(tile), b_line = tile.rows.matrix * args.n + first_column(tile);
      for (int k = 0; k < stages; ++k) {
        input.produce([&](auto stage) {
          // The bytes of all shares arrive here, the peers' too.
          stage->expect_bytes(C.stage_bytes());
          load_operand<(C.cluster_n() > 1)>(a_stage(base, stage->index()), &args.a, C.a_box(), k * C.tile_k(), a_line,
                                            rank, stage->full());
          load_operand<(C.cluster_m() > 1)>(b_stage(base, stage->index()), &args.b, C.b_box(), k * C.tile_k(), b_line,
                                            rank, stage->full());
          return stdx::move(stage).release();
        });
      }
    }
    walk.report();
    // The peers hand stages back to this CTA until the last one: it must not leave before.
    if constexpr (C.cluster > 1) input.drain();
  }

  // The whole warp.
  WW_FN static void bring_scales(const Args& args, uint32_t base) {
    typename Brought::Producer ring(scale_ring(base));
    const int blocks = depth(args), n_blocks = tile::ceil_div(args.n, kScaleBlock);
    const ScaleMatrix a{{args.a_scales}, args.a_scales_stride, args.groups.rows};
    auto walk = tiles(args);
    for (tile::GroupedTile tile; walk.next(tile);) {
      const int column = first_column(tile);
      const ScaleMatrix b{Global<const float>{args.b_scales} + int64_t(tile.rows.matrix) * n_blocks * blocks, blocks,
                          n_blocks};
      Brought::bring(
          ring, scale_slots(base), a, tile.rows.first + first_row(tile), b, C.column_scales(),
          [column](int i) { return (column + i * C.scaled_columns()) / kScaleBlock; }, 0, blocks);
    }
  }

  // Starts the MMAs of one stage on block `block` of this warpgroup's rows; `fresh` forgets what the accumulators held.
  WW_FN static void issue(Sums& sums, uint32_t base, int group, int block, int stage, bool fresh) {
    constexpr SmemTile rows{C.type, 64, C.tile_k()};
    constexpr int step = mma_k(C.type);
    const uint32_t a_address = a_stage(base, stage).address + rows.bytes() * uint32_t(group * kBlocks + block);
    const uint64_t a = encode_sm90(k_major_desc(C.type, Swizzle::b128, 64, a_address));
    const uint64_t b = encode_sm90(k_major_desc(C.type, Swizzle::b128, C.tile_n, b_stage(base, stage).address));
    WW_UNROLL
    for (int i = 0; i < C.tile_k() / step; ++i) {
      const uint32_t along_k = rows.linear(0, step) * uint32_t(i);
      machine::wgmma_ss<C.type>(sums, advance_desc(a, along_k), advance_desc(b, along_k), i != 0 || !fresh);
    }
  }

  // The scales of one block of rows: those of a thread's two rows, and of the columns.
  struct BlockScales {
    float a[2];
    float b[C.column_scales()];
    WW_FN static BlockScales of(Shared<float> slot, int k, int row) {
      BlockScales s;
      const Shared<float> lines = Brought::lines_of(slot, k) + row, few = Brought::few_of(slot, k);
      s.a[0] = machine::load(lines);
      s.a[1] = machine::load(lines + 8);
      WW_UNROLL
      for (int i = 0; i < C.column_scales(); ++i) s.b[i] = machine::load(few + i);
      return s;
    }
  };
  WW_FN static void promote(Totals<C.tile_n>& totals, const Sums& sums, const BlockScales& scales) {
    constexpr int in_group = C.scaled_columns() / 2;  // registers of columns with one scale
    WW_UNROLL
    for (int g = 0; g < C.column_scales(); ++g) {
      const float scale[2] = {tile::multiply(scales.a[0], scales.b[g]), tile::multiply(scales.a[1], scales.b[g])};
      WW_UNROLL
      for (int i = g * in_group; i < (g + 1) * in_group; ++i) {
        totals.set(i, tile::multiply_add(sums.get(i), scale[i / 2 % 2], totals.get(i)));
      }
    }
  }

  WW_FN static void accumulate_scaled(Totals<C.tile_n> (&totals)[kBlocks], Sums& sums, Input& input,
                                      typename Brought::Consumer& scales, uint32_t base, int group, int depth) {
    clear(totals);
    const int row = group * C.group_rows + int(machine::warp_index()) % 4 * 16 + int(machine::lane_index()) / 4;
    for (int done = 0; done < depth; done += ScaleRing::kBlocks) {
      scales.consume([&](auto slot) {
        const Shared<float> brought = scale_slots(base).plus_bytes(C.scales().slot_bytes() * uint32_t(slot->index()));
        const int blocks = depth - done < ScaleRing::kBlocks ? depth - done : ScaleRing::kBlocks;
        WW_ROLLED
        for (int k = 0; k < blocks; ++k) {
          BlockScales now{};
          input.consume([&](auto stage) {
            WW_UNROLL
            for (int block = 0; block < kBlocks; ++block) {
              if (block > 0) promote(totals[block - 1], sums, now);
              machine::wgmma_fence();
              issue(sums, base, group, block, stage->index(), true);
              machine::wgmma_commit();
              now = BlockScales::of(brought, k, row + 64 * block);
              machine::wgmma_wait<0>();
            }
            return stdx::move(stage).release();
          });
          promote(totals[kBlocks - 1], sums, now);
        }
        return stdx::move(slot).release();
      });
    }
  }

  template <class Values>
  WW_FN static void hand_out(const Values (&values)[kBlocks], Output& output, uint32_t base, int group) {
    auto plain = [](float sum, int, int) { return sum; };
    WW_UNROLL
    for (int block = 0; block < kBlocks; ++block) {
      WW_UNROLL
      for (int s = 0; s < kSubtiles; ++s) {
        output.produce([&](auto stage) {
          Epilogue::write_subtile(output_stage(base, group, stage->index()), values[block], block,
                                  s * C.d_box().inner / 2, plain);
          return stdx::move(stage).release();
        });
      }
    }
  }

  // Rows of the group from the first row of this warpgroup's part on; none: it has nothing to do for this tile.
  WW_FN static int rows_left(const tile::GroupedTile& tile, int group) {
    return tile.rows.count - first_row(tile) - group * C.group_rows;
  }

  // The four warps of a warpgroup. Stages that it does not read are handed back too; without an MMA nothing keeps the
  // lanes together, and one lane hands a stage back for all.
  WW_FN static void multiply(const Args& args, uint32_t base, InputRing input_ring, int group) {
    Input input(input_ring);
    Output output(output_ring(base, group));
    const int stages = depth(args);
    auto walk = tiles(args);
    if constexpr (C.scaled()) {
      typename Brought::Consumer scales(scale_ring(base));
      Sums sums;
      for (tile::GroupedTile tile; walk.next(tile);) {
        if (rows_left(tile, group) <= 0) {
          // In the order in which the other warpgroup takes them: it waits for what is not handed back here.
          for (int k = 0; k < stages; ++k) {
            if (k % ScaleRing::kBlocks == 0) {
              scales.consume([&](auto slot) { return stdx::move(slot).release(); });
            }
            input.consume([&](auto stage) {
              machine::sync_warp();
              return stdx::move(stage).release();
            });
          }
          continue;
        }
        Totals<C.tile_n> totals[kBlocks];
        accumulate_scaled(totals, sums, input, scales, base, group, stages);
        hand_out(totals, output, base, group);
      }
    } else {
      Sums sums[kBlocks];
      for (tile::GroupedTile tile; walk.next(tile);) {
        if (rows_left(tile, group) <= 0) {
          for (int k = 0; k < stages; ++k) {
            input.consume([&](auto stage) {
              machine::sync_warp();
              return stdx::move(stage).release();
            });
          }
          continue;
        }
        accumulate_stages<true>(sums, input, stages, [&](int stage, bool fresh) {
          machine::wgmma_fence();
          WW_UNROLL
          for (int block = 0; block < kBlocks; ++block) issue(sums[block], base, group, block, stage, fresh);
          machine::wgmma_commit();
        });
        hand_out(sums, output, base, group);
      }
    }
  }

  // Stores the first `rows` rows of a subtile, by the whole warp.
  WW_FN static void store_rows(const Args& args, Shared<Element> from, int rows, int64_t row, int column) {
    constexpr SmemTile subtile{C.out, 64, C.d_box().inner, C.d_box().swizzle};
    constexpr int in_unit = 16 / int(sizeof(Element)), units = subtile.cols / in_unit;  // of 16 bytes, in a row
    using Unit = Vec<uint32_t, 4>;
    const Global<Element> to = Global<Element>{static_cast<Element*>(args.d_data)} + (row * args.d_stride + column);
    for (int i = int(machine::lane_index()); i < rows * units; i += 32) {
      const int r = i / units, c = i % units * in_unit;
      if (column + c < args.n) {
        machine::store((to + (r * args.d_stride + c)).template as<Unit>(),
                       machine::load(from.plus_bytes(subtile.offset(r, c)).template as<Unit>()));
      }
    }
  }

  // The whole warp; its first lane has the bulk stores. Stage i is handed back when stage i + 1 is under way.
  WW_FN static void store(const Args& args, uint32_t base, int group) {
    struct Release {
      WW_FN static void acquired(machine::here) {}
      WW_FN static void release(Shared<Mbarrier> empty, machine::here at) {
        machine::sync_warp(machine::kFullMask, at);
        if (machine::lane_index() == 0) machine::mbarrier_arrive(empty, 1, at);
      }
    };
    pipeline::Consumer<C.output_stages, Release> output(output_ring(base, group));
    const bool first_lane = machine::lane_index() == 0;
    auto walk = tiles(args);
    for (tile::GroupedTile tile; walk.next(tile);) {
      const int left = rows_left(tile, group);
      if (left <= 0) continue;
      const int row = tile.rows.first + tile.rows.count - left, column = first_column(tile);
      int subtile = 0;
      const auto send = [&](int stage) {
        const int block = subtile / kSubtiles, s = subtile % kSubtiles;
        const int rows = left - 64 * block, at = column + s * C.d_box().inner;
        const Shared<Element> from = output_stage(base, group, stage);
        if (rows >= 64) {
          if (first_lane) machine::tma_store(&args.d, machine::Coords<2>{at, row + 64 * block}, from);
        } else if (rows > 0) {
          store_rows(args, from, rows, row + 64 * block, at);
        }
        if (first_lane) machine::bulk_commit();
        ++subtile;
      };
      output.consume_overlapped(
          kBlocks * kSubtiles,
          [&](auto current) {
            send(current->index());
            return stdx::move(current).keep();
          },
          [&](auto previous, auto current) {
            send(current->index());
            if (first_lane) machine::bulk_wait_read<1>();
            return stdx::move(previous).release_keep(stdx::move(current));
          },
          [&](auto previous) {
            if (first_lane) machine::bulk_wait_read<0>();
            return stdx::move(previous).release();
          });
    }
    if (first_lane) machine::bulk_wait<0>();
  }

  // The loading warp: the first bytes are what everybody waits for, so it starts as early as it can.
  WW_FN static void start_and_load(const Args& args, uint32_t base, InputRing input) {
    constexpr int registers = plan.role("load").registers;
    const bool elected = machine::elect_one();
    if (elected) {
      if (args.k > 0) {
        machine::tma_prefetch_map(&args.a);
        machine::tma_prefetch_map(&args.b);
      }
      pipeline::init_barriers<GroupedGemm>(base);
    }
    machine::sync_warp();
    pipeline::announce_barriers<GroupedGemm>();
    if constexpr (registers != 0) machine::registers_decrease<registers>();
    if (elected) {
      load(args, base, input, [] { pipeline::await_peers<GroupedGemm>(); });
    } else {
      pipeline::await_peers<GroupedGemm>();
    }
  }

  WW_FN static void body(const Args& args) {
    check_plan<GroupedGemm>();
    constexpr uint32_t full = plan.barrier("input.full").offset, empty = plan.barrier("input.empty").offset;
    constexpr int mma_warps = plan.role("mma").warps, mma_registers = plan.role("mma").registers;
    constexpr int load_warp = plan.role("load").first_warp, other_registers = plan.role("load").registers;
    constexpr int store_warp = plan.role("store").first_warp, store_warps = plan.role("store").warps;
    constexpr int scale_warp = plan.role("scales").first_warp;
    static_assert(plan.role("mma").first_warp == 0, "a warpgroup starts at a multiple of four warps");
    const uint32_t base = machine::shared_base();
    const int warp = int(machine::warp_uniform(machine::warp_index()));
    const InputRing input = pipeline::ring_at<C.stages>(base, full, empty);
    if (warp == load_warp) {
      start_and_load(args, base, input);
      return;
    }
    if (warp == store_warp && machine::elect_one()) machine::tma_prefetch_map(&args.d);
    machine::sync_warp();
    pipeline::await_barriers<GroupedGemm>();
    if (warp < mma_warps) {
      if constexpr (mma_registers != 0) machine::registers_increase<mma_registers>();
      multiply(args, base, input, warp / 4);
    } else {
      if constexpr (other_registers != 0) machine::registers_decrease<other_registers>();
      if (warp < store_warp + store_warps) {
        store(args, base, warp - store_warp);
      } else if (C.scaled() && warp == scale_warp) {
        if constexpr (C.scaled()) bring_scales(args, base);
      }
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
