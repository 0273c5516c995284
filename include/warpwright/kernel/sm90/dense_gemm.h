// D = alpha * A * B^T on Hopper. A load warp fills the input ring by TMA; the CTAs of a cluster share a tile of B, or
// of A, by multicast. Each MMA warpgroup accumulates 64 rows in registers and passes them, a few columns at a time,
// through an output ring in shared memory to its store warp, so the next tile's MMAs start before the last stores have
// left. Tails are the TMA's: it reads zeros beyond a matrix and writes nothing there.
#pragma once
#include "warpwright/core/descriptor.h"
#include "warpwright/core/plan.h"
#include "warpwright/kernel/config.h"
#include "warpwright/kernel/sm90/accumulate.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/ring.h"
#include "warpwright/tile/convert.h"
#include "warpwright/tile/persistent.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

constexpr Plan dense_gemm_plan(const DenseGemmConfig& c) {
  Plan plan("dense_gemm", Arch::sm90, c.cluster);
  // With one MMA warpgroup every thread has 255 registers from the start; with more, load and store give theirs away:
  // 2*128*232 + 128*40 or 3*128*160 + 128*32 of 65536. setmaxnreg takes whole warpgroups, hence the idle warps.
  const int groups = c.warpgroups();
  const int mma = groups == 1 ? 0 : groups == 2 ? 232 : 160;
  const int others = groups == 1 ? 0 : groups == 2 ? 40 : 32;
  plan.role("mma", groups * 4, mma).role("load", 1, others).role("store", groups, others);
  if (groups < 3) plan.role("idle", 3 - groups, others);

  const uint32_t alignment = smem_alignment(Swizzle::b128);
  plan.region("input.a", c.a_box().bytes() * uint32_t(c.cluster_n()), c.stages, alignment);
  plan.region("input.b", c.b_box().bytes() * uint32_t(c.cluster_m()), c.stages, alignment);
  plan.region("output", c.d_box().bytes(), c.output_stages * groups, alignment);

  // Every MMA warp of every CTA that receives a share from this CTA hands the stage back.
  const int releases = groups * 4 * c.cluster;
  plan.barrier("input.full", c.stages, 1, "mma", {"load", 1});
  plan.barrier("input.empty", c.stages, releases, "load", {"mma", releases});
  // One ring for each warpgroup and its store warp.
  plan.barrier("output.full", c.output_stages * groups, 128, "store", {"mma", 128});
  plan.barrier("output.empty", c.output_stages * groups, 1, "mma", {"store", 1});
  return plan;
}

template <DenseGemmConfig C>
struct DenseGemm {
  using Args = DenseGemmArgs;
  using InputRing = pipeline::Ring<C.stages>;
  using OutputRing = pipeline::Ring<C.output_stages>;
  static constexpr Plan plan = dense_gemm_plan(C);

  static_assert(C.type == DType::bf16 || C.type == DType::fp16, "operands are bf16 or fp16");
  static_assert(C.tile_m == 64 || C.tile_m == 128 || C.tile_m == 192, "one to three MMA warpgroups of 64 rows");
  static_assert(C.tile_n % 16 == 0 && C.tile_n <= 256, "stmatrix takes 16 columns, wgmma is at most 256 wide");
  // ptxas compiles for the 128 registers a thread has at launch with 512 threads, whatever setmaxnreg gives later.
  static_assert(C.tile_m < 192 || C.tile_n <= 192, "three MMA warpgroups: at most 96 accumulators a thread");
  static_assert(C.tile_n % C.cluster_m() == 0 && C.b_box().outer % 8 == 0, "a share of B is whole swizzle atoms");
  static_assert(C.tile_m % C.cluster_n() == 0 && C.a_box().outer % 8 == 0, "a share of A is whole swizzle atoms");
  static_assert(C.stages >= 2 && C.output_stages >= 2, "two stages of a ring are held at once");

  static constexpr int kSubtiles = C.tile_n / C.d_box().inner;
  static constexpr uint32_t kA = plan.region("input.a").offset, kABytes = plan.region("input.a").stage_bytes;
  static constexpr uint32_t kB = plan.region("input.b").offset, kBBytes = plan.region("input.b").stage_bytes;
  static constexpr uint32_t kOutput = plan.region("output").offset, kOutputBytes = plan.region("output").stage_bytes;

  using Element = storage_t<C.type>;
  WW_FN static Shared<Element> a_stage(uint32_t base, int stage) { return {base + kA + kABytes * uint32_t(stage)}; }
  WW_FN static Shared<Element> b_stage(uint32_t base, int stage) { return {base + kB + kBBytes * uint32_t(stage)}; }
  WW_FN static Shared<Element> output_stage(uint32_t base, int group, int stage) {
    return {base + kOutput + kOutputBytes * uint32_t(group * C.output_stages + stage)};
  }

