// From the sums of a warp to D: the sums of other CTAs that share the tile's depth are added, then the epilogue's list
// runs on the registers, then 16 rows at a time go through the warp's own piece of shared memory, so that a row leaves
// in stores of 16 bytes.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/epilogue/ops.h"
#include "warpwright/kernel/fixup.h"
#include "warpwright/kernel/sm80/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/tile/source.h"

namespace warpwright::inline WW_WORLD::kernel::sm80 {

inline constexpr int kStagedRows = 16;

// The gap after each row puts the eight rows that a store of fragments touches into different banks.
constexpr uint32_t staged_row_bytes(const MmaSyncGemmConfig& c) {
  const uint32_t size = uint32_t(bits(c.out_type())) / 8, gap = 8 * size;
  return uint32_t(c.warp_n()) * size + (gap < 16 ? 16 : gap);
}
constexpr uint32_t staging_bytes(const MmaSyncGemmConfig& c) { return kStagedRows * staged_row_bytes(c); }

template <MmaSyncGemmConfig C>
struct StoreTile {
  using Ops = epilogue::EpilogueOps<C.epilogue>;
  using Out = storage_t<C.out_type()>;
  static constexpr int kOfVector = 16 / int(sizeof(Out));
  static constexpr bool kReads = C.epilogue.source || C.epilogue.residual || C.epilogue.bias != Bias::none;

  // Two neighbours of a row to the staging memory.
  WW_FN static void stage(Shared<uint8_t> to, float low, float high) {
    if constexpr (sizeof(Out) == 4) {
      machine::store(to.as<Vec<float, 2>>(), Vec<float, 2>{low, high});
    } else if constexpr (sizeof(Out) == 2) {
      machine::store(to.as<uint32_t>(), tile::pack2<C.out_type()>(low, high));
    } else {
      machine::store(to.as<uint16_t>(), uint16_t(tile::pack4<C.out_type()>(low, high, 0.f, 0.f)));
    }
  }

  // One of the 16-byte pieces of a row; at the edge, and where rows of D are not aligned, element by element.
  WW_FN static void leave(Shared<uint8_t> from, Global<Out> to, int columns, bool aligned) {
    if (aligned && columns >= kOfVector) {  // unreached [by_words, by_registers]: checked with rows of D as of A
      machine::store(to.template as<Vec<uint32_t, 4>>(), machine::load(from.as<Vec<uint32_t, 4>>()));
      return;
    }
    WW_ROLLED
    for (int i = 0; i < kOfVector && i < columns; ++i) {
      machine::store(to + i, machine::load(from.as<Out>() + i));
    }
  }

  // Adds the sums of the other CTAs that share the tile's depth. True if this one finishes the tile.
  template <class Sum, int Rows, int Columns>
  WW_FN static bool exchange(Sum (&sums)[Rows][Columns][4], const MmaSyncGemmArgs& args, int64_t tiles,
                             const tile::Job& job) {
    if constexpr (C.split == DepthSplit::none) return true;
    struct Row {
      Sum (&sums)[Columns][4];
      WW_FN Sum get(int i) const { return sums[i / 4][i % 4]; }
      WW_FN void set(int i, Sum value) { sums[i / 4][i % 4] = value; }
    };
    const Fixup<C.fixup(), Sum> fixup(args.workspace, tiles, 0, machine::thread_index(), job);
    WW_UNROLL
    for (int i = 0; i < Rows; ++i) {
      Row row{sums[i]};
      fixup.template exchange<Columns * 4>(row, i * Columns * 4);
    }
    fixup.finish();
    return job.last();
  }

  template <class Sums>
  WW_FN static void run(const Sums& sums, const MmaSyncGemmArgs& args, const tile::TileCoord& tile, uint32_t staging) {
    const int lane = int(machine::lane_index()), warp = int(machine::warp_uniform(machine::warp_index()));
    const int first_row = tile.m * C.tile_m + warp / C.warps_n * C.warp_m();
    const int first_column = tile.n * C.tile_n + warp % C.warps_n * C.warp_n();
    const Shared<uint8_t> own{staging + uint32_t(warp) * staging_bytes(C)};
    const typename Ops::Args list = Ops::prepare(args.epilogue, tile.batch);
    const Global<Out> matrix = Global<Out>{static_cast<Out*>(args.d)} + tile.batch * args.d_batch_stride;
    const uint64_t low =
        reinterpret_cast<uint64_t>(pointer_of(matrix)) | uint64_t(args.d_stride * int64_t(sizeof(Out)));
    const bool aligned = low % 16 == 0;
    WW_UNROLL
    for (int i = 0; i < C.warp_m() / kStagedRows; ++i) {
      const int block = first_row + i * kStagedRows;
      machine::sync_warp();
      WW_UNROLL
      for (int j = 0; j < C.warp_n() / 8; ++j) {
        WW_UNROLL
        for (int half = 0; half < 2; ++half) {
          const int row = lane / 4 + 8 * half, column = j * 8 + 2 * (lane % 4);
          float v[2];
          WW_UNROLL
          for (int e = 0; e < 2; ++e) {
            const float sum = float(sums[i][j][2 * half + e]);
            if constexpr (kReads) {
              const bool inside = block + row < args.m && first_column + column + e < args.n;
              v[e] = inside ? Ops{}(sum, block + row, first_column + column + e, list) : 0.f;
            } else {
              v[e] = Ops{}(sum, list, {}, block + row, first_column + column + e);
            }
          }
          stage(own.plus_bytes(uint32_t(row) * staged_row_bytes(C) + uint32_t(column) * uint32_t(sizeof(Out))), v[0],
                v[1]);
        }
      }
      machine::sync_warp();
      constexpr int pieces = C.warp_n() / kOfVector, rounds = kStagedRows * pieces / 32;
      static_assert(kStagedRows * pieces % 32 == 0, "the warp stores its rows in whole rounds");
      WW_UNROLL
      for (int r = 0; r < rounds; ++r) {
        const int row = (r * 32 + lane) / pieces, column = (r * 32 + lane) % pieces * kOfVector;
        const int columns = args.n - first_column - column;
        if (block + row < args.m && columns > 0) {
          const Global<Out> to = matrix + (int64_t(block + row) * args.d_stride + first_column + column);
          leave(own.plus_bytes(uint32_t(row) * staged_row_bytes(C) + uint32_t(column) * uint32_t(sizeof(Out))), to,
                columns, aligned);
        }
      }
    }
  }
};

// `tiles` of the whole launch.
template <MmaSyncGemmConfig C, class Sums>
WW_FN void store_tile(Sums& sums, const MmaSyncGemmArgs& args, int64_t tiles, const tile::Job& job, uint32_t staging) {
  if (StoreTile<C>::exchange(sums, args, tiles, job)) StoreTile<C>::run(sums, args, job, staging);
}

}  // namespace warpwright::inline WW_WORLD::kernel::sm80
