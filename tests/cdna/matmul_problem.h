// A matrix product of small whole numbers on the simulated CDNA kernel: every sum is exact.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "warpwright/core/numeric.h"
#include "warpwright/kernel/cdna/matmul.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::cdna_test {

struct Shape {
  uint32_t m = 0, n = 0, k = 0;
  uint32_t gap = 0;  // 16-byte units between the rows of A and B, elements between those of D
};

inline simulator::Options in_mode(simulator::Landing landing,
                                  simulator::Scheduling scheduling = simulator::Scheduling::fifo, uint64_t seed = 1) {
  simulator::Options o;
  o.landing = landing;
  o.scheduling = scheduling;
  o.seed = seed;
  return o;
}

// gfx942 has its own e4m3, with a bias of 8: the code of a value is that of its double in the OCP format.
inline uint8_t fp8_code(Arch arch, int value) {
  if (value == 0) return 0;
  return from_float<e4m3>(float(arch == Arch::gfx942 ? 2 * value : value)).bits;
}

struct Matrix {
  uint32_t rows = 0, columns = 0, row_bytes = 0;
  std::vector<int> values;
  std::vector<uint8_t> bytes;

  Matrix(const CdnaMatmulConfig& c, uint32_t r, uint32_t k, uint32_t gap, uint32_t seed) : rows(r), columns(k) {
    row_bytes = k * uint32_t(c.element_bytes()) + gap * 16;
    bytes.assign(size_t(rows) * row_bytes + 16, 0xff);  // NaN between the rows
    for (uint32_t i = 0; i < rows * columns; ++i) {
      seed = seed * 1664525 + 1013904223;
      values.push_back(int((seed >> 16) % 7) - 3);
      uint8_t* at = &bytes[size_t(i / columns) * row_bytes + i % columns * uint32_t(c.element_bytes())];
      if (c.type == DType::bf16) {
        const bf16 x = from_float<bf16>(float(values.back()));
        std::memcpy(at, &x, 2);
      } else {
        *at = fp8_code(c.arch, values.back());
      }
    }
  }
};

struct Product {
  simulator::Result sim;
  int wrong = 0;
  int stray = 0;  // bytes written between the rows of D
  std::string first() const { return sim.findings.empty() ? std::string() : sim.findings.front().text(); }
  std::string rule() const { return sim.findings.empty() ? std::string() : sim.findings.front().rule; }
};

template <CdnaMatmulConfig C>
Product multiply(const Shape& s, const simulator::Options& options, float alpha = 1) {
  const Matrix a(C, s.m, s.k, s.gap, 1), b(C, s.n, s.k, s.gap, 2);
  const uint32_t out = uint32_t(C.out_bytes()), d_row = (s.n + s.gap) * out;
  std::vector<uint8_t> d(size_t(s.m) * d_row, 0xff);
  CdnaMatmulArgs args;
  args.a = {a.bytes.data()};
  args.b = {b.bytes.data()};
  args.d = {d.data()};
  args.m = s.m;
  args.n = s.n;
  args.k = s.k;
  args.a_row_bytes = a.row_bytes;
  args.b_row_bytes = b.row_bytes;
  args.d_row_bytes = d_row;
  args.alpha = alpha;
  args.a_k_bytes = args.b_k_bytes = uint32_t(C.element_bytes());
  args.nodes.out = C.out_type;
  using Use = simulator::Buffer::Use;
  const auto memory = [](const std::vector<uint8_t>& bytes) { return const_cast<uint8_t*>(bytes.data()); };
  const uint32_t tiles = (s.m + C.tile_m() - 1) / C.tile_m() * ((s.n + C.tile_n() - 1) / C.tile_n());
  Product run;
  run.sim =
      simulator::run_kernel<kernel::cdna::Matmul<C>>(args, {tiles, 1, 1},
                                                     {{memory(a.bytes), a.bytes.size() - 16, "A", Use::input, false},
                                                      {memory(b.bytes), b.bytes.size() - 16, "B", Use::input, false},
                                                      {d.data(), d.size(), "D", Use::output, false}},
                                                     options);
  if (!run.sim.ok()) return run;
  for (uint32_t i = 0; i < s.m; ++i) {
    for (uint32_t j = 0; j < s.n; ++j) {
      int sum = 0;
      for (uint32_t k = 0; k < s.k; ++k) sum += a.values[size_t(i) * s.k + k] * b.values[size_t(j) * s.k + k];
      const uint8_t* at = &d[size_t(i) * d_row + size_t(j) * out];
      float got = 0, want = float(sum) * alpha;
      if (C.out_type == DType::bf16) {
        bf16 x;
        std::memcpy(&x, at, 2);
        got = to_float(x);
        want = to_float(from_float<bf16>(want));
      } else {
        std::memcpy(&got, at, 4);
      }
      run.wrong += !(got == want);
    }
    for (uint32_t x = s.n * out; x < d_row; ++x) run.stray += d[size_t(i) * d_row + x] != 0xff;
  }
  return run;
}

using enum CdnaVariant;
inline constexpr CdnaMatmulConfig kConfigs[] = {
    {.variant = ping_pong},
    {.variant = ping_pong, .type = DType::e4m3},
    {.variant = blocks},
    {.variant = blocks, .type = DType::e4m3},
    {.variant = four_wave},
    {.variant = four_wave, .type = DType::e4m3},
    {.variant = standard},
    {.variant = standard, .type = DType::e4m3},
    {.arch = Arch::gfx942, .variant = standard},
    {.arch = Arch::gfx942, .variant = standard, .type = DType::e4m3},
    {.variant = ping_pong, .general = true},
    {.variant = standard, .general = true, .by_elements = true},
    {.variant = standard, .type = DType::e4m3, .general = true, .by_elements = true},
};
inline constexpr size_t kConfigCount = sizeof(kConfigs) / sizeof(kConfigs[0]);

inline std::string name_of(const CdnaMatmulConfig& c) {
  return std::string(c.arch == Arch::gfx942 ? "gfx942 " : "gfx950 ") + name(c.variant) + " " + name(c.type) +
         (c.by_elements ? " by elements"
          : c.general   ? " general"
                        : "");
}

// f.operator()<config>() for each.
template <class F>
void for_each_config(F&& f) {
  [&]<size_t... I>(std::index_sequence<I...>) {
    (
        [&] {
          SCOPED_TRACE(name_of(kConfigs[I]));
          f.template operator()<kConfigs[I]>();
        }(),
        ...);
  }
  (std::make_index_sequence<kConfigCount>{});
}

}  // namespace warpwright::cdna_test
