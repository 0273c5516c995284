// D = A * B^T on Hopper, for one product, for groups of rows with a B each, or for groups along k with a D each; e4m3
// operands have blockwise scales. The arrangement is that of dense_gemm.h: a load role, MMA warpgroups with their rows
// in registers, an output ring and a store warp for each. The tensor core knows nothing of scales: the sums of every
// block along k are multiplied by theirs and added to a second set in fp32, while the tensor core works for the other
// warpgroup. Scales travel with the stages. Rows past the end of a group are loaded, which does no harm, but never
// stored; what a stage holds of k past the end of a group is cleared before it is multiplied.
#pragma once
#include "warpwright/core/descriptor.h"
#include "warpwright/kernel/sm90/dense/dense_epilogue.h"
#include "warpwright/kernel/sm90/grouped/accumulate_scaled.h"
#include "warpwright/kernel/sm90/grouped/bring_scales.h"
#include "warpwright/kernel/sm90/grouped/clear_edges.h"
#include "warpwright/kernel/sm90/grouped/gather_rows.h"
#include "warpwright/kernel/sm90/grouped/grouped_deferred.h"
#include "warpwright/kernel/sm90/grouped/grouped_epilogue.h"
#include "warpwright/kernel/sm90/grouped/grouped_store.h"
#include "warpwright/kernel/sm90/grouped/turns.h"
#include "warpwright/kernel/sm90/load_operand.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/tile/grouped_raster.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