  WW_FN static tile::PersistentTiles tiles(const Args& args) {
    return tile::PersistentTiles({tile::ceil_div(args.m, C.tile_m * C.cluster_m()),
                                  tile::ceil_div(args.n, C.tile_n * C.cluster_n()), C.raster_group});
  }
  WW_FN static int first_row(tile::TileCoord tile) {
    if constexpr (C.cluster_m() == 1) return tile.m * C.tile_m;
    return (tile.m * C.cluster + int(machine::cluster_rank())) * C.tile_m;
  }
  WW_FN static int first_column(tile::TileCoord tile) {
    if constexpr (C.cluster_n() == 1) return tile.n * C.tile_n;
    return (tile.n * C.cluster + int(machine::cluster_rank())) * C.tile_n;
  }
  WW_FN static int k_tiles(const Args& args) { return tile::ceil_div(args.k, C.tile_k()); }

  // One box of an operand; of the one that the cluster shares this CTA's part, for everyone.
  template <bool Multicast>
  WW_FN static void load_operand(Shared<Element> to, const TensorMap* map, TensorBox box, int k, int line, int rank,
                                 Shared<Mbarrier> full) {
    if constexpr (Multicast) {
      constexpr uint16_t everyone = (1u << C.cluster) - 1;
      machine::tma_load_multicast(to.plus_bytes(box.bytes() * uint32_t(rank)), map,
                                  machine::Coords<2>{k, line + rank * box.outer}, full, everyone);
    } else {
      machine::tma_load(to, map, machine::Coords<2>{k, line}, full);
    }
  }

  // One thread.
  WW_FN static void load(const Args& args, uint32_t base, InputRing ring) {
    pipeline::Producer<C.stages, pipeline::PublishByTma> input(ring);
    const int rank = int(machine::cluster_rank());
    const int depth = k_tiles(args);
    tile::PersistentTiles walk = tiles(args);
    for (tile::TileCoord tile; walk.next(tile);) {
      const int row = first_row(tile);
      const int column = first_column(tile);
      for (int k = 0; k < depth; ++k) {
        input.produce([&](auto stage) {
          // The bytes of all shares arrive here, the peers' too.
          stage->expect_bytes(kABytes + kBBytes);
          const Shared<Element> b = b_stage(base, stage->index());
          load_operand<(C.cluster_n() > 1)>(a_stage(base, stage->index()), &args.a, C.a_box(), k * C.tile_k(), row,
                                            rank, stage->full());
          load_operand<(C.cluster_m() > 1)>(b, &args.b, C.b_box(), k * C.tile_k(), column, rank, stage->full());
          return stdx::move(stage).release();
        });
      }
    }
  }

  using Input = pipeline::Consumer<C.stages, pipeline::ReleaseToCluster<C.cluster, pipeline::Readers::async>>;
  using Output = pipeline::Producer<C.output_stages, pipeline::PublishByThread<pipeline::To::async>>;
  using Sums = machine::Accumulator<C.tile_n>;

  // Starts the MMAs of one stage on this warpgroup's 64 rows; `fresh` forgets what the accumulators held.
  WW_FN static void issue(Sums& sums, uint32_t base, int group, int stage, bool fresh) {
    constexpr uint32_t a_group_bytes = SmemTile{C.type, 64, C.tile_k()}.bytes();
    constexpr int step = mma_k(C.type);
    constexpr uint32_t step_bytes = SmemTile{C.type, 64, C.tile_k()}.linear(0, step);
    const uint32_t a_address = a_stage(base, stage).address + a_group_bytes * uint32_t(group);
    const uint64_t a = encode_sm90(k_major_desc(C.type, Swizzle::b128, 64, a_address));
    const uint64_t b = encode_sm90(k_major_desc(C.type, Swizzle::b128, C.tile_n, b_stage(base, stage).address));
    machine::wgmma_fence();
    WW_UNROLL
    for (int i = 0; i < C.tile_k() / step; ++i) {
      const uint32_t along_k = step_bytes * uint32_t(i);
      machine::wgmma_ss<C.type>(sums, advance_desc(a, along_k), advance_desc(b, along_k), i != 0 || !fresh);
    }
    machine::wgmma_commit();
  }

  // sums = A * B^T over the whole depth of one tile.
  WW_FN static void accumulate(Sums& sums, Input& input, uint32_t base, int group, int depth) {
    accumulate_stages<C.overlapped>(sums, input, depth,
                                    [&](int stage, bool fresh) { issue(sums, base, group, stage, fresh); });
  }

