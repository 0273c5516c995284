#include "runtime/blockwise_workload.h"

#include <cmath>
#include <cstring>

namespace warpwright::runtime {
namespace {

constexpr int64_t block = 128;

Array matrix(const char* name, DType type, int64_t rows, int64_t columns) {
  Array a{name, type, rows, columns, false, {}};
  a.bytes.resize(a.size());
  return a;
}

// Positive, around 1.
Array scales(const char* name, int64_t rows, int64_t columns, Data data, uint64_t seed) {
  Array a = matrix(name, DType::fp32, rows, columns);
  fill(a, data, seed);
  for (int64_t i = 0; i < rows * columns; ++i) {
    const double x = element(a, i);
    const float scale =
        data == Data::integers ? std::ldexp(1.f, int(std::abs(x)) % 3 - 1) : float(std::exp2(std::fmod(x, 4)));
    std::memcpy(a.bytes.data() + size_t(i) * sizeof(float), &scale, sizeof(float));
  }
  return a;
}

}  // namespace

Workload blockwise_workload(Case s, DType out_type, Data data, uint64_t seed) {
  Workload w;
  w.shape = s;
  w.data = data;
  const int64_t k_blocks = (s.k + block - 1) / block, n_blocks = (s.n + block - 1) / block;
  Array a = matrix("A", DType::e4m3, s.m, s.k), b = matrix("B", DType::e4m3, s.n, s.k);
  fill(a, data, seed * 4 + 1);
  fill(b, data, seed * 4 + 2);
  Array a_scales = scales("a_scales", k_blocks, s.m, data, seed * 4 + 3);
  Array b_scales = scales("b_scales", n_blocks, k_blocks, data, seed * 4 + 4);
  std::vector<double> x(size_t(s.m * s.k)), y(size_t(s.n * s.k));
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t m = int64_t(i) / s.k, k = int64_t(i) % s.k;
    x[i] = element(a, int64_t(i)) * element(a_scales, k / block * s.m + m);
  }
  for (size_t i = 0; i < y.size(); ++i) {
    const int64_t n = int64_t(i) / s.k, k = int64_t(i) % s.k;
    y[i] = element(b, int64_t(i)) * element(b_scales, n / block * k_blocks + k / block);
  }
  w.expected.assign(size_t(s.m * s.n), 0);
  for (int64_t m = 0; m < s.m; ++m)
    for (int64_t n = 0; n < s.n; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < s.k; ++k) sum += x[size_t(m * s.k + k)] * y[size_t(n * s.k + k)];
      w.expected[size_t(m * s.n + n)] = sum;
    }
  Array d = matrix("D", out_type, s.m, s.n);
  d.output = true;
  poison(d);
  for (Array* array : {&a, &b, &a_scales, &b_scales, &d}) w.arrays.push_back(std::move(*array));
  return w;
}

}  // namespace warpwright::runtime
