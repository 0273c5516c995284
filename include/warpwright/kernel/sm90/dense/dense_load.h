// The load role of the Hopper GEMM: A and B into the input ring, by TMA or, where the TMA cannot address them, by
// threads.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/sm90/dense/dense_plan.h"
#include "warpwright/kernel/sm90/dense/dense_realign.h"
#include "warpwright/kernel/sm90/unaligned.h"
#include "warpwright/pipeline/ring.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

template <DenseGemmConfig C>
struct DenseLoad {
  using Args = DenseGemmArgs;
  using Tiles = DenseTiles<C>;
  using InputRing = pipeline::Ring<C.stages>;

  static constexpr BlockPlan plan = dense_gemm_plan(C);
  static constexpr uint32_t kA = plan.region("input.a").offset, kABytes = C.a_bytes();
  static constexpr uint32_t kB = plan.region("input.b").offset, kBBytes = C.b_bytes();
  WW_FN static Shared<uint8_t> a_stage(uint32_t base, int stage) { return {base + kA + kABytes * uint32_t(stage)}; }
  WW_FN static Shared<uint8_t> b_stage(uint32_t base, int stage) { return {base + kB + kBBytes * uint32_t(stage)}; }

  // One box, to this CTA or to those that share the operand.
  template <bool Multicast, CacheHint Hint, int Rank>
  WW_FN static void load_box(Shared<uint8_t> to, const TensorMap* map, machine::Coords<Rank> from, uint16_t receivers,
                             Shared<Mbarrier> full) {
    if constexpr (Multicast) {
      machine::tma_load_multicast<Hint>(to, map, from, full, receivers);
    } else {
      machine::tma_load<Hint>(to, map, from, full);
    }
  }

  // Who shares a tile of an operand, and which of its parts this CTA loads for all of them. The CTAs of a row of the
  // cluster share A, those of a column B.
  struct Sharing {
    int part = 0;
    uint16_t receivers = 1;
  };
  WW_FN static Sharing sharing_of_a() {
    constexpr uint16_t row = (1u << C.cluster_n()) - 1;
    if constexpr (C.cluster_m() == 1) return {Tiles::column_in_cluster(), row};
    return {Tiles::column_in_cluster(), uint16_t(row << (Tiles::row_in_cluster() * C.cluster_n()))};
  }
  WW_FN static Sharing sharing_of_b() {
    constexpr uint16_t column = ((1u << C.cluster) - 1) / ((1u << C.cluster_n()) - 1);
    if constexpr (C.cluster_n() == 1) return {Tiles::row_in_cluster(), column};
    return {Tiles::row_in_cluster(), uint16_t(column << Tiles::column_in_cluster())};
  }

  // `line` is the tile's first row of A or B, which comes in `Parts`. Paired: B of swiglu.
  template <Major M, int Parts, int Sharers, CacheHint Hint, bool Paired>
  WW_FN static void load_operand(Shared<uint8_t> to, const TensorMap* map, TensorBox box, int part_rows, int k,
                                 int line, int batch, Sharing sharing, Shared<Mbarrier> full) {
    constexpr bool Multicast = Sharers > 1;
    const int part = Multicast ? sharing.part : 0;
    if constexpr (M == Major::K) {
      const auto load_part = [&](int i) {
        const int first = line + i * box.outer;
        const Shared<uint8_t> place = to.plus_bytes(box.bytes() * uint32_t(i));
        if constexpr (Paired) {
          load_box<Multicast, Hint>(place, map, Tiles::paired_corner(k, first, batch), sharing.receivers, full);
        } else {
          load_box<Multicast, Hint>(place, map, Tiles::corner(k, first, batch), sharing.receivers, full);
        }
      };
      if constexpr (Parts == Sharers) {
        load_part(part);
      } else {
        for (int i = part; i < Parts; i += Sharers) load_part(i);
      }
    } else {
      WW_UNROLL
      for (int i = 0; i < part_rows / box.inner; ++i) {
        const int panel = part * (part_rows / box.inner) + i;
        load_box<Multicast, Hint>(to.plus_bytes(box.bytes() * uint32_t(panel)), map,
                                  Tiles::corner(line + panel * box.inner, k, batch), sharing.receivers, full);
      }
    }
  }

