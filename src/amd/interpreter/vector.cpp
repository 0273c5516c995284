// Lane-wise arithmetic on 32-bit registers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "amd/interpreter/bits.h"
#include "amd/interpreter/state.h"

namespace warpwright::amd {
namespace {

int32_t i(U x) { return int32_t(x); }

// One loop per operation, so that the compiler makes vectors of it.
template <auto Function>
void each(U* d, const U* a, const U* b, const U* c) {
  for (int l = 0; l < kLanes; ++l) d[l] = Function(a[l], b[l], c[l]);
}

// SDWA destinations: a part of the register, the rest zero, the sign, or what was there.
void place_part(const Instruction& in, const U* old, U* values) {
  const Part part = Part(in.modifier("dst_sel"));
  if (part == Part::dword) return;
  const int unused = in.modifier("dst_unused");
  const bool word = part == Part::word0 || part == Part::word1;
  const int bits = word ? 16 : 8;
  const int at = word ? 16 * (int(part) - int(Part::word0)) : 8 * (int(part) - int(Part::byte0));
  const U mask = word ? 0xffff : 0xff;
  for (int l = 0; l < kLanes; ++l) {
    const U field = values[l] & mask;
    if (unused == 2) {
      values[l] = (old[l] & ~(mask << at)) | field << at;
    } else if (unused == 1) {
      values[l] = U(int32_t(field << (32 - bits)) >> (32 - bits)) << at;
    } else {
      values[l] = field << at;
    }
  }
}

// entry.a: number of sources; the destination is also a source if entry.b is set (the last one).
void lane_alu(Machine& m, Wave& w, const Op& op) {
  Lanes room[3];
  const U* source[3] = {room[0], room[0], room[0]};
  const int sources = op.entry.a;
  for (int n = 0; n < sources; ++n) {
    const Operand& o = op.operand(size_t(n + 1));
    source[n] = op.plain ? m.lanes(w, o, room[n]) : m.modified_lanes(w, o, room[n]);
  }
  const Operand& d = op.operand(0);
  if (op.entry.b != 0) source[sources] = m.lanes(w, d, room[2]);
  if (sources == 0) return;
  for (int n = sources + (op.entry.b != 0); n < 3; ++n) source[n] = source[0];
  if (w.exec() == kAllLanes && !op.instruction->sdwa) {
    op.entry.lanes(m.destination(w, d), source[0], source[1], source[2]);
    return;
  }
  Lanes values;
  op.entry.lanes(values, source[0], source[1], source[2]);
  if (op.instruction->sdwa) place_part(*op.instruction, m.destination(w, d), values);
  m.store_lanes(w, d, values);
}

void truth_table(Machine& m, Wave& w, const Op& op) {
  Lanes room[3];
  const U* x = m.lanes(w, op.operand(1), room[0]);
  const U* y = m.lanes(w, op.operand(2), room[1]);
  const U* z = m.lanes(w, op.operand(3), room[2]);
  const int table = op.instruction->modifier("bitop3");
  Lanes values = {};
  for (int k = 0; k < 8; ++k) {
    if ((table >> k & 1) == 0) continue;
    for (int l = 0; l < kLanes; ++l) {
      values[l] |= (k & 4 ? x[l] : ~x[l]) & (k & 2 ? y[l] : ~y[l]) & (k & 1 ? z[l] : ~z[l]);
    }
  }
  m.store_lanes(w, op.operand(0), values);
}

U permute_bytes(U high, U low, U selector) {
  const uint64_t both = uint64_t(high) << 32 | low;
  U result = 0;
  for (int n = 0; n < 4; ++n) {
    const U s = selector >> (8 * n) & 0xff;
    U byte = 0xff;
    if (s < 8) {
      byte = U(both >> (8 * s)) & 0xff;
    } else if (s < 12) {
      byte = (both >> (16 * (s - 8) + 15) & 1) != 0 ? 0xff : 0;
    } else if (s == 12) {
      byte = 0;
    }
    result |= byte << (8 * n);
  }
  return result;
}

U field(U value, U offset, U width) {
  offset &= 31, width &= 31;
  return width == 0 ? 0 : value >> offset & ((U(1) << width) - 1);
}
U signed_field(U value, U offset, U width) {
  offset &= 31, width &= 31;
  if (width == 0) return 0;
  const U x = field(value, offset, width), sign = U(1) << (width - 1);
  return (x ^ sign) - sign;
}
U saturated(int64_t x) { return U(std::clamp<int64_t>(x, INT32_MIN, INT32_MAX)); }
float smaller(float a, float b) { return std::isnan(a) ? b : std::isnan(b) ? a : a < b ? a : b; }
float larger(float a, float b) { return std::isnan(a) ? b : std::isnan(b) ? a : a > b ? a : b; }
float middle(float a, float b, float c) { return larger(smaller(a, b), smaller(larger(a, b), c)); }

}  // namespace

const uint32_t* Machine::modified_lanes(Wave& w, const Operand& o, Lanes& room) {
  const uint32_t* from = lanes(w, o, room);
  for (int l = 0; l < kLanes; ++l) {
    uint32_t x = from[l];
    if (o.part >= Part::byte0) {
      x = x >> (8 * (int(o.part) - int(Part::byte0))) & 0xff;
      if (o.extend) x = uint32_t(int32_t(int8_t(x)));
    } else if (o.part != Part::dword) {
      x = o.part == Part::word1 ? x >> 16 : x & 0xffff;
      if (o.extend) x = uint32_t(int32_t(int16_t(x)));
    }
    if (o.absolute) x &= 0x7fffffff;
    if (o.negate) x ^= 0x80000000;
    room[l] = x;
  }
  return room;
}

#define WW_LANE(expression) each<[](U a, [[maybe_unused]] U b, [[maybe_unused]] U c) -> U { return (expression); }>

void add_vector_ops(OpTable& t) {
  const auto op = [&](int sources, const char* name, LaneFunction function) {
    t[name] = {.run = lane_alu, .lanes = function, .a = sources, .modifiers = true};
  };
  // d = f(a, b, d)
  const auto update = [&](const char* name, LaneFunction function) {
    t[name] = {.run = lane_alu, .lanes = function, .a = 2, .b = 1, .modifiers = true};
  };
  op(1, "v_mov_b32", WW_LANE(a));
  op(1, "v_accvgpr_read_b32", WW_LANE(a));
  op(1, "v_accvgpr_write_b32", WW_LANE(a));
  op(1, "v_accvgpr_mov_b32", WW_LANE(a));
  op(1, "v_not_b32", WW_LANE(~a));
  op(1, "v_bfrev_b32", [](U* d, const U* a, const U*, const U*) {
    for (int l = 0; l < kLanes; ++l) {
      U x = a[l], r = 0;
      for (int n = 0; n < 32; ++n) r |= (x >> n & 1) << (31 - n);
      d[l] = r;
    }
  });
  op(1, "v_ffbh_u32", WW_LANE(a == 0 ? ~U(0) : U(std::countl_zero(a))));
  op(1, "v_ffbl_b32", WW_LANE(a == 0 ? ~U(0) : U(std::countr_zero(a))));

  op(2, "v_add_u32", WW_LANE(a + b));
  op(2, "v_sub_u32", WW_LANE(a - b));
  op(2, "v_subrev_u32", WW_LANE(b - a));
  op(2, "v_add_i32", WW_LANE(a + b));
  op(2, "v_sub_i32", WW_LANE(a - b));
  op(2, "v_add_u32/clamp", WW_LANE(a + b < a ? ~U(0) : a + b));
  op(2, "v_sub_u32/clamp", WW_LANE(a > b ? a - b : 0));
  op(2, "v_subrev_u32/clamp", WW_LANE(b > a ? b - a : 0));
  op(2, "v_add_i32/clamp", WW_LANE(saturated(int64_t(i(a)) + i(b))));
  op(2, "v_sub_i32/clamp", WW_LANE(saturated(int64_t(i(a)) - i(b))));
  op(2, "v_mul_lo_u32", WW_LANE(a * b));
  op(2, "v_mul_hi_u32", WW_LANE(U(uint64_t(a) * b >> 32)));
  op(2, "v_mul_hi_i32", WW_LANE(U(int64_t(i(a)) * i(b) >> 32)));
  op(2, "v_mul_u32_u24", WW_LANE((a & 0xffffff) * (b & 0xffffff)));
  op(2, "v_mul_i32_i24", WW_LANE(U(i(a << 8) >> 8) * U(i(b << 8) >> 8)));
  op(2, "v_and_b32", WW_LANE(a & b));
  op(2, "v_or_b32", WW_LANE(a | b));
  op(2, "v_xor_b32", WW_LANE(a ^ b));
  op(2, "v_xnor_b32", WW_LANE(~(a ^ b)));
  op(2, "v_lshlrev_b32", WW_LANE(b << (a & 31)));
  op(2, "v_lshrrev_b32", WW_LANE(b >> (a & 31)));
  op(2, "v_ashrrev_i32", WW_LANE(U(i(b) >> (a & 31))));
  op(2, "v_min_u32", WW_LANE(a < b ? a : b));
  op(2, "v_max_u32", WW_LANE(a > b ? a : b));
  op(2, "v_min_i32", WW_LANE(i(a) < i(b) ? a : b));
  op(2, "v_max_i32", WW_LANE(i(a) > i(b) ? a : b));
  op(2, "v_bcnt_u32_b32", WW_LANE(U(std::popcount(a)) + b));
  op(2, "v_bfm_b32", WW_LANE(((U(1) << (a & 31)) - 1) << (b & 31)));
  op(2, "v_add_u16", WW_LANE((a + b) & 0xffff));
  op(2, "v_sub_u16", WW_LANE((a - b) & 0xffff));
  op(2, "v_mul_lo_u16", WW_LANE((a * b) & 0xffff));
  op(2, "v_lshlrev_b16", WW_LANE((b << (a & 15)) & 0xffff));
  op(2, "v_lshrrev_b16", WW_LANE((b & 0xffff) >> (a & 15)));
  op(2, "v_pack_b32_f16", WW_LANE((a & 0xffff) | b << 16));

  op(3, "v_add3_u32", WW_LANE(a + b + c));
  op(3, "v_or3_b32", WW_LANE(a | b | c));
  op(3, "v_and_or_b32", WW_LANE((a & b) | c));
  op(3, "v_lshl_or_b32", WW_LANE((a << (b & 31)) | c));
  op(3, "v_lshl_add_u32", WW_LANE((a << (b & 31)) + c));
  op(3, "v_add_lshl_u32", WW_LANE((a + b) << (c & 31)));
  op(3, "v_xad_u32", WW_LANE((a ^ b) + c));
  op(3, "v_bfe_u32", WW_LANE(field(a, b, c)));
  op(3, "v_bfe_i32", WW_LANE(signed_field(a, b, c)));
  op(3, "v_bfi_b32", WW_LANE((a & b) | (~a & c)));
  op(3, "v_alignbit_b32", WW_LANE(U((uint64_t(a) << 32 | b) >> (c & 31))));
  op(3, "v_alignbyte_b32", WW_LANE(U((uint64_t(a) << 32 | b) >> (8 * (c & 3)))));
  op(3, "v_perm_b32", WW_LANE(permute_bytes(a, b, c)));
  op(3, "v_mad_u32_u24", WW_LANE((a & 0xffffff) * (b & 0xffffff) + c));
  op(3, "v_mad_i32_i24", WW_LANE(U(i(a << 8) >> 8) * U(i(b << 8) >> 8) + c));
  op(3, "v_min3_u32", WW_LANE(std::min({a, b, c})));
  op(3, "v_max3_u32", WW_LANE(std::max({a, b, c})));
  op(3, "v_min3_i32", WW_LANE(U(std::min({i(a), i(b), i(c)}))));
  op(3, "v_max3_i32", WW_LANE(U(std::max({i(a), i(b), i(c)}))));
  op(3, "v_med3_u32", WW_LANE(std::max(std::min(a, b), std::min(std::max(a, b), c))));
  op(3, "v_med3_i32", WW_LANE(U(std::max(std::min(i(a), i(b)), std::min(std::max(i(a), i(b)), i(c))))));

  op(2, "v_add_f32", WW_LANE(u(f(a) + f(b))));
  op(2, "v_sub_f32", WW_LANE(u(f(a) - f(b))));
  op(2, "v_subrev_f32", WW_LANE(u(f(b) - f(a))));
  op(2, "v_mul_f32", WW_LANE(u(f(a) * f(b))));
  op(2, "v_mul_legacy_f32", WW_LANE(f(a) == 0 || f(b) == 0 ? 0 : u(f(a) * f(b))));
  op(2, "v_min_f32", WW_LANE(u(smaller(f(a), f(b)))));
  op(2, "v_max_f32", WW_LANE(u(larger(f(a), f(b)))));
  op(3, "v_fma_f32", WW_LANE(u(std::fmaf(f(a), f(b), f(c)))));
  op(3, "v_med3_f32", WW_LANE(u(middle(f(a), f(b), f(c)))));
  op(3, "v_min3_f32", WW_LANE(u(smaller(smaller(f(a), f(b)), f(c)))));
  op(3, "v_max3_f32", WW_LANE(u(larger(larger(f(a), f(b)), f(c)))));
  op(3, "v_fmamk_f32", WW_LANE(u(std::fmaf(f(a), f(b), f(c)))));
  op(3, "v_fmaak_f32", WW_LANE(u(std::fmaf(f(a), f(b), f(c)))));
  update("v_fmac_f32", WW_LANE(u(std::fmaf(f(a), f(b), f(c)))));
  op(1, "v_rcp_f32", WW_LANE(u(1.0f / f(a))));
  op(1, "v_rcp_iflag_f32", WW_LANE(u(1.0f / f(a))));
  op(1, "v_rsq_f32", WW_LANE(u(1.0f / std::sqrt(f(a)))));
  op(1, "v_sqrt_f32", WW_LANE(u(std::sqrt(f(a)))));
  op(1, "v_exp_f32", WW_LANE(u(std::exp2(f(a)))));
  op(1, "v_log_f32", WW_LANE(u(std::log2(f(a)))));
  op(1, "v_floor_f32", WW_LANE(u(std::floor(f(a)))));
  op(1, "v_ceil_f32", WW_LANE(u(std::ceil(f(a)))));
  op(1, "v_trunc_f32", WW_LANE(u(std::trunc(f(a)))));
  op(1, "v_rndne_f32", WW_LANE(u(std::nearbyint(f(a)))));
  op(1, "v_fract_f32", WW_LANE(u(f(a) - std::floor(f(a)))));
  op(2, "v_ldexp_f32", WW_LANE(u(std::ldexp(f(a), i(b)))));
  t["v_bitop3_b32"] = {.run = truth_table};
}
#undef WW_LANE

}  // namespace warpwright::amd
