// Where the tiles of A and B come from, and how a thread copies its chunks of them.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/sm80/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/tile/source.h"

namespace warpwright::inline WW_WORLD::kernel::sm80 {

// What is left of the job's depth, counted from the loop's tile, for the two ways in which an operand is stored.
struct DepthLeft {
  int bytes = 0;  // of a row along k, from this thread's chunk on
  int elements = 0;
};

// One operand. A stored row lies along k, or is one element of k along m or n. In a pass, all threads together copy
// some rows of its tile, each a chunk of 16 bytes; where the tile has fewer rows than a pass, the last threads copy
// nothing.
template <MmaSyncGemmConfig C, int Operand>
struct OperandSource {
  static constexpr SmemTile kSlot = Operand == 0 ? C.a_slot() : C.b_slot();
  static constexpr bool kAlongK = kSlot.major == Major::K;
  static constexpr int kSize = bits(C.type) / 8, kChunk = 16, kOfChunk = kChunk / kSize;
  static constexpr int kRows = kSlot.outer(), kChunksOfRow = kSlot.inner() / kOfChunk;
  static constexpr int kRowsOfPass = C.threads() / kChunksOfRow;
  static constexpr int kPasses = tile::ceil_div(kRows, kRowsOfPass);
  static constexpr int kParts = Operand == 0 ? C.copies_a : C.copies_b;
  static constexpr uint32_t kInSlot = Operand == 0 ? 0 : C.a_slot().bytes();

  const uint8_t* from = nullptr;  // this thread's chunk of the first row that it copies, at the loop's tile of K
  uint32_t rows[kPasses] = {};    // along k: bytes from there to its other rows
  int64_t row_bytes = 0;          // along m or n: from one row to the next
  int valid = 0;                  // along m or n: bytes of the chunk that lie in the matrix
  uint32_t to = 0;                // that chunk in slot 0

  WW_FN static int row() { return int(machine::thread_index()) / kChunksOfRow; }
  WW_FN static int chunk() { return int(machine::thread_index()) % kChunksOfRow; }

  // Rows outside the matrix repeat its last one; their results are not stored.
  WW_FN static OperandSource of(const MmaSyncGemmArgs& args, const tile::Job& job, uint32_t ring) {
    const int64_t stride = Operand == 0 ? args.a_stride : args.b_stride;
    const int first = Operand == 0 ? job.m * C.tile_m : job.n * C.tile_n;
    const int extent = Operand == 0 ? args.m : args.n;
    const int64_t matrix = job.batch * (Operand == 0 ? args.a_batch_stride : args.b_batch_stride);
    const auto* const data = static_cast<const uint8_t*>(Operand == 0 ? args.a : args.b);
    constexpr SmemTile slot = kSlot;  // device code cannot name the other one
    OperandSource s;
    if constexpr (kAlongK) {
      const auto clamped = [&](int r) { return r < extent ? r : extent - 1; };
      const int begin = clamped(first + row());
      WW_UNROLL
      for (int i = 0; i < kPasses; ++i) {
        s.rows[i] = uint32_t(clamped(first + row() + i * kRowsOfPass) - begin) * uint32_t(stride * kSize);
      }
      s.from = data + ((matrix + begin * stride + job.k.first * C.tile_k()) * kSize + chunk() * kChunk);
      s.to = ring + kInSlot + slot.offset(row(), chunk() * kOfChunk);
    } else {
      const int column = first + chunk() * kOfChunk, left = extent - column;
      s.valid = left < 0 ? 0 : left < kOfChunk ? left * kSize : kChunk;
      s.row_bytes = stride * kSize;
      s.from = data + (matrix + (job.k.first * C.tile_k() + row()) * stride + column) * kSize;
      s.to = ring + kInSlot + slot.offset(chunk() * kOfChunk, row());
    }
    return s;
  }
  WW_FN void advance() { from += kAlongK ? C.unroll * schedule::kMmaSyncRowBytes : C.unroll * C.tile_k() * row_bytes; }

  // Part of the tile that is `Ahead` tiles after the loop's, to the slot at `slot`.
  template <int Part, int Ahead>
  WW_FN void copy(uint32_t slot, const DepthLeft& left) const {
    constexpr int passes = kPasses / kParts;
    if constexpr (kRows < kRowsOfPass) {
      if (row() >= kRows) return;
    }
    WW_UNROLL
    for (int i = Part * passes; i < (Part + 1) * passes; ++i) {
      const Shared<uint8_t> at{to + slot + uint32_t(i * kRowsOfPass) * swizzle_bytes(kSlot.swizzle)};
      if constexpr (kAlongK) {
        const int rest = left.bytes - Ahead * schedule::kMmaSyncRowBytes;
        copy_chunk(at, {from + rows[i] + Ahead * schedule::kMmaSyncRowBytes},
                   rest <= 0       ? 0
                   : rest < kChunk ? rest
                                   : kChunk);
      } else {
        constexpr int along = Ahead * C.tile_k();
        const int r = along + i * kRowsOfPass;
        copy_chunk(at, {from + r * row_bytes}, row() + r < left.elements ? valid : 0);
      }
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

template <MmaSyncGemmConfig C>
struct Source {
  OperandSource<C, 0> a;
  OperandSource<C, 1> b;
  DepthLeft left;

  WW_FN static Source of(const MmaSyncGemmArgs& args, const tile::Job& job, uint32_t ring) {
    constexpr int size = bits(C.type) / 8, chunks = schedule::kMmaSyncRowBytes / 16;
    const int end = job.k.end() * C.tile_k();
    const int elements = (end < args.k ? end : args.k) - job.k.first * C.tile_k();
    return {OperandSource<C, 0>::of(args, job, ring),
            OperandSource<C, 1>::of(args, job, ring),
            {elements * size - int(machine::thread_index()) % chunks * 16, elements}};
  }
  WW_FN void advance() {
    a.advance();
    b.advance();
    left.bytes -= C.unroll * schedule::kMmaSyncRowBytes;
    left.elements -= C.unroll * C.tile_k();
  }
  // Copies a part of A (channel 0) or B.
  template <int Channel, int Part, int Ahead>
  WW_FN void copy(uint32_t slot) const {
    if constexpr (Channel == 0) {
      a.template copy<Part, Ahead>(slot, left);
    } else {
      b.template copy<Part, Ahead>(slot, left);
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm80
