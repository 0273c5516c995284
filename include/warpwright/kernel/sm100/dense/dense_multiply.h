// The MMA role of the Blackwell GEMM: the warp of the leading CTA multiplies what the input ring holds into the
// accumulators.
#pragma once
#include "warpwright/core/descriptor.h"
#include "warpwright/core/instr_descriptor.h"
#include "warpwright/kernel/sm100/block_scaled.h"
#include "warpwright/pipeline/input_tile.h"
#include "warpwright/tile/source.h"
#include "warpwright/warp/kernel_context.h"
#include "warpwright/warp/mma_warp.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

// M: how the tiles of both operands are stored.
template <DenseGemmSm100Config C, Major M = Major::K>
struct PlainMultiply {
  static constexpr InstrDesc kMma{.kind = mma_kind(C.type, C.type),
                                  .a = C.type,
                                  .b = C.type,
                                  .m = C.mma_m(),
                                  .n = C.tile_n,
                                  .a_major = M,
                                  .b_major = M};
  static_assert(idesc_error(kMma, C.cta_group) == nullptr, "dense_gemm: there is no MMA of this shape");

  static constexpr int kMmas = C.tile_k() / mma_k(C.type);  // of a tile

  // One thread: adds the product of one tile along K, or of its first `mmas` steps, to the accumulator.
  template <class Tile>
  WW_FN static void issue(Tmem sums, const Tile& operands, bool fresh, int mmas = kMmas) {
    constexpr uint32_t shape = encode_idesc(kMma);
    constexpr auto kind = machine::MmaKind(uint8_t(kMma.kind));
    constexpr int step = mma_k(C.type);
    constexpr SmemTile a_tile{C.type, C.tile_m, C.tile_k(), Swizzle::b128, M};
    constexpr SmemTile b_tile{C.type, C.b_rows(), C.tile_k(), Swizzle::b128, M};
    const uint64_t a = encode_sm100(matrix_desc(a_tile, operands.a.address, C.tile_m, step));
    const uint64_t b = encode_sm100(matrix_desc(b_tile, operands.b.address, C.b_rows(), step));
    WW_UNROLL
    for (int i = 0; i < kMmas; ++i) {
      if (i >= mmas) break;
      machine::tcgen05_mma<kind, C.cta_group>(sums, advance_desc(a, a_tile.linear(0, step) * uint32_t(i)),
                                              advance_desc(b, b_tile.linear(0, step) * uint32_t(i)), shape,
                                              i != 0 || !fresh);
    }
  }
};

template <DenseGemmSm100Config C>
struct DenseMultiply {
  // One thread: adds the product of tile `index` of the ring to the accumulator.
  template <class Tile>
  WW_FN static void issue(Tmem sums, [[maybe_unused]] Tmem allocation, [[maybe_unused]] int index,
                          [[maybe_unused]] int first_column, const Tile& operands, bool fresh) {
    if constexpr (C.scaled()) {
      using Scaled = BlockScaledMultiply<C>;
      Scaled::issue(sums, Scaled::scales(allocation, index), Scaled::shift(first_column), operands, fresh);
    } else {
      PlainMultiply<C>::issue(sums, operands, fresh);
    }
  }

  // The MMA warp of the leader. An accumulator without a product (k = 0) is passed on all the same: the epilogue knows
  // not to read it.
  template <class K>
  WW_FN static void multiply(const DenseGemmSm100Args& args, uint32_t base, const KernelContext& self,
                             pipeline::OutputTilePipeline<K::output>& accumulators) {
    typename K::FreeInput free;
    if constexpr (C.cluster() > 1) free.mask = self.input_release_mask;
    typename K::Input input(K::input_ring(base), K::payload(base), free);
    auto walk = K::template walk<tile::Walker::warp>(args, base);
    for (tile::Job job; walk.next(job);) {
      accumulators.producer().produce([&](auto sums) {
        for (int step = 0; step < job.k.count; ++step) {
          input.consumer().consume([&](auto stage) {
            if (machine::elect_one()) {
              WW_UNROLL
              for (int i = 0; i < C.k_group; ++i) {
                issue(sums->tmem().address(), accumulators.tmem().base(), stage->index() * C.k_group + i,
                      K::first_column(job, self), stage->tile(i), step == 0 && i == 0);
              }
            }
            return stdx::move(stage).release();
          });
        }
        return stdx::move(sums).release();
      });
    }
  }

  // The whole warp; in a pair, the warp of the other CTA only owns its part of tensor memory. A scheduler waits for
  // every reader of a response, so that warp reads the responses too.
  template <class K>
  WW_FN static void run(const DenseGemmSm100Args& args, uint32_t base, const KernelContext& self) {
    using Warp = warp::MmaWarpContext<K::output, K::kMmaThreads, K::kEpilogueThreads>;
    Warp::run(warp::output_storage<K, K::output>(base), self.mma_complete_mask, [&](auto mma) {
      if (self.elect_one_cta) {
        multiply<K>(args, base, self, mma->output());
      } else if constexpr (C.clc().scheduled() && C.cta_group == 2) {
        auto walk = K::template walk<tile::Walker::warp>(args, base);
        for (tile::Job job; walk.next(job);) {
        }
      }
      return stdx::move(mma).release();
    });
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100