  // One thread. await_peers() returns when the peers' barriers may be used; all that can be done before, is.
  template <class AwaitPeers>
  WW_FN static void by_tma(const Args& args, uint32_t base, InputRing ring, AwaitPeers&& await_peers) {
    pipeline::Producer<C.stages, pipeline::PublishByTma> input(ring);
    const Sharing of_a = sharing_of_a(), of_b = sharing_of_b();
    auto walk = Tiles::jobs(args);
    tile::Job job;
    const bool any = walk.next(job);
    await_peers();
    for (bool more = any; more; more = walk.next(job)) {
      const int row = Tiles::first_row(job);
      const int column = Tiles::first_column(job);
      const int a_batch = job.batch * args.a_batch_step, b_batch = job.batch * args.b_batch_step;
      for (int k = job.k.first; k < job.k.end(); ++k) {
        input.produce([&](auto stage) {
          // The bytes of all shares arrive here, those from the peers too.
          stage->expect_bytes(kABytes + kBBytes);
          const Shared<uint8_t> b = b_stage(base, stage->index());
          load_operand<C.a_major, C.tile_m / C.a_part(), C.cluster_n(), C.a_hint, false>(
              a_stage(base, stage->index()), &args.a, C.a_box(), C.a_part(), k * C.tile_k(), row, a_batch, of_a,
              stage->full());
          load_operand<C.b_major, C.tile_n / C.b_part(), C.cluster_m(), C.b_hint, C.epilogue.pair()>(
              b, &args.b, C.b_box(), C.b_part(), k * C.tile_k(), column, b_batch, of_b, stage->full());
          return stdx::move(stage).release();
        });
      }
    }
    // The peers hand stages back to this CTA until the last one, so it must not leave before.
    if constexpr (C.cluster > 1) input.drain();
  }

  using Element = stdx::conditional_t<bits(C.type) == 16, uint16_t, uint8_t>;
  static constexpr int kChunk = int(sizeof(Chunk));
  static constexpr int kRunElements = 128 / int(sizeof(Element));

  // The 16 bytes that a lane moves, of the 128 in a row of the swizzle.
  struct Piece {
    const uint8_t* from = nullptr;
    int valid = 0;  // bytes that belong to the row; the others are zero
    bool safe = false;
    Shared<uint8_t> to = {};

