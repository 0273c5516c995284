#include "reference/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "reference/dot.h"
#include "reference/own_epilogue.h"
#include "warpwright/core/numeric.h"
#include "warpwright/core/words.h"
#include "warpwright/epilogue/activation.h"
#include "warpwright/tile/raster.h"

namespace warpwright::reference {
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
    case DType::s8:
      a.bytes[size_t(i)] = uint8_t(int8_t(std::clamp(std::nearbyint(v), -128.f, 127.f)));
      return;
    default:
      std::memcpy(a.bytes.data() + size_t(i) * 4, &v, 4);
  }
}
// 8-bit codes have a table of their values.
template <class T>
double get(const uint8_t* p, int64_t i) {
  if constexpr (sizeof(T) == 1) {
    static const auto table = [] {
      std::array<double, 256> values{};
      for (size_t code = 0; code < values.size(); ++code) values[code] = double(to_float(T{uint8_t(code)}));
      return values;
    }();
    return table[p[i]];
  }
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
    case DType::s8:
      return double(int8_t(p[i]));
    case DType::e2m1:
      return double(to_float(e2m1{uint8_t(p[i / 2] >> (i % 2 * 4) & 0xf)}));
    default: {
      float x;
      std::memcpy(&x, p + size_t(i) * 4, 4);
      return double(x);
    }
  }
}

Array matrix(const char* name, DType type, int64_t rows, int64_t columns) {
  Array a{name, type, rows, columns, false, {}};
  a.bytes.resize(a.size());
  return a;
}

// For two arrays of one type, which has whole bytes.
void copy_element(const Array& from, int64_t i, Array& to, int64_t j) {
  const size_t size = size_t(bits(from.type)) / 8;
  std::memcpy(to.bytes.data() + size_t(j) * size, from.bytes.data() + size_t(i) * size, size);
}

void add_output(Workload& w, const char* name, DType type, int64_t rows, int64_t columns) {
  Array a = matrix(name, type, rows, columns);
  a.output = true;
  poison(a);
  w.arrays.push_back(std::move(a));
}

// The array reaches to the end of the last matrix and no further: what comes after it is not ours.
int64_t elements(const ArrayLayout& l, int64_t batch) {
  if (l.rows == 0 || l.columns == 0 || batch == 0) return 0;
  return l.at(batch - 1, l.rows - 1, l.columns - 1) + 1;
}
// Calls visit(index in the array, batch, row, column); a shared matrix is visited once.
template <class Visit>
void for_each(const ArrayLayout& l, int64_t batch, Visit visit) {
  for (int64_t i = 0; i < (l.batch_stride == 0 && batch > 0 ? 1 : batch); ++i)
    for (int64_t r = 0; r < l.rows; ++r)
      for (int64_t c = 0; c < l.columns; ++c) visit(l.at(i, r, c), i, r, c);
}

// Outputs begin as bits that are all set.
bool is_written(DType type, const std::vector<uint8_t>& output, size_t i) {
  if (bits(type) < 8) return (output[i / 2] >> (i % 2 * 4) & 0xf) != 0xf;
  const size_t size = size_t(bits(type)) / 8;
  return std::any_of(output.begin() + int64_t(i * size), output.begin() + int64_t((i + 1) * size),
                     [](uint8_t byte) { return byte != 0xff; });
}

std::string hex_of(const uint8_t* bytes, size_t count) {
  std::string text;
  for (size_t i = count; i-- > 0;) {
    constexpr const char* digits = "0123456789abcdef";
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 0xf];
  }
  return text;
}

// A float as it is stored; with all of its bits set nobody has written it.
float float_at(const uint8_t* bytes) {
  float x;
  std::memcpy(&x, bytes, sizeof x);
  return x;
}
bool is_poison(const uint8_t* bytes) { return stdx::bit_cast<uint32_t>(float_at(bytes)) == ~0u; }
bool both_nan(const uint8_t* x, const uint8_t* y) {
  return std::isnan(float_at(x)) && std::isnan(float_at(y)) && !is_poison(x) && !is_poison(y);
}
std::string float_text(const uint8_t* bytes) {
  return is_poison(bytes)              ? "as it was before"
         : std::isnan(float_at(bytes)) ? "NaN"
                                       : fmt::format("{:.9g}", float_at(bytes));
}

