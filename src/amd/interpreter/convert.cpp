// Conversions between number formats.
#include <array>
#include <bit>
#include <cmath>

#include "amd/interpreter/bits.h"
#include "amd/interpreter/formats.h"
#include "amd/interpreter/state.h"

namespace warpwright::amd {
namespace {

// entry.lanes with the sources' modifiers; entry.a sources.
void convert(Machine& m, Wave& w, const Op& op) {
  Lanes room[2], values;
  const U* s[2] = {};
  for (int n = 0; n < op.entry.a; ++n) s[n] = m.modified_lanes(w, op.operand(size_t(n + 1)), room[n]);
  if (op.entry.a == 1) s[1] = s[0];
  op.entry.lanes(values, s[0], s[1], nullptr);
  m.store_lanes(w, op.operand(0), values);
}

// Two floats to two 8-bit codes in one half of the destination; the other half stays.
void to_eight_bits(Machine& m, Wave& w, const Op& op) {
  Lanes room[2], values;
  const U* a = m.modified_lanes(w, op.operand(1), room[0]);
  const U* b = m.modified_lanes(w, op.operand(2), room[1]);
  const U* old = m.destination(w, op.operand(0));
  const auto selected = op.instruction->modifiers.find("op_sel");
  const bool high =
      selected != op.instruction->modifiers.end() && selected->second.size() > 2 && selected->second[2] != 0;
  for (int l = 0; l < kLanes; ++l) {
    const U pair = U(eight_bit_code(m.chip(), Element(op.entry.a), f(a[l]))) |
                   U(eight_bit_code(m.chip(), Element(op.entry.a), f(b[l]))) << 8;
    values[l] = high ? (old[l] & 0xffff) | pair << 16 : (old[l] & 0xffff0000) | pair;
  }
  m.store_lanes(w, op.operand(0), values);
}

void from_eight_bits(Machine& m, Wave& w, const Op& op) {
  Lanes room, values;
  const std::array<float, 256>& table = eight_bit_table(m.chip(), Element(op.entry.a));
  const U* a = op.instruction->sdwa ? m.modified_lanes(w, op.operand(1), room) : m.lanes(w, op.operand(1), room);
  const int byte = op.instruction->modifier("byte_sel");
  for (int l = 0; l < kLanes; ++l) values[l] = u(table[a[l] >> (8 * byte) & 0xff]);
  m.store_lanes(w, op.operand(0), values);
}

U half_of(float x) { return from_float<fp16>(x).bits; }
U to_unsigned(float x) { return std::isnan(x) || x <= 0 ? 0 : x >= 4294967296.0f ? ~U(0) : U(x); }
U to_signed(float x) {
  if (std::isnan(x)) return 0;
  return x <= -2147483648.0f ? 0x80000000u : x >= 2147483648.0f ? 0x7fffffffu : U(int32_t(x));
}

}  // namespace

#define WW_EACH(expression)                                     \
  [](U* d, const U* a, [[maybe_unused]] const U* b, const U*) { \
    for (int l = 0; l < kLanes; ++l) d[l] = expression;         \
  }

void add_convert_ops(OpTable& t) {
  const auto op = [&](int sources, const char* name, LaneFunction function) {
    t[name] = {.run = convert, .lanes = function, .a = sources, .modifiers = true};
  };
  op(1, "v_cvt_f32_u32", WW_EACH(u(float(a[l]))));
  op(1, "v_cvt_f32_i32", WW_EACH(u(float(int32_t(a[l])))));
  op(1, "v_cvt_u32_f32", WW_EACH(to_unsigned(f(a[l]))));
  op(1, "v_cvt_i32_f32", WW_EACH(to_signed(f(a[l]))));
  op(1, "v_cvt_f32_ubyte0", WW_EACH(u(float(a[l] & 0xff))));
  op(1, "v_cvt_f32_ubyte1", WW_EACH(u(float(a[l] >> 8 & 0xff))));
  op(1, "v_cvt_f32_ubyte2", WW_EACH(u(float(a[l] >> 16 & 0xff))));
  op(1, "v_cvt_f32_ubyte3", WW_EACH(u(float(a[l] >> 24))));
  op(1, "v_cvt_f32_f16", WW_EACH(u(to_float(fp16{uint16_t(a[l])}))));
  op(1, "v_cvt_f16_f32", WW_EACH(half_of(f(a[l]))));
  op(1, "v_cvt_f32_bf16", WW_EACH(a[l] << 16));
  op(2, "v_cvt_pk_bf16_f32", WW_EACH(U(from_float<bf16>(f(a[l])).bits) | U(from_float<bf16>(f(b[l])).bits) << 16));
  op(2, "v_cvt_pk_f16_f32", WW_EACH(half_of(f(a[l])) | half_of(f(b[l])) << 16));
  t["v_cvt_pk_fp8_f32"] = {.run = to_eight_bits, .a = int(Element::fp8), .modifiers = true};
  t["v_cvt_pk_bf8_f32"] = {.run = to_eight_bits, .a = int(Element::bf8), .modifiers = true};
  t["v_cvt_f32_fp8"] = {.run = from_eight_bits, .a = int(Element::fp8), .modifiers = true};
  t["v_cvt_f32_bf8"] = {.run = from_eight_bits, .a = int(Element::bf8), .modifiers = true};
}
#undef WW_EACH

}  // namespace warpwright::amd
