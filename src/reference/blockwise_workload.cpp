#include "reference/blockwise_workload.h"

#include <utility>
#include <vector>

#include "reference/workload_parts.h"

namespace warpwright::reference {
namespace {

constexpr int64_t block = 128;

}  // namespace

Workload blockwise_workload(Case s, DType out_type, Data data, uint64_t seed) {
  Workload w;
  w.shape = s;
  w.data = data;
  const int64_t k_blocks = (s.k + block - 1) / block, n_blocks = (s.n + block - 1) / block;
  Array a = new_array("A", DType::e4m3, s.m, s.k), b = new_array("B", DType::e4m3, s.n, s.k);
  fill(a, data, seed * 4 + 1);
  fill(b, data, seed * 4 + 2);
  Array a_scales = new_scales("a_scales", k_blocks, s.m, data, seed * 4 + 3);
  Array b_scales = new_scales("b_scales", n_blocks, k_blocks, data, seed * 4 + 4);
  if (data == Data::integers) {
    refine_scales(a_scales, 0, true);
    refine_scales(b_scales, 1);
  }
  std::vector<double> x(size_t(s.m * s.k)), y(size_t(s.n * s.k));
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t m = int64_t(i) / s.k, k = int64_t(i) % s.k;
    x[i] = element(a, int64_t(i)) * element(a_scales, k / block * s.m + m);
  }
  for (size_t i = 0; i < y.size(); ++i) {
    const int64_t n = int64_t(i) / s.k, k = int64_t(i) % s.k;
    y[i] = element(b, int64_t(i)) * element(b_scales, n / block * k_blocks + k / block);
  }
  w.expected = product_of(x, y, s);
  Array d = new_array("D", out_type, s.m, s.n);
  d.output = true;
  poison(d);
  for (Array* array : {&a, &b, &a_scales, &b_scales, &d}) w.arrays.push_back(std::move(*array));
  return w;
}

}  // namespace warpwright::reference
