// D = epilogue(A * B^T) on Hopper. A load role fills the input ring; the CTAs of a cluster share tiles of B, of A or of
// both by multicast. Each MMA warpgroup accumulates its rows in registers and passes them, a few columns at a time,
// through an output ring in shared memory to its store warp, so the next tile's MMAs start before the last stores have
// left. Tails are the TMA's: it reads zeros beyond a matrix and writes nothing there.
#pragma once
#include "warpwright/core/descriptor.h"
#include "warpwright/kernel/fixup.h"
#include "warpwright/kernel/sm90/accumulate.h"
#include "warpwright/kernel/sm90/dense/dense_epilogue.h"
#include "warpwright/kernel/sm90/dense/dense_load.h"
#include "warpwright/kernel/sm90/dense/dense_plan.h"
#include "warpwright/kernel/sm90/plain_factor.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/bulk_store.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/ring.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

template <DenseGemmConfig C>
struct DenseGemm {
  static_assert(refuse(C) == nullptr, "dense_gemm: refuse(config) says why this configuration cannot be compiled");

  using Args = DenseGemmArgs;
  using Tiles = DenseTiles<C>;
  using Load = DenseLoad<C>;
  using Epilogue = DenseEpilogue<C>;
  using InputRing = pipeline::Ring<C.stages>;
  using OutputRing = pipeline::Ring<C.output_stages>;
  using Input = pipeline::Consumer<C.stages, pipeline::ReleaseToFillers<C.cluster_m(), C.cluster_n()>>;
  using Output = typename Epilogue::Output;
  using Sums = machine::Accumulator<C.group_n()>;
  static constexpr BlockPlan plan = dense_gemm_plan(C);
  static constexpr int kBlocks = C.group_blocks();
  static constexpr bool kPingPong = C.sharing == TileSharing::ping_pong;
  // Otherwise an MMA warpgroup treats all tiles alike.
  static constexpr bool kPlaceMatters =
      kPingPong || C.split != DepthSplit::none || C.store == Mover::threads || !C.plain_epilogue();

  // The operand of the MMAs of one stage: `rows` of a tile of `tile_rows`, from block `first` of 64 rows on.
  template <DType T, Major M>
  WW_FN static uint64_t operand(Shared<uint8_t> stage, int tile_rows, int first, int rows) {
    if constexpr (M == Major::K) {
      constexpr uint32_t block_bytes = SmemTile{T, 64, C.tile_k()}.bytes();
      return encode_sm90(k_major_desc(T, Swizzle::b128, rows, stage.address + block_bytes * uint32_t(first)));
    } else {
      const SmemTile tile{T, tile_rows, C.tile_k(), Swizzle::b128, M};
      return encode_sm90(matrix_desc(tile, stage.address + tile.linear(64 * first, 0), rows, mma_k(T)));
    }
  }
  // From one MMA to the next along k.
  template <DType T, Major M>
  static constexpr uint32_t kStepBytes = SmemTile{T, 64, C.tile_k(), Swizzle::b128, M}.linear(0, mma_k(T));

  // The operands, named by the sides of the MMA.
  static constexpr DType kMType = C.swapped ? C.b_type() : C.type, kNType = C.swapped ? C.type : C.b_type();
  static constexpr Major kMMajor = C.swapped ? C.b_major : C.a_major, kNMajor = C.swapped ? C.a_major : C.b_major;
  WW_FN static Shared<uint8_t> m_stage(uint32_t base, int stage) {
    return C.swapped ? Load::b_stage(base, stage) : Load::a_stage(base, stage);
  }
  WW_FN static Shared<uint8_t> n_stage(uint32_t base, int stage) {
    return C.swapped ? Load::a_stage(base, stage) : Load::b_stage(base, stage);
  }

  // Starts the MMAs of one stage on this warpgroup's part of the M side; `fresh` forgets what the accumulators held.
  WW_FN static void issue(Sums (&sums)[kBlocks], uint32_t base, int group, int stage, bool fresh) {
    const int first = Tiles::kGroupM == 0 ? 0 : group * kBlocks;
    uint64_t m[kBlocks];
    WW_UNROLL
    for (int block = 0; block < kBlocks; ++block) {
      m[block] = operand<kMType, kMMajor>(m_stage(base, stage), C.mma_m(), first + block, 64);
    }
    constexpr uint32_t half_bytes = SmemTile{kNType, Tiles::kGroupN, C.tile_k()}.bytes();
    const Shared<uint8_t> n_rows = n_stage(base, stage).plus_bytes(half_bytes * uint32_t(group));
    const uint64_t n = operand<kNType, kNMajor>(n_rows, C.mma_n(), 0, C.group_n());
    machine::wgmma_fence();
    WW_UNROLL
    for (int i = 0; i < C.tile_k() / mma_k(C.type); ++i) {
      WW_UNROLL
      for (int block = 0; block < kBlocks; ++block) {
        machine::wgmma_ss<kMType, kNType, kMMajor, kNMajor>(
            sums[block], advance_desc(m[block], kStepBytes<kMType, kMMajor> * uint32_t(i)),
            advance_desc(n, kStepBytes<kNType, kNMajor> * uint32_t(i)), i != 0 || !fresh);
      }
    }
    machine::wgmma_commit();
  }

