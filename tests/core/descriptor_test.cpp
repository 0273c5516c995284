#include "warpwright/core/descriptor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace warpwright {
namespace {

constexpr Arch kArchs[] = {Arch::sm90, Arch::sm100};
constexpr Swizzle kSwizzles[] = {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128, Swizzle::b128_atom32};

DType dtype(const std::string& word) {
  DType type{};
  EXPECT_TRUE(parse_dtype(word.c_str(), type)) << word;
  return type;
}
Major major(const std::string& word) { return word == "K" ? Major::K : Major::MN; }
Swizzle swizzle_word(const std::string& word) {
  return word == "SW128"  ? Swizzle::b128
         : word == "SW64" ? Swizzle::b64
         : word == "SW32" ? Swizzle::b32
                          : Swizzle::none;
}

// Columns: kind, type, C type or scale or swizzle, M or major, N or rows, A major or K, B major, value.
std::vector<std::vector<std::string>> golden_rows(const std::string& kind) {
  std::ifstream file(WW_TEST_DATA "/data/sm100-descriptors.tsv");
  EXPECT_TRUE(file.good());
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
    if (!cells.empty() && cells[0] == kind) rows.push_back(cells);
  }
  return rows;
}

TEST(InstrDescriptor, MatchesGoldenRows) {
  const auto rows = golden_rows("idesc");
  ASSERT_EQ(rows.size(), 24u);
  for (const auto& row : rows) {
    InstrDesc d;
    d.a = d.b = dtype(row[1]);
    d.kind = mma_kind(d.a, d.b);
    d.d = accumulator_of(dtype(row[2]));
    d.m = std::stoi(row[3]);
    d.n = std::stoi(row[4]);
    d.a_major = major(row[5]);
    d.b_major = major(row[6]);
    EXPECT_EQ(encode_idesc(d), std::stoul(row.back(), nullptr, 16)) << row[1] << " " << row[3] << "x" << row[4];
    EXPECT_EQ(idesc_error(d), nullptr);
  }
}

TEST(InstrDescriptor, MatchesGoldenBlockScaledRows) {
  const auto rows = golden_rows("idesc_scaled");
  ASSERT_EQ(rows.size(), 6u);
  for (const auto& row : rows) {
    InstrDesc d;
    d.a = d.b = dtype(row[1]);
    d.scale = dtype(row[2]);
    d.kind = scaled_mma_kind(d.a, d.b, d.scale);
    d.m = std::stoi(row[3]);
    d.n = std::stoi(row[4]);
    d.a_major = major(row[5]);
    d.b_major = major(row[6]);
    EXPECT_EQ(encode_idesc(d), std::stoul(row.back(), nullptr, 16)) << row[1] << " " << row[3] << "x" << row[4];
    EXPECT_EQ(idesc_error(d), nullptr);
  }
}

TEST(InstrDescriptor, FieldsLieWhereThePtxTablesPutThem) {
  InstrDesc d;
  d.kind = MmaKind::f16;
  d.a = d.b = DType::fp16;
  d.d = Accumulator::f16;
  d.m = 64;
  d.n = 8;
  EXPECT_EQ(encode_idesc(d), 4u << 24 | 1u << 17);
  d.a_major = Major::MN;
  EXPECT_EQ(encode_idesc(d), 4u << 24 | 1u << 17 | 1u << 15);
  d.b_major = Major::MN;
  d.negate_b = true;
  EXPECT_EQ(encode_idesc(d), 4u << 24 | 1u << 17 | 1u << 15 | 1u << 16 | 1u << 14);
  const InstrDesc tf{MmaKind::tf32, DType::tf32, DType::tf32, Accumulator::f32, 128, 256};
  EXPECT_EQ(encode_idesc(tf), 8u << 24 | 32u << 17 | 2u << 10 | 2u << 7 | 1u << 4);
  const InstrDesc mixed{MmaKind::f8f6f4, DType::e5m2, DType::e2m1, Accumulator::f16, 128, 16};
  EXPECT_EQ(encode_idesc(mixed), 8u << 24 | 2u << 17 | 5u << 10 | 1u << 7);
  InstrDesc integer{MmaKind::i8, DType::s8, DType::s8, Accumulator::s32, 128, 32};
  integer.saturate = true;
  EXPECT_EQ(encode_idesc(integer), 8u << 24 | 4u << 17 | 1u << 10 | 1u << 7 | 2u << 4 | 1u << 3);
  InstrDesc scaled{MmaKind::mxf4nvf4, DType::e2m1, DType::e2m1, Accumulator::f32, 256, 64};
  scaled.scale = DType::ue4m3;
  scaled.a_scale_id = 2;
  EXPECT_EQ(encode_idesc(scaled), 2u << 29 | 2u << 27 | 8u << 17 | 1u << 10 | 1u << 7);
  scaled.scale = DType::ue8m0;
  scaled.a_scale_id = 0;
  scaled.b_scale_id = 2;
  EXPECT_EQ(encode_idesc(scaled), 2u << 27 | 1u << 23 | 8u << 17 | 1u << 10 | 1u << 7 | 2u << 4);
}