    WW_FN int excess() const { return int(reinterpret_cast<uint64_t>(from) % kChunk); }
    WW_FN Chunk vector(int i) const {
      return machine::load(Global<const Chunk>{reinterpret_cast<const Chunk*>(from - excess()) + i});
    }
    WW_FN Chunk by_elements() const {
      Chunk chunk = {};
      WW_UNROLL
      for (int byte = 0; byte < kChunk; byte += int(sizeof(Element))) {
        if (byte < valid) {
          const Global<const Element> element{reinterpret_cast<const Element*>(from + byte)};
          chunk[byte / 4] |= uint32_t(machine::load(element)) << (8 * (byte % 4));
        }
      }
      return chunk;
    }
    // Clears what does not belong to the row.
    WW_FN Chunk cut(Chunk chunk) const {
      WW_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int left = valid - 4 * i;
        chunk[i] = left >= 4 ? chunk[i] : left <= 0 ? 0 : chunk[i] & ((1u << (8 * left)) - 1);
      }
      return chunk;
    }
  };

  // A tile of an operand in device memory: rows of the matrix of `inner_end` elements, `outer_end` of them.
  template <Major M, bool Paired = false>
  struct Source {
    const Element* matrix;
    int64_t row_stride;
    int inner, inner_end, outer, outer_end;
    Shared<uint8_t> to;

    WW_FN static Source of(const MatrixArgs& from, int batch, int line, int lines, int k, int depth,
                           Shared<uint8_t> to) {
      const Element* const matrix = static_cast<const Element*>(from.data) + batch * from.batch_stride;
      if constexpr (M == Major::K) return {matrix, from.row_stride, k, depth, line, lines, to};
      return {matrix, from.row_stride, line, lines, k, depth, to};
    }
    // The 16 bytes of run `run` of the tile.
    WW_FN Piece piece(int run, int chunk) const {
      int row = outer + (M == Major::K ? run : run % C.tile_k());
      if constexpr (Paired) row = paired_row(row, outer_end);
      const int column =
          inner + (M == Major::K ? 0 : run / C.tile_k() * kRunElements) + chunk * kChunk / int(sizeof(Element));
      Piece p;
      p.to = to.plus_bytes(swizzle(Swizzle::b128, uint32_t(run * 128 + chunk * kChunk)));
      if (row >= outer_end || column >= inner_end) return p;
      p.from = reinterpret_cast<const uint8_t*>(matrix + (row * row_stride + column));
      const int left = (inner_end - column) * int(sizeof(Element));
      p.valid = left < kChunk ? left : kChunk;
      // The vectors may hold bytes next to the row, but none outside the matrix.
      const auto* const begin = reinterpret_cast<const uint8_t*>(matrix);
      const auto* const end = reinterpret_cast<const uint8_t*>(matrix + ((outer_end - 1) * row_stride + inner_end));
      p.safe = p.from - begin >= p.excess() && end - p.from >= 2 * kChunk - p.excess();
      return p;
    }
  };

  // Copies the tiles of A and B of a stage into the swizzled layout; past the edges of the matrices they are zero.
  // Eight lanes move a run of 128 bytes. The matrices need no alignment: a lane joins two aligned vectors.
  using SourceB = Source<C.b_major, C.epilogue.pair()>;
  WW_FN static void copy_stage(const Source<C.a_major>& a, const SourceB& b) {
    constexpr int a_runs = C.tile_m * C.tile_k() / kRunElements, runs = a_runs + C.tile_n * C.tile_k() / kRunElements;
    constexpr int warps = plan.role("load").warps, rounds = tile::ceil_div(runs, 4 * warps);
    // How many are under way; with two MMA warpgroups this role has few registers.
    constexpr int most = C.warpgroups() == 1 ? 9 : 4, together = rounds < most ? rounds : most;
    const int warp = int(machine::warp_index()) - plan.role("load").first_warp;
    const int lane = int(machine::lane_index());
    for (int round = 0; round < rounds; round += together) {
      Piece pieces[together];
      bool safe = true;
      WW_UNROLL
      for (int i = 0; i < together; ++i) {
        const int run = ((round + i) * warps + warp) * 4 + lane / 8;
        pieces[i] = run < a_runs ? a.piece(run, lane % 8) : run < runs ? b.piece(run - a_runs, lane % 8) : Piece{};
        safe = safe && (pieces[i].valid == 0 || pieces[i].safe);
      }
      Chunk low[together] = {}, high[together] = {};
      // Without a branch between them the loads are under way together.
      if (safe) {
        WW_UNROLL
        for (int i = 0; i < together; ++i) {
          if (pieces[i].valid > 0) {
            low[i] = pieces[i].vector(0);
            high[i] = pieces[i].vector(1);
          }
        }
        WW_UNROLL
        for (int i = 0; i < together; ++i) low[i] = pieces[i].cut(joined(low[i], high[i], pieces[i].excess()));
      } else {
        WW_UNROLL
        for (int i = 0; i < together; ++i) low[i] = pieces[i].by_elements();
      }
      WW_UNROLL
      for (int i = 0; i < together; ++i) {
        if (((round + i) * warps + warp) * 4 + lane / 8 < runs)
          machine::store(pieces[i].to.template as<Chunk>(), low[i]);
      }
    }
  }

  // All warps of the role.
  WW_FN static void by_threads(const Args& args, uint32_t base, InputRing ring) {
    if constexpr (C.raw_slots() > 0) {
      RealignedLoad<C>(args, base).run(ring);
    } else {
      copy_stages(args, base, ring);
    }
  }
  WW_FN static void copy_stages(const Args& args, uint32_t base, InputRing ring) {
    pipeline::Producer<C.stages, pipeline::PublishByThread<pipeline::To::async>> input(ring);
    auto walk = Tiles::jobs(args);
    for (tile::Job job; walk.next(job);) {
      const int row = Tiles::first_row(job);
      const int column = Tiles::first_column(job);
      for (int k = job.k.first; k < job.k.end(); ++k) {
        input.produce([&](auto stage) {
          copy_stage(Source<C.a_major>::of(args.a_matrix, job.batch, row, args.m, k * C.tile_k(), args.k,
                                           a_stage(base, stage->index())),
                     SourceB::of(args.b_matrix, job.batch, column, args.n, k * C.tile_k(), args.k,
                                 b_stage(base, stage->index())));
          return stdx::move(stage).release();
        });
      }
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
