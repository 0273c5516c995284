// Vector operations on register pairs, with carries and masks, across lanes, and packed.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "amd/interpreter/bits.h"
#include "amd/interpreter/state.h"

namespace warpwright::amd {
namespace {

using Wide = uint64_t[kLanes];

void wide_lanes(Machine& m, Wave& w, const Operand& o, Wide& out) {
  if (!o.is_vector()) {
    const uint64_t value = m.scalar64(w, o);
    for (uint64_t& x : out) x = value;
    return;
  }
  Lanes room;
  const U* low = m.lanes(w, o, room);
  const U* high = m.lanes(w, o, room, 1);
  for (int l = 0; l < kLanes; ++l) out[l] = low[l] | uint64_t(high[l]) << 32;
}

void store_wide(Machine& m, Wave& w, const Operand& o, const Wide& values) {
  Lanes half;
  for (int word = 0; word < 2; ++word) {
    for (int l = 0; l < kLanes; ++l) half[l] = U(values[l] >> (32 * word));
    m.store_lanes(w, o, half, word);
  }
}

const U* source(Machine& m, Wave& w, const Op& op, size_t n, Lanes& room) {
  return op.plain ? m.lanes(w, op.operand(n), room) : m.modified_lanes(w, op.operand(n), room);
}

// A mask that a vector instruction writes has zeros in the lanes that are off.
void store_mask(Machine& m, Wave& w, const Operand& o, uint64_t mask) { m.set_scalar64(w, o, mask & w.exec()); }

// entry.a: 0 add, 1 subtract, 2 subtract reversed; entry.b: takes a carry.
void carry(Machine& m, Wave& w, const Op& op) {
  Lanes room[2], values;
  const U* a = source(m, w, op, 2, room[0]);
  const U* b = source(m, w, op, 3, room[1]);
  const uint64_t in = op.entry.b != 0 ? m.scalar64(w, op.operand(4)) : 0;
  uint64_t out = 0;
  for (int l = 0; l < kLanes; ++l) {
    const uint64_t c = in >> l & 1;
    const U x = op.entry.a == 2 ? b[l] : a[l], y = op.entry.a == 2 ? a[l] : b[l];
    const uint64_t r = op.entry.a == 0 ? uint64_t(x) + y + c : uint64_t(x) - y - c;
    values[l] = U(r);
    out |= (r >> 32 & 1) << l;
  }
  m.store_lanes(w, op.operand(0), values);
  store_mask(m, w, op.operand(1), out);
}

void select(Machine& m, Wave& w, const Op& op) {
  Lanes room[2], values;
  const U* no = source(m, w, op, 1, room[0]);
  const U* yes = source(m, w, op, 2, room[1]);
  const uint64_t mask = m.scalar64(w, op.operand(3));
  for (int l = 0; l < kLanes; ++l) values[l] = mask >> l & 1 ? yes[l] : no[l];
  m.store_lanes(w, op.operand(0), values);
}

enum Test { kF, kLt, kEq, kLe, kGt, kLg, kGe, kO, kU, kNge, kNlg, kNgt, kNle, kNeq, kNlt, kT };

template <class T>
bool holds(int test, T a, T b) {
  switch (test) {
    case kLt:
      return a < b;
    case kEq:
      return a == b;
    case kLe:
      return a <= b;
    case kGt:
      return a > b;
    case kLg:
      return a < b || a > b;
    case kGe:
      return a >= b;
    case kO:
      return !std::isunordered(a, b);
    case kU:
      return std::isunordered(a, b);
    case kNge:
      return !(a >= b);
    case kNlg:
      return !(a < b || a > b);
    case kNgt:
      return !(a > b);
    case kNle:
      return !(a <= b);
    case kNeq:
      return !(a == b);
    case kNlt:
      return !(a < b);
    default:
      return test == kT;
  }
}

enum Type { kU32, kI32, kF32, kU64, kI64, kU16, kI16 };

// entry.a: the test; entry.b: the type; entry.c: also writes exec.
void compare(Machine& m, Wave& w, const Op& op) {
  uint64_t mask = 0;
  if (op.entry.b == kU64 || op.entry.b == kI64) {
    Wide a, b;
    wide_lanes(m, w, op.operand(1), a);
    wide_lanes(m, w, op.operand(2), b);
    for (int l = 0; l < kLanes; ++l) {
      const bool yes =
          op.entry.b == kU64 ? holds(op.entry.a, a[l], b[l]) : holds(op.entry.a, int64_t(a[l]), int64_t(b[l]));
      mask |= uint64_t(yes) << l;
    }
  } else {
    Lanes room[2];
    const U* a = source(m, w, op, 1, room[0]);
    const U* b = source(m, w, op, 2, room[1]);
    for (int l = 0; l < kLanes; ++l) {
      bool yes = false;
      switch (op.entry.b) {
        case kU32:
          yes = holds(op.entry.a, a[l], b[l]);
          break;
        case kI32:
          yes = holds(op.entry.a, int32_t(a[l]), int32_t(b[l]));
          break;
        case kU16:
          yes = holds(op.entry.a, uint16_t(a[l]), uint16_t(b[l]));
          break;
        case kI16:
          yes = holds(op.entry.a, int16_t(a[l]), int16_t(b[l]));
          break;
        default:
          yes = holds(op.entry.a, f(a[l]), f(b[l]));
      }
      mask |= uint64_t(yes) << l;
    }
  }
  const uint64_t active = mask & w.exec();
  m.set_scalar64(w, op.operand(0), active);
  if (op.entry.c != 0) w.set_exec(active);
}

// entry.a: 0 shift left, 1 shift right, 2 arithmetic; the count is the first source.
void wide_shift(Machine& m, Wave& w, const Op& op) {
  Lanes room;
  Wide values;
  const U* count = m.lanes(w, op.operand(1), room);
  wide_lanes(m, w, op.operand(2), values);
  for (int l = 0; l < kLanes; ++l) {
    const int n = int(count[l] & 63);
    values[l] = op.entry.a == 0 ? values[l] << n : op.entry.a == 1 ? values[l] >> n : uint64_t(int64_t(values[l]) >> n);
  }
  store_wide(m, w, op.operand(0), values);
}

void shift_add(Machine& m, Wave& w, const Op& op) {
  Lanes room;
  Wide a, c;
  wide_lanes(m, w, op.operand(1), a);
  const U* count = m.lanes(w, op.operand(2), room);
  wide_lanes(m, w, op.operand(3), c);
  for (int l = 0; l < kLanes; ++l) a[l] = (a[l] << (count[l] & 7)) + c[l];
  store_wide(m, w, op.operand(0), a);
}

// entry.a: signed.
void multiply_add(Machine& m, Wave& w, const Op& op) {
  Lanes room[2];
  Wide c;
  const U* a = m.lanes(w, op.operand(2), room[0]);
  const U* b = m.lanes(w, op.operand(3), room[1]);
  wide_lanes(m, w, op.operand(4), c);
  uint64_t overflow = 0;
  for (int l = 0; l < kLanes; ++l) {
    const uint64_t product = op.entry.a != 0 ? uint64_t(int64_t(int32_t(a[l])) * int32_t(b[l])) : uint64_t(a[l]) * b[l];
    overflow |= uint64_t(product + c[l] < product) << l;
    c[l] += product;
  }
  store_wide(m, w, op.operand(0), c);
  store_mask(m, w, op.operand(1), overflow);
}

void move_wide(Machine& m, Wave& w, const Op& op) {
  Wide values;
  wide_lanes(m, w, op.operand(1), values);
  store_wide(m, w, op.operand(0), values);
}

int bit_of(const Instruction& in, const char* name, size_t n, int otherwise) {
  const auto found = in.modifiers.find(name);
  return found == in.modifiers.end() || n >= found->second.size() ? otherwise : found->second[n];
}

// Two floats per operand. op_sel chooses the half that the low result takes, op_sel_hi the other; a scalar pair or a
// constant is used likewise. entry.a: 0 multiply, 1 add, 2 fused multiply-add, 3 move.
void packed(Machine& m, Wave& w, const Op& op) {
  const Instruction& in = *op.instruction;
  const size_t sources = op.entry.a == 2 ? 3 : 2;
  Lanes values[2];
  for (int half = 0; half < 2; ++half) {
    Lanes room[3];
    const U* s[3] = {};
    for (size_t n = 0; n < sources; ++n) {
      const Operand& o = op.operand(n + 1);
      const int chosen = half == 0 ? bit_of(in, "op_sel", n, 0) : bit_of(in, "op_sel_hi", n, 1);
      const bool constant = o.place == Place::literal;
      const U* from = m.lanes(w, o, room[n], constant ? 0 : chosen);
      const bool negate = bit_of(in, half == 0 ? "neg_lo" : "neg_hi", n, 0) != 0;
      for (int l = 0; l < kLanes; ++l) room[n][l] = negate ? from[l] ^ 0x80000000 : from[l];
      s[n] = room[n];
    }
    for (int l = 0; l < kLanes; ++l) {
      switch (op.entry.a) {
        case 0:
          values[half][l] = u(f(s[0][l]) * f(s[1][l]));
          break;
        case 1:
          values[half][l] = u(f(s[0][l]) + f(s[1][l]));
          break;
        case 2:
          values[half][l] = u(std::fmaf(f(s[0][l]), f(s[1][l]), f(s[2][l])));
          break;
        default:
          values[half][l] = s[half][l];
      }
    }
  }
  for (int half = 0; half < 2; ++half) m.store_lanes(w, op.operand(0), values[half], half);
}

void read_first_lane(Machine& m, Wave& w, const Op& op) {
  Lanes room;
  const U* a = m.lanes(w, op.operand(1), room);
  m.set_scalar(w, op.operand(0), a[w.exec() == 0 ? 0 : std::countr_zero(w.exec())]);
}
void read_lane(Machine& m, Wave& w, const Op& op) {
  Lanes room;
  const U lane = m.scalar(w, op.operand(2)) & 63;
  m.set_scalar(w, op.operand(0), m.lanes(w, op.operand(1), room)[lane]);
}
void write_lane(Machine& m, Wave& w, const Op& op) {
  const U value = m.scalar(w, op.operand(1)), lane = m.scalar(w, op.operand(2)) & 63;
  m.destination(w, op.operand(0))[lane] = value;
}

// entry.a: 0 the lanes below 32, 1 those above.
void count_below(Machine& m, Wave& w, const Op& op) {
  Lanes room[2], values;
  const U* mask = m.lanes(w, op.operand(1), room[0]);
  const U* add = m.lanes(w, op.operand(2), room[1]);
  for (int l = 0; l < kLanes; ++l) {
    const uint64_t below = (uint64_t(1) << l) - 1;
    values[l] = U(std::popcount(mask[l] & U(op.entry.a == 0 ? below : below >> 32))) + add[l];
  }
  m.store_lanes(w, op.operand(0), values);
}

// Rows of entry.a lanes: the odd rows of the first register change places with the even ones of the second.
void swap_rows(Machine& m, Wave& w, const Op& op) {
  U* a = m.destination(w, op.operand(0));
  U* b = m.destination(w, op.operand(1));
  const int row = op.entry.a;
  for (int l = 0; l < kLanes; ++l) {
    if ((l / row & 1) == 0 && (w.exec() >> l & 1) != 0) std::swap(a[l + row], b[l]);
  }
}

}  // namespace

void add_wide_vector_ops(OpTable& t) {
  t["v_add_co_u32"] = {.run = carry, .a = 0, .b = 0, .modifiers = true};
  t["v_addc_co_u32"] = {.run = carry, .a = 0, .b = 1, .modifiers = true};
  t["v_sub_co_u32"] = {.run = carry, .a = 1, .b = 0, .modifiers = true};
  t["v_subb_co_u32"] = {.run = carry, .a = 1, .b = 1, .modifiers = true};
  t["v_subrev_co_u32"] = {.run = carry, .a = 2, .b = 0, .modifiers = true};
  t["v_subbrev_co_u32"] = {.run = carry, .a = 2, .b = 1, .modifiers = true};
  t["v_cndmask_b32"] = {.run = select, .modifiers = true};
  const char* tests[] = {"f", "lt",  "eq",  "le",  "gt",  "lg",  "ge",  "o",
                         "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "tru"};
  const char* types[] = {"u32", "i32", "f32", "u64", "i64", "u16", "i16"};
  for (int type = 0; type < 7; ++type) {
    for (int test = 0; test < 16; ++test) {
      const bool integer = type != kF32;
      // Integers have eight tests, and other words for two of them.
      if (integer && test > kGe && test != kT) continue;
      const std::string name = integer && test == kLg ? "ne" : integer && test == kT ? "t" : tests[test];
      t["v_cmp_" + name + "_" + types[type]] = {.run = compare, .a = test, .b = type, .c = 0, .modifiers = true};
      t["v_cmpx_" + name + "_" + types[type]] = {.run = compare, .a = test, .b = type, .c = 1, .modifiers = true};
    }
  }
  t["v_lshlrev_b64"] = {.run = wide_shift, .a = 0};
  t["v_lshrrev_b64"] = {.run = wide_shift, .a = 1};
  t["v_ashrrev_i64"] = {.run = wide_shift, .a = 2};
  t["v_lshl_add_u64"] = {.run = shift_add};
  t["v_mad_u64_u32"] = {.run = multiply_add, .a = 0};
  t["v_mad_i64_i32"] = {.run = multiply_add, .a = 1};
  t["v_mov_b64"] = {.run = move_wide};
  t["v_pk_mul_f32"] = {.run = packed, .a = 0};
  t["v_pk_add_f32"] = {.run = packed, .a = 1};
  t["v_pk_fma_f32"] = {.run = packed, .a = 2};
  t["v_pk_mov_b32"] = {.run = packed, .a = 3};
  t["v_readfirstlane_b32"] = {.run = read_first_lane};
  t["v_readlane_b32"] = {.run = read_lane};
  t["v_writelane_b32"] = {.run = write_lane};
  t["v_mbcnt_lo_u32_b32"] = {.run = count_below, .a = 0};
  t["v_mbcnt_hi_u32_b32"] = {.run = count_below, .a = 1};
  t["v_permlane16_swap_b32"] = {.run = swap_rows, .a = 16};
  t["v_permlane32_swap_b32"] = {.run = swap_rows, .a = 32};
}

}  // namespace warpwright::amd
