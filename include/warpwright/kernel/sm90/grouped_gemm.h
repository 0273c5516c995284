// D = A * B^T on Hopper, for one product, for groups of rows with a B each, or for groups along k with a D each; e4m3
// operands have blockwise scales. The arrangement is that of dense_gemm.h: a load role, MMA warpgroups with their rows
// in registers, an output ring and a store warp for each. The tensor core knows nothing of scales: the sums of every
// block along k are multiplied by theirs and added to a second set in fp32, while the tensor core works for the other
// warpgroup. Scales come through a ring of their own. Rows beyond a group are loaded, since they hurt nobody, but never
// stored; what a stage has of k beyond a group is cleared before it is multiplied.
#pragma once
#include "warpwright/core/descriptor.h"
#include "warpwright/kernel/sm90/accumulate_scaled.h"
#include "warpwright/kernel/sm90/clear_edges.h"
#include "warpwright/kernel/sm90/dense_epilogue.h"
#include "warpwright/kernel/sm90/grouped_epilogue.h"
#include "warpwright/kernel/sm90/grouped_store.h"
#include "warpwright/kernel/sm90/scale_ring.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/tile/grouped_raster.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

constexpr Plan grouped_gemm_plan(const GroupedGemmConfig& c) {
  Plan plan("grouped_gemm", Arch::sm90, c.cluster);
  const int groups = c.warpgroups(), mma_warps = groups * 4;
  // 2*224 + 56, or 2*200 + 104, make the 3*168 of the launch; the walk over groups needs more than the 40 of
  // dense_gemm_plan(), that over groups along k still more.
  const int mma = groups == 1 ? 0 : c.by_depth() ? 200 : 224, others = groups == 1 ? 0 : c.by_depth() ? 104 : 56;
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
  if (c.clears_edges()) plan.named_barrier("edges", mma_warps * 32);
  if (c.takes_turns()) plan.named_barrier("turn.first", mma_warps * 32).named_barrier("turn.second", mma_warps * 32);
  return plan;
}

template <GroupedGemmConfig C>
struct GroupedGemm {
  static_assert(refuse(C) == nullptr, "grouped_gemm: refuse(config) says why this configuration cannot be compiled");

  using Args = GroupedGemmArgs;
  using InputRing = pipeline::Ring<C.stages>;
  using OutputRing = pipeline::Ring<C.output_stages>;
  using Release = stdx::conditional_t<C.clears_edges(), ReleaseCleared<C.cluster>,
                                      pipeline::ReleaseToCluster<C.cluster, pipeline::Readers::async>>;
  using Input = pipeline::Consumer<C.stages, Release>;
  static constexpr Scope kReleaseScope = C.clears_edges() && C.cluster > 1 ? Scope::cluster : Scope::cta;
  using Output = pipeline::Producer<C.output_stages, pipeline::PublishByThread<pipeline::To::async>>;
  using Sums = machine::Accumulator<C.out_columns()>;
  using Sum = Totals<C.out_columns()>;
  using Epilogue = GroupedEpilogue<C>;
  using Subtiles = DenseEpilogue<C.dense()>;
  using Element = storage_t<C.out>;
  using Brought = Scales<C.scales()>;
  static constexpr Plan plan = grouped_gemm_plan(C);
  static constexpr int kBlocks = C.group_blocks(), kRowBlocks = C.group_rows / 64;
  static constexpr int kSubtiles = C.out_columns() / C.d_box().inner;  // of a block of 64 rows
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

