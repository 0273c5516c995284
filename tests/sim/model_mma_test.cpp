// Contracts of the matrix units: operands through descriptors, the product, register fragments.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/model.h"
#include "warpwright/core/numeric.h"

namespace warpwright::simulator::model {
namespace {

constexpr uint32_t kBase = 4096;

// A row-major [rows][cols] matrix of `type` in device memory and its values.
struct Matrix {
  Matrix(DType type, int rows, int cols, int seed) : rows(rows), cols(cols), storage(size_t(rows * cols * 4 + 64)) {
    data = storage.data() + (64 - reinterpret_cast<uintptr_t>(storage.data()) % 64) % 64;
    for (int i = 0; i < rows * cols; ++i) {
      // Small integers that all types hold; e2m1 has no 5.
      const int step = (i * 7 + i / cols * 3 + seed) % 9 - 4;
      values.push_back(float(step));
      put(type, i, float(step));
    }
  }
  void put(DType type, int i, float v) {
    const auto store = [&](auto code) { std::memcpy(data + size_t(i) * sizeof(code), &code, sizeof(code)); };
    switch (type) {
      case DType::bf16:
        return store(from_float<bf16>(v));
      case DType::fp16:
        return store(from_float<fp16>(v));
      case DType::tf32:
        return store(from_float<tf32>(v).bits | 0x1fffu);  // the low bits must not count
      case DType::fp32:
        return store(v);
      case DType::e4m3:
        return store(from_float<e4m3>(v));
      case DType::e5m2:
        return store(from_float<e5m2>(v));
      case DType::s8:
        return store(int8_t(v));
      case DType::e2m1:
        data[i / 2] = uint8_t((data[i / 2] & (i % 2 != 0 ? 0x0f : 0xf0)) | from_float<e2m1>(v).bits << (i % 2 * 4));
        return;
      default:
        FAIL();
    }
  }
  int rows, cols;
  std::vector<uint8_t> storage;
  uint8_t* data;
  std::vector<float> values;
};

TensorElement element_for(DType type, Packing packing) {
  if (type == DType::e2m1) return packing == Packing::padded ? TensorElement::b4x16_p64 : TensorElement::b4x16;
  return bits(type) == 8 ? TensorElement::u8 : bits(type) == 16 ? TensorElement::u16 : TensorElement::u32;
}

struct Operand {
  Arch arch;
  DType type;
  Major major;
  Swizzle swizzle;
  Packing packing = Packing::dense;
};

// Brings mn x k values (element (i, j) at matrix row i for K-major, column i for MN-major) into shared memory by TMA,
// with a box for each panel, and reads them back one MMA at a time.
std::vector<float> through_tma(const Operand& o, Matrix& m, int mn, int k, std::vector<Piece>* pieces = nullptr,
                               std::set<uint32_t>* written = nullptr) {
  std::vector<uint8_t> shared(size_t(kDescAddressMask) + 1, 0xee);
  const DType laid_out_as = o.packing == Packing::padded ? DType::e4m3 : o.type;
  const SmemTile tile{laid_out_as, mn, k, o.swizzle, o.major};
  TensorMapFields f{element_for(o.type, o.packing),
                    2,
                    m.data,
                    {uint64_t(m.cols), uint64_t(m.rows), 1, 1, 1},
                    {0, uint64_t(m.cols * bits(o.type) / 8), 0, 0, 0},
                    {uint32_t(tile.panel_elements()), uint32_t(tile.outer()), 1, 1, 1},
                    o.swizzle,
                    false};
  TensorMap map;
  EXPECT_EQ(encode_tensor_map(f, map), std::nullopt);
  for (int p = 0; p < tile.panels(); ++p) {
    const int32_t coords[] = {p * tile.panel_elements(), 0};
    load_box(f, coords, kBase + uint32_t(p) * tile.panel_stride(), shared.data());
    if (written == nullptr) continue;
    for_each_piece(f, coords, kBase + uint32_t(p) * tile.panel_stride(), [&](const BoxPiece& piece) {
      for (uint32_t i = 0; i < piece.bytes; ++i) written->insert(piece.shared_address + i);
    });
  }
  const int depth = mma_k(laid_out_as);
  std::vector<float> all(size_t(mn * k)), part(size_t(mn * depth));
  for (int first = 0; first < k; first += depth) {
    const MatrixDesc desc = matrix_desc(tile, kBase + tile.linear(0, first), mn, depth);
    const MatrixDesc decoded = decode(o.arch, encode(o.arch, desc));
    gather_operand(decoded, o.arch, o.type, o.major, mn, depth, shared.data(), part.data(), o.packing);
    if (pieces != nullptr) operand_pieces(decoded, o.arch, o.type, o.major, mn, depth, *pieces, o.packing);
    for (int i = 0; i < mn; ++i) {
      std::copy_n(&part[size_t(i * depth)], depth, &all[size_t(i * k + first)]);
    }
  }
  return all;
}

std::vector<Operand> operands() {
  std::vector<Operand> all;
  for (Swizzle s : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
    for (DType t : {DType::bf16, DType::fp16, DType::e4m3, DType::e5m2, DType::tf32, DType::s8}) {
      all.push_back({Arch::sm90, t, Major::K, s});
      all.push_back({Arch::sm100, t, Major::K, s});
    }
    for (DType t : {DType::bf16, DType::fp16}) all.push_back({Arch::sm90, t, Major::MN, s});
    for (DType t : {DType::bf16, DType::e4m3, DType::e5m2}) all.push_back({Arch::sm100, t, Major::MN, s});
    all.push_back({Arch::sm100, DType::e2m1, Major::K, s});
  }
  all.push_back({Arch::sm100, DType::tf32, Major::MN, Swizzle::b128_atom32});
  all.push_back({Arch::sm100, DType::e2m1, Major::K, Swizzle::b128, Packing::padded});
  return all;
}

std::string describe(const Operand& o) {
  return std::string(name(o.type)) + (o.major == Major::K ? " K" : " MN") + " swizzle " +
         std::to_string(int(o.swizzle)) + (o.packing == Packing::padded ? " padded" : "");
}

TEST(Operand, ATileLoadedByTmaIsReadBackThroughDescriptors) {
  for (const Operand& o : operands()) {
    const int mn = 128, k = 2 * 1024 / bits(o.type);
    const bool k_major = o.major == Major::K;
    Matrix m(o.type, k_major ? mn : k, k_major ? k : mn, 5);
    const std::vector<float> got = through_tma(o, m, mn, k);
    for (int i = 0; i < mn; ++i) {
      for (int j = 0; j < k; ++j) {
        ASSERT_EQ(got[size_t(i * k + j)], m.values[size_t(k_major ? i * k + j : j * mn + i)])
            << describe(o) << " at " << i << "," << j;
      }
    }
  }
}

TEST(Operand, PiecesAreTheBytesThatTheBoxesWroteOnce) {
  for (const Operand& o : operands()) {
    const int mn = 128, k = 1024 / bits(o.type);  // whole panels, so that no box writes padding
    const bool k_major = o.major == Major::K;
    Matrix m(o.type, k_major ? mn : k, k_major ? k : mn, 5);
    std::vector<Piece> pieces;
    std::set<uint32_t> written;
    through_tma(o, m, mn, k, &pieces, &written);
    std::set<uint32_t> bytes;
    size_t total = 0;
    for (const Piece& p : pieces) {
      ASSERT_LE(p.bytes, 16u);
      total += p.bytes;
      for (uint32_t i = 0; i < p.bytes; ++i) bytes.insert(p.address + i);
    }
    ASSERT_EQ(bytes.size(), total) << describe(o) << ": a byte is named twice";
    ASSERT_EQ(bytes, written) << describe(o);
  }
}

TEST(Operand, EveryCodeHasTheValueThatCoreGivesIt) {
  std::vector<uint8_t> shared(1 << 18);
  std::vector<float> out(8 * 16);
  for (uint32_t first = 0; first < 65536; first += 128) {
    for (uint32_t i = 0; i < 128; ++i) {
      const uint16_t code = uint16_t(first + i);
      std::memcpy(&shared[(i / 8) * 16 + i % 8 * 2], &code, 2);
    }
    // Without swizzle: rows 16 bytes apart, the second eight of K 128 bytes later.
    const MatrixDesc desc{0, 128, 256, Swizzle::none, 0};
    for (DType type : {DType::bf16, DType::fp16}) {
      gather_operand(desc, Arch::sm90, type, Major::K, 8, 16, shared.data(), out.data());
      for (uint32_t i = 0; i < 128; ++i) {
        const uint16_t code = uint16_t(first + i);
        const float want = type == DType::bf16 ? to_float(bf16{code}) : to_float(fp16{code});
        const float got = out[(i / 8 % 8) * 16 + i / 64 * 8 + i % 8];
        ASSERT_TRUE(got == want || (is_nan(got) && is_nan(want))) << name(type) << " code " << code;
        ASSERT_EQ(std::signbit(got), std::signbit(want));
      }
    }
  }
}

std::vector<float> naive(int m, int n, int k, const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> d(size_t(m * n));
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      int64_t sum = 0;
      for (int l = 0; l < k; ++l) sum += int64_t(a[size_t(i * k + l)]) * int64_t(b[size_t(j * k + l)]);
      d[size_t(i * n + j)] = float(sum);
    }
  }
  return d;
}

