// The 32-bit instruction descriptor of tcgen05.mma (PTX "Instruction descriptor", one table per group of kinds).
//
// The tool's `encode idesc --a A --b B --c C --m M --n N --a-major X --b-major Y [--scale S]` is encode_idesc(d) with
//   d.kind = mma_kind(A, B), or scaled_mma_kind(A, B, S) with --scale
//   d.a = A, d.b = B, d.d = accumulator_of(C), d.m = M, d.n = N
//   d.a_major = X, d.b_major = Y, where the words M and N both mean Major::MN
//   d.scale = S
// after idesc_error(d) has found nothing to refuse.
#pragma once
#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"
#include "warpwright/core/std.h"

namespace warpwright {

enum class MmaKind : uint8_t { f16, tf32, f8f6f4, mxf8f6f4, mxf4, mxf4nvf4, i8 };
// Element of D in tensor memory. The values are those of the descriptor's field.
enum class Accumulator : uint8_t { f16 = 0, f32 = 1, s32 = 2 };

WW_HD constexpr bool is_block_scaled(MmaKind kind) {
  return kind == MmaKind::mxf8f6f4 || kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4;
}
WW_HD constexpr bool is_packed_fp4(MmaKind kind) { return kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4; }

// fp16 and fp32 name themselves; s8 operands accumulate in s32, whatever the word.
WW_HD constexpr Accumulator accumulator_of(DType c) {
  return c == DType::fp16 ? Accumulator::f16 : c == DType::s8 ? Accumulator::s32 : Accumulator::f32;
}

// The kind that multiplies these types without scale factors.
WW_HD constexpr MmaKind mma_kind(DType a, [[maybe_unused]] DType b) {
  switch (a) {
    case DType::bf16:
    case DType::fp16:
      return MmaKind::f16;
    case DType::tf32:
    case DType::fp32:
      return MmaKind::tf32;
    case DType::s8:
      return MmaKind::i8;
    case DType::e4m3:
    case DType::e5m2:
    case DType::e2m1:
    case DType::ue8m0:
    case DType::ue4m3:
      break;
  }
  return MmaKind::f8f6f4;
}

// The kind that multiplies these types with block scales: two e2m1 operands are packed and run at twice the depth.
WW_HD constexpr MmaKind scaled_mma_kind(DType a, DType b, DType scale) {
  if (a == DType::e2m1 && b == DType::e2m1) return scale == DType::ue4m3 ? MmaKind::mxf4nvf4 : MmaKind::mxf4;
  return MmaKind::mxf8f6f4;
}

struct InstrDesc {
  MmaKind kind = MmaKind::f16;
  DType a = DType::bf16;
  DType b = DType::bf16;
  Accumulator d = Accumulator::f32;
  int m = 128;  // rows of the whole MMA: 256 needs a pair of CTAs
  int n = 128;
  Major a_major = Major::K;
  Major b_major = Major::K;
  bool negate_a = false;
  bool negate_b = false;
  bool saturate = false;  // kind::i8 only
  // Block-scaled kinds only: the type of both scale factors and which byte of their TMEM word this MMA uses.
  DType scale = DType::ue8m0;
  uint8_t a_scale_id = 0;
  uint8_t b_scale_id = 0;
  constexpr bool operator==(const InstrDesc&) const = default;
};

namespace detail {

inline constexpr uint32_t kNoFormat = 8;

// Value of the 3-bit A or B type field, kNoFormat if this kind cannot read the type.
WW_HD constexpr uint32_t operand_format(MmaKind kind, DType type) {
  switch (kind) {
    case MmaKind::f16:
      return type == DType::fp16 ? 0 : type == DType::bf16 ? 1 : kNoFormat;
    case MmaKind::tf32:
      // fp32 words are read as tf32.
      return type == DType::tf32 || type == DType::fp32 ? 2 : kNoFormat;
    case MmaKind::f8f6f4:
    case MmaKind::mxf8f6f4:
      return type == DType::e4m3 ? 0 : type == DType::e5m2 ? 1 : type == DType::e2m1 ? 5 : kNoFormat;
    case MmaKind::mxf4:
    case MmaKind::mxf4nvf4:
      return type == DType::e2m1 ? 1 : kNoFormat;
    case MmaKind::i8:
      return type == DType::s8 ? 1 : kNoFormat;
  }
  return kNoFormat;
}

// False if the field names a type that this library has no name for (6-bit floats, unsigned bytes) or none at all.
WW_HD constexpr bool operand_type(MmaKind kind, uint32_t format, DType& type) {
  constexpr DType readable[] = {DType::fp16, DType::bf16, DType::tf32, DType::e4m3,
                                DType::e5m2, DType::e2m1, DType::s8};
  for (DType candidate : readable) {
    if (operand_format(kind, candidate) == format) {
      type = candidate;
      return true;
    }
  }
  return false;
}

WW_HD constexpr uint32_t flag(bool set, int bit) { return set ? uint32_t(1) << bit : 0; }
WW_HD constexpr uint32_t field(uint32_t word, int low, int width) {
  return (word >> low) & ((uint32_t(1) << width) - 1);
}

}  // namespace detail

// Dense (not sparse) MMAs, K = 64 for the packed 4-bit kinds.
WW_HD constexpr uint32_t encode_idesc(const InstrDesc& d) {
  const uint32_t common = (detail::operand_format(d.kind, d.a) & 7) << 7 |
                          (detail::operand_format(d.kind, d.b) & 7) << 10 | detail::flag(d.negate_a, 13) |
                          detail::flag(d.negate_b, 14) | detail::flag(d.a_major == Major::MN, 15) |
                          detail::flag(d.b_major == Major::MN, 16) | (uint32_t(d.n) >> 3 & 0x3f) << 17;
  if (!is_block_scaled(d.kind)) {
    return common | detail::flag(d.saturate, 3) | uint32_t(d.d) << 4 | (uint32_t(d.m) >> 4 & 0x1f) << 24;
  }
  return common | uint32_t(d.b_scale_id & 3) << 4 | detail::flag(d.scale == DType::ue8m0, 23) |
         (uint32_t(d.m) >> 7 & 3) << 27 | uint32_t(d.a_scale_id & 3) << 29;
}

// The descriptor does not name its kind, the instruction does. False if `word` sets a bit or a value that a dense MMA
// of that kind does not have; idesc_error judges the shape.
WW_HD constexpr bool decode_idesc(MmaKind kind, uint32_t word, InstrDesc& d) {
  d = InstrDesc{};
  d.kind = kind;
  if (!detail::operand_type(kind, detail::field(word, 7, 3), d.a)) return false;
  if (!detail::operand_type(kind, detail::field(word, 10, 3), d.b)) return false;
  d.negate_a = detail::field(word, 13, 1) != 0;
  d.negate_b = detail::field(word, 14, 1) != 0;
  d.a_major = detail::field(word, 15, 1) != 0 ? Major::MN : Major::K;
  d.b_major = detail::field(word, 16, 1) != 0 ? Major::MN : Major::K;
  d.n = int(detail::field(word, 17, 6)) << 3;
  if (is_block_scaled(kind)) {
    d.b_scale_id = uint8_t(detail::field(word, 4, 2));
    d.scale = detail::field(word, 23, 1) != 0 ? DType::ue8m0 : DType::ue4m3;
    d.m = int(detail::field(word, 27, 2)) << 7;
    d.a_scale_id = uint8_t(detail::field(word, 29, 2));
  } else {
    if (detail::field(word, 4, 2) == 3) return false;
    d.saturate = detail::field(word, 3, 1) != 0;
    d.d = Accumulator(detail::field(word, 4, 2));
    d.m = int(detail::field(word, 24, 5)) << 4;
  }
  return encode_idesc(d) == word;
}

// nullptr for an MMA that exists (PTX tables "kind and shapes" and "Instruction descriptor"), otherwise the broken
// rule. cta_group is 1 or 2; 0 accepts what either of them has.
WW_HD constexpr const char* idesc_error(const InstrDesc& d, int cta_group = 0) {
  if (detail::operand_format(d.kind, d.a) == detail::kNoFormat) return "this kind of MMA cannot read the type of A";
  if (detail::operand_format(d.kind, d.b) == detail::kNoFormat) return "this kind of MMA cannot read the type of B";
  if (d.kind == MmaKind::f16 && d.a != d.b) return "kind::f16 needs A and B of the same type";
  if ((d.a_major == Major::MN && bits(d.a) < 8) || (d.b_major == Major::MN && bits(d.b) < 8)) {
    return "4-bit operands must be K-major";
  }
  if (d.kind == MmaKind::i8) {
    if (d.d != Accumulator::s32) return "kind::i8 accumulates in s32";
    if (d.negate_a || d.negate_b) return "kind::i8 cannot negate its operands";
  } else {
    if (d.d == Accumulator::s32) return "only kind::i8 accumulates in s32";
    if (d.saturate) return "only kind::i8 can saturate";
  }
  if (d.d == Accumulator::f16) {
    const bool bf16_operand = d.kind == MmaKind::f16 && d.a == DType::bf16;
    if ((d.kind != MmaKind::f16 && d.kind != MmaKind::f8f6f4) || bf16_operand) {
      return "only fp16 and unscaled 8-bit and narrower operands accumulate in fp16";
    }
  }
  const bool scaled = is_block_scaled(d.kind);
  if (scaled) {
    if (d.scale != DType::ue8m0 && d.scale != DType::ue4m3) return "scale factors are ue8m0 or ue4m3";
    if (d.scale == DType::ue4m3 && d.kind != MmaKind::mxf4nvf4) return "only kind::mxf4nvf4 takes ue4m3 scale factors";
    if (d.a_scale_id > 3 || d.b_scale_id > 3) return "a scale factor id is 0 to 3";
    if (is_packed_fp4(d.kind) && ((d.a_scale_id | d.b_scale_id) & 1) != 0) {
      return "the scale factor id of a packed 4-bit MMA is 0 or 2";
    }
    // ue4m3 exists with four scales a row only, which fill the word.
    if (d.scale == DType::ue4m3 && (d.a_scale_id | d.b_scale_id) != 0) return "the id of ue4m3 scale factors is 0";
  }
  const bool single = cta_group != 2 && (d.m == 128 || (d.m == 64 && !scaled));
  const bool pair = cta_group != 1 && (d.m == 128 || d.m == 256);
  if (!single && !pair) {
    return scaled ? "M must be 128 (or 256 in a pair of CTAs)" : "M must be 64 or 128, in a pair of CTAs 128 or 256";
  }
  if (d.n < 8 || d.n > 256 || d.n % 8 != 0) return "N must be a multiple of 8 from 8 to 256";
  // PTX table "N shape with .cta_group for 8bit transpose B".
  if (d.b_major == Major::MN && bits(d.b) == 8 && !((single && d.n % 16 == 0) || (pair && d.n % 32 == 0))) {
    return "N must be a multiple of 16, in a pair of CTAs of 32, where an 8-bit B is N-major";
  }
  if (d.kind == MmaKind::i8) {
    const bool single_n = single && (d.n <= 32 || d.n % 16 == 0);
    return single_n || (pair && d.n % 32 == 0) ? nullptr : "kind::i8 has no MMA of this N";
  }
  return single || d.n % 16 == 0 ? nullptr : "N must be a multiple of 16 in a pair of CTAs";
}

}  // namespace warpwright