template <class Visit>
void for_each_legal_idesc(Visit visit) {
  const DType types[] = {DType::bf16, DType::fp16, DType::tf32, DType::e4m3, DType::e5m2, DType::e2m1, DType::s8};
  for (int kind = 0; kind <= int(MmaKind::i8); ++kind) {
    for (DType a : types) {
      for (DType b : types) {
        for (Accumulator acc : {Accumulator::f16, Accumulator::f32, Accumulator::s32}) {
          for (DType scale : {DType::ue8m0, DType::ue4m3}) {
            if (!is_block_scaled(MmaKind(kind)) && scale != DType::ue8m0) continue;
            for (int m : {64, 128, 256}) {
              for (int n = 8; n <= 256; n += 8) {
                for (int flags = 0; flags < 16; ++flags) {
                  InstrDesc d{MmaKind(kind), a, b, acc, m, n};
                  d.a_major = flags & 1 ? Major::MN : Major::K;
                  d.b_major = flags & 2 ? Major::MN : Major::K;
                  d.negate_a = (flags & 4) != 0;
                  d.negate_b = (flags & 8) != 0;
                  d.scale = scale;
                  d.a_scale_id = is_block_scaled(d.kind) ? uint8_t(n / 8 % 2 * 2) : 0;
                  d.b_scale_id = is_block_scaled(d.kind) ? uint8_t(2 - d.a_scale_id) : 0;
                  if (idesc_error(d) == nullptr) visit(d);
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(InstrDescriptor, DecodesWhatItEncodes) {
  int seen[int(MmaKind::i8) + 1] = {};
  for_each_legal_idesc([&](const InstrDesc& d) {
    InstrDesc back;
    ASSERT_TRUE(decode_idesc(d.kind, encode_idesc(d), back));
    ASSERT_EQ(back, d);
    ++seen[int(d.kind)];
  });
  for (int kind = 0; kind <= int(MmaKind::i8); ++kind) EXPECT_GT(seen[kind], 0) << kind;
}

TEST(InstrDescriptor, RefusesWordsThatNoDenseMmaHas) {
  const uint32_t good = encode_idesc(InstrDesc{});
  InstrDesc d;
  EXPECT_TRUE(decode_idesc(MmaKind::f16, good, d));
  EXPECT_FALSE(decode_idesc(MmaKind::f16, good | 1u << 2, d)) << "sparse";
  EXPECT_FALSE(decode_idesc(MmaKind::f16, good | 1u << 6, d)) << "reserved";
  EXPECT_FALSE(decode_idesc(MmaKind::f16, good | 1u << 23, d)) << "reserved";
  EXPECT_FALSE(decode_idesc(MmaKind::f16, good | 3u << 4, d)) << "no such accumulator";
  EXPECT_FALSE(decode_idesc(MmaKind::f16, good | 7u << 7, d)) << "no such type";
  EXPECT_FALSE(decode_idesc(MmaKind::f8f6f4, good | 3u << 7, d)) << "6-bit float";
}

TEST(InstrDescriptor, RefusesMmasThatDoNotExist) {
  const auto error = [](auto change, int cta_group = 0) {
    InstrDesc d;
    change(d);
    return idesc_error(d, cta_group) != nullptr;
  };
  EXPECT_FALSE(error([](InstrDesc&) {}));
  EXPECT_TRUE(error([](InstrDesc& d) { d.m = 32; }));
  EXPECT_TRUE(error([](InstrDesc& d) { d.m = 256; }, 1));
  EXPECT_TRUE(error([](InstrDesc& d) { d.m = 64; }, 2));
  EXPECT_TRUE(error([](InstrDesc& d) { d.n = 0; }));
  EXPECT_TRUE(error([](InstrDesc& d) { d.n = 264; }));
  EXPECT_TRUE(error([](InstrDesc& d) { d.n = 12; }));
  EXPECT_FALSE(error([](InstrDesc& d) { d.n = 24; }, 1));
  EXPECT_TRUE(error([](InstrDesc& d) { d.n = 24; }, 2));
  EXPECT_TRUE(error([](InstrDesc& d) { d.a = DType::e4m3; }));
  EXPECT_TRUE(error([](InstrDesc& d) { d.a = DType::fp16; })) << "mixed 16-bit types";
  EXPECT_TRUE(error([](InstrDesc& d) { d.d = Accumulator::f16; })) << "bf16 into fp16";
  EXPECT_TRUE(error([](InstrDesc& d) { d.saturate = true; }));
  const auto scaled = [&](auto change, int cta_group = 0) {
    InstrDesc d{MmaKind::mxf8f6f4, DType::e4m3, DType::e4m3};
    change(d);
    return idesc_error(d, cta_group) != nullptr;
  };
  EXPECT_FALSE(scaled([](InstrDesc&) {}));
  EXPECT_TRUE(scaled([](InstrDesc& d) { d.m = 64; }));
  EXPECT_TRUE(scaled([](InstrDesc& d) { d.scale = DType::ue4m3; }));
  EXPECT_TRUE(scaled([](InstrDesc& d) { d.scale = DType::bf16; }));
  EXPECT_TRUE(scaled([](InstrDesc& d) { d.a = DType::e2m1, d.a_major = Major::MN; }));
}

TEST(MatrixDescriptor, MatchesGoldenRows) {
  const auto rows = golden_rows("smem_sm100");
  ASSERT_EQ(rows.size(), 3u);
  for (const auto& row : rows) {
    const DType type = dtype(row[1]);
    const Swizzle s = swizzle_word(row[2]);
    const int extent = std::stoi(row[4]), k = std::stoi(row[5]);
    const MatrixDesc d = major(row[3]) == Major::K ? k_major_desc(type, s, extent) : mn_major_desc(type, s, extent, k);
    EXPECT_EQ(encode_sm100(d), std::stoull(row.back(), nullptr, 16)) << row[1] << " " << row[2] << " " << row[3];
  }
}

// The worked examples of the PTX chapters, from their tables of strides.
TEST(MatrixDescriptor, MatchesTheExamplesOfPtx) {
  const MatrixDesc k_none = matrix_desc({DType::tf32, 16, 16, Swizzle::none}, 0, 16, 16);
  EXPECT_EQ(k_none.lbo, 64u * 4);
  EXPECT_EQ(k_none.sbo, 32u * 4);
  const MatrixDesc k_32 = matrix_desc({DType::tf32, 16, 8, Swizzle::b32}, 0, 16, 8);
  EXPECT_EQ(k_32.lbo, 16u);
  EXPECT_EQ(k_32.sbo, 64u * 4);
  const MatrixDesc mn_none = mn_major_desc(DType::bf16, Swizzle::none, 16, 16);
  EXPECT_EQ(mn_none.lbo, 128u * 2);
  EXPECT_EQ(mn_none.sbo, 64u * 2);
  const MatrixDesc mn_32 = mn_major_desc(DType::bf16, Swizzle::b32, 32, 16);
  EXPECT_EQ(mn_32.lbo, 128u * 2);
  EXPECT_EQ(mn_32.sbo, 256u * 2);
  const MatrixDesc mn_64 = mn_major_desc(DType::bf16, Swizzle::b64, 64, 16);
  EXPECT_EQ(mn_64.lbo, 256u * 2);
  EXPECT_EQ(mn_64.sbo, 512u * 2);
}

TEST(MatrixDescriptor, FieldsLieWhereThePtxTablesPutThem) {
  const MatrixDesc d{0x12340, 0x20, 0x400, Swizzle::b128, 5};
  EXPECT_EQ(encode_sm90(d), 0x1234ull | 2ull << 16 | 0x40ull << 32 | 5ull << 49 | 1ull << 62);
  EXPECT_EQ(encode_sm100(d), 0x1234ull | 2ull << 16 | 0x40ull << 32 | 1ull << 46 | 5ull << 49 | 2ull << 61);
  const auto mode90 = [](Swizzle s) { return encode_sm90({0, 0, 0, s, 0}) >> 62; };
  const auto mode100 = [](Swizzle s) { return encode_sm100({0, 0, 0, s, 0}) >> 61; };
  EXPECT_EQ(mode90(Swizzle::none), 0u);
  EXPECT_EQ(mode90(Swizzle::b64), 2u);
  EXPECT_EQ(mode90(Swizzle::b32), 3u);
  EXPECT_EQ(mode100(Swizzle::none), 0u);
  EXPECT_EQ(mode100(Swizzle::b128_atom32), 1u);
  EXPECT_EQ(mode100(Swizzle::b64), 4u);
  EXPECT_EQ(mode100(Swizzle::b32), 6u);
}

TEST(MatrixDescriptor, DecodesWhatItEncodes) {
  for (Arch arch : kArchs) {
    for (Swizzle s : kSwizzles) {
      if (arch == Arch::sm90 && s == Swizzle::b128_atom32) continue;
      for (uint32_t address : {0u, 16u, 1024u, 0x3fff0u}) {
        for (uint32_t lbo : {0u, 16u, 0x4000u, 0x3fff0u}) {
          for (uint32_t sbo : {0u, 128u, 1024u, 0x3fff0u}) {
            for (uint32_t base : {0u, 1u, 7u}) {
              const MatrixDesc d{address, lbo, sbo, s, base};
              ASSERT_EQ(decode(arch, encode(arch, d)), d);
              ASSERT_EQ(desc_error(arch, encode(arch, d)), nullptr);
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(decode_sm90(encode_sm90({0x0500'0400, 16, 1024, Swizzle::b128, 0})).address, 0x400u) << "rank of the CTA";
}

TEST(MatrixDescriptor, RefusesWordsThatTheHardwareDoesNotKnow) {
  const uint64_t sm90 = encode_sm90(k_major_desc(DType::bf16, Swizzle::b128, 64));
  const uint64_t sm100 = encode_sm100(k_major_desc(DType::bf16, Swizzle::b128, 64));
  EXPECT_NE(desc_error_sm100(sm90), nullptr) << "an sm_90 descriptor lacks the constant";
  EXPECT_NE(desc_error_sm90(sm100), nullptr);
  EXPECT_NE(desc_error_sm100(sm100 | 1ull << 52), nullptr);
  EXPECT_NE(desc_error_sm100(sm100 | 1ull << 55), nullptr);
  EXPECT_NE(desc_error_sm100(sm100 | 1ull << 30), nullptr);
  EXPECT_NE(desc_error_sm100(sm100 | 1ull << 61), nullptr) << "mode 3";
}

TEST(MatrixDescriptor, AdvanceMovesTheStartOnly) {
  for (Arch arch : kArchs) {
    const uint64_t desc = encode(arch, {0x3ff00, 0x3fff0, 0x400, Swizzle::b128, 3});
    MatrixDesc moved = decode(arch, advance_desc(desc, 32));
    EXPECT_EQ(moved.address, 0x3ff20u);
    moved.address = 0x3ff00;
    EXPECT_EQ(encode(arch, moved), desc);
    MatrixDesc wrapped = decode(arch, advance_desc(desc, 0x200));
    EXPECT_EQ(wrapped.address, 0x100u);
    EXPECT_EQ(wrapped.lbo, 0x3fff0u);
    EXPECT_EQ(advance_desc(desc, 0x200) >> 14, desc >> 14);
  }
}

TEST(MatrixDescriptor, OperandRulesAreThoseOfTheArchitecture) {
  EXPECT_EQ(operand_error(Arch::sm90, DType::bf16, Major::MN, Swizzle::b128), nullptr);
  EXPECT_NE(operand_error(Arch::sm90, DType::e4m3, Major::MN, Swizzle::b128), nullptr);
  EXPECT_NE(operand_error(Arch::sm90, DType::tf32, Major::MN, Swizzle::b128), nullptr);
  EXPECT_NE(operand_error(Arch::sm90, DType::bf16, Major::MN, Swizzle::b128_atom32), nullptr);
  EXPECT_EQ(operand_error(Arch::sm100, DType::e4m3, Major::MN, Swizzle::b64), nullptr);
  EXPECT_EQ(operand_error(Arch::sm100, DType::tf32, Major::MN, Swizzle::b128_atom32), nullptr);
  EXPECT_NE(operand_error(Arch::sm100, DType::tf32, Major::MN, Swizzle::b128), nullptr);
  EXPECT_NE(operand_error(Arch::sm100, DType::e2m1, Major::MN, Swizzle::b128), nullptr);
  EXPECT_EQ(operand_error(Arch::sm100, DType::e2m1, Major::K, Swizzle::b128), nullptr);
  EXPECT_NE(operand_error(Arch::sm100, DType::bf16, Major::K, Swizzle::b128_atom32), nullptr);
  EXPECT_NE(operand_error(Arch::sm80, DType::bf16, Major::K, Swizzle::b128), nullptr);
}

TEST(MatrixDescriptor, SwizzleWordsBecomeTheLegalSwizzle) {
  for (Arch arch : kArchs) {
    for (Major maj : {Major::K, Major::MN}) {
      for (auto [word, want] : {std::pair{0, Swizzle::none}, {32, Swizzle::b32}, {64, Swizzle::b64}}) {
        Swizzle s = Swizzle::b128;
        ASSERT_TRUE(operand_swizzle(arch, DType::bf16, maj, word, s));
        EXPECT_EQ(s, want);
      }
      for (DType type : {DType::bf16, DType::e4m3, DType::tf32}) {
        Swizzle s = Swizzle::none;
        ASSERT_TRUE(operand_swizzle(arch, type, maj, 128, s));
        EXPECT_EQ(swizzle_bytes(s), 128u);
        if (arch == Arch::sm100) {
          EXPECT_EQ(operand_error(arch, type, maj, s), nullptr) << name(type);
        }
      }
      Swizzle s = Swizzle::b64;
      EXPECT_FALSE(operand_swizzle(arch, DType::bf16, maj, 16, s));
      EXPECT_EQ(s, Swizzle::b64);
    }
  }
}

// The tensor core must find every element where the tile put it: each MMA slice of a tile, at the top of the tile and
// further down, encoded, decoded and walked.
TEST(MatrixDescriptor, TheTensorCoreFindsEveryElementOfATile) {
  constexpr uint32_t kTileStart = 3 * 1024;
  int cases = 0;
  for (Arch arch : kArchs) {
    for (Swizzle s : kSwizzles) {
      for (DType type : {DType::bf16, DType::e4m3, DType::tf32, DType::e2m1}) {
        for (Major maj : {Major::K, Major::MN}) {
          if (operand_error(arch, type, maj, s) != nullptr) continue;
          for (AtomOrder order : {AtomOrder::panels, AtomOrder::mn_first}) {
            for (int tile_rows : {64, 256}) {
              const SmemTile tile{type, tile_rows, 1024 / bits(type), s, maj, order};
              const int rows = 64, k_step = mma_k(type);
              if (maj == Major::MN && tile.panel_elements() > tile_rows) continue;
              for (int first = 0; first < tile_rows; first += rows) {
                if (maj == Major::MN && first % tile.panel_elements() != 0) continue;
                for (int k0 = 0; k0 < tile.cols; k0 += k_step) {
                  const uint64_t word =
                      advance_desc(encode(arch, matrix_desc(tile, kTileStart, rows, k_step)), tile.linear(first, k0));
                  const MatrixDesc d = decode(arch, word);
                  ++cases;
                  for (int mn = 0; mn < rows; ++mn) {
                    for (int k = 0; k < k_step; ++k) {
                      ASSERT_EQ(operand_address(d, arch, type, maj, mn, k),
                                kTileStart + tile.offset(first + mn, k0 + k))
                          << name(type) << " swizzle " << int(s) << (maj == Major::K ? " K" : " MN") << " order "
                          << int(order) << " at (" << first << "+" << mn << ", " << k0 << "+" << k << ")";
                    }
                  }
                }
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(cases, 500);
}

// The canonical layouts of PTX written out as loops over their modes, in 16-byte units, without the swizzle.
TEST(MatrixDescriptor, WalksTheCanonicalLayoutsOfPtx) {
  const auto plain = [](MatrixDesc d, Major maj, int mn, int k) {
    const uint32_t address = operand_address(d, Arch::sm100, DType::bf16, maj, mn, k);
    return swizzle(d.swizzle, address);
  };
  constexpr int T = 8;  // bf16 elements in 16 bytes
  const uint32_t lbo = 0x4000, sbo = 0x10000;
  for (Swizzle s : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
    const int units = int(swizzle_bytes(s)) / 16;
    const MatrixDesc d{0, lbo, sbo, s, 0};
    for (int m = 0; m < 2; ++m) {
      for (int i = 0; i < 8; ++i) {
        for (int t = 0; t < T; ++t) {
          for (int j = 0; j < 2; ++j) {
            // K-major: ((8,m),(T,2)) : ((units T, SBO),(1, LBO or T)).
            const uint32_t along_k = s == Swizzle::none ? uint32_t(j) * lbo : uint32_t(j * T * 2);
            ASSERT_EQ(plain(d, Major::K, m * 8 + i, j * T + t),
                      uint32_t(i * units * 16) + uint32_t(m) * sbo + uint32_t(t * 2) + along_k);
            // MN-major: ((T,units,m),(8,k)) : ((1,T,LBO),(units T,SBO)); LBO and SBO swapped without swizzle.
            for (int u = 0; u < units; ++u) {
              const uint32_t mn_stride = s == Swizzle::none ? sbo : lbo, k_stride = s == Swizzle::none ? lbo : sbo;
              ASSERT_EQ(plain(d, Major::MN, (m * units + u) * T + t, j * 8 + i),
                        uint32_t(t * 2 + u * 16) + uint32_t(m) * mn_stride + uint32_t(i * units * 16) +
                            uint32_t(j) * k_stride);
            }
          }
        }
      }
    }
  }
}

TEST(MatrixDescriptor, BaseOffsetMovesThePatternWithTheTile) {
  // A pattern that starts 384 bytes after a 1024-byte boundary is in line 3 there; its first line must not be permuted.
  MatrixDesc d = k_major_desc(DType::bf16, Swizzle::b128, 64, 1024 + 384);
  d.base_offset = (d.address >> 7) & 7;
  const SmemTile tile{DType::bf16, 64, 64, Swizzle::b128};
  for (int mn = 0; mn < 64; ++mn) {
    for (int k = 0; k < 16; ++k) {
      ASSERT_EQ(operand_address(d, Arch::sm90, DType::bf16, Major::K, mn, k), d.address + tile.offset(mn, k));
    }
  }
}

}  // namespace
}  // namespace warpwright
