// The load role of the Hopper GEMM: A and B into the input ring, by TMA or, where the TMA cannot address them, by
// threads.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/sm90/dense/dense_plan.h"
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

  // Who has a tile of an operand in common, and which of its parts this CTA loads for all of them. The CTAs of a row of
  // the cluster share A, those of a column B.
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

  // `line` is the tile's first row of A or B, which comes in `Parts`.
  template <Major M, int Parts, int Sharers, CacheHint Hint>
  WW_FN static void load_operand(Shared<uint8_t> to, const TensorMap* map, TensorBox box, int part_rows, int k,
                                 int line, int batch, Sharing sharing, Shared<Mbarrier> full) {
    constexpr bool Multicast = Sharers > 1;
    const int part = Multicast ? sharing.part : 0;
    if constexpr (M == Major::K) {
      const auto load_part = [&](int i) {
        load_box<Multicast, Hint>(to.plus_bytes(box.bytes() * uint32_t(i)), map,
                                  Tiles::corner(k, line + i * box.outer, batch), sharing.receivers, full);
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

  // One thread. await_peers() returns when the peers' barriers may be used; what can be done before is.
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
          // The bytes of all shares arrive here, the peers' too.
          stage->expect_bytes(kABytes + kBBytes);
          const Shared<uint8_t> b = b_stage(base, stage->index());
          load_operand<C.a_major, C.tile_m / C.a_part(), C.cluster_n(), C.a_hint>(
              a_stage(base, stage->index()), &args.a, C.a_box(), C.a_part(), k * C.tile_k(), row, a_batch, of_a,
              stage->full());
          load_operand<C.b_major, C.tile_n / C.b_part(), C.cluster_m(), C.b_hint>(
              b, &args.b, C.b_box(), C.b_part(), k * C.tile_k(), column, b_batch, of_b, stage->full());
          return stdx::move(stage).release();
        });
      }
    }
    // The peers hand stages back to this CTA until the last one: it must not leave before.
    if constexpr (C.cluster > 1) input.drain();
  }

  // 128 bytes of one row of a matrix. `address` is aligned to an element only; of the bytes from there on those in
  // [before, after) belong to the row.
  struct Run {
    const uint8_t* address = nullptr;
    int before = 0, after = 0;  // as far as the aligned words of the run reach: not below -4, not above 132

    WW_FN int excess() const { return int(reinterpret_cast<uint64_t>(address) % 4); }
    // The aligned words that hold the run belong to the row. The same for all lanes.
    WW_FN bool whole() const { return -excess() >= before && 132 - excess() <= after; }
    // The four bytes from an aligned address `at` bytes further on.
    WW_FN uint32_t word(int at) const {
      return machine::load(Global<const uint32_t>{reinterpret_cast<const uint32_t*>(address + at)});
    }
    // The same where a part may not belong to the row: that part is zero.
    template <class Element>
    WW_FN uint32_t word_of_elements(int at) const {
      uint32_t word = 0;
      WW_UNROLL
      for (int byte = 0; byte < 4; byte += int(sizeof(Element))) {
        if (at + byte >= before && at + byte < after) {
          const Global<const Element> from{reinterpret_cast<const Element*>(address + at + byte)};
          word |= uint32_t(machine::load(from)) << (8 * byte);
        }
      }
      return word;
    }
  };

  // Copies a tile of Lines rows of A or B into the swizzled layout; beyond the matrix it is zero. A warp moves 128
  // bytes at a time, a row of the swizzle: each lane an aligned word, which it shifts together with its neighbour's,
  // since nothing is assumed of the matrix's alignment.
  template <DType T, Major M, int Lines>
  WW_FN static void copy_operand(Shared<uint8_t> to, const MatrixArgs& from, int batch, int line, int lines, int k,
                                 int depth) {
    using Element = stdx::conditional_t<bits(T) == 16, uint16_t, uint8_t>;
    constexpr int in_run = 128 / int(sizeof(Element));
    constexpr int rounds = Lines * C.tile_k() / in_run / 4;                  // of the four warps
    constexpr int together = rounds % 4 == 0 ? 4 : rounds % 2 == 0 ? 2 : 1;  // in flight
    const int warp = int(machine::warp_index()) - plan.role("load").first_warp;
    const int lane = int(machine::lane_index());
    const int inner_first = M == Major::K ? k : line, outer_first = M == Major::K ? line : k;
    const int inner_end = M == Major::K ? depth : lines, outer_end = M == Major::K ? lines : depth;
    const auto* const matrix = static_cast<const Element*>(from.data) + batch * from.batch_stride;
    for (int round = 0; round < rounds; round += together) {
      Run runs[together];
      bool whole = true;
      WW_UNROLL
      for (int i = 0; i < together; ++i) {
        const int run = (round + i) * 4 + warp;
        const int inner = inner_first + (M == Major::K ? 0 : run / C.tile_k() * in_run);
        const int outer = outer_first + (M == Major::K ? run : run % C.tile_k());
        if (outer < outer_end && inner < inner_end) {
          const int left = inner_end - inner;
          runs[i] = {reinterpret_cast<const uint8_t*>(matrix + (outer * from.row_stride + inner)), inner == 0 ? 0 : -4,
                     left >= 132 / int(sizeof(Element)) ? 132 : left * int(sizeof(Element))};
        }
        whole = whole && runs[i].whole();
      }
      uint32_t words[together], next[together];
      // Without a branch between them the loads are in flight together.
      if (whole) {
        WW_UNROLL
        for (int i = 0; i < together; ++i) {
          words[i] = runs[i].word(4 * lane - runs[i].excess());
          next[i] = runs[i].word(4 * lane + 4 - runs[i].excess());
        }
      } else {
        WW_UNROLL
        for (int i = 0; i < together; ++i) {
          words[i] = runs[i].template word_of_elements<Element>(4 * lane - runs[i].excess());
          next[i] = runs[i].template word_of_elements<Element>(4 * lane + 4 - runs[i].excess());
        }
      }
      WW_UNROLL
      for (int i = 0; i < together; ++i) {
        const int run = (round + i) * 4 + warp;
        const uint64_t both = uint64_t(next[i]) << 32 | words[i];
        machine::store(to.plus_bytes(swizzle(Swizzle::b128, uint32_t(run * 128 + lane * 4))).template as<uint32_t>(),
                       uint32_t(both >> (8 * runs[i].excess())));
      }
    }
  }

  // The four warps of the role.
  WW_FN static void by_threads(const Args& args, uint32_t base, InputRing ring) {
    pipeline::Producer<C.stages, pipeline::PublishByThread<pipeline::To::async>> input(ring);
    auto walk = Tiles::jobs(args);
    for (tile::Job job; walk.next(job);) {
      const int row = Tiles::first_row(job);
      const int column = Tiles::first_column(job);
      for (int k = job.k.first; k < job.k.end(); ++k) {
        input.produce([&](auto stage) {
          copy_operand<C.type, C.a_major, C.tile_m>(a_stage(base, stage->index()), args.a_matrix, job.batch, row,
                                                    args.m, k * C.tile_k(), args.k);
          copy_operand<C.b_type(), C.b_major, C.tile_n>(b_stage(base, stage->index()), args.b_matrix, job.batch, column,
                                                        args.n, k * C.tile_k(), args.k);
          return stdx::move(stage).release();
        });
      }
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