// The accumulators of 128 threads.
struct Registers {
  explicit Registers(int n) : values(128, std::vector<float>(size_t(n / 2))) {
    for (auto& v : values) pointers.push_back(v.data());
  }
  std::vector<std::vector<float>> values;
  std::vector<float*> pointers;
  const float* const* read() const { return pointers.data(); }
};

TEST(Wgmma, ProductOfLoadedTilesIsExactOnIntegers) {
  for (DType type : {DType::bf16, DType::fp16, DType::e4m3, DType::e5m2}) {
    for (Major major : {Major::K, Major::MN}) {
      for (Swizzle s : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
        if (operand_error(Arch::sm90, type, major, s) != nullptr) continue;
        const int n = 192, k = 128, depth = mma_k(type);
        const bool k_major = major == Major::K;
        Matrix ma(type, k_major ? 64 : k, k_major ? k : 64, 1), mb(type, k_major ? n : k, k_major ? k : n, 6);
        const std::vector<float> a = through_tma({Arch::sm90, type, major, s}, ma, 64, k);
        const std::vector<float> b = through_tma({Arch::sm90, type, major, s}, mb, n, k);
        Registers regs(n);
        std::vector<float> pa(size_t(64 * depth)), pb(size_t(n * depth)), d(size_t(64 * n));
        for (int first = 0; first < k; first += depth) {
          for (int i = 0; i < 64; ++i) std::copy_n(&a[size_t(i * k + first)], depth, &pa[size_t(i * depth)]);
          for (int i = 0; i < n; ++i) std::copy_n(&b[size_t(i * k + first)], depth, &pb[size_t(i * depth)]);
          multiply_fragments(n, depth, pa.data(), pb.data(), regs.pointers.data(), first > 0);
        }
        gather_accumulators(n, d.data(), regs.read());
        std::vector<float> va = ma.values, vb = mb.values;
        if (!k_major) {
          for (int j = 0; j < k; ++j) {
            for (int i = 0; i < 64; ++i) va[size_t(i * k + j)] = ma.values[size_t(j * 64 + i)];
            for (int i = 0; i < n; ++i) vb[size_t(i * k + j)] = mb.values[size_t(j * n + i)];
          }
        }
        ASSERT_EQ(d, naive(64, n, k, va, vb)) << name(type) << " major " << int(major) << " swizzle " << int(s);
      }
    }
  }
}