  // Passes the warpgroup's 64 x tile_n results, each through `finish`, to its store warp.
  template <class Finish>
  WW_FN static void hand_out(const Sums& sums, Output& output, uint32_t base, int group, Finish finish) {
    constexpr SmemTile subtile{C.type, 64, C.d_box().inner, C.d_box().swizzle};
    const int lane = int(machine::lane_index());
    // stmatrix takes four 8x8 matrices: two along the rows, two along the columns. A lane names one row of one of them.
    const int row = int(machine::warp_index()) % 4 * 16 + lane % 16;
    const int half = lane / 16;
    WW_UNROLL
    for (int s = 0; s < kSubtiles; ++s) {
      output.produce([&](auto stage) {
        const Shared<Vec<uint32_t, 4>> tile = output_stage(base, group, stage->index()).template as<Vec<uint32_t, 4>>();
        WW_UNROLL
        for (int column = 0; column < subtile.cols; column += 16) {
          const int first = (s * subtile.cols + column) / 2;  // a thread holds half of 16 columns, 8 registers
          uint32_t packed[4];
          WW_UNROLL
          for (int i = 0; i < 4; ++i) {
            packed[i] = tile::pack2<C.type>(finish(sums.get(first + 2 * i)), finish(sums.get(first + 2 * i + 1)));
          }
          machine::stmatrix(tile.plus_bytes(subtile.offset(row, column + 8 * half)), packed);
        }
        return stdx::move(stage).release();
      });
    }
  }

  // The four warps of a warpgroup.
  WW_FN static void multiply(const Args& args, uint32_t base, InputRing input_ring, OutputRing output_ring, int group) {
    Input input(input_ring);
    Output output(output_ring);
    Sums sums;
    const int depth = k_tiles(args);
    const float alpha = args.alpha;
    for (int left = tiles(args).remaining(); left > 0; --left) {
      accumulate(sums, input, base, group, depth);
      // The tensor cores wait during this: a multiplication that changes nothing is 1 % of a tile of depth 4096.
      if (alpha == 1.f) {
        hand_out(sums, output, base, group, [](float sum) { return sum; });
      } else {
        hand_out(sums, output, base, group, [alpha](float sum) { return alpha * sum; });
      }
    }
  }

  // One thread: bulk groups belong to the thread that commits them.
  WW_FN static void store(const Args& args, uint32_t base, OutputRing ring, int group) {
    pipeline::Consumer<C.output_stages, pipeline::ReleaseByThread<pipeline::Readers::async>> output(ring);
    tile::PersistentTiles walk = tiles(args);
    tile::TileCoord tile;
    int subtile = 0;
    const auto send = [&](int stage) {
      if (subtile == 0) walk.next(tile);
      machine::tma_store(
          &args.d,
          machine::Coords<2>{first_column(tile) + subtile * C.d_box().inner, first_row(tile) + group * C.d_box().outer},
          output_stage(base, group, stage));
      machine::bulk_commit();
      subtile = subtile + 1 == kSubtiles ? 0 : subtile + 1;
    };
    output.consume_overlapped(
        walk.remaining() * kSubtiles,
        [&](auto current) {
          send(current->index());
          return stdx::move(current).keep();
        },
        [&](auto previous, auto current) {
          send(current->index());
          machine::bulk_wait_read<1>();
          return stdx::move(previous).release_keep(stdx::move(current));
        },
        [&](auto previous) {
          machine::bulk_wait_read<0>();
          return stdx::move(previous).release();
        });
    machine::bulk_wait<0>();
  }

  WW_FN static OutputRing output_ring(uint32_t base, int group) {
    constexpr uint32_t full = plan.barrier("output.full").offset, empty = plan.barrier("output.empty").offset;
    return pipeline::ring_at<C.output_stages>(base, full, empty, group * C.output_stages);
  }

  WW_FN static void body(const Args& args) {
    check_plan<DenseGemm>();
    constexpr uint32_t full = plan.barrier("input.full").offset, empty = plan.barrier("input.empty").offset;
    constexpr int mma_warps = plan.role("mma").warps, mma_registers = plan.role("mma").registers;
    constexpr int load_warp = plan.role("load").first_warp, load_registers = plan.role("load").registers;
    constexpr int store_warp = plan.role("store").first_warp, store_warps = plan.role("store").warps;
    static_assert(plan.role("mma").first_warp == 0, "a warpgroup starts at a multiple of four warps");
    const uint32_t base = machine::shared_base();
    const int warp = int(machine::warp_uniform(machine::warp_index()));
    const InputRing input = pipeline::ring_at<C.stages>(base, full, empty);
    if (warp == load_warp && args.k > 0 && machine::elect_one()) {
      machine::tma_prefetch_map(&args.a);
      machine::tma_prefetch_map(&args.b);
    }
    pipeline::set_up_barriers<DenseGemm>(base);
    if (warp < mma_warps) {
      if constexpr (mma_registers != 0) machine::registers_increase<mma_registers>();
      multiply(args, base, input, output_ring(base, warp / 4), warp / 4);
    } else {
      if constexpr (load_registers != 0) machine::registers_decrease<load_registers>();
      if (warp == load_warp) {
        if (machine::elect_one()) load(args, base, input);
      } else if (warp >= store_warp && warp < store_warp + store_warps) {
        const int group = warp - store_warp;
        if (machine::elect_one()) store(args, base, output_ring(base, group), group);
      }
    }
    pipeline::leave_cluster<DenseGemm>();
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
