// Descriptors of every legal MMA against the tables of the PTX ISA (9.1), written out here as data a second time:
//   9.7.16.2.1   "Various combinations of .kind and shapes"            which M and N exist
//   9.7.16.4.1   "Shared memory descriptor"                            fields of the sm_100 matrix descriptor
//   9.7.16.4.2   "Instruction descriptor", three tables                fields of the 32-bit word
//   9.7.16.10.1  "Transpose and Negate", "8bit transpose B"            which majors and signs exist
//   9.7.16.10.7  "scale_vectorsize with types and MMA-Kind"            which scale factors and ids exist
//   9.7.15.5.1   "Matrix descriptor format" and "Strides" of wgmma     the sm_90 matrix descriptor
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "warpwright/core/descriptor.h"

namespace warpwright {
namespace {

// Shapes: M in {m0, m1}, N from `first` to 256 in steps of `step`.
struct Shapes {
  MmaKind kind;
  int cta_group, m0, m1, first, step;
};
constexpr Shapes kShapes[] = {
    {MmaKind::f16, 1, 64, 128, 8, 8},       {MmaKind::f16, 2, 128, 256, 16, 16},
    {MmaKind::tf32, 1, 64, 128, 8, 8},      {MmaKind::tf32, 2, 128, 256, 16, 16},
    {MmaKind::f8f6f4, 1, 64, 128, 8, 8},    {MmaKind::f8f6f4, 2, 128, 256, 16, 16},
    {MmaKind::i8, 1, 64, 128, 8, 8},        {MmaKind::i8, 2, 128, 256, 32, 32},
    {MmaKind::mxf8f6f4, 1, 128, 128, 8, 8}, {MmaKind::mxf8f6f4, 2, 128, 256, 16, 16},
    {MmaKind::mxf4, 1, 128, 128, 8, 8},     {MmaKind::mxf4, 2, 128, 256, 16, 16},
    {MmaKind::mxf4nvf4, 1, 128, 128, 8, 8}, {MmaKind::mxf4nvf4, 2, 128, 256, 16, 16},
};
bool shape_exists(MmaKind kind, int cta_group, int m, int n) {
  for (const Shapes& s : kShapes) {
    if (s.kind != kind || s.cta_group != cta_group) continue;
    if (m != s.m0 && m != s.m1) return false;
    if (n < s.first || n > 256 || n % s.step != 0) return false;
    return !(kind == MmaKind::i8 && cta_group == 1 && n > 32 && n % 16 != 0);
  }
  return false;
}

// The codes of the A and B type fields; a kind that is not listed with a type cannot read it.
struct TypeCode {
  MmaKind kind;
  DType type;
  uint32_t code;
};
constexpr TypeCode kTypes[] = {
    {MmaKind::f16, DType::fp16, 0},      {MmaKind::f16, DType::bf16, 1},      {MmaKind::tf32, DType::tf32, 2},
    {MmaKind::f8f6f4, DType::e4m3, 0},   {MmaKind::f8f6f4, DType::e5m2, 1},   {MmaKind::f8f6f4, DType::e2m1, 5},
    {MmaKind::i8, DType::s8, 1},         {MmaKind::mxf8f6f4, DType::e4m3, 0}, {MmaKind::mxf8f6f4, DType::e5m2, 1},
    {MmaKind::mxf8f6f4, DType::e2m1, 5}, {MmaKind::mxf4, DType::e2m1, 1},     {MmaKind::mxf4nvf4, DType::e2m1, 1},
};
int type_code(MmaKind kind, DType type) {
  for (const TypeCode& t : kTypes)
    if (t.kind == kind && t.type == type) return int(t.code);
  return -1;
}

bool scaled(MmaKind k) { return k == MmaKind::mxf8f6f4 || k == MmaKind::mxf4 || k == MmaKind::mxf4nvf4; }

// Everything but the shape.
bool types_exist(const InstrDesc& d) {
  if (type_code(d.kind, d.a) < 0 || type_code(d.kind, d.b) < 0) return false;
  if (d.kind == MmaKind::f16 && d.a != d.b) return false;  // no word of this library mixes them
  switch (d.kind) {
    case MmaKind::f16:
      if (d.d == Accumulator::s32 || (d.d == Accumulator::f16 && d.a != DType::fp16)) return false;
      break;
    case MmaKind::f8f6f4:
      if (d.d == Accumulator::s32) return false;
      break;
    case MmaKind::i8:
      if (d.d != Accumulator::s32 || d.negate_a || d.negate_b) return false;
      break;
    case MmaKind::tf32:
    case MmaKind::mxf8f6f4:
    case MmaKind::mxf4:
    case MmaKind::mxf4nvf4:
      if (d.d != Accumulator::f32) return false;
      break;
  }
  // Packed kinds have no transpose; the library has no MN-major 4-bit tiles in the others either.
  if ((d.a == DType::e2m1 && d.a_major == Major::MN) || (d.b == DType::e2m1 && d.b_major == Major::MN)) return false;
  return true;
}
bool scales_exist(const InstrDesc& d) {
  const int ids = d.a_scale_id | d.b_scale_id;
  switch (d.kind) {
    case MmaKind::mxf8f6f4:  // 1X: one byte of four
      return d.scale == DType::ue8m0;
    case MmaKind::mxf4:  // 2X: one half word of two
      return d.scale == DType::ue8m0 && ids % 2 == 0;
    case MmaKind::mxf4nvf4:  // 4X with ue4m3; 2X or 4X with ue8m0
      return d.scale == DType::ue4m3 ? ids == 0 : d.scale == DType::ue8m0 && ids % 2 == 0;
    default:
      return true;
  }
}
bool n_of_transposed_b_exists(const InstrDesc& d, int cta_group) {
  return d.b_major == Major::K || bits(d.b) != 8 || d.n % (16 * cta_group) == 0;
}

struct Field {
  int low, width;
  uint32_t value;
};
uint32_t word_of(const std::vector<Field>& fields) {
  uint32_t word = 0, taken = 0;
  for (const Field& f : fields) {
    const uint32_t mask = ((1u << f.width) - 1) << f.low;
    EXPECT_EQ(taken & mask, 0u) << "fields overlap at bit " << f.low;
    EXPECT_EQ(f.value >> f.width, 0u) << "value too wide at bit " << f.low;
    taken |= mask;
    word |= f.value << f.low;
  }
  return word;
}
uint32_t table_word(const InstrDesc& d) {
  std::vector<Field> f = {{7, 3, uint32_t(type_code(d.kind, d.a))},
                          {10, 3, uint32_t(type_code(d.kind, d.b))},
                          {13, 1, d.negate_a},
                          {14, 1, d.negate_b},
                          {15, 1, d.a_major == Major::MN},
                          {16, 1, d.b_major == Major::MN},
                          {17, 6, uint32_t(d.n) / 8}};
  if (scaled(d.kind)) {
    f.push_back({4, 2, d.b_scale_id});
    f.push_back({23, 1, d.scale == DType::ue8m0});
    f.push_back({27, 2, uint32_t(d.m) / 128});
    f.push_back({29, 2, d.a_scale_id});
  } else {
    f.push_back({3, 1, d.saturate});
    f.push_back({4, 2, d.d == Accumulator::f16 ? 0u : d.d == Accumulator::f32 ? 1u : 2u});
    f.push_back({24, 5, uint32_t(d.m) / 16});
  }
  return word_of(f);
}

// All combinations of the fields, legal or not, once for each cta_group.
template <class Visit>
void for_each(Visit visit) {
  const DType types[] = {DType::bf16, DType::fp16, DType::tf32, DType::e4m3, DType::e5m2, DType::e2m1, DType::s8};
  for (int kind = 0; kind <= int(MmaKind::i8); ++kind)
    for (DType a : types)
      for (DType b : types)
        for (Accumulator acc : {Accumulator::f16, Accumulator::f32, Accumulator::s32})
          for (int flags = 0; flags < 16; ++flags)
            for (DType scale : {DType::ue8m0, DType::ue4m3})
              for (int ids = 0; ids < 16; ++ids) {
                if (!scaled(MmaKind(kind)) && (ids != 0 || scale != DType::ue8m0)) continue;
                InstrDesc d{MmaKind(kind), a, b, acc, 0, 0};
                d.a_major = flags & 1 ? Major::MN : Major::K;
                d.b_major = flags & 2 ? Major::MN : Major::K;
                d.negate_a = (flags & 4) != 0;
                d.negate_b = (flags & 8) != 0;
                d.scale = scale;
                d.a_scale_id = uint8_t(ids & 3);
                d.b_scale_id = uint8_t(ids >> 2);
                visit(d);
              }
}

TEST(InstrDescriptorTable, EveryShapeThatPtxListsIsAcceptedAndNoOther) {
  int accepted = 0;
  for_each([&](InstrDesc d) {
    // Signs and ids do not interact with the shape: one of them is enough here.
    if (d.negate_a || d.negate_b || d.a_scale_id || d.b_scale_id) return;
    for (int group : {1, 2})
      for (int m = 16; m <= 272; m += 16)
        for (int n = 0; n <= 264; n += 4) {
          d.m = m;
          d.n = n;
          const bool exists = types_exist(d) && scales_exist(d) && shape_exists(d.kind, group, m, n) &&
                              n_of_transposed_b_exists(d, group);
          ASSERT_EQ(idesc_error(d, group) == nullptr, exists)
              << "kind " << int(d.kind) << " cta_group " << group << " " << name(d.a) << " x " << name(d.b) << " " << m
              << "x" << n << (d.a_major == Major::MN ? " A MN" : "") << (d.b_major == Major::MN ? " B MN" : "") << ": "
              << (exists ? idesc_error(d, group) : "accepted");
          accepted += exists;
        }
  });
  EXPECT_GT(accepted, 5000);
}

TEST(InstrDescriptorTable, TypesSignsMajorsAndIdsAreThoseOfTheTables) {
  for_each([&](InstrDesc d) {
    d.m = 128;
    d.n = 64;
    const bool exists = types_exist(d) && scales_exist(d);
    ASSERT_EQ(idesc_error(d, 1) == nullptr, exists)
        << "kind " << int(d.kind) << " " << name(d.a) << " x " << name(d.b) << " accumulator " << int(d.d) << " ids "
        << int(d.a_scale_id) << "," << int(d.b_scale_id) << " scale " << name(d.scale);
  });
}

TEST(InstrDescriptorTable, EveryWordIsTheSumOfItsFields) {
  int words = 0;
  for_each([&](InstrDesc d) {
    if (!types_exist(d) || !scales_exist(d)) return;
    for (int m : {64, 128, 256})
      for (int n = 8; n <= 256; n += 8) {
        d.m = m;
        d.n = n;
        if (idesc_error(d) != nullptr) continue;
        ++words;
        const uint32_t word = encode_idesc(d);
        ASSERT_EQ(word, table_word(d)) << "kind " << int(d.kind) << " " << m << "x" << n;
        InstrDesc back;
        ASSERT_TRUE(decode_idesc(d.kind, word, back));
        ASSERT_EQ(back, d);
      }
  });
  EXPECT_GT(words, 20000);
}

// The 64-bit word of both architectures, from the byte offsets of the canonical layouts (in bytes; W: bytes of a row of
// the swizzle atom, 16 without swizzle; an atom has eight rows of W bytes).
struct Strides {
  uint32_t lbo, sbo;
};
Strides table_strides(DType type, Major major, Swizzle s, int rows, int k) {
  const uint32_t w = s == Swizzle::none ? 16 : s == Swizzle::b32 ? 32 : s == Swizzle::b64 ? 64 : 128;
  const uint32_t group_rows = s == Swizzle::b128_atom32 ? 4 : 8;
  const uint32_t atom = group_rows * w;
  const uint32_t row_bytes = uint32_t((major == Major::K ? k : rows) * bits(type) / 8);
  const uint32_t lines = uint32_t(major == Major::K ? rows : k);
  if (major == Major::K) {
    const uint32_t sbo = lines > 8 ? atom : 0;  // the next eight rows follow
    if (s != Swizzle::none) return {16, sbo};   // unused, must read 1
    return {row_bytes > 16 ? lines / 8 * 128 : 0, sbo};
  }
  const uint32_t across = row_bytes > w ? atom : 0;                           // next W bytes along M or N
  const uint32_t down = lines > group_rows ? row_bytes / w * atom : 0;        // next rows along K
  return s == Swizzle::none ? Strides{down, across} : Strides{across, down};  // without swizzle they change places
}
uint64_t table_word(Arch arch, uint32_t address, Strides s, uint32_t mode) {
  uint64_t word =
      (address & 0x3ffff) >> 4 | uint64_t((s.lbo & 0x3ffff) >> 4) << 16 | uint64_t((s.sbo & 0x3ffff) >> 4) << 32;
  if (arch == Arch::sm90) return word | uint64_t(mode) << 62;
  return word | uint64_t(1) << 46 | uint64_t(mode) << 61;
}
int table_mode(Arch arch, Swizzle s) {
  switch (s) {
    case Swizzle::none:
      return 0;
    case Swizzle::b128:
      return arch == Arch::sm90 ? 1 : 2;
    case Swizzle::b64:
      return arch == Arch::sm90 ? 2 : 4;
    case Swizzle::b32:
      return arch == Arch::sm90 ? 3 : 6;
    case Swizzle::b128_atom32:
      return arch == Arch::sm90 ? -1 : 1;
  }
  return -1;
}

// Which operands of which type may be MN-major, and with which swizzle.
bool operand_exists(Arch arch, DType type, Major major, Swizzle s) {
  if (table_mode(arch, s) < 0) return false;
  if (major == Major::K) return s != Swizzle::b128_atom32;
  if (bits(type) == 4) return false;
  if (arch == Arch::sm90) return bits(type) == 16;
  return (bits(type) == 32) == (s == Swizzle::b128_atom32);
}

TEST(MatrixDescriptorTable, EveryOperandOfEveryMma) {
  int words = 0;
  for (Arch arch : {Arch::sm90, Arch::sm100})
    for (DType type : {DType::bf16, DType::fp16, DType::tf32, DType::e4m3, DType::e5m2, DType::s8, DType::e2m1})
      for (Major major : {Major::K, Major::MN})
        for (Swizzle s : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128, Swizzle::b128_atom32}) {
          const bool exists = operand_exists(arch, type, major, s);
          EXPECT_EQ(operand_error(arch, type, major, s) == nullptr, exists) << name(type) << int(major) << int(s);
          if (!exists) continue;
          const int k = 256 / bits(type);
          for (int rows = 8; rows <= 256; rows += 8) {
            // An MN-major operand is whole atoms wide.
            if (major == Major::MN && rows * bits(type) / 8 % int(swizzle_bytes(s)) != 0) continue;
            const uint32_t address = 1024u * uint32_t(rows);
            const MatrixDesc d =
                major == Major::K ? k_major_desc(type, s, rows, address) : mn_major_desc(type, s, rows, k, address);
            ASSERT_EQ(encode(arch, d),
                      table_word(arch, address, table_strides(type, major, s, rows, k), uint32_t(table_mode(arch, s))))
                << name(type) << (major == Major::K ? " K" : " MN") << " swizzle " << int(s) << " rows " << rows;
            ++words;
          }
        }
  EXPECT_GT(words, 800);
}

}  // namespace
}  // namespace warpwright