TEST(Multiply, IsExactOnIntegersForEveryShape) {
  for (int m : {1, 3, 64, 130}) {
    for (int n : {1, 8, 24, 40, 250, 256}) {
      for (int k : {1, 8, 16, 64}) {
        Matrix a(DType::bf16, m, k, 2), b(DType::bf16, n, k, 3);
        const int ld = n + 3;
        std::vector<float> acc(size_t(m * ld), 7.f);
        const std::vector<float> want = naive(m, n, k, a.values, b.values);
        for (bool accumulate : {false, true}) {
          multiply(m, n, k, a.values.data(), b.values.data(), acc.data(), ld, accumulate);
          for (int i = 0; i < m; ++i) {
            for (int j = 0; j < ld; ++j) {
              const float expected = j < n ? want[size_t(i * n + j)] * (accumulate ? 2.f : 1.f) : 7.f;
              ASSERT_EQ(acc[size_t(i * ld + j)], expected) << m << "x" << n << "x" << k << " at " << i << "," << j;
            }
          }
        }
      }
    }
  }
}

// Values whose products and sums all round, unlike those of tensor-core types: a fused or reordered step shows.
std::vector<float> rough(int count, float seed) {
  std::vector<float> v;
  for (int i = 0; i < count; ++i) v.push_back(seed * float((i * 37) % 101 - 50) / 7.f);
  return v;
}

TEST(Multiply, AllInstructionSetsGiveTheBitsOfTheScalarLoop) {
  const int n = 104, k = 16;
  const std::vector<float> a = rough(64 * k, 1.1f), b = rough(n * k, 0.3f), start = rough(64 * n, 1e-3f);
  std::vector<float> want = start;
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int l = 0; l < k; ++l) {
        volatile float product = a[size_t(i * k + l)] * b[size_t(j * k + l)];
        want[size_t(i * n + j)] += product;
      }
    }
  }
  for (InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
    limit_instruction_set(set);
    std::vector<float> got = start;
    multiply(64, n, k, a.data(), b.data(), got.data(), n, true);
    EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * 4), 0) << "set " << int(set);
    Registers regs(n);
    scatter_accumulators(n, start.data(), regs.pointers.data());
    multiply_fragments(n, k, a.data(), b.data(), regs.pointers.data(), true);
    gather_accumulators(n, got.data(), regs.read());
    EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * 4), 0) << "fragments, set " << int(set);
  }
  limit_instruction_set(InstructionSet::avx512);
}