// The functions of the epilogue are part of its promise, bit by bit; tests/sim/epilogue_nodes_test.cpp holds them to
// the true ones.
double activated(Activation f, double v) {
#define WW_CASE_ACTIVATE(name_, NAME, value, word) \
  case Activation::name_:                          \
    return f == Activation::none ? v : double(epilogue::activate<Activation::name_>(float(v)));
  switch (f) { WW_ACTIVATIONS(WW_CASE_ACTIVATE) }
#undef WW_CASE_ACTIVATE
  return v;
}

ArrayLayout addend_layout(const ArrayLayout& given, int64_t rows, int64_t columns) {
  return given.rows > 0 ? given : dense_layout(rows, columns);
}

}  // namespace

double rounded(DType type, double x) {
  switch (type) {
    case DType::bf16:
      return double(to_float(from_float<bf16>(float(x))));
    case DType::fp16:
      return double(to_float(from_float<fp16>(float(x))));
    case DType::e4m3:
      return double(to_float(from_float<e4m3>(float(x))));
    case DType::e5m2:
      return double(to_float(from_float<e5m2>(float(x))));
    case DType::e2m1:
      return double(to_float(from_float<e2m1>(float(x))));
    default:
      return double(float(x));
  }
}

double tolerance(DType type) {
  switch (type) {
    case DType::bf16:
      return 8e-3;
    case DType::fp16:
      return 1e-3;
    case DType::e4m3:
      return 4e-2;
    case DType::e5m2:
    case DType::e2m1:
      return 8e-2;
    default:
      return 1e-5;
  }
}

void fill(Array& array, Data data, uint64_t seed) {
  uint64_t state = seed * 0x632be59bd9b4e019ull + 17;
  const int64_t n = array.rows * array.columns;
  if (data == Data::normal) {
    for (int64_t i = 0; i < n; ++i) put(array, i, float(normal(state)));
    return;
  }
  Array kinds = matrix("", array.type, 1, 7);  // -3 to 3
  for (int i = 0; i < 7; ++i) put(kinds, i, float(i - 3));
  for (int64_t i = 0; i < n; ++i) copy_element(kinds, int64_t(mix(state) % 7), array, i);
}

void refine(Array& array) {
  if (array.type != DType::fp32) return;
  for (int64_t i = 0; i < array.rows * array.columns; ++i) put(array, i, float(element(array, i)) * (1 + 0x1p-11f));
}

int one_of_three(uint64_t number) { return int(mix(number) % 3); }

double element(const Array& array, int64_t index) { return get(array.type, array.bytes.data(), index); }

void poison(Array& array) { std::fill(array.bytes.begin(), array.bytes.end(), uint8_t(0xff)); }

Verdict judge(const Workload& w, const std::vector<uint8_t>& output) {
  Verdict v;
  const DType type = w.output().type;
  double error = 0, norm = 0;
  for (size_t i = 0; i < w.expected.size(); ++i) {
    const double have = get(type, output.data(), int64_t(i)), want = rounded(type, w.expected[i]);
    if (std::isnan(w.expected[i])) {
      if (std::signbit(w.expected[i]) ? !std::isnan(have) : is_written(type, output, i)) ++v.wrong;
      continue;
    }
    if (std::isinf(want) || std::isinf(have)) {
      if (have != want) ++v.wrong;
      continue;
    }
    if (std::isnan(have)) {
      ++(is_written(type, output, i) ? v.not_numbers : v.unwritten);
      ++v.wrong;
      continue;
    }
    if (w.data == Data::integers && have != want) ++v.wrong;
    error += (have - w.expected[i]) * (have - w.expected[i]);
    norm += w.expected[i] * w.expected[i];
  }
  v.max_rel_error = norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
  if (w.data == Data::normal && !(v.max_rel_error <= std::max(tolerance(type), w.sum_tolerance))) ++v.wrong;
  v.ok = v.wrong == 0;
  return v;
}

