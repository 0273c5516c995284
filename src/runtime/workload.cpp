#include "runtime/workload.h"

#include <cmath>
#include <cstring>

#include "warpwright/core/numeric.h"
#include "warpwright/tile/raster.h"

namespace warpwright::runtime {
namespace {

uint64_t mix(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

double normal(uint64_t& state) {  // Box and Muller
  const double u = (double(mix(state) >> 11) + 1) / 9007199254740993.0,
               v = double(mix(state) >> 11) / 9007199254740992.0;
  return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
}

template <class T>
void put(Array& a, int64_t i, float v) {
  const T x = from_float<T>(v);
  std::memcpy(a.bytes.data() + size_t(i) * sizeof(T), &x, sizeof(T));
}
void put(Array& a, int64_t i, float v) {
  switch (a.type) {
    case DType::bf16:
      return put<bf16>(a, i, v);
    case DType::fp16:
      return put<fp16>(a, i, v);
    case DType::e4m3:
      return put<e4m3>(a, i, v);
    case DType::e5m2:
      return put<e5m2>(a, i, v);
    case DType::tf32:
      return put<tf32>(a, i, v);
    default:
      std::memcpy(a.bytes.data() + size_t(i) * 4, &v, 4);
  }
}
template <class T>
double get(const uint8_t* p, int64_t i) {
  T x;
  std::memcpy(&x, p + size_t(i) * sizeof(T), sizeof(T));
  return double(to_float(x));
}
double get(DType type, const uint8_t* p, int64_t i) {
  switch (type) {
    case DType::bf16:
      return get<bf16>(p, i);
    case DType::fp16:
      return get<fp16>(p, i);
    case DType::e4m3:
      return get<e4m3>(p, i);
    case DType::e5m2:
      return get<e5m2>(p, i);
    case DType::tf32:
      return get<tf32>(p, i);
    default: {
      float x;
      std::memcpy(&x, p + size_t(i) * 4, 4);
      return double(x);
    }
  }
}

// As the kernel's last step rounds it.
double rounded(DType type, double x) {
  switch (type) {
    case DType::bf16:
      return double(to_float(from_float<bf16>(float(x))));
    case DType::fp16:
      return double(to_float(from_float<fp16>(float(x))));
    default:
      return double(float(x));
  }
}

double tolerance(DType type) { return type == DType::bf16 ? 8e-3 : type == DType::fp16 ? 1e-3 : 1e-5; }

Array matrix(const char* name, DType type, int64_t rows, int64_t columns) {
  Array a{name, type, rows, columns, false, {}};
  a.bytes.resize(a.size());
  return a;
}

void add_output(Workload& w, const char* name, DType type, int64_t rows, int64_t columns) {
  Array a = matrix(name, type, rows, columns);
  a.output = true;
  poison(a);
  w.arrays.push_back(std::move(a));
}

}  // namespace

void fill(Array& array, Data data, uint64_t seed) {
  uint64_t state = seed * 0x632be59bd9b4e019ull + 17;
  const int64_t n = array.rows * array.columns;
  for (int64_t i = 0; i < n; ++i)
    put(array, i, data == Data::integers ? float(int(mix(state) % 7) - 3) : float(normal(state)));
}

double element(const Array& array, int64_t index) { return get(array.type, array.bytes.data(), index); }

void poison(Array& array) { std::fill(array.bytes.begin(), array.bytes.end(), uint8_t(0xff)); }

Verdict judge(const Workload& w, const std::vector<uint8_t>& output) {
  Verdict v;
  const DType type = w.output().type;
  double error = 0, norm = 0;
  for (size_t i = 0; i < w.expected.size(); ++i) {
    const double have = get(type, output.data(), int64_t(i)), want = rounded(type, w.expected[i]);
    if (std::isnan(have)) {
      ++v.unwritten;
      ++v.wrong;
      continue;
    }
    if (w.data == Data::integers && have != want) ++v.wrong;
    error += (have - w.expected[i]) * (have - w.expected[i]);
    norm += w.expected[i] * w.expected[i];
  }
  v.max_rel_error = norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
  if (w.data == Data::normal && !(v.max_rel_error <= tolerance(type))) ++v.wrong;
  v.ok = v.wrong == 0;
  return v;
}

Workload gemm_workload(Case s, DType type, DType out_type, double alpha, Data data, uint64_t seed) {
  Workload w;
  w.shape = s;
  w.data = data;
  w.alpha = alpha;
  Array a = matrix("A", type, s.m, s.k), b = matrix("B", type, s.n, s.k);
  fill(a, data, seed * 2 + 1);
  fill(b, data, seed * 2 + 2);
  std::vector<double> x(size_t(s.m * s.k)), y(size_t(s.n * s.k));
  for (size_t i = 0; i < x.size(); ++i) x[i] = element(a, int64_t(i));
  for (size_t i = 0; i < y.size(); ++i) y[i] = element(b, int64_t(i));
  w.expected.assign(size_t(s.m * s.n), 0);
  for (int64_t m = 0; m < s.m; ++m)
    for (int64_t n = 0; n < s.n; ++n) {
      double sum[4] = {};
      const double *p = x.data() + m * s.k, *q = y.data() + n * s.k;
      int64_t k = 0;
      for (; k + 4 <= s.k; k += 4)
        for (int j = 0; j < 4; ++j) sum[j] += p[k + j] * q[k + j];
      for (; k < s.k; ++k) sum[0] += p[k] * q[k];
      w.expected[size_t(m * s.n + n)] = alpha * (sum[0] + sum[1] + sum[2] + sum[3]);
    }
  w.arrays.push_back(std::move(a));
  w.arrays.push_back(std::move(b));
  add_output(w, "D", out_type, s.m, s.n);
  return w;
}

Workload affine_workload(Case s, DType type, double alpha, double beta, Data data, uint64_t seed) {
  Workload w;
  w.shape = s;
  w.data = data;
  w.alpha = alpha;
  w.beta = beta;
  Array x = matrix("x", type, s.m, s.n);
  fill(x, data, seed);
  for (int64_t i = 0; i < s.m * s.n; ++i) w.expected.push_back(alpha * element(x, i) + beta);
  w.arrays.push_back(std::move(x));
  add_output(w, "y", type, s.m, s.n);
  return w;
}

Workload cluster_sum_workload(Case s, const ClusterRingConfig& c, int clusters, Data data, uint64_t seed) {
  Workload w;
  w.shape = s;
  w.data = data;
  Array x = matrix("x", DType::fp32, s.m, s.n);
  fill(x, data, seed);
  const int64_t tm = (s.m + c.tile_rows - 1) / c.tile_rows, tn = (s.n + c.tile_columns - 1) / c.tile_columns;
  const int64_t size = c.tile_elements();
  w.expected.assign(size_t(clusters * c.cluster * size), 0);
  const tile::GroupedSerpentine raster{int(tm), int(tn), 1};
  for (int64_t t = 0; t < tm * tn; ++t)
    for (int64_t i = 0; i < size; ++i) {
      const tile::TileCoord at = raster.at(int(t));
      const int64_t row = at.m * c.tile_rows + i / c.tile_columns, column = at.n * c.tile_columns + i % c.tile_columns;
      if (row >= s.m || column >= s.n) continue;
      for (int r = 0; r < c.cluster; ++r)
        w.expected[size_t((t % clusters * c.cluster + r) * size + i)] += double(r + 1) * element(x, row * s.n + column);
    }
  w.arrays.push_back(std::move(x));
  add_output(w, "sums", DType::fp32, clusters * c.cluster, size);
  return w;
}

}  // namespace warpwright::runtime
