// Copies the rows of up to two matrices to places that start at multiples of 16 bytes, so that the TMA can address
// them. A warp takes 2 KiB of a row at a time; a lane makes 16 bytes of the copy from the two aligned vectors that hold
// them. Only bytes of the row are read: its ends, where a vector would reach past it, are read element by element.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/sm90/pack_rows_config.h"
#include "warpwright/kernel/sm90/unaligned.h"
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

constexpr BlockPlan pack_rows_plan(const PackRowsConfig& c) {
  BlockPlan plan("pack_rows", Arch::sm90);
  plan.role("copy", c.warps);
  plan.blocks_per_sm = c.blocks_per_sm;
  return plan;
}

template <PackRowsConfig C>
struct PackRows {
  using Args = PackRowsArgs;
  static constexpr BlockPlan plan = pack_rows_plan(C);
  static_assert(C.element_bytes == 1 || C.element_bytes == 2, "pack_rows: elements have 8 or 16 bits");

  using Element = stdx::conditional_t<C.element_bytes == 2, uint16_t, uint8_t>;
  static constexpr int kChunk = int(sizeof(Chunk));
  static constexpr int kAtOnce = kPackSegmentBytes / kChunk / 32;  // chunks of a lane, under way together

  struct Row {
    const uint8_t* from;
    uint8_t* to;
    int64_t bytes;

    // Bytes between the aligned vector that holds the row's first byte and that byte: the same for every chunk.
    WW_FN int excess() const { return int(reinterpret_cast<uint64_t>(from) % kChunk); }
    // Whether the two aligned vectors that hold the chunk at byte `at` belong to the row.
    WW_FN bool inside(int64_t at) const { return at >= excess() && at - excess() + 2 * kChunk <= bytes; }
    WW_FN Chunk vector(int64_t at) const {
      return machine::load(Global<const Chunk>{reinterpret_cast<const Chunk*>(from + at - excess())});
    }
    WW_FN Chunk by_elements(int64_t at) const {
      Chunk chunk = {};
      WW_UNROLL
      for (int byte = 0; byte < kChunk; byte += C.element_bytes) {
        if (at + byte < bytes) {
          const Global<const Element> element{reinterpret_cast<const Element*>(from + at + byte)};
          chunk[byte / 4] |= uint32_t(machine::load(element)) << (8 * (byte % 4));
        }
      }
      return chunk;
    }
    WW_FN void put(int64_t at, const Chunk& chunk) const {
      machine::store(Global<Chunk>{reinterpret_cast<Chunk*>(to + at)}, chunk);
    }
  };

  // One warp, from byte `first` of the row on.
  WW_FN static void copy_segment(const Row& row, int64_t first) {
    const int64_t lane_first = first + int64_t(machine::lane_index()) * kChunk;
    const auto place = [&](int i) { return lane_first + i * 32 * kChunk; };
    if (row.inside(lane_first) && row.inside(place(kAtOnce - 1))) {
      Chunk low[kAtOnce], high[kAtOnce];
      WW_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        low[i] = row.vector(place(i));
        high[i] = row.vector(place(i) + kChunk);
      }
      WW_UNROLL
      for (int i = 0; i < kAtOnce; ++i) row.put(place(i), joined(low[i], high[i], row.excess()));
      return;
    }
    WW_ROLLED
    for (int i = 0; i < kAtOnce; ++i) {
      const int64_t at = place(i);
      if (at >= row.bytes) return;
      row.put(at, row.inside(at) ? joined(row.vector(at), row.vector(at + kChunk), row.excess()) : row.by_elements(at));
    }
  }

  WW_FN static void pack(const RowsToPack& m, int64_t warp, int64_t warps) {
    const int64_t bytes = int64_t(m.columns) * C.element_bytes;
    const int64_t in_row = (bytes + kPackSegmentBytes - 1) / kPackSegmentBytes;
    const int64_t all = pack_segments(m, C.element_bytes);
    for (int64_t segment = warp; segment < all; segment += warps) {
      const int64_t row = segment / in_row;
      const int64_t source = row / m.rows * m.from_matrix + row % m.rows * m.from_stride;
      copy_segment({static_cast<const uint8_t*>(m.from) + source * C.element_bytes,
                    static_cast<uint8_t*>(m.to) + row * m.to_row_bytes, bytes},
                   segment % in_row * kPackSegmentBytes);
    }
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<PackRows>();
    const int64_t warp = int64_t(machine::cluster_index()) * C.warps + machine::warp_index();
    const int64_t warps = int64_t(machine::cluster_count()) * C.warps;
    WW_UNROLL
    for (int i = 0; i < Args::kMost; ++i) pack(args.list[i], warp, warps);
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