constexpr BlockPlan grouped_gemm_plan(const GroupedGemmConfig& c) {
  BlockPlan plan("grouped_gemm", Arch::sm90, c.cluster);
  const int groups = c.warpgroups(), mma_warps = groups * 4;
  // Two warpgroups and the others share the 3*168 of the launch. Walking over groups needs more than the 40 of
  // dense_gemm_plan(); scales of 256 rows, walking over groups along k and a warp that gathers need still more.
  const bool many_scales = c.scaled() && c.tile_m == 256;
  const bool many_sums = c.defers() || (c.accumulators() > 160 && !many_scales);
  const int mma = groups == 1 ? 0 : c.by_depth() || c.gathered ? 216 : many_sums ? 224 : 216;
  const int others = groups == 1 ? 0 : 3 * 168 - 2 * mma;
  plan.role("mma", mma_warps, mma).role("load", 1, others).role("store", groups, others);
  plan.role("scales", 1, others);
  if (groups == 1) plan.role("idle", 1, others);

  const uint32_t alignment = smem_alignment(Swizzle::b128);
  plan.region("input.a", c.a_bytes(), c.stages, alignment);
  plan.region("input.b", c.b_bytes(), c.stages, alignment);
  plan.region("output", c.output_bytes(), c.output_stages * groups, alignment);
  const int releases = mma_warps * c.cluster;
  if (c.scaled()) {
    plan.region("scales", c.slot_bytes(), c.stages, 16);
    if (c.stages_scales()) plan.region("staged", c.staged_bytes(), 1, smem_alignment(Swizzle::b32));
  }
  // For gathered rows the load role arrives once for what the TMA brings and once for what its lanes have copied.
  const int loads = c.gathered ? 2 : 1;
  if (c.scaled()) {
    plan.barrier("input.full", c.stages, loads + 1, "mma", {"load", loads}, {"scales", 1});
  } else {
    plan.barrier("input.full", c.stages, loads, "mma", {"load", loads});
  }
  plan.barrier("input.empty", c.stages, releases, "load", {"mma", releases});
  plan.barrier("output.full", c.output_stages * groups, 128, "store", {"mma", 128});
  plan.barrier("output.empty", c.output_stages * groups, 1, "mma", {"store", 1});
  if (c.stages_scales()) plan.barrier("staged", 1, 1, "scales", {"scales", 1});
  if (c.cluster == 1) plan.named_barrier("start", plan.threads()).used_once("start");
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
  using Release =
      stdx::conditional_t<C.scaled(), ReleaseScaled<C.cluster>,
                          stdx::conditional_t<C.clears_edges(), ReleaseCleared<C.cluster>,
                                              pipeline::ReleaseToCluster<C.cluster, pipeline::Readers::async>>>;
  using Input = pipeline::Consumer<C.stages, Release>;
  static constexpr Scope kReleaseScope = C.clears_edges() && C.cluster > 1 ? Scope::cluster : Scope::cta;
  using Output = pipeline::Producer<C.output_stages, pipeline::PublishByThread<pipeline::To::async>>;
  using Sums = machine::Accumulator<C.block_columns()>;
  using Sum = Totals<C.block_columns()>;
  using Epilogue = GroupedEpilogue<C>;
  using Subtiles = DenseEpilogue<C.dense()>;
  using Element = storage_t<C.out>;
  using Slots = ScaleSlots<C>;
  static constexpr GroupedGemmConfig config = C;
  static constexpr BlockPlan plan = grouped_gemm_plan(C);
  static constexpr int kBlocks = C.group_blocks(), kRowBlocks = C.group_rows / 64;
  using AllBlocks = stdx::integral_constant<int, kBlocks>;
  using FirstRowBlock = stdx::integral_constant<int, C.column_blocks()>;
  static constexpr int kSubtiles = C.out_columns() / C.d_box().inner;  // subtiles of a block of 64 rows
  static constexpr uint32_t kA = plan.region("input.a").offset, kB = plan.region("input.b").offset;
  static constexpr uint32_t kOutput = plan.region("output").offset, kOutputBytes = plan.region("output").stage_bytes;

  WW_FN static Shared<uint8_t> a_stage(uint32_t base, int stage) { return {base + kA + C.a_bytes() * uint32_t(stage)}; }
  WW_FN static Shared<uint8_t> b_stage(uint32_t base, int stage) { return {base + kB + C.b_bytes() * uint32_t(stage)}; }
  WW_FN static Shared<Element> output_stage(uint32_t base, int group, int stage, int box) {
    return {base + kOutput + kOutputBytes * uint32_t(group * C.output_stages + stage) +
            C.d_box().bytes() * uint32_t(box)};
  }
  WW_FN static OutputRing output_ring(uint32_t base, int group) {
    constexpr uint32_t full = plan.barrier("output.full").offset, empty = plan.barrier("output.empty").offset;
    return pipeline::ring_at<C.output_stages>(base, full, empty, group * C.output_stages);
  }
  WW_FN static Shared<float> scale_slots(uint32_t base) {
    constexpr uint32_t offset = plan.region("scales").offset;
    return {base + offset};
  }

  // The TMA begins at multiples of 16 bytes: this many elements of other groups come before those of a group along k.
  WW_FN static int head(const tile::GroupedTile& tile) {
    return C.clears_edges() && C.a_major == Major::K ? tile.rows.first_k % (128 / bits(C.type)) : 0;
  }
  WW_FN static int first_k(const tile::GroupedTile& tile) { return C.by_depth() ? tile.rows.first_k - head(tile) : 0; }
  // Stages of a tile.
  WW_FN static int depth(const Args& args, const tile::GroupedTile& tile) {
    if constexpr (!C.by_depth()) return tile::ceil_div(args.k, C.tile_k());
    return tile.rows.depth == 0 ? 0 : tile::ceil_div(head(tile) + tile.rows.depth, C.tile_k());
  }
  // The columns of D.
  WW_FN static int columns(const Args& args) { return args.n / C.operands(); }
  using Tiles = tile::GroupedTiles<C.groups, C.tile_m * C.cluster_m(), C.any_rows, C.depth_unit(), C.paired(),
                                   C.paired() && C.gathered>;
  WW_FN static Tiles tiles(const Args& args) {
    return Tiles(args.groups, columns(args), C.out_columns() * C.cluster_n(), C.raster_group);
  }
  // The first row of this CTA's tile, in its group.
  WW_FN static int first_row(const tile::GroupedTile& tile) {
    if constexpr (C.paired()) return tile.row;
    if constexpr (C.cluster_m() == 1) return tile.m * C.tile_m;
    return (tile.m * C.cluster + int(machine::cluster_rank())) * C.tile_m;
  }
  WW_FN static int first_column(const tile::GroupedTile& tile) {
    if constexpr (C.paired()) return tile.column;
    if constexpr (C.cluster_n() == 1) return tile.n * C.out_columns();
    return (tile.n * C.cluster + int(machine::cluster_rank())) * C.out_columns();
  }
  // The first row of the tile's matrix in the map of B.
  WW_FN static int first_line(const Args& args, const tile::GroupedTile& tile) {
    return C.b_by_matrix() ? 0 : tile.rows.matrix * args.n;
  }

  // The whole warp, of which one lane is elected to copy. await_peers() returns when the peers' barriers may be used.
  template <class AwaitPeers>
  WW_FN static void load(const Args& args, uint32_t base, InputRing ring, bool elected, AwaitPeers&& await_peers) {
    pipeline::Producer<C.stages, pipeline::PublishByTma, kReleaseScope> input(ring);
    auto walk = tiles(args);
    tile::GroupedTile tile;
    const bool any = walk.next(tile);
    await_peers();
    for (bool more = any; more; more = walk.next(tile)) {
      const int a_line = tile.rows.first + first_row(tile);
      const int b_line = first_line(args, tile) + first_column(tile);
      const int stages = elected ? depth(args, tile) : 0, begin = first_k(tile);
      const bool beside = C.paired() && tile.beside, halved = C.paired() && tile.halved;
      for (int k = 0; k < stages; ++k) {
        input.produce([&](auto stage) {
          // The bytes of all shares arrive here, those from the peers too.
          stage->expect_bytes(C.stage_bytes() - (halved ? C.a_box().bytes() : 0));
          const int at = begin + k * C.tile_k();
          load_a<C>(a_stage(base, stage->index()), &args.a, C.paired() && !halved ? 2 : 1, beside, at, a_line,
                    stage->full());
          load_b<C>(b_stage(base, stage->index()), args, beside, at, b_line, tile.rows.matrix, stage->full());
          return stdx::move(stage).release();
        });
      }
    }
    walk.report();
    // The peers hand stages back to this CTA until the last one, so it must not leave before.
    if constexpr (C.cluster > 1) {
      if (elected) input.drain();
    }
  }

  // The descriptor of an address further on. Shared memory is too small for a carry out of the field, so a plain
  // addition will do, and the tensor core waits for it.
  WW_FN static uint64_t ahead(uint64_t desc, uint32_t bytes) {
    return (desc & ~uint64_t(UINT32_MAX)) | (uint32_t(desc) + (bytes >> 4));
  }
  // Starts the MMAs of one stage for one of this warpgroup's blocks; `fresh` forgets what the accumulators held.
  WW_FN static void issue(Sums& sums, uint32_t base, int group, int block, int stage, bool fresh) {
    constexpr SmemTile rows{C.type, 64, C.tile_k()};
    constexpr int step = mma_k(C.type);
    const int row_block = block / C.column_blocks(), column_block = block % C.column_blocks();
    const uint32_t a_address = a_stage(base, 0).address + rows.bytes() * uint32_t(group * kRowBlocks);
    constexpr SmemTile tile_a{C.type, C.tile_m, C.tile_k(), Swizzle::b128, C.a_major};
    constexpr SmemTile tile_b{C.type, C.block_columns(), C.tile_k(), Swizzle::b128, C.b_major};
    const uint64_t first_a = encode_sm90(matrix_desc(tile_a, a_address, 64, step));
    const uint64_t first_b = encode_sm90(matrix_desc(tile_b, b_stage(base, 0).address, C.block_columns(), step));
    const uint64_t a = ahead(first_a, C.a_bytes() * uint32_t(stage) + rows.bytes() * uint32_t(row_block));
    const uint64_t b = ahead(
        first_b, C.b_bytes() * uint32_t(stage) + C.b_bytes() / uint32_t(C.column_blocks()) * uint32_t(column_block));
    WW_UNROLL
    for (int i = 0; i < C.tile_k() / step; ++i) {
      const uint64_t a_step = ahead(a, tile_a.linear(0, step) * uint32_t(i));
      const uint64_t b_step = ahead(b, tile_b.linear(0, step) * uint32_t(i));
      machine::wgmma_ss<C.type, C.type, C.a_major, C.b_major>(sums, a_step, b_step, i != 0 || !fresh);
    }
  }

  // How many rows the group has from the first row of this warpgroup's part on; none: it has no work in this tile.
  WW_FN static int rows_left(const tile::GroupedTile& tile, int group) {
    return int(machine::warp_uniform(uint32_t(tile.rows.count - first_row(tile) - group * C.group_rows)));
  }
  // The row of D in which they begin.
  WW_FN static int first_out(const tile::GroupedTile& tile, int group) {
    return (C.by_depth() ? tile.rows.out : tile.rows.first) + first_row(tile) + group * C.group_rows;
  }

  // The results of one block of 64 rows.
  template <class Values>
  WW_FN static void hand_out(Values (&values)[kBlocks], Output& output, const Args& args, uint32_t base,
                             const tile::GroupedTile& tile, int group, int row_block) {
    if (row_block > 0 && rows_left(tile, group) <= 64 * row_block) return;
    if constexpr (!Epilogue::kPlain) {
      const int column = first_column(tile);
      // The last CTAs of a cluster along n may have no columns.
      const int rows = column < columns(args) ? rows_left(tile, group) : 0;
      const int before = C.by_depth() ? tile.rows.out : 0;  // rows of other results
      const int batch = C.by_depth() ? before / args.groups.rows : tile.rows.matrix;
      const int row = first_out(tile, group);
      Epilogue::finish(values, args, {tile.rows.matrix, row, rows, column, row - before, batch}, row_block);
    }
    auto plain = [](float sum, int, int) { return sum; };
    WW_UNROLL
    for (int s = 0; s < kSubtiles; s += C.output_boxes) {
      output.produce([&](auto stage) {
        WW_UNROLL
        for (int box = 0; box < C.output_boxes; ++box) {
          Subtiles::write_subtile(output_stage(base, group, stage->index(), box), values[row_block * C.column_blocks()],
                                  row_block, (s + box) * C.d_box().inner / 2, plain);
        }
        return stdx::move(stage).release();
      });
    }
  }

  // The four warps of a warpgroup. Stages that it does not read are handed back too. Without an MMA nothing keeps the
  // lanes together, and one lane hands a stage back for all.
  WW_FN static void multiply_scaled(const Args& args, uint32_t base, Input& input, Output& output, int group) {
    const Turns<GroupedGemm> turns;
    Sums sums;
    // From a shuffle, like the turns.
    const SumPlace sum_place{
        machine::shuffle(group * C.group_rows + int(machine::warp_index()) % 4 * 16 + int(machine::lane_index()) / 4,
                         machine::lane_index()),
        C.row_scales() ? machine::shuffle(int(machine::lane_index()) % 4 * 4, machine::lane_index()) : 0};
    const auto start = [&](int block, int stage) {
      turns.await();
      machine::wgmma_fence();
      issue(sums, base, group, block, stage, true);
      machine::wgmma_commit();
      turns.pass();
    };
    if (group == 1) turns.pass();
    auto walk = tiles(args);
    tile::GroupedTile tile, next;
    // The next tile is looked up while the tensor core works on this one.
    bool another = false;
    const auto look_ahead = [&] { another = walk.next(next); };
    for (bool any = walk.next(tile); any; any = another, tile = next) {
      const int stages = depth(args, tile);
      if (rows_left(tile, group) <= 0) {  // unreached [grouped-64x]: a tile of one warpgroup has rows
        for (int k = 0; k < stages; ++k) {
          input.consume([&](auto stage) { return stdx::move(stage).release(); });
          for (int block = 0; block < kBlocks; ++block) turns.leave_out();
        }
        look_ahead();
        continue;
      }
      Sum totals[kBlocks];
      const auto done = [&](int block) {
        if ((block + 1) % C.column_blocks() == 0) {
          hand_out(totals, output, args, base, tile, group, block / C.column_blocks());
        }
      };
      const auto accumulate = [&](auto blocks, auto leave_out) {
        accumulate_scaled<C, blocks()>(totals, sums, input, scale_slots(base), sum_place,
                                       first_column(tile) % kScaleBlock, stages, start, leave_out, look_ahead, done);
      };
      // A second block of rows that is not there only takes its turns.
      if (C.groups == Groups::masked && kRowBlocks > 1 && rows_left(tile, group) <= 64) {
        accumulate(FirstRowBlock{}, [&] { turns.leave_out(); });
      } else {
        accumulate(AllBlocks{}, [] {});
      }
    }
    if (group == 0) turns.await();  // the other one passed it on after its last MMA
  }
  WW_FN static void multiply_plain(const Args& args, uint32_t base, Input& input, bool& cleared, Output& output,
                                   int group) {
    Sums sums[kBlocks];
    const auto issue_blocks = [&](auto blocks, int stage, bool fresh) {
      machine::wgmma_fence();
      WW_UNROLL
      for (int block = 0; block < blocks(); ++block) issue(sums[block], base, group, block, stage, fresh);
      machine::wgmma_commit();
    };
    const auto issue_all = [&](int stage, bool fresh) { issue_blocks(AllBlocks{}, stage, fresh); };
    // A stage that holds elements of other groups.
    [[maybe_unused]] const auto multiply_edge = [&](bool fresh, int begin, int end) {
      input.consume([&](auto stage) {
        if constexpr (C.clears_edges()) clear_edges<GroupedGemm>(base, stage->index(), begin, end, group);
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
      // Where the last stage ends.
      const int past = C.clears_edges() ? (begin + tile.rows.depth) % C.tile_k() : 0;
      const int end = past == 0 ? C.tile_k() : past;
      if (rows_left(tile, group) <= 0) {  // unreached [grouped-64x]: a tile of one warpgroup has rows
        for (int k = 0; k < stages; ++k) {
          input.consume([&](auto stage) {
            if constexpr (C.clears_edges()) {
              const int from = k == 0 ? begin : 0, to = k + 1 == stages ? end : C.tile_k();
              cleared = from != 0 || to != C.tile_k();
              if (cleared) clear_edges<GroupedGemm>(base, stage->index(), from, to, group);
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
      } else if (kRowBlocks > 1 && rows_left(tile, group) <= 64) {
        // The second block of rows is not there.
        accumulate_stages<true>(sums, input, stages,
                                [&](int stage, bool fresh) { issue_blocks(FirstRowBlock{}, stage, fresh); });
      } else {
        accumulate_stages<true>(sums, input, stages, issue_all);
      }
      WW_UNROLL
      for (int block = 0; block < kRowBlocks; ++block) hand_out(sums, output, args, base, tile, group, block);
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
    } else if constexpr (C.defers()) {
      GroupedDeferred<GroupedGemm>(args, base, output, group).multiply(input);
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
      const int blocks = kRowBlocks > 1 && left <= 64 ? 1 : kRowBlocks;
      constexpr int each = kSubtiles / C.output_boxes;  // stages of a block
      int sent = 0;
      const auto send = [&](int stage) {
        const int block = sent / each, first = sent % each * C.output_boxes;
        const int rows = left - 64 * block;
        WW_UNROLL
        for (int box = 0; box < C.output_boxes; ++box) {
          GroupedStore<C>::store(args, output_stage(base, group, stage, box), rows, row + 64 * block,
                                 column + (first + box) * C.d_box().inner);
        }
        if (first_lane) machine::bulk_commit();
        ++sent;
      };
      if constexpr (C.outputs() == 1) {
        output.consume([&](auto stage) {
          send(stage->index());
          if (first_lane) machine::bulk_wait_read<0>();
          return stdx::move(stage).release();
        });
      } else {
        output.consume_overlapped(
            blocks * each,
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
    }
    if (first_lane) machine::bulk_wait<0>();
  }

  // The loading warp: all others wait for the first bytes, so it starts as early as it can.
  WW_FN static void start_and_load(const Args& args, uint32_t base, InputRing input) {
    constexpr int registers = plan.role("load").registers;
    const bool elected = machine::elect_one();
    if (elected) {
      if (args.k > 0) {
        if constexpr (!C.gathered) machine::tma_prefetch_map(&args.a);
        machine::tma_prefetch_map(&args.b);
      }
      pipeline::init_barriers<GroupedGemm>(base);
    }
    machine::sync_warp();
    pipeline::announce_barriers<GroupedGemm>();
    if constexpr (registers != 0) machine::registers_decrease<registers>();
    const auto await_peers = [] { pipeline::await_peers<GroupedGemm>(); };
    if constexpr (C.gathered) {
      GatherLoad<GroupedGemm>(args, base, elected).run(input, await_peers);
    } else {
      load(args, base, input, elected, await_peers);
    }
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<GroupedGemm>();
    constexpr uint32_t full = plan.barrier("input.full").offset, empty = plan.barrier("input.empty").offset;
    constexpr int mma_warps = plan.role("mma").warps, mma_registers = plan.role("mma").registers;
    constexpr int load_warp = plan.role("load").first_warp, other_registers = plan.role("load").registers;
    constexpr int store_warp = plan.role("store").first_warp, store_warps = plan.role("store").warps;
    constexpr int scale_warp = plan.role("scales").first_warp;
    static_assert(plan.role("mma").first_warp == 0, "a warpgroup starts at a multiple of four warps");
    // Uniform, and kept rather than computed again wherever it is used.
    const uint32_t base = machine::warp_uniform(machine::shared_base());
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
        if constexpr (C.scaled()) BringScales<GroupedGemm>(args, base, input).run();
      }
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