TEST(Fragment, AccumulatorsLieWherePtxPutsThem) {
  for (int n : {8, 16, 136, 256}) {
    std::vector<float> d(size_t(64 * n)), back(d.size());
    std::iota(d.begin(), d.end(), 1.f);
    Registers regs(n);
    scatter_accumulators(n, d.data(), regs.pointers.data());
    std::set<float> seen;
    for (int t = 0; t < 128; ++t) {
      const int w = t / 32, l = t % 32;
      for (int i = 0; i < n / 2; ++i) {
        const int row = 16 * w + l / 4 + 8 * ((i / 2) % 2), column = 8 * (i / 4) + 2 * (l % 4) + i % 2;
        ASSERT_EQ(regs.values[size_t(t)][size_t(i)], d[size_t(row * n + column)]);
        seen.insert(regs.values[size_t(t)][size_t(i)]);
      }
    }
    EXPECT_EQ(seen.size(), d.size());
    gather_accumulators(n, back.data(), regs.read());
    EXPECT_EQ(back, d);
  }
}

TEST(Fragment, AOperandLiesWherePtxPutsIt) {
  for (DType type : {DType::bf16, DType::fp16, DType::e4m3, DType::e5m2, DType::tf32}) {
    const int k = mma_k(type), in_register = 32 / bits(type);
    Matrix a(type, 64, k, 4);
    std::vector<std::vector<uint32_t>> regs(128, std::vector<uint32_t>(4));
    std::vector<const uint32_t*> pointers;
    for (int t = 0; t < 128; ++t) {
      const int w = t / 32, l = t % 32;
      for (int i = 0; i < 4; ++i) {
        const int row = 16 * w + l / 4 + 8 * (i % 2), column = in_register * (l % 4) + 4 * in_register * (i / 2);
        std::memcpy(&regs[size_t(t)][size_t(i)], a.data + (row * k + column) * bits(type) / 8, 4);
      }
      pointers.push_back(regs[size_t(t)].data());
    }
    std::vector<float> out(size_t(64 * k));
    gather_a_fragment(type, pointers.data(), out.data());
    EXPECT_EQ(out, a.values) << name(type);
  }
}

struct MatrixRows {
  explicit MatrixRows(int count) : data(size_t(count * 64)) {
    for (size_t i = 0; i < data.size(); ++i) data[i] = uint16_t(i + 1);
    for (int i = 0; i < 8 * count; ++i) rows.push_back(reinterpret_cast<uint8_t*>(&data[size_t(i * 8)]));
  }
  std::vector<uint16_t> data;
  std::vector<uint8_t*> rows;
};

TEST(Ldmatrix, LaneHoldsTwoNeighboursOfItsRowOrColumn) {
  for (int count : {1, 2, 4}) {
    for (bool transpose : {false, true}) {
      MatrixRows m(count);
      std::vector<uint32_t> regs(size_t(32 * count));
      ldmatrix(count, transpose, m.rows.data(), regs.data());
      for (int lane = 0; lane < 32; ++lane) {
        for (int j = 0; j < count; ++j) {
          for (int h = 0; h < 2; ++h) {
            const int r = lane / 4, c = 2 * (lane % 4) + h;
            const uint16_t want = m.data[size_t(64 * j + (transpose ? 8 * c + r : 8 * r + c))];
            ASSERT_EQ(uint16_t(regs[size_t(lane * count + j)] >> (16 * h)), want) << lane << " " << j << " " << h;
          }
        }
      }
    }
  }
}

TEST(Ldmatrix, StmatrixIsItsInverse) {
  for (int count : {1, 2, 4}) {
    for (bool transpose : {false, true}) {
      MatrixRows from(count), to(count);
      std::fill(to.data.begin(), to.data.end(), uint16_t(0));
      std::vector<uint32_t> regs(size_t(32 * count));
      ldmatrix(count, transpose, from.rows.data(), regs.data());
      stmatrix(count, transpose, to.rows.data(), regs.data());
      EXPECT_EQ(to.data, from.data);
    }
  }
}

}  // namespace
}  // namespace warpwright::simulator::model
