// Matrix instructions. D = A * B + C for one wave, whatever the mask of lanes is.
//
// A lane holds consecutive elements along K of one row of A (and of B, whose rows are the columns of D): row l % M, the
// (l / M)-th part of K. Of D it holds column l % M; the rows are 4 (l / 16) + r for 16x16, and for 32x32
// 8 (r / 4) + 4 (l / 32) + r % 4. Which elements of K the parts are is not visible in a product that sums over K, as
// long as A and B agree.
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "amd/interpreter/bits.h"
#include "amd/interpreter/formats.h"
#include "amd/interpreter/state.h"

namespace warpwright::amd {
namespace {

constexpr int kMaxK = 128;
constexpr int kMaxM = 32;

int bits_of(Element e) {
  switch (e) {
    case Element::bf16:
    case Element::f16:
      return 16;
    case Element::fp4:
      return 4;
    case Element::f32:
      return 32;
    default:
      return 8;
  }
}

float value_of(Element e, U bits, const std::array<float, 256>* table) {
  switch (e) {
    case Element::bf16:
      return std::bit_cast<float>(bits << 16);
    case Element::f16:
      return to_float(fp16{uint16_t(bits)});
    case Element::fp4:
      return to_float(e2m1{uint8_t(bits)});
    case Element::f32:
      return std::bit_cast<float>(bits);
    case Element::i8:
      return float(int8_t(bits));
    default:
      return (*table)[bits];
  }
}

// out[k][row]
void unpack(Machine& m, Wave& w, const Operand& o, Element e, int rows, int k, float (*out)[kMaxM]) {
  const int parts = kLanes / rows, per_lane = k / parts, bits = bits_of(e), per_word = 32 / bits;
  const auto* table = e == Element::fp8 || e == Element::bf8 ? &eight_bit_table(m.chip(), e) : nullptr;
  const U mask = bits == 32 ? ~U(0) : (U(1) << bits) - 1;
  Lanes room;
  for (int n = 0; n < per_lane; n += per_word) {
    const U* word = m.lanes(w, o, room, n / per_word);
    for (int l = 0; l < kLanes; ++l) {
      const int row = l % rows, first = l / rows * per_lane + n;
      for (int j = 0; j < per_word; ++j) out[first + j][row] = value_of(e, word[l] >> (bits * j) & mask, table);
    }
  }
}

// f8f6f4: the formats are modifiers.
Element chosen(const Instruction& in, const char* modifier, bool& known) {
  switch (in.modifier(modifier)) {
    case 0:
      return Element::fp8;
    case 1:
      return Element::bf8;
    case 4:
      return Element::fp4;
    default:
      known = false;
      return Element::fp8;
  }
}

// entry.a: M and K as 1000 M + K; entry.b, entry.c: formats of A and of B, or -1.
void multiply(Machine& m, Wave& w, const Op& op) {
  const int rows = op.entry.a / 1000, k = op.entry.a % 1000;
  Element a_format = Element(op.entry.b), b_format = Element(op.entry.c);
  const Instruction& in = *op.instruction;
  if (op.entry.b < 0) {
    bool known = true;
    a_format = chosen(in, "cbsz", known);
    b_format = chosen(in, "blgp", known);
    if (!known) return m.stop("6-bit operands are not supported: " + Machine::place_of(op));
  } else if (in.modifier("cbsz") != 0 || in.modifier("blgp") != 0 || in.modifier("abid") != 0) {
    return m.stop("a matrix instruction that broadcasts blocks is not supported: " + Machine::place_of(op));
  }
  static thread_local float a[kMaxK][kMaxM], b[kMaxK][kMaxM];
  unpack(m, w, op.operand(1), a_format, rows, k, a);
  unpack(m, w, op.operand(2), b_format, rows, k, b);
  float sum[kMaxM][kMaxM] = {};
  for (int j = 0; j < k; ++j) {
    for (int r = 0; r < rows; ++r) {
      const float x = a[j][r];
      for (int c = 0; c < rows; ++c) sum[r][c] += x * b[j][c];
    }
  }
  const int registers = rows * rows / kLanes;
  const Operand &d = op.operand(0), &c = op.operand(3);
  U result[16][kLanes];
  for (int r = 0; r < registers; ++r) {
    Lanes room;
    const U* base = m.lanes(w, c, room, c.is_vector() ? r : 0);
    for (int l = 0; l < kLanes; ++l) {
      const int row = rows == 16 ? 4 * (l / 16) + r : 8 * (r / 4) + 4 * (l / 32) + r % 4;
      const float total = sum[row][l % rows];
      if (a_format == Element::i8) {
        result[r][l] = base[l] + U(int32_t(total));
      } else {
        result[r][l] = std::bit_cast<U>(std::bit_cast<float>(base[l]) + total);
      }
    }
  }
  for (int r = 0; r < registers; ++r) std::memcpy(m.destination(w, d, r), result[r], sizeof(Lanes));
}

}  // namespace

void add_matrix_ops(OpTable& t) {
  const auto op = [&](const std::string& name, int rows, int k, Element a, Element b) {
    t["v_mfma_" + name] = {.run = multiply, .a = 1000 * rows + k, .b = int(a), .c = int(b)};
  };
  using enum Element;
  for (const auto& [rows, k] : {std::pair{16, 16}, {16, 32}, {32, 8}, {32, 16}}) {
    const std::string shape = std::to_string(rows) + "x" + std::to_string(rows) + "x" + std::to_string(k);
    op("f32_" + shape + "_bf16", rows, k, bf16, bf16);
    op("f32_" + shape + "_bf16_1k", rows, k, bf16, bf16);
    op("f32_" + shape + "_f16", rows, k, f16, f16);
  }
  for (const auto& [rows, k] : {std::pair{16, 32}, {32, 16}}) {
    const std::string shape = "f32_" + std::to_string(rows) + "x" + std::to_string(rows) + "x" + std::to_string(k);
    op(shape + "_fp8_fp8", rows, k, fp8, fp8);
    op(shape + "_fp8_bf8", rows, k, fp8, bf8);
    op(shape + "_bf8_fp8", rows, k, bf8, fp8);
    op(shape + "_bf8_bf8", rows, k, bf8, bf8);
  }
  // A sum of 64 products of bytes is below 2^24, so floats have it exactly.
  op("i32_16x16x32_i8", 16, 32, i8, i8);
  op("i32_32x32x16_i8", 32, 16, i8, i8);
  op("i32_16x16x64_i8", 16, 64, i8, i8);
  op("i32_32x32x32_i8", 32, 32, i8, i8);
  op("f32_16x16x4_f32", 16, 4, f32, f32);
  op("f32_32x32x2_f32", 32, 2, f32, f32);
  t["v_mfma_f32_16x16x128_f8f6f4"] = {.run = multiply, .a = 16128, .b = -1, .c = -1};
  t["v_mfma_f32_32x32x64_f8f6f4"] = {.run = multiply, .a = 32064, .b = -1, .c = -1};
}

}  // namespace warpwright::amd
