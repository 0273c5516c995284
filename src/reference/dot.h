// The sum of products in the order that every reference has: four sums side by side.
#pragma once
#include <cstdint>

namespace warpwright::reference {

inline double dot(const double* p, const double* q, int64_t count) {
  double sum[4] = {};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int j = 0; j < 4; ++j) sum[j] += p[i + j] * q[i + j];
  }
  for (; i < count; ++i) sum[0] += p[i] * q[i];
  return sum[0] + sum[1] + sum[2] + sum[3];
}

}  // namespace warpwright::reference
