// Block-scaled tcgen05.mma from end to end, with scale factors where the PTX ISA (9.1) puts them:
//   9.7.16.10.7    scale_vec::1X (mxf8f6f4), 2X (mxf4) and 4X (mxf4nvf4), and "need to be duplicated to all 32 lane
//                  partitions of tensor memory"
//   9.7.16.10.7.2  scale factor A ID, .3 scale factor B ID: which bytes of the 32-bit cell an MMA reads
//   9.7.16.10.5    layout B (cta_group::2, M 128) computes the halves of N in different lanes, so that each half of the
//                  lanes has the scale factors of its own half
// In shared memory 128 rows by four scales are one tile of 512 bytes: row r is at 16 * (r % 32) + 4 * (r / 32), which
// tcgen05.cp.32x128b.warpx4 turns into lane r % 32, column r / 32 of every quarter.
#include <cstring>
#include <string>
#include <vector>

#include "sim/model.h"
#include "sim/rules.h"
#include "warpwright/core/numeric.h"

namespace warpwright::rules {
namespace {

namespace model = simulator::model;

enum class Spoil { nothing, replica_of_a, replica_of_b, not_written };

struct Scaled {
  MmaKind kind;
  DType type, scale;
  int cta_group, m, n;
  int id = 0;         // of both operands
  bool copy = false;  // by tcgen05.cp from shared memory; otherwise by tcgen05.st from four warps
  Spoil spoil = Spoil::nothing;
};

constexpr uint32_t kAt[] = {0, 4096, 12288, 12800};  // A, B, scales of A, scales of B in data()
constexpr uint32_t kSfa = 256, kSfb = 272;           // columns
constexpr int kBytes = 14336;

int depth(const Scaled& c) { return 256 / bits(c.type); }
int blocks(const Scaled& c) { return c.kind == MmaKind::mxf8f6f4 ? 1 : c.kind == MmaKind::mxf4 ? 2 : 4; }

float value(int row, int k, int salt) { return float((row * 5 + k * 3 + salt) % 7 - 3); }
uint8_t code(DType type, float x) {
  return type == DType::e2m1   ? from_float<e2m1>(x).bits
         : type == DType::e5m2 ? from_float<e5m2>(x).bits
                               : from_float<e4m3>(x).bits;
}
float decoded(DType type, float x) {
  return type == DType::e2m1 ? to_float(e2m1{code(type, x)}) : x;  // e2m1 has no 5; the others hold small integers
}
float scale_value(DType type, int row, int block, int salt) {
  const int i = (row * 3 + block * 5 + salt) % 5;
  return type == DType::ue8m0 ? float(1 << i) / 4 : 0.5f * float(i + 1);
}
uint8_t scale_code(DType type, float x) {
  return type == DType::ue8m0 ? from_float<ue8m0>(x).bits : from_float<ue4m3>(x).bits;
}
// The cell of one row: the bytes that the MMA must not read hold NaN.
uint32_t scale_cell(const Scaled& c, int row, int salt) {
  uint32_t cell = 0xffff'ffffu;
  for (int b = 0; b < blocks(c); ++b) {
    const int byte = (c.id + b) % 4;
    cell &= ~(0xffu << (8 * byte));
    cell |= uint32_t(scale_code(c.scale, scale_value(c.scale, row, b, salt))) << (8 * byte);
  }
  return cell;
}

std::vector<uint8_t> shared_image(const Scaled& c, int cta) {
  std::vector<uint8_t> image(kBytes);
  const auto put = [&](uint32_t at, int rows, int first, int salt) {
    for (int r = 0; r < rows; ++r)
      for (int k = 0; k < depth(c); ++k) {
        const int bit = k * bits(c.type), byte = bit / 8;
        const uint8_t x = code(c.type, value(first + r, k, salt));
        image[at + size_t(r / 8 * 128 + r % 8 * 16 + byte / 16 * rows * 16 + byte % 16)] |= uint8_t(x << (bit % 8));
      }
  };
  const int rows = c.m / c.cta_group, columns = c.n / c.cta_group;
  put(kAt[0], rows, cta * rows, 0);
  put(kAt[1], columns, cta * columns, 2);
  for (int r = 0; r < rows; ++r) {
    const uint32_t cell = scale_cell(c, cta * rows + r, 1);
    std::memcpy(&image[kAt[2] + size_t(r % 32 * 16 + r / 32 * 4)], &cell, 4);
  }
  for (int n = 0; n < c.n; ++n) {
    const uint32_t cell = scale_cell(c, n, 3);
    std::memcpy(&image[kAt[3] + size_t(n / 128 * 512 + n % 32 * 16 + n % 128 / 32 * 4)], &cell, 4);
  }
  return image;
}

struct Outcome {
  std::string rule;
  int wrong = 0;
};

template <MmaKind K, int G>
Outcome run(const Scaled& c) {
  const bool halves = G == 2 && c.m == 128;
  const int rows = c.m / G;
  std::vector<uint8_t> image[2] = {shared_image(c, 0), shared_image(c, 1)};
  std::vector<float> out(size_t(G * 128 * 256));
  Outcome o;
  o.rule = verdict(block(4, Arch::sm100, G), [&] {
    init(1, 1);
    const int cta = int(rank());
    for (uint32_t at = 4 * thread(); at < kBytes; at += 512) {
      uint32_t x;
      std::memcpy(&x, &image[cta][at], 4);
      m::store(data(at).template as<uint32_t>(), x);
    }
    m::fence_proxy_async<ProxySpace::shared_cta>();
    if (warp() == 0) {
      m::tcgen05_alloc<G>(Shared<uint32_t>{m::shared_base() + 512}, 512);
      m::tcgen05_relinquish<G>();
    }
    m::sync_block();
    const Tmem tmem{m::load(Shared<uint32_t>{m::shared_base() + 512})};
    const int quarter = int(warp()), lane = int(m::lane_index());
    if (!c.copy) {
      const auto store = [&](uint32_t column, int count, int first, int end, int salt, bool spoiled) {
        for (int i = 0; i < count; ++i) {
          m::TmemRegisters<1> r;
          const int row = first + 32 * i + lane;
          r.set(0, row < end ? scale_cell(c, row, salt) ^ (spoiled && quarter == 3 ? 0x0101'0101u : 0u) : 0u);
          if (!(spoiled && c.spoil == Spoil::not_written))
            m::tcgen05_st<m::TmemShape::b32x32, 1>(tmem.lane(uint32_t(32 * quarter)).column(column + uint32_t(i)), r);
        }
      };
      const int half = halves ? c.n / 2 : c.n, first_n = halves ? quarter / 2 * half : 0;
      store(kSfa, (rows + 31) / 32, cta * rows, (cta + 1) * rows, 1, c.spoil == Spoil::replica_of_a);
      store(kSfb, (half + 31) / 32, first_n, first_n + half, 3,
            c.spoil == Spoil::replica_of_b || (c.spoil == Spoil::not_written && quarter == 2));
      m::tcgen05_wait_st();
    }
    m::tcgen05_fence_before();
    G == 2 ? m::cluster_sync() : m::sync_block();
    m::tcgen05_fence_after();
    if (cta == 0 && thread() == 0) {
      if (c.copy) {
        const auto cp = [&](uint32_t column, uint32_t at, int count) {
          for (int tile = 0; tile < (count + 127) / 128; ++tile)
            m::tcgen05_cp<m::TmemCopy::s32x128b_warpx4, G>(
                tmem.column(column + 4 * uint32_t(tile)),
                encode_sm100({data(at + 512 * uint32_t(tile)).address, 0, 128, Swizzle::none, 0}));
        };
        cp(kSfa, kAt[2], rows);
        cp(kSfb, kAt[3], c.n);
      }
      InstrDesc d{K, c.type, c.type, Accumulator::f32, c.m, c.n};
      d.scale = c.scale;
      d.a_scale_id = d.b_scale_id = uint8_t(c.id);
      const auto desc = [&](uint32_t at, int extent) {
        return encode_sm100(k_major_desc(c.type, Swizzle::none, extent, data(at).address));
      };
      m::tcgen05_mma_scaled<K, G>(tmem, desc(kAt[0], rows), desc(kAt[1], c.n / G), encode_idesc(d), tmem.column(kSfa),
                                  tmem.column(kSfb), false);
      G == 2 ? m::tcgen05_commit_multicast<G>(bar(), 3) : m::tcgen05_commit<G>(bar());
    }
    wait();
    m::tcgen05_fence_after();
    for (int column = 0; column < (halves ? c.n / 2 : c.n); column += 8) {
      m::TmemRegisters<8> r;
      m::tcgen05_ld<m::TmemShape::b32x32, 8>(r, tmem.lane(uint32_t(32 * quarter)).column(uint32_t(column)));
      m::tcgen05_wait_ld();
      for (int i = 0; i < 8; ++i) out[size_t((cta * 128 + 32 * quarter + lane) * 256 + column + i)] = r.get(i);
    }
    m::tcgen05_fence_before();
    G == 2 ? m::cluster_sync() : m::sync_block();
    m::tcgen05_fence_after();
    if (warp() == 0) m::tcgen05_dealloc<G>(tmem, 512);
    if (G == 2) m::cluster_sync();
  });
  if (!o.rule.empty()) return o;
  for (int i = 0; i < c.m; ++i)
    for (int j = 0; j < c.n; ++j) {
      float want = 0;
      for (int k = 0; k < depth(c); ++k) {
        const int b = k / (depth(c) / blocks(c));
        want += decoded(c.type, value(i, k, 0)) * scale_value(c.scale, i, b, 1) * decoded(c.type, value(j, k, 2)) *
                scale_value(c.scale, j, b, 3);
      }
      const int cta = i / rows;
      const model::TmemCell cell = *model::accumulator_cell(c.m, c.n, G, cta, i, j);
      o.wrong += out[size_t((cta * 128 + cell.lane) * 256 + cell.column)] != want;
    }
  return o;
}

Outcome run(const Scaled& c) {
  const bool pair = c.cta_group == 2;
  switch (c.kind) {
    case MmaKind::mxf8f6f4:
      return pair ? run<MmaKind::mxf8f6f4, 2>(c) : run<MmaKind::mxf8f6f4, 1>(c);
    case MmaKind::mxf4:
      return pair ? run<MmaKind::mxf4, 2>(c) : run<MmaKind::mxf4, 1>(c);
    default:
      return pair ? run<MmaKind::mxf4nvf4, 2>(c) : run<MmaKind::mxf4nvf4, 1>(c);
  }
}
void expect_right(const Scaled& c) {
  const Outcome o = run(c);
  const testing::Message what = testing::Message()
                                << "kind " << int(c.kind) << " cta_group " << c.cta_group << " " << c.m << "x" << c.n
                                << " id " << c.id << (c.copy ? " by cp" : " by st");
  EXPECT_EQ(o.rule, "") << what;
  EXPECT_EQ(o.wrong, 0) << what;
}

struct Vector {
  MmaKind kind;
  DType type, scale;
  std::vector<int> ids;
};
const Vector kVectors[] = {
    {MmaKind::mxf8f6f4, DType::e4m3, DType::ue8m0, {0, 1, 2, 3}},  // 1X
    {MmaKind::mxf8f6f4, DType::e5m2, DType::ue8m0, {2}},
    {MmaKind::mxf4, DType::e2m1, DType::ue8m0, {0, 2}},   // 2X
    {MmaKind::mxf4nvf4, DType::e2m1, DType::ue4m3, {0}},  // 4X
    {MmaKind::mxf4nvf4, DType::e2m1, DType::ue8m0, {0}},  // 4X
};

TEST(BlockScaledMma, EveryScaleVectorAndIdInOneCta) {
  for (const Vector& v : kVectors)
    for (int id : v.ids)
      for (bool copy : {false, true})
        for (int n : {8, 40, 256}) expect_right({v.kind, v.type, v.scale, 1, 128, n, id, copy});
}

TEST(BlockScaledMma, EveryScaleVectorInAPair) {
  for (const Vector& v : kVectors)
    for (int n : {16, 96}) {
      expect_right({v.kind, v.type, v.scale, 2, 256, n, v.ids.back(), true});
      expect_right({v.kind, v.type, v.scale, 2, 256, n, v.ids.back(), false});
      expect_right({v.kind, v.type, v.scale, 2, 128, n, v.ids.back(), false});  // layout B
    }
}

// A copy to all four quarters puts the scales of the left half of N where those of the right half are read.
TEST(BlockScaledMma, LayoutBDoesNotTakeTheSameScalesInAllQuarters) {
  const Outcome o = run({MmaKind::mxf8f6f4, DType::e4m3, DType::ue8m0, 2, 128, 64, 0, true});
  EXPECT_EQ(o.rule, "");
  EXPECT_GT(o.wrong, 0);
}

TEST(BlockScaledMma, ReplicasThatDifferAreReported) {
  Scaled c{MmaKind::mxf8f6f4, DType::e4m3, DType::ue8m0, 1, 128, 64};
  c.spoil = Spoil::replica_of_a;
  EXPECT_EQ(run(c).rule, "tcgen05.replica");
  c.spoil = Spoil::replica_of_b;
  EXPECT_EQ(run(c).rule, "tcgen05.replica");
  c.spoil = Spoil::not_written;
  EXPECT_EQ(run(c).rule, "uninitialised.tmem");
  c.spoil = Spoil::replica_of_b;
  c.cta_group = 2;
  EXPECT_EQ(run(c).rule, "tcgen05.replica") << "layout B";
}

TEST(BlockScaledMma, FourScalesFillTheCell) {
  EXPECT_EQ(run({MmaKind::mxf4nvf4, DType::e2m1, DType::ue4m3, 1, 128, 64, 2}).rule, "tcgen05.idesc");
  EXPECT_EQ(run({MmaKind::mxf4nvf4, DType::e2m1, DType::ue8m0, 1, 128, 64, 2}).rule, "tcgen05.idesc");
}

}  // namespace
}  // namespace warpwright::rules