void judge_others(const Workload& w, const std::vector<void*>& contents, Verdict& v) {
  for (const AlsoExpected& other : w.also) {
    const auto* const have = static_cast<const uint8_t*>(pointer_of(w, contents, other.array.c_str()));
    for (size_t i = 0; i < other.bytes.size(); i += other.element_bytes) {
      if (std::memcmp(have + i, other.bytes.data() + i, other.element_bytes) == 0) continue;
      if (other.floats && both_nan(have + i, other.bytes.data() + i)) continue;
      ++v.others_wrong;
      if (v.other.empty() && other.floats) {
        v.other = fmt::format("{}[{}] is {}, not {}", other.array, i / other.element_bytes, float_text(have + i),
                              float_text(other.bytes.data() + i));
      } else if (v.other.empty()) {
        v.other = other.array + "[" + std::to_string(i / other.element_bytes) + "] has the bits 0x" +
                  hex_of(have + i, other.element_bytes) + ", not 0x" +
                  hex_of(other.bytes.data() + i, other.element_bytes);
      }
    }
  }
  v.ok = v.wrong == 0 && v.others_wrong == 0;
}

ArrayLayout dense_layout(int64_t rows, int64_t columns) { return {rows, columns, columns, rows * columns, 0}; }
ArrayLayout aligned_layout(int64_t rows, int64_t columns, DType type) {
  const int64_t unit = 128 / bits(type), stride = (columns + unit - 1) / unit * unit;
  return {rows, columns, stride, (rows + 1) * stride, 0};
}
ArrayLayout odd_layout(int64_t rows, int64_t columns) {
  const int64_t stride = columns + 1 + columns % 2;
  return {rows, columns, stride, rows * stride + 2, 1};
}

Workload gemm_workload(const GemmSpec& s, Data data, uint64_t seed) {
  Workload w;
  w.shape = s.shape;
  w.data = data;
  w.alpha = s.alpha;
  w.beta = s.beta;
  w.layout = s.d;
  if (s.batch == 1) w.layout.batch_stride = 0;
  // The tensor core adds products of 8-bit types with 14 bits of fraction, truncated, once for 32 of them.
  if (bits(s.a_type) == 8) w.sum_tolerance = 2e-3;
  const int64_t m = s.shape.m, n = s.shape.n;
  const auto add = [&](Array array, uint64_t salt) {
    fill(array, data, seed * 16 + salt);
    w.arrays.push_back(std::move(array));
  };
  const auto add_matrix = [&](const char* name, DType type, const ArrayLayout& layout, uint64_t salt) {
    Array full = matrix(name, type, 1, elements(layout, s.batch));
    Array values = full;
    poison(full);
    fill(values, data, seed * 16 + salt);
    for_each(layout, s.batch, [&](int64_t at, int64_t, int64_t, int64_t) { copy_element(values, at, full, at); });
    w.arrays.push_back(std::move(full));
  };
  // Powers of two, and for A a little more: products stay exact. No first one is 1, nor the product of two: each must
  // be used.
  const auto add_scales = [&](const char* name, int64_t count, float first) {
    Array scales = matrix(name, DType::fp32, 1, count);
    for (int64_t i = 0; i < count; ++i) put(scales, i, i == 0 ? first : std::ldexp(first, one_of_three(uint64_t(i))));
    w.arrays.push_back(std::move(scales));
  };
  add_matrix("A", s.a_type, s.a, 1);
  add_matrix("B", s.b_type, s.b, 2);
  if (s.a_type == DType::s8 && s.shape.k > kLargeSums) {
    for (Array& operand : w.arrays)
      for (uint8_t& byte : operand.bytes) byte = uint8_t(120 + byte % 8);
  }
  const EpilogueConfig& e = s.epilogue;
  // Two columns of the product make one of D where the epilogue takes pairs.
  const int64_t columns = e.pair() ? n / 2 : n, along = e.bias == Bias::per_row ? m : n;
  if (e.source) add_matrix("C", e.source_type, addend_layout(s.c, m, columns), 3);
  if (e.residual) add_matrix("residual", e.residual_type, addend_layout(s.residual, m, columns), 4);
  if (e.bias != Bias::none) {
    add(matrix("bias", e.bias_type, s.batch, along), 5);
    if (data == Data::integers && s.formula.empty()) refine(w.arrays.back());
  }
  if (s.scaling != Scaling::none) {
    const bool each = s.scaling == Scaling::row_column;
    add_scales("a_scales", each ? s.batch * m : 1, 0.5f + 0x1p-9f);
    add_scales("b_scales", each ? s.batch * n : 1, 0.25f);
  }
  if (s.workspace_bytes > 0) {
    w.arrays.push_back(matrix("workspace", DType::s8, 1, s.workspace_bytes));
    w.arrays.back().scratch = true;
  }
  add_output(w, "D", e.out, 1, elements(s.d, s.batch));
  expect_product(s, w);
  return w;
}

