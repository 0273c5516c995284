// Scalar arithmetic.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "amd/interpreter/state.h"

namespace warpwright::amd {
namespace {

using U64 = uint64_t;
using F = uint32_t&;

int32_t s32(U64 x) { return int32_t(uint32_t(x)); }
int64_t s64(U64 x) { return int64_t(x); }

// entry.a and entry.b: bits of the first source and of the result; entry.c: number of sources, or -1 where the second
// source has 32 bits although the first has 64.
void scalar_alu(Machine& m, Wave& w, const Op& op) {
  const OpEntry& e = op.entry;
  const auto source = [&](size_t i, int bits) {
    return bits == 64 ? m.scalar64(w, op.operand(i)) : U64(m.scalar(w, op.operand(i)));
  };
  const size_t first = e.b == 0 ? 0 : 1;
  const U64 a = source(first, e.a);
  const U64 b = e.c == 1 ? 0 : source(first + 1, e.c == -1 ? 32 : e.a);
  const U64 d = e.scalar(a, b, w.scc);
  if (e.b == 64) m.set_scalar64(w, op.operand(0), d);
  if (e.b == 32) m.set_scalar(w, op.operand(0), uint32_t(d));
}

// The destination is the first source; entry.b: the constant is signed.
void scalar_constant(Machine& m, Wave& w, const Op& op) {
  const U64 old = m.scalar(w, op.operand(0));
  const U64 constant =
      op.entry.b ? U64(uint32_t(int32_t(int16_t(op.operand(1).value)))) : U64(op.operand(1).value & 0xffff);
  const U64 d = op.entry.scalar(old, constant, w.scc);
  if (op.entry.a != 0) m.set_scalar(w, op.operand(0), uint32_t(d));
}

// exec = f(source, exec); the destination has the old mask.
void save_exec(Machine& m, Wave& w, const Op& op) {
  const U64 old = w.exec();
  const U64 mask = op.entry.scalar(m.scalar64(w, op.operand(1)), old, w.scc);
  m.set_scalar64(w, op.operand(0), old);
  w.set_exec(mask);
}

void read_pc(Machine& m, Wave& w, const Op& op) {
  // The instruction is four bytes long.
  m.set_scalar64(w, op.operand(0), m.code_address(op.instruction->address + 4));
}

void read_hardware(Machine& m, Wave& w, const Op& op) { m.set_scalar(w, op.operand(0), 0); }

U64 flag(F scc, U64 value) {
  scc = value != 0;
  return value;
}
U64 flag32(F scc, U64 value) {
  value &= 0xffffffff;
  return flag(scc, value);
}
bool overflows(int64_t value) { return value != int32_t(value); }

U64 bit_field(U64 value, U64 control, int bits, bool is_signed) {
  const int offset = int(control & U64(bits - 1)), width = int(control >> 16 & 0x7f);
  if (width == 0) return 0;
  U64 field = value >> offset;
  if (is_signed && bits == 32) field = U64(int64_t(s32(value)) >> offset);
  if (is_signed && bits == 64) field = U64(s64(value) >> offset);
  if (width >= bits) return field;
  field &= (U64(1) << width) - 1;
  if (is_signed && (field >> (width - 1) & 1)) field |= ~U64(0) << width;
  return field;
}

void add_compares(OpTable& t) {
  const auto compare = [&](const char* name, ScalarFunction f, int bits = 32) {
    t[std::string("s_cmp_") + name] = {.run = scalar_alu, .scalar = f, .a = bits, .b = 0, .c = 2};
    const bool is_signed = std::string(name).ends_with("i32");
    t[std::string("s_cmpk_") + name] = {.run = scalar_constant, .scalar = f, .a = 0, .b = is_signed};
  };
  compare("eq_u32", [](U64 a, U64 b, F scc) { return U64(scc = a == b); });
  compare("eq_i32", [](U64 a, U64 b, F scc) { return U64(scc = a == b); });
  compare("lg_u32", [](U64 a, U64 b, F scc) { return U64(scc = a != b); });
  compare("lg_i32", [](U64 a, U64 b, F scc) { return U64(scc = a != b); });
  compare("lt_u32", [](U64 a, U64 b, F scc) { return U64(scc = a < b); });
  compare("le_u32", [](U64 a, U64 b, F scc) { return U64(scc = a <= b); });
  compare("gt_u32", [](U64 a, U64 b, F scc) { return U64(scc = a > b); });
  compare("ge_u32", [](U64 a, U64 b, F scc) { return U64(scc = a >= b); });
  compare("lt_i32", [](U64 a, U64 b, F scc) { return U64(scc = s32(a) < s32(b)); });
  compare("le_i32", [](U64 a, U64 b, F scc) { return U64(scc = s32(a) <= s32(b)); });
  compare("gt_i32", [](U64 a, U64 b, F scc) { return U64(scc = s32(a) > s32(b)); });
  compare("ge_i32", [](U64 a, U64 b, F scc) { return U64(scc = s32(a) >= s32(b)); });
  compare(
      "eq_u64", [](U64 a, U64 b, F scc) { return U64(scc = a == b); }, 64);
  compare(
      "lg_u64", [](U64 a, U64 b, F scc) { return U64(scc = a != b); }, 64);
  t["s_bitcmp0_b32"] = {.run = scalar_alu,
                        .scalar = [](U64 a, U64 b, F scc) { return U64(scc = !(a >> (b & 31) & 1)); },
                        .a = 32,
                        .b = 0,
                        .c = 2};
  t["s_bitcmp1_b32"] = {.run = scalar_alu,
                        .scalar = [](U64 a, U64 b, F scc) { return U64(scc = a >> (b & 31) & 1); },
                        .a = 32,
                        .b = 0,
                        .c = 2};
}

}  // namespace

void add_scalar_ops(OpTable& t) {
  const auto one = [&](const char* name, int from, int to, ScalarFunction f) {
    t[name] = {.run = scalar_alu, .scalar = f, .a = from, .b = to, .c = 1};
  };
  const auto two = [&](const char* name, int bits, ScalarFunction f) {
    t[name] = {.run = scalar_alu, .scalar = f, .a = bits, .b = bits, .c = 2};
  };
  const auto shift = [&](const char* name, ScalarFunction f) {
    t[name] = {.run = scalar_alu, .scalar = f, .a = 64, .b = 64, .c = -1};
  };
  one("s_mov_b32", 32, 32, [](U64 a, U64, F) { return a; });
  one("s_mov_b64", 64, 64, [](U64 a, U64, F) { return a; });
  one("s_not_b32", 32, 32, [](U64 a, U64, F scc) { return flag32(scc, ~a); });
  one("s_not_b64", 64, 64, [](U64 a, U64, F scc) { return flag(scc, ~a); });
  one("s_brev_b32", 32, 32, [](U64 a, U64, F) {
    U64 r = 0;
    for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
    return r;
  });
  one("s_bcnt1_i32_b32", 32, 32, [](U64 a, U64, F scc) { return flag(scc, U64(std::popcount(a))); });
  one("s_bcnt1_i32_b64", 64, 32, [](U64 a, U64, F scc) { return flag(scc, U64(std::popcount(a))); });
  one("s_ff1_i32_b32", 32, 32, [](U64 a, U64, F) { return a == 0 ? ~U64(0) : U64(std::countr_zero(a)); });
  one("s_ff1_i32_b64", 64, 32, [](U64 a, U64, F) { return a == 0 ? ~U64(0) : U64(std::countr_zero(a)); });
  one("s_flbit_i32_b32", 32, 32, [](U64 a, U64, F) { return a == 0 ? ~U64(0) : U64(std::countl_zero(uint32_t(a))); });
  one("s_flbit_i32_b64", 64, 32, [](U64 a, U64, F) { return a == 0 ? ~U64(0) : U64(std::countl_zero(a)); });
  one("s_sext_i32_i8", 32, 32, [](U64 a, U64, F) { return U64(int64_t(int8_t(a))); });
  one("s_sext_i32_i16", 32, 32, [](U64 a, U64, F) { return U64(int64_t(int16_t(a))); });
  one("s_abs_i32", 32, 32, [](U64 a, U64, F scc) { return flag32(scc, s32(a) < 0 ? 0 - a : a); });

  two("s_add_u32", 32, [](U64 a, U64 b, F scc) { return scc = uint32_t((a + b) >> 32), a + b; });
  two("s_sub_u32", 32, [](U64 a, U64 b, F scc) { return scc = b > a, a - b; });
  two("s_addc_u32", 32, [](U64 a, U64 b, F scc) {
    const U64 sum = a + b + scc;
    return scc = uint32_t(sum >> 32), sum;
  });
  two("s_subb_u32", 32, [](U64 a, U64 b, F scc) {
    const U64 difference = a - b - scc;
    return scc = b + scc > a, difference;
  });
  two("s_add_i32", 32, [](U64 a, U64 b, F scc) { return scc = overflows(int64_t(s32(a)) + s32(b)), a + b; });
  two("s_sub_i32", 32, [](U64 a, U64 b, F scc) { return scc = overflows(int64_t(s32(a)) - s32(b)), a - b; });
  two("s_mul_i32", 32, [](U64 a, U64 b, F) { return a * b; });
  two("s_mul_hi_u32", 32, [](U64 a, U64 b, F) { return a * b >> 32; });
  two("s_mul_hi_i32", 32, [](U64 a, U64 b, F) { return U64(int64_t(s32(a)) * s32(b) >> 32); });
  two("s_absdiff_i32", 32, [](U64 a, U64 b, F scc) { return flag32(scc, s32(a) > s32(b) ? a - b : b - a); });
  two("s_min_u32", 32, [](U64 a, U64 b, F scc) { return scc = a < b, a < b ? a : b; });
  two("s_max_u32", 32, [](U64 a, U64 b, F scc) { return scc = a > b, a > b ? a : b; });
  two("s_min_i32", 32, [](U64 a, U64 b, F scc) { return scc = s32(a) < s32(b), s32(a) < s32(b) ? a : b; });
  two("s_max_i32", 32, [](U64 a, U64 b, F scc) { return scc = s32(a) > s32(b), s32(a) > s32(b) ? a : b; });
  two("s_cselect_b32", 32, [](U64 a, U64 b, F scc) { return scc ? a : b; });
  two("s_cselect_b64", 64, [](U64 a, U64 b, F scc) { return scc ? a : b; });
  two("s_lshl_b32", 32, [](U64 a, U64 b, F scc) { return flag32(scc, a << (b & 31)); });
  two("s_lshr_b32", 32, [](U64 a, U64 b, F scc) { return flag32(scc, a >> (b & 31)); });
  two("s_ashr_i32", 32, [](U64 a, U64 b, F scc) { return flag32(scc, U64(int64_t(s32(a) >> (b & 31)))); });
  shift("s_lshl_b64", [](U64 a, U64 b, F scc) { return flag(scc, a << (b & 63)); });
  shift("s_lshr_b64", [](U64 a, U64 b, F scc) { return flag(scc, a >> (b & 63)); });
  shift("s_ashr_i64", [](U64 a, U64 b, F scc) { return flag(scc, U64(s64(a) >> (b & 63))); });
  two("s_bfm_b32", 32, [](U64 a, U64 b, F) { return ((U64(1) << (a & 31)) - 1) << (b & 31); });
  two("s_bfe_u32", 32, [](U64 a, U64 b, F scc) { return flag32(scc, bit_field(a, b, 32, false)); });
  two("s_bfe_i32", 32, [](U64 a, U64 b, F scc) { return flag32(scc, bit_field(a, b, 32, true)); });
  shift("s_bfe_u64", [](U64 a, U64 b, F scc) { return flag(scc, bit_field(a, b, 64, false)); });
  shift("s_bfe_i64", [](U64 a, U64 b, F scc) { return flag(scc, bit_field(a, b, 64, true)); });
  two("s_lshl1_add_u32", 32, [](U64 a, U64 b, F scc) { return scc = ((a << 1) + b) >> 32 != 0, (a << 1) + b; });
  two("s_lshl2_add_u32", 32, [](U64 a, U64 b, F scc) { return scc = ((a << 2) + b) >> 32 != 0, (a << 2) + b; });
  two("s_lshl3_add_u32", 32, [](U64 a, U64 b, F scc) { return scc = ((a << 3) + b) >> 32 != 0, (a << 3) + b; });
  two("s_lshl4_add_u32", 32, [](U64 a, U64 b, F scc) { return scc = ((a << 4) + b) >> 32 != 0, (a << 4) + b; });
  two("s_pack_ll_b32_b16", 32, [](U64 a, U64 b, F) { return (a & 0xffff) | b << 16; });
  two("s_pack_lh_b32_b16", 32, [](U64 a, U64 b, F) { return (a & 0xffff) | (b & 0xffff0000); });
  two("s_pack_hh_b32_b16", 32, [](U64 a, U64 b, F) { return a >> 16 | (b & 0xffff0000); });

  const auto logic = [&](const std::string& name, ScalarFunction f) {
    t["s_" + name + "_b32"] = {.run = scalar_alu, .scalar = f, .a = 32, .b = 32, .c = 2};
    t["s_" + name + "_b64"] = {.run = scalar_alu, .scalar = f, .a = 64, .b = 64, .c = 2};
    t["s_" + name + "_saveexec_b64"] = {.run = save_exec, .scalar = f};
  };
  logic("and", [](U64 a, U64 b, F scc) { return flag(scc, a & b); });
  logic("or", [](U64 a, U64 b, F scc) { return flag(scc, a | b); });
  logic("xor", [](U64 a, U64 b, F scc) { return flag(scc, a ^ b); });
  logic("andn2", [](U64 a, U64 b, F scc) { return flag(scc, a & ~b); });
  t["s_andn1_saveexec_b64"] = {.run = save_exec, .scalar = [](U64 a, U64 b, F scc) { return flag(scc, ~a & b); }};
  // Results whose upper half is not zero for 32-bit sources need their own form.
  const auto inverted = [&](const std::string& name, ScalarFunction f32, ScalarFunction f64) {
    t["s_" + name + "_b32"] = {.run = scalar_alu, .scalar = f32, .a = 32, .b = 32, .c = 2};
    t["s_" + name + "_b64"] = {.run = scalar_alu, .scalar = f64, .a = 64, .b = 64, .c = 2};
    t["s_" + name + "_saveexec_b64"] = {.run = save_exec, .scalar = f64};
  };
  inverted(
      "orn2", [](U64 a, U64 b, F scc) { return flag32(scc, a | ~b); },
      [](U64 a, U64 b, F scc) { return flag(scc, a | ~b); });
  inverted(
      "nand", [](U64 a, U64 b, F scc) { return flag32(scc, ~(a & b)); },
      [](U64 a, U64 b, F scc) { return flag(scc, ~(a & b)); });
  inverted(
      "nor", [](U64 a, U64 b, F scc) { return flag32(scc, ~(a | b)); },
      [](U64 a, U64 b, F scc) { return flag(scc, ~(a | b)); });
  inverted(
      "xnor", [](U64 a, U64 b, F scc) { return flag32(scc, ~(a ^ b)); },
      [](U64 a, U64 b, F scc) { return flag(scc, ~(a ^ b)); });

  t["s_movk_i32"] = {.run = scalar_constant, .scalar = [](U64, U64 b, F) { return b; }, .a = 1, .b = 1};
  t["s_cmovk_i32"] = {
      .run = scalar_constant, .scalar = [](U64 a, U64 b, F scc) { return scc ? b : a; }, .a = 1, .b = 1};
  t["s_addk_i32"] = {.run = scalar_constant,
                     .scalar = [](U64 a, U64 b, F scc) { return scc = overflows(int64_t(s32(a)) + s32(b)), a + b; },
                     .a = 1,
                     .b = 1};
  t["s_mulk_i32"] = {.run = scalar_constant, .scalar = [](U64 a, U64 b, F) { return a * b; }, .a = 1, .b = 1};
  t["s_cmov_b32"] = {.run = [](Machine& m, Wave& w, const Op& op) {
    const uint32_t value = m.scalar(w, op.operand(1));
    if (w.scc) m.set_scalar(w, op.operand(0), value);
  }};
  const auto set_bit = [](Machine& m, Wave& w, const Op& op) {
    const uint32_t bit = 1u << (m.scalar(w, op.operand(1)) & 31), old = m.scalar(w, op.operand(0));
    m.set_scalar(w, op.operand(0), op.entry.a != 0 ? old | bit : old & ~bit);
  };
  t["s_bitset1_b32"] = {.run = set_bit, .a = 1};
  t["s_bitset0_b32"] = {.run = set_bit, .a = 0};
  t["s_getpc_b64"] = {.run = read_pc};
  t["s_getreg_b32"] = {.run = read_hardware};
  add_compares(t);
}

}  // namespace warpwright::amd
