// What a tile of the input ring consists of: views that say where each operand of tile i is in shared memory. A view
// holds addresses only and may be copied. Tile i is k_group_size * stage + k.
#pragma once
#include "warpwright/machine/machine.h"

namespace warpwright {

// Bytes of one tile, per operand.
struct TileBytes {
  uint32_t a = 0, b = 0;
  uint32_t a_scales = 0, b_scales = 0;
  uint32_t gaps = 0;  // how many of them no load fills: the gaps between padded 4-bit elements
  // What the loads of a tile bring.
  WW_HD constexpr uint32_t total() const { return a + b + a_scales + b_scales - gaps; }
  constexpr bool operator==(const TileBytes&) const = default;
};

}  // namespace warpwright

namespace warpwright::inline WW_WORLD::pipeline {

// A: BM x BK, B: BN x BK.
template <TileBytes bytes>
class StandardPayload {
 public:
  static_assert(bytes.a > 0 && bytes.b > 0, "a tile has A and B");
  static_assert(bytes.a_scales == 0 && bytes.b_scales == 0, "this payload has no scales");
  static constexpr bool read_by_threads = false;
  static constexpr uint32_t tile_bytes = bytes.total();
  struct Tile {
    Shared<uint8_t> a, b;
  };

  WW_FN StandardPayload(Shared<uint8_t> a, Shared<uint8_t> b) : a_(a), b_(b) {}
  WW_FN Shared<uint8_t> a(int i) const { return a_.plus_bytes(bytes.a * uint32_t(i)); }
  WW_FN Shared<uint8_t> b(int i) const { return b_.plus_bytes(bytes.b * uint32_t(i)); }
  WW_FN Tile tile(int i) const { return {a(i), b(i)}; }

 private:
  Shared<uint8_t> a_, b_;
};

// A, B and their scale factors in the layout that tcgen05.cp moves into tensor memory. Those of B may come another way;
// they have no bytes here then.
template <TileBytes bytes>
class BlockScaledPayload {
 public:
  static_assert(bytes.a > 0 && bytes.b > 0 && bytes.a_scales > 0, "a tile has A, B and scale factors");
  static constexpr bool read_by_threads = false;
  static constexpr uint32_t tile_bytes = bytes.total();
  struct Tile {
    Shared<uint8_t> a, b, a_scales, b_scales;
  };

  WW_FN BlockScaledPayload(Shared<uint8_t> a, Shared<uint8_t> b, Shared<uint8_t> a_scales, Shared<uint8_t> b_scales)
      : a_(a), b_(b), a_scales_(a_scales), b_scales_(b_scales) {}
  WW_FN Shared<uint8_t> a(int i) const { return a_.plus_bytes(bytes.a * uint32_t(i)); }
  WW_FN Shared<uint8_t> b(int i) const { return b_.plus_bytes(bytes.b * uint32_t(i)); }
  WW_FN Shared<uint8_t> a_scales(int i) const { return a_scales_.plus_bytes(bytes.a_scales * uint32_t(i)); }
  WW_FN Shared<uint8_t> b_scales(int i) const { return b_scales_.plus_bytes(bytes.b_scales * uint32_t(i)); }
  WW_FN Tile tile(int i) const { return {a(i), b(i), a_scales(i), b_scales(i)}; }

 private:
  Shared<uint8_t> a_, b_, a_scales_, b_scales_;
};

// A, B and one fp32 scale per row of A, plain row-major. B's scales are not staged.
template <TileBytes bytes>
class BlockwiseFP8Payload {
 public:
  static_assert(bytes.a > 0 && bytes.b > 0 && bytes.a_scales > 0, "a tile has A, B and the scales of A");
  static_assert(bytes.b_scales == 0, "the scales of B are not staged");
  static constexpr bool read_by_threads = true;  // the epilogue reads the scales of A
  static constexpr uint32_t tile_bytes = bytes.total();
  struct Tile {
    Shared<uint8_t> a, b;
    Shared<float> a_scales;
  };

  WW_FN BlockwiseFP8Payload(Shared<uint8_t> a, Shared<uint8_t> b, Shared<float> a_scales)
      : a_(a), b_(b), a_scales_(a_scales) {}
  WW_FN Shared<uint8_t> a(int i) const { return a_.plus_bytes(bytes.a * uint32_t(i)); }
  WW_FN Shared<uint8_t> b(int i) const { return b_.plus_bytes(bytes.b * uint32_t(i)); }
  WW_FN Shared<float> a_scales(int i) const { return a_scales_.plus_bytes(bytes.a_scales * uint32_t(i)); }
  WW_FN Tile tile(int i) const { return {a(i), b(i), a_scales(i)}; }

 private:
  Shared<uint8_t> a_, b_;
  Shared<float> a_scales_;
};

}  // namespace warpwright::inline WW_WORLD::pipeline
