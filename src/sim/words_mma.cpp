// mma.sync: synchronous, registers only. The lanes meet, the last one multiplies for all.
#include <algorithm>
#include <cstring>

#include "warpwright/core/numeric.h"
#include "words.h"

namespace warpwright::inline WW_WORLD::machine::detail {
using namespace simulator;

namespace {

constexpr int kRows = 16, kColumns = 8, kSliceBytes = 32;

float value_of(DType type, const uint8_t* p) {
  const auto read = [p]<class T>(T) {
    T x;
    std::memcpy(&x, p, sizeof x);
    return to_float(x);
  };
  switch (type) {
    case DType::bf16:
      return read(bf16{});
    case DType::fp16:
      return read(fp16{});
    case DType::e4m3:
      return read(e4m3{});
    default:
      return read(e5m2{});
  }
}

// Byte `byte` of the slice in row r of A, or in column c of B, as the registers of the lanes hold it.
void gather(const MmaLane* lanes, uint8_t (&a)[kRows][kSliceBytes], uint8_t (&b)[kColumns][kSliceBytes]) {
  for (int l = 0; l < 32; ++l) {
    for (int i = 0; i < 4; ++i) std::memcpy(&a[l / 4 + 8 * (i % 2)][4 * (l % 4) + 16 * (i / 2)], &lanes[l].a[i], 4);
    for (int i = 0; i < 2; ++i) std::memcpy(&b[l / 4][4 * (l % 4) + 16 * i], &lanes[l].b[i], 4);
  }
}

void multiply(DType type, const MmaLane* lanes) {
  alignas(16) uint8_t a[kRows][kSliceBytes], b[kColumns][kSliceBytes];
  gather(lanes, a, b);
  const int size = bits(type) / 8, depth = kSliceBytes / size;
  // Sum i of lane l belongs to this row and column.
  const auto each_sum = [&](auto sum_of) {
    for (int l = 0; l < 32; ++l)
      for (int i = 0; i < 4; ++i) sum_of(l, i, l / 4 + 8 * (i / 2), 2 * (l % 4) + i % 2);
  };
  if (type == DType::s8) {
    each_sum([&](int l, int i, int row, int column) {
      uint32_t sum;
      std::memcpy(&sum, static_cast<const uint32_t*>(lanes[l].d) + i, 4);
      for (int k = 0; k < depth; ++k) sum += uint32_t(int32_t(int8_t(a[row][k])) * int32_t(int8_t(b[column][k])));
      std::memcpy(static_cast<uint32_t*>(lanes[l].d) + i, &sum, 4);
    });
    return;
  }
  float x[kRows][kSliceBytes], y[kColumns][kSliceBytes];
  for (int r = 0; r < kRows; ++r)
    for (int k = 0; k < depth; ++k) x[r][k] = value_of(type, &a[r][k * size]);
  for (int c = 0; c < kColumns; ++c)
    for (int k = 0; k < depth; ++k) y[c][k] = value_of(type, &b[c][k * size]);
  each_sum([&](int l, int i, int row, int column) {
    float& sum = static_cast<float*>(lanes[l].d)[i];
    float s = sum;
    for (int k = 0; k < depth; ++k) s += x[row][k] * y[column][k];
    sum = s;
  });
}

}  // namespace

void mma_sync(DType type, void* d, const uint32_t* a, const uint32_t* b, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Warp& w = *t.warp;
  e.word(t, e.timing.chip.word_issue, at);
  w.mma[t.lane()] = {d, a, b};
  rendezvous(e, t, "mma.sync", 0xffff'ffffu, Meeting::together, at, [&] {
    multiply(type, w.mma);
    if (!e.timed()) return;
    // The tensor cores serve the warps in turn; mma.sync reaches about five eighths of what wgmma does.
    const uint64_t rate = uint64_t(e.timing.chip.mma_flop_per_cycle) * 5 / 8 * uint64_t(16 / bits(type));
    const uint64_t flop = 2ull * kRows * kColumns * uint64_t(kSliceBytes * 8 / bits(type));
    const uint64_t cycles = (flop + rate - 1) / rate;
    w.mma_until = t.cta->tensor.serve(w.collective.time, cycles);
    e.stats.tensor_busy_cycles += cycles;
  });
  if (e.timed()) t.time = std::max(t.time, w.mma_until);
}

}  // namespace warpwright::inline WW_WORLD::machine::detail
