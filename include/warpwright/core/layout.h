// Shared-memory layouts: the swizzle as a function of byte addresses (PTX 5.5.7) and operand tiles as TMA writes them.
#pragma once
#include "warpwright/core/dtype.h"
#include "warpwright/core/std.h"

namespace warpwright {

// Which dimension of an operand is contiguous in memory. The word M (or N) of the tools is MN here.
enum class Major : uint8_t { K, MN };

// b128_atom32 is the 128-byte swizzle that keeps 32 bytes together; tcgen05 demands it for MN-major 32-bit operands
// (PTX table "Valid combinations of type-size, major-ness and swizzling"). The others keep 16 bytes together.
enum class Swizzle : uint8_t { none, b32, b64, b128, b128_atom32 };

// Bytes of one row of the swizzle atom: the inner dimension of a TMA box and of a panel.
WW_HD constexpr uint32_t swizzle_bytes(Swizzle s) {
  switch (s) {
    case Swizzle::none:
      return 16;
    case Swizzle::b32:
      return 32;
    case Swizzle::b64:
      return 64;
    case Swizzle::b128:
    case Swizzle::b128_atom32:
      break;
  }
  return 128;
}

// Rows of the swizzle atom: the period of the pattern across rows of swizzle_bytes.
WW_HD constexpr int atom_rows(Swizzle s) { return s == Swizzle::b128_atom32 ? 4 : 8; }

// After this many bytes the pattern repeats; without swizzle this is the 8 x 16 byte core matrix.
WW_HD constexpr uint32_t pattern_bytes(Swizzle s) { return swizzle_bytes(s) * uint32_t(atom_rows(s)); }

// Alignment that a tile needs in shared memory so that descriptors can leave the base offset zero. 128 is TMA's own.
WW_HD constexpr uint32_t smem_alignment(Swizzle s) { return s == Swizzle::b128_atom32 ? 1024 : pattern_bytes(s); }

// The exclusive-or that the swizzle applies to the low bits of an address in 128-byte line number `line`.
WW_HD constexpr uint32_t swizzle_xor(Swizzle s, uint32_t line) {
  switch (s) {
    case Swizzle::none:
      break;
    case Swizzle::b32:
      return (line & 1) << 4;
    case Swizzle::b64:
      return (line & 3) << 4;
    case Swizzle::b128:
      return (line & 7) << 4;
    case Swizzle::b128_atom32:
      return (line & 3) << 5;
  }
  return 0;
}

// Where the byte that a linear layout puts at `address` really lies. Its own inverse. The pattern belongs to the
// address, not to the tile: bits 4..6 of the address are changed by bits 7..9, whatever the tile starts at.
WW_HD constexpr uint32_t swizzle(Swizzle s, uint32_t address) { return address ^ swizzle_xor(s, address >> 7); }

// How the atoms of an MN-major tile follow each other. `panels`: one panel is swizzle_bytes along the contiguous
// dimension and the whole extent of the other one, a single TMA box. `mn_first`: all atoms along M/N for the first rows
// of K, then the next rows of K. A K-major tile is the same either way.
enum class AtomOrder : uint8_t { panels, mn_first };

// An operand tile of `rows` (M or N) by `cols` (K) elements. The contiguous dimension is cut into panels of
// swizzle_bytes; inside a panel consecutive rows are swizzle_bytes apart. Extents that do not fill a panel or an atom
// are padded.
struct SmemTile {
  DType type = DType::bf16;
  int rows = 0;
  int cols = 0;
  Swizzle swizzle = Swizzle::b128;
  Major major = Major::K;
  AtomOrder order = AtomOrder::panels;

  constexpr bool operator==(const SmemTile&) const = default;

  WW_HD constexpr int inner() const { return major == Major::K ? cols : rows; }
  WW_HD constexpr int outer() const { return major == Major::K ? rows : cols; }
  // Elements of one panel along the contiguous dimension: the inner extent of the TMA box.
  WW_HD constexpr int panel_elements() const { return int(swizzle_bytes(swizzle)) * 8 / bits(type); }
  WW_HD constexpr int panels() const { return (inner() + panel_elements() - 1) / panel_elements(); }
  // Bytes that one box brings.
  WW_HD constexpr uint32_t box_bytes() const { return uint32_t(outer()) * swizzle_bytes(swizzle); }
  WW_HD constexpr uint32_t alignment() const { return smem_alignment(swizzle); }

  // Distance of neighbouring panels: a panel starts at a boundary of the pattern, or its box would land out of phase.
  WW_HD constexpr uint32_t panel_stride() const {
    if (interleaved()) return pattern_bytes(swizzle);
    return (box_bytes() + alignment() - 1) / alignment() * alignment();
  }
  // Distance of neighbouring groups of atom_rows along the dimension that is not contiguous.
  WW_HD constexpr uint32_t atom_stride() const {
    return interleaved() ? uint32_t(panels()) * pattern_bytes(swizzle) : pattern_bytes(swizzle);
  }

  WW_HD constexpr uint32_t bytes() const {
    if (!interleaved()) return uint32_t(panels()) * panel_stride();
    return uint32_t((outer() + atom_rows(swizzle) - 1) / atom_rows(swizzle)) * atom_stride();
  }

  // Byte offset of element (row, col) before the swizzle: what to add to a descriptor's start address to begin there,
  // since the hardware swizzles the final address. Of two 4-bit elements in a byte the even one is in the low nibble.
  WW_HD constexpr uint32_t linear(int row, int col) const {
    const uint32_t byte = uint32_t(major == Major::K ? col : row) * uint32_t(bits(type)) / 8;
    const uint32_t line = uint32_t(major == Major::K ? row : col);
    const uint32_t width = swizzle_bytes(swizzle);
    const uint32_t group = uint32_t(atom_rows(swizzle));
    return byte / width * panel_stride() + line / group * atom_stride() + line % group * width + byte % width;
  }

  // Byte offset of element (row, col) in a tile that starts at a multiple of alignment().
  WW_HD constexpr uint32_t offset(int row, int col) const { return warpwright::swizzle(swizzle, linear(row, col)); }

 private:
  WW_HD constexpr bool interleaved() const { return order == AtomOrder::mn_first && major == Major::MN; }
};

}  // namespace warpwright
