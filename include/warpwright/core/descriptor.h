// Shared-memory matrix descriptors of wgmma (sm_90) and tcgen05 (sm_100): encoded for the hardware, decoded for the
// simulator. The instruction descriptors of tcgen05 come with them, from core/instr_descriptor.h.
//
// The tool's `encode smem --arch A --type T --swizzle S --major K|M --rows R --k D` is
//   encode(A, k_major_desc(T, S, R))        for K
//   encode(A, mn_major_desc(T, S, R, D))    for M (or N): MN-major, atoms ordered along M/N first
// with a start address of 0 and the swizzle that operand_swizzle makes of the word.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/instr_descriptor.h"
#include "warpwright/core/layout.h"
#include "warpwright/core/std.h"

namespace warpwright {

// What a descriptor says, in bytes. PTX calls the strides leading dimension (lbo) and stride dimension (sbo) byte
// offset; which distance each one is depends on the major dimension and the swizzle:
//                       lbo                                    sbo
//   K-major, swizzled   unused, encoded as 16 bytes            next 8 rows of M/N
//   K-major, none       next 16 bytes along K                  next 8 rows of M/N
//   MN-major, swizzled  next swizzle_bytes along M/N           next atom_rows (8) along K
//   MN-major, none      next 8 along K                         next 16 bytes along M/N
// The table is the same for wgmma and tcgen05 (PTX "Canonical Layouts" of both chapters).
struct MatrixDesc {
  uint32_t address = 0;
  uint32_t lbo = 0;
  uint32_t sbo = 0;
  Swizzle swizzle = Swizzle::none;
  uint32_t base_offset = 0;
  constexpr bool operator==(const MatrixDesc&) const = default;
};

// Addresses and strides are 18 bits with the lowest four left out. Bits above are dropped, so the address may carry the
// rank of its CTA.
inline constexpr uint32_t kDescAddressMask = 0x3ffff;
inline constexpr uint64_t kDescField = 0x3fff;

namespace detail {

WW_HD constexpr uint64_t desc_field(uint32_t byte_count) { return uint64_t(byte_count & kDescAddressMask) >> 4; }
WW_HD constexpr uint32_t desc_bytes(uint64_t desc, int shift) { return uint32_t((desc >> shift) & kDescField) << 4; }

WW_HD constexpr uint64_t desc_common(const MatrixDesc& d) {
  return desc_field(d.address) | desc_field(d.lbo) << 16 | desc_field(d.sbo) << 32 | uint64_t(d.base_offset & 7) << 49;
}
WW_HD constexpr MatrixDesc desc_common(uint64_t desc, Swizzle s) {
  return {desc_bytes(desc, 0), desc_bytes(desc, 16), desc_bytes(desc, 32), s, uint32_t(desc >> 49) & 7};
}

inline constexpr uint32_t kNoSuchMode = 8;

// Bits 62..63.
WW_HD constexpr uint32_t swizzle_mode_sm90(Swizzle s) {
  switch (s) {
    case Swizzle::none:
      return 0;
    case Swizzle::b128:
      return 1;
    case Swizzle::b64:
      return 2;
    case Swizzle::b32:
      return 3;
    case Swizzle::b128_atom32:
      break;
  }
  return kNoSuchMode;
}
// Bits 61..63.
WW_HD constexpr uint32_t swizzle_mode_sm100(Swizzle s) {
  switch (s) {
    case Swizzle::none:
      return 0;
    case Swizzle::b128_atom32:
      return 1;
    case Swizzle::b128:
      return 2;
    case Swizzle::b64:
      return 4;
    case Swizzle::b32:
      return 6;
  }
  return kNoSuchMode;
}

inline constexpr uint64_t kSm100Constant = uint64_t(1) << 46;
inline constexpr uint64_t kSm100ConstantMask = uint64_t(7) << 46;
inline constexpr uint64_t kSm100LboAbsolute = uint64_t(1) << 52;
// Bits that no field covers; they must be zero.
inline constexpr uint64_t kSm90Reserved =
    ~(kDescField | kDescField << 16 | kDescField << 32 | uint64_t(7) << 49 | uint64_t(3) << 62);
inline constexpr uint64_t kSm100Reserved = ~(kDescField | kDescField << 16 | kDescField << 32 | kSm100ConstantMask |
                                             uint64_t(7) << 49 | kSm100LboAbsolute | uint64_t(7) << 61);

}  // namespace detail

// b128_atom32 does not exist on sm_90 (operand_error says so) and would be encoded as no swizzle.
WW_HD constexpr uint64_t encode_sm90(const MatrixDesc& d) {
  return detail::desc_common(d) | uint64_t(detail::swizzle_mode_sm90(d.swizzle) & 3) << 62;
}

WW_HD constexpr uint64_t encode_sm100(const MatrixDesc& d) {
  return detail::desc_common(d) | detail::kSm100Constant | uint64_t(detail::swizzle_mode_sm100(d.swizzle)) << 61;
}

WW_HD constexpr MatrixDesc decode_sm90(uint64_t desc) {
  constexpr Swizzle modes[4] = {Swizzle::none, Swizzle::b128, Swizzle::b64, Swizzle::b32};
  return detail::desc_common(desc, modes[desc >> 62]);
}

// Meaningful if desc_error_sm100 finds nothing.
WW_HD constexpr MatrixDesc decode_sm100(uint64_t desc) {
  constexpr Swizzle modes[8] = {Swizzle::none, Swizzle::b128_atom32, Swizzle::b128, Swizzle::none,
                                Swizzle::b64,  Swizzle::none,        Swizzle::b32,  Swizzle::none};
  return detail::desc_common(desc, modes[desc >> 61]);
}

// nullptr for a word that the hardware accepts, otherwise the broken rule.
WW_HD constexpr const char* desc_error_sm90(uint64_t desc) {
  return (desc & detail::kSm90Reserved) != 0 ? "reserved bits of the sm_90 matrix descriptor are set" : nullptr;
}
WW_HD constexpr const char* desc_error_sm100(uint64_t desc) {
  if ((desc & detail::kSm100ConstantMask) != detail::kSm100Constant) {
    return "bits 46-48 of the sm_100 matrix descriptor must be 0b001";
  }
  if ((desc & detail::kSm100LboAbsolute) != 0) return "the absolute leading-dimension mode exists on sm_103a only";
  if ((desc & detail::kSm100Reserved) != 0) return "reserved bits of the sm_100 matrix descriptor are set";
  const uint64_t mode = desc >> 61;
  return mode == 3 || mode == 5 || mode == 7 ? "swizzle modes 3, 5 and 7 do not exist on sm_100" : nullptr;
}

WW_HD constexpr uint64_t encode(Arch arch, const MatrixDesc& d) {
  return arch == Arch::sm90 ? encode_sm90(d) : encode_sm100(d);
}
WW_HD constexpr MatrixDesc decode(Arch arch, uint64_t desc) {
  return arch == Arch::sm90 ? decode_sm90(desc) : decode_sm100(desc);
}
WW_HD constexpr const char* desc_error(Arch arch, uint64_t desc) {
  return arch == Arch::sm90 ? desc_error_sm90(desc) : desc_error_sm100(desc);
}

// Moves the start address. A carry stays inside the field, so it cannot corrupt the leading dimension.
WW_HD constexpr uint64_t advance_desc(uint64_t desc, uint32_t byte_count) {
  return (desc & ~kDescField) | ((desc + (byte_count >> 4)) & kDescField);
}

// nullptr if one MMA may read an operand of this type from shared memory in this way, otherwise the broken rule.
WW_HD constexpr const char* operand_error(Arch arch, DType type, Major major, Swizzle s) {
  if (arch != Arch::sm90 && arch != Arch::sm100) return "only sm_90 and sm_100 read operands through descriptors";
  if (s == Swizzle::b128_atom32 && arch == Arch::sm90) return "sm_90 has no 128-byte swizzle with 32-byte atomicity";
  if (major == Major::K) {
    return s == Swizzle::b128_atom32 ? "the swizzle with 32-byte atomicity is for MN-major operands" : nullptr;
  }
  if (bits(type) < 8) return "4-bit operands must be K-major";
  if (arch == Arch::sm90) return bits(type) == 16 ? nullptr : "wgmma reads MN-major operands of 16-bit types only";
  if (bits(type) == 32) {
    return s == Swizzle::b128_atom32 ? nullptr
                                     : "MN-major 32-bit operands need the 128-byte swizzle with 32-byte atomicity";
  }
  return s == Swizzle::b128_atom32 ? "the swizzle with 32-byte atomicity is for 32-bit operands" : nullptr;
}

// The swizzle of 0, 32, 64 or 128 bytes that such an operand takes: 128 means the one with 32-byte atomicity where only
// that is legal. False for any other number.
WW_HD constexpr bool operand_swizzle(Arch arch, DType type, Major major, int byte_count, Swizzle& s) {
  switch (byte_count) {
    case 0:
      s = Swizzle::none;
      return true;
    case 32:
      s = Swizzle::b32;
      return true;
    case 64:
      s = Swizzle::b64;
      return true;
    case 128:
      s = arch == Arch::sm100 && major == Major::MN && bits(type) == 32 ? Swizzle::b128_atom32 : Swizzle::b128;
      return true;
    default:
      return false;
  }
}

// Depth of one dense MMA along K: 32 bytes of every type (packed e2m1: 64).
WW_HD constexpr int mma_k(DType type) { return 256 / bits(type); }

// The descriptor of the operand of one MMA that is `rows` by `k_slice` elements and starts at `address`, in a tile laid
// out as `tile`. A stride that so small an operand never takes is left zero. For element (mn, k) of the tile as the
// origin, address = start of the tile + tile.linear(mn, k).
WW_HD constexpr MatrixDesc matrix_desc(const SmemTile& tile, uint32_t address, int rows, int k_slice) {
  MatrixDesc d;
  d.address = address;
  d.swizzle = tile.swizzle;
  const bool swizzled = tile.swizzle != Swizzle::none;
  const bool several_groups = (tile.major == Major::K ? rows : k_slice) > atom_rows(tile.swizzle);
  const bool several_panels = (tile.major == Major::K ? k_slice : rows) > tile.panel_elements();
  const uint32_t group_stride = several_groups ? tile.atom_stride() : 0;
  const uint32_t panel_stride = several_panels ? tile.panel_stride() : 0;
  if (tile.major == Major::K) {
    d.lbo = swizzled ? 16 : panel_stride;
    d.sbo = group_stride;
  } else {
    d.lbo = swizzled ? panel_stride : group_stride;
    d.sbo = swizzled ? group_stride : panel_stride;
  }
  return d;
}

// The operand that fills the rows of its tile, one MMA deep. Its strides do not depend on how deep the tile is.
WW_HD constexpr MatrixDesc k_major_desc(DType type, Swizzle s, int rows, uint32_t address = 0) {
  return matrix_desc(SmemTile{type, rows, mma_k(type), s, Major::K}, address, rows, mma_k(type));
}

// tile_k, the depth of the tile, matters to AtomOrder::panels only.
WW_HD constexpr MatrixDesc mn_major_desc(DType type, Swizzle s, int rows, int k_slice, uint32_t address = 0,
                                         AtomOrder order = AtomOrder::mn_first, int tile_k = 0) {
  const SmemTile tile{type, rows, tile_k > k_slice ? tile_k : k_slice, s, Major::MN, order};
  return matrix_desc(tile, address, rows, k_slice);
}

// Byte address in shared memory of element (mn, k) of the operand of one MMA, as the tensor core computes it: the
// canonical layout walked by lbo and sbo, then the swizzle on the bits of the final address. Of two 4-bit elements in a
// byte the even one is in the low nibble. Both architectures share the canonical layouts.
WW_HD constexpr uint32_t operand_address(const MatrixDesc& d, [[maybe_unused]] Arch arch, DType type, Major major,
                                         int mn, int k) {
  const uint32_t width = swizzle_bytes(d.swizzle);
  const uint32_t element_bits = uint32_t(bits(type));
  uint32_t address = d.address;
  if (major == Major::K) {
    const uint32_t byte = uint32_t(k) * element_bits / 8;
    address += uint32_t(mn) / 8 * d.sbo + uint32_t(mn) % 8 * width;
    // ((8,m),(T,2k)) : ((W,SBO),(1,LBO)) without swizzle, : ((W,SBO),(1,T)) with: bytes along K are contiguous.
    address += d.swizzle == Swizzle::none ? byte / 16 * d.lbo + byte % 16 : byte;
  } else {
    const uint32_t byte = uint32_t(mn) * element_bits / 8;
    const uint32_t group = uint32_t(atom_rows(d.swizzle));
    const bool swizzled = d.swizzle != Swizzle::none;
    // ((T,W,m),(8,k)) : ((1,T,LBO),(W,SBO)) with swizzle; without, LBO and SBO change places.
    address += byte / width * (swizzled ? d.lbo : d.sbo) + byte % width;
    address += uint32_t(k) / group * (swizzled ? d.sbo : d.lbo) + uint32_t(k) % group * width;
  }
  // The base offset says in which 128-byte line, modulo 8, the pattern starts.
  return address ^ swizzle_xor(d.swizzle, (address >> 7) - d.base_offset);
}

}  // namespace warpwright
