#include "reference/grouped_workload.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "warpwright/core/numeric.h"
#include "warpwright/epilogue/quantize_block.h"

namespace warpwright::reference {
namespace {

template <class T>
Array words(const char* name, const std::vector<T>& values) {
  static_assert(sizeof(T) == 4);
  Array a{name, DType::fp32, 1, int64_t(values.size()), false, {}};
  a.bytes.resize(a.size());
  std::memcpy(a.bytes.data(), values.data(), a.bytes.size());
  return a;
}

// Elements with their factors, and the arrays that hold them.
struct Operand {
  std::vector<double> values;
  Array elements, scales;
};
Operand operand(const char* name, const char* scales_name, DType type, const GroupedSpec& s, int64_t rows,
                const std::vector<uint32_t>& cuts, Data data, uint64_t seed) {
  Operand o;
  o.values.resize(size_t(rows * s.k));
  if (s.scaling == BlockScaling::none) {
    o.elements = {name, type, rows, s.k, false, {}};
    o.elements.bytes.resize(o.elements.size());
    fill(o.elements, data, seed);
    for (size_t i = 0; i < o.values.size(); ++i) o.values[i] = element(o.elements, int64_t(i));
    return o;
  }
  ScaledMatrix m = scaled_matrix(s.scaling, type, rows, s.k, data, seed);
  // The first block of results has gates of 256 and ups of 7 times the same powers of two, mostly: the largest of such
  // a block is exactly the largest that its factor takes.
  if (s.out_scaling == BlockScaling::mxfp8 && type == DType::e4m3 && std::string(name) == "B" && s.k > 0) {
    constexpr uint8_t k256 = 0x78, k7 = 0x4e;
    for (int64_t r = 0; r < std::min<int64_t>(64, rows); ++r) {
      auto* const row = m.values.data() + r * m.row_bytes();
      std::fill_n(row, m.row_bytes(), uint8_t(0));
      row[0] = r % 2 == 0 ? k256 : k7;
    }
  }
  for (size_t i = 0; i < o.values.size(); ++i) {
    o.values[i] = m.value(int64_t(i) / s.k, int64_t(i) % s.k) / double(m.tensor_scale);
  }
  std::vector<uint8_t> tiles = tiled_scales(m, cuts);
  if (tiles.empty()) tiles.resize(kScaleTileBytes);
  o.scales = {scales_name,     m.scale_type, int64_t(tiles.size()) / kScaleTileBytes,
              kScaleTileBytes, false,        std::move(tiles)};
  o.elements = {name, type, rows, s.k, false, std::move(m.values)};
  return o;
}

// The products of every group, times the factor of its matrix; NaN where there is none.
void multiply(const GroupedSpec& s, const std::vector<double>& a, const std::vector<double>& b,
              const std::vector<float>& alpha, Workload& w) {
  const std::vector<uint32_t> starts = s.starts();
  w.expected.assign(size_t(s.rows()) * size_t(s.n), std::numeric_limits<double>::quiet_NaN());
  for (size_t g = 0; g < s.tokens.size(); ++g) {
    if (!s.has_matrix(g)) continue;
    const int matrix = s.matrices.empty() ? int(g) : s.matrices[g];
    for (int64_t r = 0; r < s.tokens[g]; ++r)
      for (int64_t n = 0; n < s.n; ++n) {
        double sum = 0;
        const double* x = a.data() + (int64_t(starts[g]) + r) * s.k;
        const double* y = b.data() + (int64_t(matrix) * s.n + n) * s.k;
        for (int64_t k = 0; k < s.k; ++k) sum += x[k] * y[k];
        w.expected[size_t((int64_t(starts[g]) + r) * s.n + n)] = sum * double(alpha[size_t(matrix)]);
      }
  }
}
std::vector<float> factors(const GroupedSpec& s, uint64_t seed) {
  std::vector<float> alpha;
  for (int i = 0; i < s.matrix_count; ++i) alpha.push_back(std::ldexp(1.f, (i + int(seed)) % 3 - 1));
  return alpha;
}
std::vector<uint32_t> offsets_of(const GroupedSpec& s) {
  std::vector<uint32_t> offsets = s.starts();
  if (!s.illegal) return offsets;
  for (size_t g = 0; g + 1 < s.tokens.size(); ++g) {
    if (s.tokens[g] == 0 && offsets[g + 1] > 0) --offsets[g + 1];
  }
  offsets.back() += 1000;
  return offsets;
}
// The tiles of factors of D, to the bit; those of groups without a matrix are not written.
AlsoExpected expected_factors(const GroupedSpec& s, const std::vector<uint8_t>& tiles) {
  AlsoExpected also{"d_scales", tiles, 1};
  const int64_t unit = scale_block(s.out_scaling) * kScaleTileColumns, across = (s.n / 2 + unit - 1) / unit;
  int64_t first = 0;
  for (size_t g = 0; g < s.tokens.size(); ++g) {
    const int64_t rows = s.slot_rows > 0 ? s.slot_rows : s.tokens[g];
    const int64_t end = first + (rows + kScaleTileRows - 1) / kScaleTileRows * across * kScaleTileBytes;
    if (!s.has_matrix(g)) std::fill(also.bytes.begin() + first, also.bytes.begin() + end, uint8_t(0xff));
    first = end;
  }
  return also;
}
// The table, the factors of the matrices and the status word.
void add_table(const GroupedSpec& s, const std::vector<float>& alpha, Workload& w) {
  if (s.slot_rows > 0) {
    w.arrays.push_back(words("counts", s.tokens));
  } else {
    w.arrays.push_back(words("offsets", offsets_of(s)));
  }
  if (!s.matrices.empty()) w.arrays.push_back(words("matrices", s.matrices));
  w.arrays.push_back(words("matrix_alpha", alpha));
  w.arrays.push_back(words("status", std::vector<uint32_t>{0xffff'ffffu}));
  w.arrays.back().scratch = true;
  w.also.push_back({"status", words("status", std::vector<uint32_t>{s.faults()}).bytes});
}
// Rows of a slot that belong to no group hold NaN.
void spoil_slots(const GroupedSpec& s, Array& a) {
  const std::vector<uint32_t> starts = s.starts();
  const size_t row_bytes = size_t(s.k) * size_t(bits(s.type)) / 8;
  for (size_t g = 0; s.slot_rows > 0 && g < s.tokens.size(); ++g) {
    const auto row = [&](size_t r) { return a.bytes.begin() + int64_t(r * row_bytes); };
    std::fill(row(starts[g] + size_t(s.tokens[g])), row(starts[g + 1]), uint8_t(0xff));
  }
}

}  // namespace

std::vector<uint32_t> GroupedSpec::starts() const {
  std::vector<uint32_t> all{0};
  for (int n : tokens) all.push_back(all.back() + uint32_t(slot_rows > 0 ? slot_rows : n));
  return all;
}
int GroupedSpec::rows() const { return int(starts().back()); }
bool GroupedSpec::has_matrix(size_t group) const {
  return matrices.empty() || (matrices[group] >= 0 && matrices[group] < matrix_count);
}
uint32_t GroupedSpec::faults() const {
  const auto beyond = [&](int32_t matrix) { return matrix >= matrix_count; };
  uint32_t found = std::any_of(matrices.begin(), matrices.end(), beyond) ? kMatrixOutOfRange : 0u;
  if (!illegal || slot_rows > 0) return found;
  const std::vector<uint32_t> legal = starts(), given = offsets_of(*this);
  for (size_t g = 0; g + 1 < given.size(); ++g) {
    if (std::min(given[g + 1], legal.back()) < legal[g]) found |= kOffsetsDecrease;
    if (given[g + 1] > legal.back()) found |= kRowsOutOfRange;
  }
  return found;
}

ScaledMatrix quantized_results(const GroupedSpec& s, const std::vector<double>& sums) {
  std::vector<float> z(sums.size() / 2);
  const epilogue::Swiglu swiglu{.clamped = s.clamped_swiglu};
  for (size_t i = 0; i < z.size(); ++i) {
    if (!std::isnan(sums[2 * i])) z[i] = swiglu(float(sums[2 * i]), float(sums[2 * i + 1]));
  }
  const int64_t columns = s.n / 2;
  if (s.out_scaling == BlockScaling::mxfp8) return quantize_mx(z.data(), s.rows(), columns, DType::e4m3);
  if (s.out_scaling == BlockScaling::mxfp4) return quantize_mx(z.data(), s.rows(), columns, DType::e2m1);
  // Without a factor of the tensor: 1.
  ScaledMatrix m{DType::e2m1, DType::ue4m3, s.rows(), columns, 1, 16, 1, {}, {}};
  m.values.resize(size_t(s.rows() * m.row_bytes()));
  m.scales.resize(size_t(s.rows() * m.scale_columns()));
  for (int64_t b = 0; b < int64_t(m.scales.size()); ++b) {
    float largest = 0;
    for (int64_t i = 0; i < 16; ++i) largest = std::max(largest, std::fabs(z[size_t(b * 16 + i)]));
    const ue4m3 factor = from_float<ue4m3>(largest * (1.f / 6));
    m.scales[size_t(b)] = factor.bits;
    for (int64_t i = 0; i < 16; ++i) {
      const float x = factor.bits == 0 ? 0.f : z[size_t(b * 16 + i)] * (1.f / to_float(factor));
      m.values[size_t(b * 8 + i / 2)] =
          uint8_t(m.values[size_t(b * 8 + i / 2)] | from_float<e2m1>(x).bits << (i % 2 * 4));
    }
  }
  return m;
}

Workload grouped_workload(const GroupedSpec& s, Data data, uint64_t seed, std::vector<double>* sums) {
  Workload w;
  w.shape = {s.rows(), s.n, s.k};
  w.data = data;
  const std::vector<uint32_t> starts = s.starts();
  std::vector<uint32_t> cuts;
  for (uint32_t i = 0; i <= uint32_t(s.matrix_count); ++i) cuts.push_back(i * uint32_t(s.n));
  const DType b_type = b_dtype(s.scaling, s.type);
  Operand a = operand("A", "a_scales", s.type, s, s.rows(), starts, data, seed * 4 + 1);
  Operand b = operand("B", "b_scales", b_type, s, int64_t(s.matrix_count) * s.n, cuts, data, seed * 4 + 2);
  const std::vector<float> alpha = factors(s, seed);
  spoil_slots(s, a.elements);
  multiply(s, a.values, b.values, alpha, w);
  w.arrays.push_back(std::move(a.elements));
  w.arrays.push_back(std::move(b.elements));
  if (s.scaling != BlockScaling::none) {
    w.arrays.push_back(std::move(a.scales));
    w.arrays.push_back(std::move(b.scales));
  }
  add_table(s, alpha, w);
  if (sums != nullptr) *sums = w.expected;
  Array d{"D", s.out_type, s.rows(), s.n, true, {}};
  if (s.out_scaling != BlockScaling::none) {
    const ScaledMatrix results = quantized_results(s, w.expected);
    const std::vector<uint8_t> tiles = tiled_scales(results, starts);
    if (data == Data::integers) w.also.push_back(expected_factors(s, tiles));
    w.arrays.push_back({"d_scales", results.scale_type, int64_t(tiles.size()) / kScaleTileBytes, kScaleTileBytes, false,
                        std::vector<uint8_t>(tiles.size(), 0xff), true});
    d.type = results.type;
    d.columns = results.columns;
    std::vector<double> elements;
    const bool narrow = results.type == DType::e2m1;
    for (int64_t i = 0; i < results.rows * results.columns; ++i) {
      const uint8_t code = results.values[size_t(narrow ? i / 2 : i)];
      const double value =
          narrow ? double(to_float(e2m1{uint8_t(code >> (i % 2 * 4) & 0xf)})) : double(to_float(e4m3{code}));
      elements.push_back(std::isnan(w.expected[size_t(2 * i)]) ? w.expected[size_t(2 * i)] : value);
    }
    w.expected = std::move(elements);
  }
  d.bytes.resize(d.size());
  poison(d);
  w.arrays.push_back(std::move(d));
  return w;
}

Workload grouped_blockwise_workload(const GroupedSpec& s, Data data, uint64_t seed) {
  Workload w;
  w.shape = {s.rows(), s.n, s.k};
  w.data = data;
  constexpr int64_t block = 128;
  const int64_t rows = s.rows(), matrix_rows = int64_t(s.matrix_count) * s.n, padded = (rows + 3) / 4 * 4;
  const int64_t k_blocks = (s.k + block - 1) / block, n_blocks = (s.n + block - 1) / block;
  const auto elements = [&](const char* name, int64_t count, uint64_t salt) {
    Array a{name, DType::e4m3, count, s.k, false, {}};
    a.bytes.resize(a.size());
    fill(a, data, seed * 4 + salt);
    return a;
  };
  // Powers of two keep every sum exact.
  const auto scales = [&](int64_t count, uint64_t salt) {
    std::vector<float> x;
    for (int64_t i = 0; i < count; ++i)
      x.push_back(std::ldexp(1.f, one_of_three(uint64_t(i) + (salt + seed * 8) * 0x10001) - 1));
    return x;
  };
  Array a = elements("A", rows, 1), b = elements("B", matrix_rows, 2);
  const std::vector<float> a_scales = scales(k_blocks * padded, 3),
                           b_scales = scales(s.matrix_count * n_blocks * k_blocks, 4);
  std::vector<double> x(size_t(rows * s.k)), y(size_t(matrix_rows * s.k));
  for (int64_t i = 0; i < rows * s.k; ++i) {
    x[size_t(i)] = element(a, i) * double(a_scales[size_t(i % s.k / block * padded + i / s.k)]);
  }
  for (int64_t i = 0; i < matrix_rows * s.k; ++i) {
    const int64_t matrix = i / s.k / s.n, n = i / s.k % s.n;
    y[size_t(i)] =
        element(b, i) * double(b_scales[size_t((matrix * n_blocks + n / block) * k_blocks + i % s.k / block)]);
  }
  const std::vector<float> alpha = factors(s, seed);
  spoil_slots(s, a);
  multiply(s, x, y, alpha, w);
  w.arrays.push_back(std::move(a));
  w.arrays.push_back(std::move(b));
  w.arrays.push_back(words("a_scales", a_scales));
  w.arrays.push_back(words("b_scales", b_scales));
  add_table(s, alpha, w);
  Array d{"D", s.out_type, rows, s.n, true, {}};
  d.bytes.resize(d.size());
  poison(d);
  w.arrays.push_back(std::move(d));
  return w;
}

launch::GroupedOperands grouped_operands(const GroupedSpec& s, const Workload& w, const std::vector<void*>& p) {
  launch::GroupedOperands o;
  o.a = pointer_of(w, p, "A");
  o.b = pointer_of(w, p, "B");
  o.a_scales = pointer_of(w, p, "a_scales");
  o.b_scales = pointer_of(w, p, "b_scales");
  o.d = p.back();
  for (const Array& array : w.arrays) {
    if (array.name == "a_scales") {
      const int64_t along_k =
          (s.k + scale_block(s.scaling) * kScaleTileColumns - 1) / (scale_block(s.scaling) * kScaleTileColumns);
      o.a_scale_tiles = along_k > 0 ? array.rows / along_k : 0;
    }
  }
  o.n = s.n;
  o.k = s.k;
  o.table.offsets = static_cast<const uint32_t*>(pointer_of(w, p, "offsets"));
  o.table.counts = static_cast<const uint32_t*>(pointer_of(w, p, "counts"));
  o.table.matrices = static_cast<const int32_t*>(pointer_of(w, p, "matrices"));
  o.table.status = static_cast<uint32_t*>(pointer_of(w, p, "status"));
  o.table.groups = int(s.tokens.size());
  o.table.rows = s.rows();
  o.table.matrix_count = s.matrix_count;
  o.table.slot_rows = s.slot_rows;
  o.d_scales = pointer_of(w, p, "d_scales");
  for (const Array& array : w.arrays) {
    const int64_t across = (s.n / 2 + scale_block(s.out_scaling) * kScaleTileColumns - 1) /
                           (scale_block(s.out_scaling) * kScaleTileColumns);
    if (array.name == "d_scales") o.d_scale_tiles = across > 0 ? array.rows / across : 0;
  }
  o.matrix_alpha = static_cast<const float*>(pointer_of(w, p, "matrix_alpha"));
  return o;
}

GroupedSpec spec_of(const GroupedProblem& p, const std::vector<uint32_t>& rows, const std::vector<int32_t>& matrices) {
  GroupedSpec s;
  if (p.groups == Groups::masked) {
    s.slot_rows = int(p.m / p.group_count);
    s.tokens.assign(rows.begin(), rows.end());
  } else {
    for (size_t g = 1; g < rows.size(); ++g) s.tokens.push_back(int(rows[g] - rows[g - 1]));
  }
  s.matrices = matrices;
  s.matrix_count = int(p.matrix_count > 0 ? p.matrix_count : p.group_count);
  s.n = int(p.n);
  s.k = int(p.k);
  s.scaling = p.scaling;
  s.type = p.type;
  s.out_type = p.out;
  s.out_scaling = p.out_scaling;
  s.clamped_swiglu = p.clamped_swiglu;
  return s;
}

GroupedPointers grouped_pointers(const GroupedProblem& problem, const Workload& w, const std::vector<void*>& p) {
  GroupedPointers to;
  const auto at = [&](const char* name) { return pointer_of(w, p, name); };
  // Rows of tiles in an array of them.
  const auto tile_rows = [&](const char* name, int64_t columns, BlockScaling scaling) -> int64_t {
    const int64_t unit = scale_block(scaling) * kScaleTileColumns, across = (columns + unit - 1) / unit;
    for (const Array& array : w.arrays)
      if (array.name == name && across > 0) return array.rows / across;
    return 0;
  };
  to.a = at("A");
  to.b = at("B");
  to.d = p.back();
  if (problem.scaling == BlockScaling::none) {
    to.a_scales = static_cast<const float*>(at("a_scales"));
    to.b_scales = static_cast<const float*>(at("b_scales"));
  } else {
    to.a_block_scales = at("a_scales");
    to.b_block_scales = at("b_scales");
    to.a_block_rows = tile_rows("a_scales", problem.k, problem.scaling);
  }
  if (problem.out_scaling != BlockScaling::none) {
    to.d_block_scales = at("d_scales");
    to.d_block_rows = tile_rows("d_scales", problem.n / 2, problem.out_scaling);
  }
  to.rows = static_cast<const uint32_t*>(at(problem.groups == Groups::masked ? "counts" : "offsets"));
  to.matrices = static_cast<const int32_t*>(at("matrices"));
  to.matrix_alpha = static_cast<const float*>(at("matrix_alpha"));
  to.status = static_cast<uint32_t*>(at("status"));
  to.bias = at("bias");
  return to;
}

}  // namespace warpwright::reference