  // Adds the sums of the other clusters that share the tile's depth. True if this one finishes the tile.
  template <class Values>
  WW_FN static bool exchange(Values (&values)[kBlocks], const Args& args, const tile::Job& job) {
    if constexpr (C.split == DepthSplit::none) return true;
    constexpr int registers = C.group_n() / 2;
    const Fixup<C.fixup()> fixup(args.workspace, Tiles::raster(args).count(), machine::cluster_rank(),
                                 machine::thread_index(), job);
    WW_UNROLL
    for (int block = 0; block < kBlocks; ++block) {
      fixup.template exchange<registers>(values[block], block * registers);
    }
    fixup.finish();
    return job.last();
  }

  template <class Values>
  WW_FN static void put_out(Values (&values)[kBlocks], const Args& args, uint32_t base, Output& output,
                            const tile::Job& job, int group, [[maybe_unused]] float alpha) {
    if constexpr (C.store == Mover::tma && C.plain_epilogue()) {
      // The tensor cores wait meanwhile: a multiplication that changes nothing costs 1 % of a tile of depth 4096.
      if (alpha == 1.f) {
        Epilogue::hand_out(values, output, base, group, [](float sum, int, int) { return sum; });
      } else {
        Epilogue::hand_out(values, output, base, group, [alpha](float sum, int, int) { return alpha * sum; });
      }
    } else if (Epilogue::whole(args, job)) {
      put_out_with(Epilogue::template Finish<true>::of(args, job, group), values, args, base, output, job, group);
    } else {
      put_out_with(Epilogue::template Finish<false>::of(args, job, group), values, args, base, output, job, group);
    }
  }
  template <class Finish, class Values>
  WW_FN static void put_out_with(const Finish& finish, Values (&values)[kBlocks], const Args& args, uint32_t base,
                                 Output& output, const tile::Job& job, int group) {
    if constexpr (C.store == Mover::threads) {
      Epilogue::store_elements(values, args, job, finish);
    } else {
      Epilogue::hand_out(values, output, base, group, finish);
    }
  }

  // Ping-pong: the MMAs of one warpgroup come after those of the other, tile by tile.
  WW_FN static void await_turn(int group) { machine::named_barrier_sync(turn_of(group), 256); }
  WW_FN static void pass_turn(int group) { machine::named_barrier_arrive(turn_of(1 - group), 256); }
  WW_FN static uint32_t turn_of(int group) { return uint32_t(plan.named_barrier("turn.0").id + group); }

  // The four warps of a warpgroup.
  WW_FN static void multiply(const Args& args, uint32_t base, InputRing input_ring, OutputRing output_ring, int group) {
    Input input(input_ring);
    Output output(output_ring);
    Sums sums[kBlocks];
    const auto step = [&](int stage, bool fresh) { issue(sums, base, group, stage, fresh); };
    const float alpha = plain_factor<C>(args.epilogue, args.a_scales, args.b_scales);
    auto walk = Tiles::jobs(args);
    const auto finish_job = [&](const tile::Job& job) {
      // Nobody waits for a turn after the last tile.
      const auto issued = [&] {
        if constexpr (kPingPong) {
          if (walk.remaining() > 0) pass_turn(group);
        }
      };
      if constexpr (C.promote_k > 0) {
        Totals<C.group_n()> totals[kBlocks];
        accumulate_promoted<C.overlapped>(totals, sums, input, job.k.count, C.promote_k / C.tile_k(), step, issued);
        if (exchange(totals, args, job)) put_out(totals, args, base, output, job, group, alpha);
      } else {
        accumulate_stages<C.overlapped>(sums, input, job.k.count, step, issued);
        if (exchange(sums, args, job)) put_out(sums, args, base, output, job, group, alpha);
      }
    };
    if constexpr (kPlaceMatters) {
      int turn = 0;
      for (tile::Job job; walk.next(job); ++turn) {
        if constexpr (kPingPong) {
          if (turn % 2 != group) {
            input.skip(job.k.count);
            continue;
          }
          if (turn > 0) await_turn(group);
        }
        finish_job(job);
      }
    } else {
      tile::Job job;
      job.k.count = Tiles::depth(args);
      for (int left = walk.remaining(); left > 0; --left) finish_job(job);
    }
  }