  // The TMA begins at multiples of 16 bytes: elements of a group along k in front of which its first stage has others.
  WW_FN static int head(const tile::GroupedTile& tile) {
    return C.clears_edges() ? tile.rows.first_k % (128 / bits(C.type)) : 0;
  }
  WW_FN static int first_k(const tile::GroupedTile& tile) { return C.by_depth() ? tile.rows.first_k - head(tile) : 0; }
  // Stages of a tile.
  WW_FN static int depth(const Args& args, const tile::GroupedTile& tile) {
    if constexpr (!C.by_depth()) return tile::ceil_div(args.k, C.tile_k());
    return tile.rows.depth == 0 ? 0 : tile::ceil_div(head(tile) + tile.rows.depth, C.tile_k());
  }
  // Of D.
  WW_FN static int columns(const Args& args) { return args.n / C.column_blocks(); }
  template <tile::Walkers W>
  using Tiles = tile::GroupedTiles<C.groups, C.any_rows, C.depth_unit(), W>;
  template <tile::Walkers W = tile::Walkers::warp>
  WW_FN static Tiles<W> tiles(const Args& args) {
    return Tiles<W>(args.groups, C.tile_m * C.cluster_m(), columns(args), C.out_columns() * C.cluster_n(),
                    C.raster_group);
  }
  // Of this CTA's tile, in its group.
  WW_FN static int first_row(const tile::TileCoord& tile) {
    if constexpr (C.cluster_m() == 1) return tile.m * C.tile_m;
    return (tile.m * C.cluster + int(machine::cluster_rank())) * C.tile_m;
  }
  WW_FN static int first_column(const tile::TileCoord& tile) {
    if constexpr (C.cluster_n() == 1) return tile.n * C.out_columns();
    return (tile.n * C.cluster + int(machine::cluster_rank())) * C.out_columns();
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
    pipeline::Producer<C.stages, pipeline::PublishByTma, kReleaseScope> input(ring);
    const int rank = int(machine::cluster_rank());
    auto walk = tiles<tile::Walkers::thread>(args);
    tile::GroupedTile tile;
    const bool any = walk.next(tile);
    await_peers();
    for (bool more = any; more; more = walk.next(tile)) {
      const int a_line = tile.rows.first + first_row(tile), b_line = tile.rows.matrix * args.n + first_column(tile);
      const int stages = depth(args, tile), begin = first_k(tile);
      for (int k = 0; k < stages; ++k) {
        input.produce([&](auto stage) {
          // The bytes of all shares arrive here, the peers' too.
          stage->expect_bytes(C.stage_bytes());
          const int at = begin + k * C.tile_k();
          load_operand<(C.cluster_n() > 1)>(a_stage(base, stage->index()), &args.a, C.a_box(), at, a_line, rank,
                                            stage->full());
          WW_UNROLL
          for (int half = 0; half < C.column_blocks(); ++half) {
            constexpr uint32_t bytes = C.b_bytes() / C.column_blocks();
            load_operand<(C.cluster_m() > 1)>(b_stage(base, stage->index()).plus_bytes(bytes * uint32_t(half)), &args.b,
                                              C.b_box(), at, b_line + half * columns(args), rank, stage->full());
          }
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
    constexpr int rows = C.b_scale_rows, in_half = C.block_scales();
    const int b_lines = tile::ceil_div(args.n, rows), b_stride = tile::ceil_div(args.k, kScaleBlock);
    const ScaleMatrix a{{args.a_scales}, args.a_scales_stride, args.groups.rows};
    auto walk = tiles(args);
    for (tile::GroupedTile tile; walk.next(tile);) {
      const int column = first_column(tile), ups = columns(args);
      const ScaleMatrix b{Global<const float>{args.b_scales} + int64_t(tile.rows.matrix) * b_lines * b_stride, b_stride,
                          b_lines};
      Brought::bring(
          ring, scale_slots(base), a, tile.rows.first + first_row(tile), b, C.column_scales(),
          [column, ups](int i) {
            if constexpr (!C.swiglu) return (column + i * C.scaled_columns()) / rows;
            return (column + i % in_half * C.scaled_columns() + i / in_half * ups) / rows;
          },
          first_k(tile) / kScaleBlock, depth(args, tile));
    }
  }

  // Starts the MMAs of one stage for one of this warpgroup's blocks; `fresh` forgets what the accumulators held.
  WW_FN static void issue(Sums& sums, uint32_t base, int group, int block, int stage, bool fresh) {
    constexpr SmemTile rows{C.type, 64, C.tile_k()};
    constexpr int step = mma_k(C.type);
    const int row_block = block / C.column_blocks(), column_block = block % C.column_blocks();
    const uint32_t a_address = a_stage(base, stage).address + rows.bytes() * uint32_t(group * kRowBlocks + row_block);
    const uint32_t b_address =
        b_stage(base, stage).address + C.b_bytes() / uint32_t(C.column_blocks()) * uint32_t(column_block);
    const uint64_t a = encode_sm90(k_major_desc(C.type, Swizzle::b128, 64, a_address));
    const uint64_t b = encode_sm90(k_major_desc(C.type, Swizzle::b128, C.out_columns(), b_address));
    WW_UNROLL
    for (int i = 0; i < C.tile_k() / step; ++i) {
      const uint32_t along_k = rows.linear(0, step) * uint32_t(i);
      machine::wgmma_ss<C.type>(sums, advance_desc(a, along_k), advance_desc(b, along_k), i != 0 || !fresh);
    }
  }

  WW_FN static Shared<float> scale_slot(uint32_t base, int slot) {
    return scale_slots(base).plus_bytes(C.scales().slot_bytes() * uint32_t(slot));
  }
  // What a stage has of other groups, in front of `begin` and from `end` on, is made zero: each warpgroup clears its
  // rows of A and its share of those of B, and all wait for each other before they multiply. The peers' copies are
  // their own.
  WW_FN static void clear_edges(uint32_t base, int stage, int begin, int end, int group) {
    constexpr uint32_t id = plan.named_barrier("edges").id, line_bytes = swizzle_bytes(Swizzle::b128);
    constexpr int b_lines = C.tile_n / C.warpgroups();
    clear_lines<C>(a_stage(base, stage).plus_bytes(line_bytes * uint32_t(group * C.group_rows)), C.group_rows, begin,
                   end);
    clear_lines<C>(b_stage(base, stage).plus_bytes(line_bytes * uint32_t(group * b_lines)), b_lines, begin, end);
    machine::fence_proxy_async<ProxySpace::shared_cta>();
    machine::named_barrier_sync(id, uint32_t(plan.role("mma").threads()));
    machine::sync_warp();  // an MMA wants the lanes together, which that barrier does not promise
  }

  // Rows of the group from the first row of this warpgroup's part on; none: it has nothing to do for this tile.
  WW_FN static int rows_left(const tile::GroupedTile& tile, int group) {
    return int(machine::warp_uniform(uint32_t(tile.rows.count - first_row(tile) - group * C.group_rows)));
  }
  // The row of D in which they begin.
  WW_FN static int first_out(const tile::GroupedTile& tile, int group) {
    return (C.by_depth() ? tile.rows.out : tile.rows.first) + first_row(tile) + group * C.group_rows;
  }

  template <class Values>
  WW_FN static void hand_out(Values (&values)[kBlocks], Output& output, const Args& args, uint32_t base,
                             const tile::GroupedTile& tile, int group) {
    if constexpr (!Epilogue::kPlain) {
      const int column = first_column(tile);
      // The last CTAs of a cluster along n may have no columns.
      const int rows = column < columns(args) ? rows_left(tile, group) : 0;
      Epilogue::finish(values, args, {tile.rows.matrix, first_out(tile, group), rows, column});
    }
    auto plain = [](float sum, int, int) { return sum; };
    WW_UNROLL
    for (int block = 0; block < kRowBlocks; ++block) {
      WW_UNROLL
      for (int s = 0; s < kSubtiles; ++s) {
        output.produce([&](auto stage) {
          Subtiles::write_subtile(output_stage(base, group, stage->index()), values[block * C.column_blocks()], block,
                                  s * C.d_box().inner / 2, plain);
          return stdx::move(stage).release();
        });
      }
    }
  }

  // Two warpgroups start their MMAs in turns. If both were free to, they would end together, add up together, and the
  // tensor core would wait for both; so one adds up while the other multiplies.
  WW_FN static uint32_t turn_of(int group) {
    if constexpr (C.takes_turns()) {
      constexpr uint32_t first = plan.named_barrier("turn.first").id, second = plan.named_barrier("turn.second").id;
      return group == 0 ? first : second;
    }
    return 0;
  }
  WW_FN static void await_turn(int group) {
    if constexpr (C.takes_turns()) {
      machine::named_barrier_sync(turn_of(group), uint32_t(plan.role("mma").threads()));
      machine::sync_warp();  // an MMA wants the lanes together, which that barrier does not promise
    }
  }
  WW_FN static void pass_turn(int group) {
    if constexpr (C.takes_turns()) {
      machine::named_barrier_arrive(turn_of(1 - group), uint32_t(plan.role("mma").threads()));
    }
  }

  // The four warps of a warpgroup. Stages that it does not read are handed back too; without an MMA nothing keeps the
  // lanes together, and one lane hands a stage back for all.
  WW_FN static void multiply_scaled(const Args& args, uint32_t base, Input& input, Output& output, int group) {
    typename Brought::Consumer scales(scale_ring(base));
    Sums sums;
    const int row = group * C.group_rows + int(machine::warp_index()) % 4 * 16 + int(machine::lane_index()) / 4;
    const auto slot_at = [&](int slot) { return scale_slot(base, slot); };
    const auto start = [&](int block, int stage) {
      await_turn(group);
      machine::wgmma_fence();
      issue(sums, base, group, block, stage, true);
      machine::wgmma_commit();
      pass_turn(group);
    };
    if (group == 1) pass_turn(group);
    auto walk = tiles(args);
    for (tile::GroupedTile tile; walk.next(tile);) {
      const int stages = depth(args, tile);
      if (rows_left(tile, group) <= 0) {
        // In the order in which the other warpgroup takes them: it waits for what is not handed back here.
        for (int k = 0; k < stages; ++k) {
          scales.consume([&](auto slot) { return stdx::move(slot).release(); });
          input.consume([&](auto stage) {
            machine::sync_warp();
            return stdx::move(stage).release();
          });
          for (int block = 0; block < kBlocks; ++block) {
            await_turn(group);
            pass_turn(group);
          }
        }
        continue;
      }
      Sum totals[kBlocks];
      accumulate_scaled<C>(totals, sums, input, scales, row, stages, slot_at, start);
      hand_out(totals, output, args, base, tile, group);
    }
    if (group == 0) await_turn(group);  // the other one passed it on behind its last MMA
  }
  WW_FN static void multiply_plain(const Args& args, uint32_t base, Input& input, bool& cleared, Output& output,
                                   int group) {
    Sums sums[kBlocks];
    const auto issue_all = [&](int stage, bool fresh) {
      machine::wgmma_fence();
      WW_UNROLL
      for (int block = 0; block < kBlocks; ++block) issue(sums[block], base, group, block, stage, fresh);
      machine::wgmma_commit();
    };
    // A stage with elements of other groups.
    [[maybe_unused]] const auto multiply_edge = [&](bool fresh, int begin, int end) {
      input.consume([&](auto stage) {
        if constexpr (C.clears_edges()) clear_edges(base, stage->index(), begin, end, group);
        cleared = true;
        issue_all(stage->index(), fresh);
        machine::wgmma_wait<0>();
        return stdx::move(stage).release();
      });
      cleared = false;
    };
    auto walk = tiles(args);
    for (tile::GroupedTile tile; walk.next(tile);) {
      const int stages = depth(args, tile), begin = head(tile);
      // Of the last stage.
      const int past = C.clears_edges() ? (begin + tile.rows.depth) % C.tile_k() : 0;
      const int end = past == 0 ? C.tile_k() : past;
      if (rows_left(tile, group) <= 0) {
        for (int k = 0; k < stages; ++k) {
          input.consume([&](auto stage) {
            if constexpr (C.clears_edges()) {
              const int from = k == 0 ? begin : 0, to = k + 1 == stages ? end : C.tile_k();
              cleared = from != 0 || to != C.tile_k();
              if (cleared) clear_edges(base, stage->index(), from, to, group);
            }
            machine::sync_warp();
            return stdx::move(stage).release();
          });
        }
        cleared = false;
        continue;
      }
      if constexpr (C.clears_edges()) {
        const bool first = begin != 0 && stages > 0, last = end != C.tile_k() && stages > int(first);
        const int whole = stages - int(first) - int(last);
        if (first) multiply_edge(true, begin, stages == 1 ? end : C.tile_k());
        if (whole > 0 || stages == 0) {
          accumulate_stages<true>(sums, input, whole,
                                  [&](int stage, bool fresh) { issue_all(stage, fresh && !first); });
        }
        if (last) multiply_edge(!first && whole == 0, 0, end);
      } else {
        accumulate_stages<true>(sums, input, stages, issue_all);
      }
      hand_out(sums, output, args, base, tile, group);
    }
  }
  WW_FN static void multiply(const Args& args, uint32_t base, InputRing input_ring, int group) {
    Output output(output_ring(base, group));
    bool cleared = false;
    Release how;
    if constexpr (C.clears_edges()) how.cleared = &cleared;
    Input input(input_ring, how);
    if constexpr (C.scaled()) {
      multiply_scaled(args, base, input, output, group);
    } else {
      multiply_plain(args, base, input, cleared, output, group);
    }
  }

  // The whole warp; its first lane has the bulk stores. Stage i is handed back when stage i + 1 is under way.
  WW_FN static void store(const Args& args, uint32_t base, int group) {
    struct ReleaseRead {
      WW_FN static void acquired(machine::here) {}
      WW_FN static void release(Shared<Mbarrier> empty, machine::here at) {
        machine::sync_warp(machine::kFullMask, at);
        if (machine::lane_index() == 0) machine::mbarrier_arrive(empty, 1, at);
      }
    };
    pipeline::Consumer<C.output_stages, ReleaseRead> output(output_ring(base, group));
    const bool first_lane = machine::lane_index() == 0;
    auto walk = tiles(args);
    for (tile::GroupedTile tile; walk.next(tile);) {
      const int left = rows_left(tile, group);
      if (left <= 0) continue;
      const int row = first_out(tile, group), column = first_column(tile);
      int subtile = 0;
      const auto send = [&](int stage) {
        const int block = subtile / kSubtiles, s = subtile % kSubtiles;
        const int rows = left - 64 * block, at = column + s * C.d_box().inner;
        GroupedStore<C>::store(args, output_stage(base, group, stage), rows, row + 64 * block, at);
        if (first_lane) machine::bulk_commit();
        ++subtile;
      };
      output.consume_overlapped(
          kRowBlocks * kSubtiles,
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
