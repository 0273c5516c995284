// The product of the matrix units: the hot loop of the simulator.
//
// B is laid out as panels [k][column], so that neighbouring accumulators of a row are neighbours in a vector, and every
// row of accumulators takes k rank-1 updates in increasing order. A step is a product and a sum, each rounded:
// contraction to fused steps is switched off below, so that all instruction sets give the same bits.
#include <algorithm>
#include <cstring>
#include <vector>

#include "sim/model.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define WW_ALWAYS_INLINE __attribute__((always_inline)) inline
#if defined(__clang__)
#pragma clang fp contract(off)
#else
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif

namespace warpwright::simulator::model {
namespace {

// Rows of accumulators of one length and what each is updated with.
struct Update {
  int rows, length, k;
  float* const* acc;   // one pointer per row
  const float* a;      // [row][k] scalars, or [row][k][4]: a pattern that repeats every four accumulators
  const float* panel;  // [k][stride]
  int stride;          // length rounded up to kBlock, the rest zero
  bool accumulate;
};
constexpr int kBlock = 32;
using UpdateFunction = void (*)(const Update&);
struct Kernels {
  UpdateFunction scalar, quad;
};

namespace baseline {
#define WW_WIDTH 4
#include "sim/multiply_kernel.inc"
#undef WW_WIDTH
}  // namespace baseline

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
namespace avx2 {
#define WW_WIDTH 8
#include "sim/multiply_kernel.inc"
#undef WW_WIDTH
}  // namespace avx2
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f")
#endif
namespace avx512 {
#define WW_WIDTH 16
#include "sim/multiply_kernel.inc"
#undef WW_WIDTH
}  // namespace avx512
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

// Asked once. Not target_clones: its resolvers run before a sanitizer is ready.
Kernels kernels_for(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512 && __builtin_cpu_supports("avx512f")) return {avx512::scalar, avx512::quad};
  if (set >= InstructionSet::avx2 && __builtin_cpu_supports("avx2")) return {avx2::scalar, avx2::quad};
#endif
  static_cast<void>(set);
  return {baseline::scalar, baseline::quad};
}

Kernels& kernels() {
  static Kernels chosen = kernels_for(InstructionSet::avx512);
  return chosen;
}

// Off the stack: the models run on the small stacks of fibers.
struct Scratch {
  std::vector<float> panel, pattern;
  std::vector<float*> rows;
};
Scratch& scratch() {
  thread_local Scratch s;
  return s;
}

int padded(int length) { return (length + kBlock - 1) / kBlock * kBlock; }

}  // namespace

void limit_instruction_set(InstructionSet set) { kernels() = kernels_for(set); }

void multiply(int m, int n, int k, const float* a, const float* b, float* acc, int ld, bool accumulate) {
  std::vector<float*>& rows = scratch().rows;
  rows.resize(size_t(m));
  for (int i = 0; i < m; ++i) rows[size_t(i)] = acc + size_t(i) * size_t(ld);
  multiply_rows(m, n, k, a, b, rows.data(), accumulate);
}

void multiply_rows(int m, int n, int k, const float* a, const float* b, float* const* rows, bool accumulate) {
  if (m <= 0 || n <= 0) return;
  Scratch& s = scratch();
  const int stride = padded(n);
  s.panel.assign(size_t(stride) * size_t(k), 0.f);
  for (int j = 0; j < k; ++j) {
    float* to = s.panel.data() + size_t(j) * size_t(stride);
    for (int i = 0; i < n; ++i) to[i] = b[size_t(i) * size_t(k) + size_t(j)];
  }
  kernels().scalar({m, n, k, rows, a, s.panel.data(), stride, accumulate});
}

// Thread 4*r + j of a warp holds, for every eight columns, columns 2j and 2j + 1 of row r and then of row r + 8: four
// registers that one pattern {a[r], a[r], a[r+8], a[r+8]} and one duplicated pair of B update in place.
void multiply_fragments(int n, int k, const float* a, const float* b, float* const* acc_regs, bool accumulate) {
  constexpr int kPairs = 32;  // rows r and r + 8
  Scratch& s = scratch();
  s.pattern.resize(size_t(kPairs * k * 4));
  for (int pair = 0; pair < kPairs; ++pair) {
    const float* upper = a + (16 * (pair / 8) + pair % 8) * k;
    const float* lower = upper + 8 * k;
    float* to = s.pattern.data() + pair * k * 4;
    for (int j = 0; j < k; ++j, to += 4) {
      to[0] = to[1] = upper[j];
      to[2] = to[3] = lower[j];
    }
  }
  const int length = n / 2, stride = padded(length);
  s.panel.assign(size_t(stride * k), 0.f);
  s.rows.resize(kPairs);
  for (int quarter = 0; quarter < 4; ++quarter) {
    for (int j = 0; j < k; ++j) {
      float* to = s.panel.data() + j * stride;
      for (int g = 0; g < n / 8; ++g, to += 4) {
        to[0] = to[2] = b[(8 * g + 2 * quarter) * k + j];
        to[1] = to[3] = b[(8 * g + 2 * quarter + 1) * k + j];
      }
    }
    for (int pair = 0; pair < kPairs; ++pair)
      s.rows[size_t(pair)] = acc_regs[32 * (pair / 8) + 4 * (pair % 8) + quarter];
    kernels().quad({kPairs, length, k, s.rows.data(), s.pattern.data(), s.panel.data(), stride, accumulate});
  }
}

}  // namespace warpwright::simulator::model

#if !defined(__clang__)
#pragma GCC pop_options
#endif