  // One thread.
  WW_FN static void store(const Args& args, uint32_t base, OutputRing ring, int group) {
    auto walk = Tiles::jobs(args);
    tile::Job job;
    if (kPingPong && group == 1) walk.next(job);
    int subtile = 0;
    pipeline::bulk_store_all(ring, Tiles::finished(args, group) * kBlocks * Epilogue::kSubtiles, [&](int stage) {
      if (subtile == 0) {
        do walk.next(job);
        while (!job.last());
      }
      const int block = kBlocks == 1 ? 0 : subtile / Epilogue::kSubtiles;
      const int s = kBlocks == 1 ? subtile : subtile % Epilogue::kSubtiles;
      const int row = Tiles::first_row(job, group), column = Tiles::first_column(job, group) / C.operands();
      const Shared<typename Epilogue::Element> from = Epilogue::output_stage(base, group, stage);
      if constexpr (C.swapped) {
        for (int i = 0; i < Epilogue::rows_of(s); i += C.d_box().outer) {
          machine::tma_store(
              &args.d, Tiles::corner(column + block * C.block_results_m(), row + s * C.output_stage_n() + i, job.batch),
              from.plus_bytes(C.d_box().bytes() * uint32_t(i / C.d_box().outer)));
        }
      } else {
        machine::tma_store(&args.d, Tiles::corner(column + s * C.d_box().inner, row + block * 64, job.batch), from);
      }
      subtile = subtile + 1 == kBlocks * Epilogue::kSubtiles ? 0 : subtile + 1;
      if constexpr (kPingPong) {
        tile::Job other;
        if (subtile == 0) walk.next(other);
      }
    });
  }

  WW_FN static OutputRing output_ring(uint32_t base, int group) {
    if constexpr (C.store == Mover::threads) {
      return {};
    } else {
      constexpr uint32_t full = plan.barrier("output.full").offset, empty = plan.barrier("output.empty").offset;
      return pipeline::ring_at<C.output_stages>(base, full, empty, group * C.output_stages);
    }
  }

  // Every role except the MMA's and the loader's, by whole warps.
  WW_FN static void move_data(const Args& args, uint32_t base, InputRing input, int warp) {
    constexpr int load_warp = plan.role("load").first_warp, load_warps = plan.role("load").warps;
    if (warp < load_warp + load_warps) {
      if constexpr (C.load == Mover::threads) {
        if constexpr (C.dependent) machine::grid_dependency_wait();
        Load::by_threads(args, base, input);
      }
    } else if constexpr (C.store == Mover::tma) {
      constexpr int store_warp = plan.role("store").first_warp, store_warps = plan.role("store").warps;
      if (warp < store_warp + store_warps) {
        const int group = warp - store_warp;
        if (machine::elect_one()) store(args, base, output_ring(base, group), group);
      }
    }
  }

  // The first loading warp: all others wait for the first bytes, so it starts as early as it can.
  WW_FN static void start_and_load(const Args& args, uint32_t base, InputRing input) {
    constexpr int registers = plan.role("load").registers;
    const bool elected = machine::elect_one();
    if (elected) {
      if (C.load == Mover::tma && args.k > 0) {
        machine::tma_prefetch_map(&args.a);
        machine::tma_prefetch_map(&args.b);
      }
      pipeline::init_barriers<DenseGemm>(base);
    }
    machine::sync_warp();
    pipeline::announce_barriers<DenseGemm>();
    if constexpr (registers != 0) machine::registers_decrease<registers>();
    if constexpr (C.load == Mover::threads) {
      if constexpr (C.dependent) machine::grid_dependency_wait();
      Load::by_threads(args, base, input);
    } else {
      const auto await_peers = [] {
        pipeline::await_peers<DenseGemm>();
        if constexpr (C.dependent) machine::grid_dependency_wait();
      };
      if (elected) {
        Load::by_tma(args, base, input, await_peers);
      } else {
        pipeline::await_peers<DenseGemm>();
      }
    }
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<DenseGemm>();
    constexpr uint32_t full = plan.barrier("input.full").offset, empty = plan.barrier("input.empty").offset;
    constexpr int mma_warps = plan.role("mma").warps, mma_registers = plan.role("mma").registers;
    constexpr int load_warp = plan.role("load").first_warp, load_registers = plan.role("load").registers;
    static_assert(plan.role("mma").first_warp == 0, "a warpgroup starts at a multiple of four warps");
    const uint32_t base = machine::shared_base();
    const int warp = int(machine::warp_uniform(machine::warp_index()));
    const InputRing input = pipeline::ring_at<C.stages>(base, full, empty);
    if constexpr (C.dependent) machine::grid_dependency_launch();
    if (warp == load_warp) {
      start_and_load(args, base, input);
      return;
    }
    if constexpr (C.store == Mover::tma) {
      if (warp == plan.role("store").first_warp && machine::elect_one()) machine::tma_prefetch_map(&args.d);
      machine::sync_warp();
    }
    pipeline::await_barriers<DenseGemm>();
    if (warp < mma_warps) {
      // Not for the operands' sake, since without depth none are loaded: the previous kernel may still be reading D.
      // The store follows the MMA warps.
      if constexpr (C.dependent) machine::grid_dependency_wait();
      if constexpr (mma_registers != 0) machine::registers_increase<mma_registers>();
      multiply(args, base, input, output_ring(base, warp / 4), warp / 4);
    } else {
      if constexpr (load_registers != 0) machine::registers_decrease<load_registers>();
      move_data(args, base, input, warp);
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
