// Where the tiles of A and B come from, and how a thread copies its chunks of them.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/sm80/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/tile/raster.h"

namespace warpwright::inline WW_WORLD::kernel::sm80 {

// A slot holds a tile of A and, behind it, one of B.
constexpr uint32_t slot_bytes(const MmaSyncGemmConfig& c) {
  return uint32_t(c.tile_m + c.tile_n) * schedule::kMmaSyncRowBytes;
}

template <MmaSyncGemmConfig C>
struct Source {
  static constexpr int kChunk = 16, kChunksOfRow = schedule::kMmaSyncRowBytes / kChunk;
  static constexpr int kRowsOfPass = C.threads() / kChunksOfRow;
  static constexpr int kPassesA = C.tile_m / kRowsOfPass, kPassesB = C.tile_n / kRowsOfPass;
  static constexpr int kSize = bits(C.type) / 8;

  const uint8_t* a;  // this thread's chunk of the first row that it copies, at the loop's tile of K
  const uint8_t* b;
  uint32_t row_a[kPassesA];  // bytes from there to its other rows
  uint32_t row_b[kPassesB];
  int left;  // bytes of the row from that chunk on

  WW_FN static Source of(const MmaSyncGemmArgs& args, const tile::TileCoord& tile) {
    const int thread = int(machine::thread_index());
    const int row = thread / kChunksOfRow, chunk = thread % kChunksOfRow * kChunk;
    Source s;
    s.left = args.k * kSize - chunk;
    const auto rows = [&](const void* matrix, int64_t stride, int first, int count, uint32_t* offsets, int passes) {
      const auto clamped = [&](int r) { return r < count ? r : count - 1; };
      const int begin = clamped(first + row);
      WW_UNROLL
      for (int i = 0; i < passes; ++i) {
        offsets[i] = uint32_t(clamped(first + row + i * kRowsOfPass) - begin) * uint32_t(stride * kSize);
      }
      return static_cast<const uint8_t*>(matrix) + (begin * stride * kSize + chunk);
    };
    s.a = rows(args.a, args.a_stride, tile.m * C.tile_m, args.m, s.row_a, kPassesA);
    s.b = rows(args.b, args.b_stride, tile.n * C.tile_n, args.n, s.row_b, kPassesB);
    return s;
  }
  WW_FN void advance() {
    a += C.unroll * schedule::kMmaSyncRowBytes;
    b += C.unroll * schedule::kMmaSyncRowBytes;
    left -= C.unroll * schedule::kMmaSyncRowBytes;
  }

  // Part of the tile of A (channel 0) or B that lies `Ahead` tiles behind the loop's, to a slot.
  template <int Channel, int Part, int Ahead>
  WW_FN void copy(Shared<uint8_t> slot) const {
    constexpr int passes = Channel == 0 ? kPassesA / C.copies_a : kPassesB / C.copies_b;
    constexpr int along = Ahead * schedule::kMmaSyncRowBytes;
    constexpr uint32_t operand = Channel == 0 ? 0 : uint32_t(C.tile_m) * schedule::kMmaSyncRowBytes;
    const int rest = left - along;
    const int valid = rest <= 0 ? 0 : rest < kChunk ? rest : kChunk;
    WW_UNROLL
    for (int i = Part * passes; i < (Part + 1) * passes; ++i) {
      const uint8_t* from = (Channel == 0 ? a : b) + (Channel == 0 ? row_a[i] : row_b[i]) + along;
      copy_chunk(slot.plus_bytes(operand + uint32_t(i * kRowsOfPass) * schedule::kMmaSyncRowBytes), {from}, valid);
    }
  }

 private:
  WW_FN static void copy_chunk(Shared<uint8_t> to, Global<const uint8_t> from, int valid) {
    if constexpr (C.copy == RowCopy::bytes16) {
      machine::cp_async<16>(to, from, uint32_t(valid));
    } else if constexpr (C.copy == RowCopy::bytes4) {
      WW_UNROLL
      for (int i = 0; i < kChunk; i += 4) {
        const int part = valid - i;
        machine::cp_async<4>(to.plus_bytes(uint32_t(i)), from + i, uint32_t(part < 0 ? 0 : part < 4 ? part : 4));
      }
    } else {
      using Element = stdx::conditional_t<kSize == 2, uint16_t, uint8_t>;
      Vec<uint32_t, 4> words{};
      WW_UNROLL
      for (int i = 0; i < kChunk; i += kSize) {
        if (i < valid) words[i / 4] |= uint32_t(machine::load((from + i).template as<const Element>())) << i % 4 * 8;
      }
      machine::store(to.as<Vec<uint32_t, 4>>(), words);
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm80
