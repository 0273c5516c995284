#include "reference/workload_parts.h"

#include <cmath>
#include <cstring>

namespace warpwright::reference {

Array new_array(const char* name, DType type, int64_t rows, int64_t columns) {
  Array a{name, type, rows, columns, false, {}};
  a.bytes.resize(a.size());
  return a;
}

Array new_scales(const char* name, int64_t rows, int64_t columns, Data data, uint64_t seed) {
  Array a = new_array(name, DType::fp32, rows, columns);
  fill(a, data, seed);
  for (int64_t i = 0; i < rows * columns; ++i) {
    const double x = element(a, i);
    const float scale =
        data == Data::integers ? std::ldexp(1.f, int(std::abs(x)) % 3 - 1) : float(std::exp2(std::fmod(x, 4)));
    std::memcpy(a.bytes.data() + size_t(i) * sizeof(float), &scale, sizeof(float));
  }
  return a;
}

void refine_scales(Array& scales, int64_t first, bool by_rows) {
  for (int64_t i = 0; i < scales.rows * scales.columns; ++i) {
    const int64_t block = by_rows ? i / scales.columns : i % scales.columns;
    if (block % 2 != first) continue;
    const float scale = float(element(scales, i)) * (1 + 0x1p-8f);
    std::memcpy(scales.bytes.data() + size_t(i) * sizeof scale, &scale, sizeof scale);
  }
}

std::vector<double> product_of(const std::vector<double>& x, const std::vector<double>& y, Case s) {
  std::vector<double> sums(size_t(s.m * s.n));
  for (int64_t m = 0; m < s.m; ++m) {
    for (int64_t n = 0; n < s.n; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < s.k; ++k) sum += x[size_t(m * s.k + k)] * y[size_t(n * s.k + k)];
      sums[size_t(m * s.n + n)] = sum;
    }
  }
  return sums;
}

}  // namespace warpwright::reference