void expect_product(const GemmSpec& s, Workload& w) {
  const int64_t m = s.shape.m, n = s.shape.n, k = s.shape.k;
  const auto find = [&](const char* name) -> const Array* {
    for (const Array& array : w.arrays)
      if (array.name == name) return &array;
    return nullptr;
  };
  const Array &a = *find("A"), &b = *find("B");
  const Array *c = find("C"), *residual = find("residual"), *bias = find("bias");
  const Array *a_scales = find("a_scales"), *b_scales = find("b_scales");
  const EpilogueConfig& e = s.epilogue;
  const int64_t columns = e.pair() ? n / 2 : n, along = e.bias == Bias::per_row ? m : n;
  const ArrayLayout of_c = addend_layout(s.c, m, columns), of_residual = addend_layout(s.residual, m, columns);
  const auto formula = formula_of(s.formula);
  std::vector<double> x(size_t(m * k)), y(size_t(n * k));
  w.expected.assign(size_t(elements(s.d, s.batch)), std::numeric_limits<double>::quiet_NaN());
  for (int64_t batch = 0; batch < s.batch; ++batch) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < k; ++j)
        x[size_t(i * k + j)] = element(a, s.a_major == Major::K ? s.a.at(batch, i, j) : s.a.at(batch, j, i));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < k; ++j)
        y[size_t(i * k + j)] = element(b, s.b_major == Major::K ? s.b.at(batch, i, j) : s.b.at(batch, j, i));
    const auto sum = [&](int64_t row, int64_t column) {
      double v = dot(x.data() + row * k, y.data() + column * k, k);
      if (s.scaling == Scaling::tensor) v *= element(*a_scales, 0) * element(*b_scales, 0);
      if (s.scaling == Scaling::row_column) {
        v *= element(*a_scales, batch * m + row) * element(*b_scales, batch * n + column);
      }
      return e.alpha ? v * s.alpha : v;
    };
    for (int64_t row = 0; row < m; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        const int64_t of_bias = batch * along + (e.bias == Bias::per_row ? row : column);
        double v = sum(row, column);
        if (formula) {
          const auto of = [&](const Array* array, int64_t index) {
            return array != nullptr ? element(*array, index) : 0;
          };
          const double added = of(bias, of_bias);
          v = formula_value(
              *formula, w.data,
              {v, of(c, of_c.at(batch, row, column)), added, added, of(residual, of_residual.at(batch, row, column)),
               s.beta, int32_t(row), int32_t(column), int32_t(batch)});
          if (e.quantize) v = double(float(v * s.scale));
          w.expected[size_t(s.d.at(batch, row, column))] = expected_number(v);
          continue;
        }
        if (c) v += s.beta * element(*c, of_c.at(batch, row, column));
        if (bias) v += element(*bias, of_bias);
        if (e.pair()) {
          // B is [gates; ups], and so is a bias of columns.
          const double added = bias ? element(*bias, of_bias + (e.bias == Bias::per_row ? 0 : columns)) : 0;
          const double up = sum(row, columns + column) + added;
          v = double(float(activated(Activation::silu, v) * up));
        } else {
          v = activated(e.activation, v);
        }
        // Each node rounds once, as the kernels do.
        if (residual) v = double(float(v + element(*residual, of_residual.at(batch, row, column))));
        if (e.quantize) v = double(float(v * s.scale));
        w.expected[size_t(s.d.at(batch, row, column))] = expected_number(v);
      }
  }
}

Workload gemm_workload(Case s, DType type, DType out_type, double alpha, Data data, uint64_t seed) {
  GemmSpec spec;
  spec.shape = s;
  spec.a_type = spec.b_type = type;
  spec.a = dense_layout(s.m, s.k);
  spec.b = dense_layout(s.n, s.k);
  spec.d = dense_layout(s.m, s.n);
  spec.epilogue = factor_and_conversion(out_type);
  spec.alpha = alpha;
  return gemm_workload(spec, data, seed);
}

void* pointer_of(const Workload& w, const std::vector<void*>& pointers, const char* name) {
  for (size_t i = 0; i < w.arrays.size(); ++i)
    if (w.arrays[i].name == name) return pointers[i];
  return nullptr;
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

}  // namespace warpwright::reference
