#include "reference/grouped_sm90_workload.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "reference/dot.h"
#include "reference/group_parts.h"
#include "reference/own_epilogue.h"
#include "reference/workload_parts.h"
#include "warpwright/kernel/sm90/grouped/grouped_epilogue.h"

namespace warpwright::reference {
namespace {

template <class T>
Array integers(const char* name, const std::vector<T>& values) {
  Array a = new_array(name, DType::fp32, 1, int64_t(values.size()));
  if (!values.empty()) std::memcpy(a.bytes.data(), values.data(), a.bytes.size());
  return a;
}

// An array of fp32, compared to the bit; elements that are NaN must not be written, those that are -NaN become NaN.
AlsoExpected exactly(const Array& array, const std::vector<double>& values) {
  AlsoExpected also{.array = array.name, .bytes = array.bytes, .floats = true};
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_due = !std::isnan(values[i]) || std::signbit(values[i]);
    const float value = std::isnan(values[i]) ? std::numeric_limits<float>::quiet_NaN() : float(values[i]);
    if (is_due) std::memcpy(also.bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return also;
}

// The last element of the last row that a group has, at the end of its depth, becomes NaN.
void spoil_last(Array& a, const GroupedProduct& product, int64_t a_rows) {
  for (const GroupPart& part : parts_of(product)) {
    const int64_t row = part.end > part.first ? taken_row(product, a_rows, part.end - 1) : -1;
    if (row < 0 || part.end_k == part.first_k) continue;
    const int64_t k = part.end_k - 1;
    const int64_t at = product.a_major == Major::K ? row * product.shape.k + k : k * a_rows + row;
    const auto bytes = int64_t(bits(a.type) / 8);
    std::fill_n(a.bytes.begin() + std::ptrdiff_t(at * bytes), bytes, uint8_t(0xff));
    return;
  }
}

// A row that must not be used: every bit is set, a NaN in each of the types.
void spoil(Array& a, int64_t row) {
  const size_t bytes = size_t(a.columns) * size_t(bits(a.type)) / 8;
  std::fill_n(a.bytes.begin() + std::ptrdiff_t(size_t(row) * bytes), bytes, uint8_t(0xff));
}

// Of an array of fp32: times 2^-70.
void shrink_row(Array& a, int64_t row) {
  for (int64_t i = row * a.columns; i < (row + 1) * a.columns; ++i) {
    const auto x = float(std::ldexp(element(a, i), -70));
    std::memcpy(a.bytes.data() + size_t(i) * sizeof x, &x, sizeof x);
  }
}

void clear_row(Array& a, int64_t row) {
  const size_t bytes = size_t(a.columns) * size_t(bits(a.type)) / 8;
  std::fill_n(a.bytes.begin() + std::ptrdiff_t(size_t(row) * bytes), bytes, uint8_t(0));
}

// Of an array of bf16 or fp32.
void set_number(Array& a, int64_t i, float x) {
  const bf16 narrow = from_float<bf16>(x);
  if (a.type == DType::bf16) {
    std::memcpy(a.bytes.data() + size_t(i) * sizeof narrow, &narrow, sizeof narrow);
  } else {
    std::memcpy(a.bytes.data() + size_t(i) * sizeof x, &x, sizeof x);
  }
}

void spoil_column(Array& a, int64_t column) {
  const int64_t bytes = bits(a.type) / 8;
  for (int64_t r = 0; r < a.rows; ++r) {
    std::fill_n(a.bytes.begin() + std::ptrdiff_t((r * a.columns + column) * bytes), bytes, uint8_t(0xff));
  }
}

// Scales [rows, blocks] as [blocks][rows, rounded up to 4]; what was rounded up is no number.
Array by_columns(const Array& scales) {
  const int64_t padded = (scales.rows + 3) / 4 * 4;
  Array turned = new_array(scales.name.c_str(), scales.type, scales.columns, padded);
  std::fill(turned.bytes.begin(), turned.bytes.end(), uint8_t(0xff));
  for (int64_t r = 0; r < scales.rows; ++r)
    for (int64_t b = 0; b < scales.columns; ++b)
      std::memcpy(turned.bytes.data() + (b * padded + r) * 4, scales.bytes.data() + (r * scales.columns + b) * 4, 4);
  return turned;
}

// An operand made of matrices with this many rows each, row by row: its elements times their scales, of which line(row)
// is the row.
struct StoredOperand {
  const Array& a;
  Major major;
  int64_t rows_each, depth;
  int64_t at(int64_t row, int64_t k) const {
    if (major == Major::K) return row * depth + k;
    return (row / rows_each * depth + k) * rows_each + row % rows_each;
  }
  template <class Line>
  std::vector<double> scaled(const Array* factors, Line line) const {
    const int64_t rows = depth > 0 ? a.rows * a.columns / depth : 0;
    std::vector<double> x(size_t(rows * depth));
    for (int64_t r = 0; r < rows; ++r) {
      double f = 1;
      for (int64_t k = 0; k < depth; ++k) {
        if (factors != nullptr && k % kScaleBlock == 0)
          f = element(*factors, line(r) * factors->columns + k / kScaleBlock);
        x[size_t(r * depth + k)] = element(a, at(r, k)) * f;
      }
    }
    return x;
  }
};
// Matrices of this many rows as they are stored.
Array new_operand(const char* name, DType type, Major major, int64_t count, int64_t rows, int64_t k) {
  return major == Major::K ? new_array(name, type, count * rows, k) : new_array(name, type, count * k, rows);
}

// The steps of the kernel's epilogue on exact sums, or the functions that they approximate.
struct Finish {
  bool exact;
  double add(double x, double y) const { return exact ? double(tile::add(float(x), float(y))) : x + y; }
  double swiglu(double gate, double up) const {
    if (exact) return double(tile::multiply(epilogue::silu(float(gate)), float(up)));
    return gate / (1 + std::exp(-gate)) * up;
  }
  // The scale of the elements, and the elements divided by it.
  double quantize(double* elements, int64_t count) const {
    double largest = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (std::isnan(elements[i]) || std::fabs(elements[i]) > largest) largest = std::fabs(elements[i]);
      if (std::isnan(largest)) break;
    }
    const float scale = epilogue::scale_of_block(float(largest));
    for (int64_t i = 0; i < count; ++i) {
      elements[i] = exact ? double(tile::multiply(float(elements[i]), tile::reciprocal(scale))) : elements[i] / scale;
    }
    return scale;
  }
};

// The required contents of D and d_scales; NaN where nothing must be written.
struct Results {
  std::vector<double> values, factors;
  double farthest = 0;  // the element of D that is farthest from 0; NaN if one is not a number
};

// The arrays of a product; null: it has none.
struct Given {
  const Array *a, *b, *a_scales, *b_scales, *bias, *d, *matrix_alpha;
};

Results results_of(const GroupedProduct& product, const Given& given, const Finish& finish) {
  const int64_t n = product.shape.n, k = product.shape.k, columns = product.columns(), d_rows = given.d->rows;
  const int64_t b_lines = (n + product.b_scale_rows - 1) / product.b_scale_rows, d_blocks = columns / kScaleBlock;
  const int64_t a_rows = product.gathered() ? product.a_rows : product.shape.m;
  const std::vector<double> x =
      StoredOperand{*given.a, product.a_major, a_rows, k}.scaled(given.a_scales, [](int64_t r) { return r; });
  const std::vector<double> y = StoredOperand{*given.b, product.b_major, n, k}.scaled(
      given.b_scales, [&](int64_t r) { return r / n * b_lines + r % n / product.b_scale_rows; });
  constexpr double untouched = std::numeric_limits<double>::quiet_NaN();
  const OwnEpilogue own(product, finish.exact ? Data::integers : Data::normal);
  Results results{std::vector<double>(size_t(d_rows * columns), untouched),
                  std::vector<double>(size_t(d_rows * d_blocks), untouched)};
  for (const GroupPart& part : parts_of(product)) {
    for (int64_t r = part.first; r < part.end; ++r) {
      const int64_t from = taken_row(product, a_rows, r);
      const auto sum_of = [&](int64_t c) {
        double sum = from < 0 ? 0
                              : dot(x.data() + from * k + part.first_k,
                                    y.data() + (part.matrix * n + c) * k + part.first_k, part.end_k - part.first_k);
        if (given.matrix_alpha != nullptr) sum *= element(*given.matrix_alpha, part.matrix);
        if (own) return own.value(sum, given.bias, part, r, c);
        if (given.bias == nullptr) return sum;
        return finish.add(sum, element(*given.bias, (product.shared_bias ? 0 : part.matrix) * n + c));
      };
      const int64_t row = part.out + r - part.first;
      double* const line = results.values.data() + row * columns;
      for (int64_t c = 0; c < columns; ++c) {
        line[c] = product.swiglu ? finish.swiglu(sum_of(c), sum_of(columns + c)) : sum_of(c);
        if (product.accumulate) line[c] += element(*given.d, row * columns + c);
      }
      for (int64_t block = 0; product.out == DType::e4m3 && block < d_blocks; ++block) {
        results.factors[size_t(row * d_blocks + block)] =
            expected_number(finish.quantize(line + block * kScaleBlock, kScaleBlock));
      }
      for (int64_t c = 0; c < columns; ++c) {
        if (!(std::fabs(line[c]) <= std::fabs(results.farthest))) results.farthest = line[c];
        // A formula may well give one.
        if (std::isnan(results.farthest) && !own && !finish.exact) return results;
        line[c] = expected_number(line[c]);
      }
    }
  }
  return results;
}

}  // namespace

bool is_of_all(const GroupedProblem& p) {
  return p.scaling == BlockScaling::none && p.groups != Groups::none &&
         (p.type == DType::bf16 || p.gathered || p.groups == Groups::by_depth);
}

int GroupedProduct::group_count() const {
  if (groups == Groups::none) return 1;
  return groups == Groups::masked ? int(rows.size()) : std::max(int(rows.size()) - 1, 0);
}
int GroupedProduct::matrices_given() const {
  return groups == Groups::by_depth ? 1 : matrix_count > 0 ? matrix_count : group_count();
}

Workload grouped_product_workload(const GroupedProduct& product, Data data, uint64_t seed) {
  const int64_t m = product.shape.m, n = product.shape.n, k = product.shape.k;
  Workload w;
  w.shape = product.shape;
  w.data = data;
  const bool has_scales = product.type == DType::e4m3, by_depth = product.groups == Groups::by_depth;
  const int64_t k_blocks = (k + kScaleBlock - 1) / kScaleBlock, matrices = product.matrices_given();
  const int64_t b_lines = (n + product.b_scale_rows - 1) / product.b_scale_rows, columns = product.columns();
  const int64_t d_rows = by_depth ? m * product.group_count() : m;
  // The tensor core keeps 14 bits of the sums of a block; swiglu multiplies two of them.
  if (has_scales) w.sum_tolerance = product.swiglu ? 3e-3 : 1e-3;
  const int64_t a_rows = product.gathered() ? product.a_rows : m;
  Array a = new_operand("A", product.type, product.a_major, 1, a_rows, k);
  Array b = new_operand("B", product.type, product.b_major, matrices, n, k);
  fill(a, data, seed * 4 + 1);
  fill(b, data, seed * 4 + 2);
  Array a_scales = new_scales("a_scales", a_rows, k_blocks, data, seed * 4 + 3);
  Array b_scales = new_scales("b_scales", matrices * b_lines, k_blocks, data, seed * 4 + 4);
  if (data == Data::integers) {
    refine_scales(a_scales, 0);
    refine_scales(b_scales, 1);
  }
  Array bias = bias_of(product, data, seed);
  // Some blocks of a result with scales are zero, whose scale is a case of its own.
  if (product.out == DType::e4m3) {
    if (!by_depth) {
      for (int64_t r = 5; r < a_rows; r += 16) clear_row(a, r);
    }
    // Gates and ups of some rows are so small that 1 divided by a scale made of their products is infinite.
    if (product.swiglu && !product.has_bias() && !by_depth && has_scales) {
      for (int64_t r = 9; r < a_rows; r += 16) shrink_row(a_scales, r);
    }
    if (product.bias && product.formula.empty() && bias.rows > 1) clear_row(bias, 0);
    // And some of the zeros in A meet gates of -87, whose results are the smallest numbers there are.
    if (product.swiglu && product.bias && product.formula.empty() && bias.rows > 2) {
      for (int64_t c = columns - kScaleBlock; c < columns; ++c) set_number(bias, 2 * n + c, -87.f);
    }
  }
  // Powers of two, so that every sum stays exact.
  std::vector<float> alphas;
  for (int64_t i = 0; i < matrices; ++i) alphas.push_back(std::ldexp(1.f, int((i + int64_t(seed)) % 3) - 1));
  Array matrix_alpha = integers("matrix_alpha", alphas);
  Array d = new_array("D", product.out, d_rows, columns);
  d.output = true;
  poison(d);
  if (product.accumulate) {
    fill(d, data, seed * 4 + 6);
    d.output = false;
    d.scratch = true;
  }
  const int64_t d_blocks = columns / kScaleBlock;
  const int64_t padded = (d_rows + 3) / 4 * 4;
  Array d_scales = product.scales_by_columns ? new_array("d_scales", DType::fp32, d_blocks, padded)
                                             : new_array("d_scales", DType::fp32, d_rows, d_blocks);
  d_scales.output = true;
  poison(d_scales);

  if (product.spoiled && data == Data::integers) spoil_last(a, product, a_rows);
  Results results =
      results_of(product,
                 {&a, &b, has_scales ? &a_scales : nullptr, has_scales ? &b_scales : nullptr,
                  product.has_bias() ? &bias : nullptr, &d, product.matrix_alpha ? &matrix_alpha : nullptr},
                 {data == Data::integers});
  if (product.scales_by_columns) {
    std::vector<double> turned(size_t(d_blocks * padded), std::numeric_limits<double>::quiet_NaN());
    for (int64_t r = 0; r < d_rows; ++r)
      for (int64_t b = 0; b < d_blocks; ++b) turned[size_t(b * padded + r)] = results.factors[size_t(r * d_blocks + b)];
    results.factors = std::move(turned);
  }
  std::vector<bool> used(size_t(a_rows), false), used_k(size_t(k), !by_depth), used_matrix(size_t(matrices), false);
  for (const GroupPart& part : parts_of(product)) {
    used_matrix[size_t(part.matrix)] = true;
    std::fill(used_k.begin() + part.first_k, used_k.begin() + part.end_k, true);
    for (int64_t r = part.first; r < part.end; ++r) {
      if (const int64_t from = taken_row(product, a_rows, r); from >= 0) used[size_t(from)] = true;
    }
  }
  w.expected = product.judge_scales ? results.factors : results.values;
  for (int64_t r = 0; r < a_rows && !by_depth; ++r) {
    if (used[size_t(r)]) continue;
    spoil(a, r);
    spoil(a_scales, r);
  }
  for (int64_t i = 0; i < k; ++i) {
    if (used_k[size_t(i)]) continue;
    for (const auto& [operand, major] : {std::pair{&a, product.a_major}, {&b, product.b_major}}) {
      major == Major::K ? spoil_column(*operand, i) : spoil(*operand, i);
    }
    if (!has_scales || i % kScaleBlock != 0) continue;
    spoil_column(a_scales, i / kScaleBlock);
    spoil_column(b_scales, i / kScaleBlock);
  }
  for (int64_t r = 0; r < b.rows; ++r) {
    if (!used_matrix[size_t(r / (b.rows / matrices))]) spoil(b, r);
  }
  if (by_depth && product.scales_by_columns) {
    a_scales = by_columns(a_scales);
    b_scales = by_columns(b_scales);
  }
  w.arrays.push_back(std::move(a));
  w.arrays.push_back(std::move(b));
  if (has_scales) {
    w.arrays.push_back(std::move(a_scales));
    w.arrays.push_back(std::move(b_scales));
  }
  if (product.groups != Groups::none) {
    w.arrays.push_back(integers("rows", product.rows));
    if (!product.matrices.empty()) w.arrays.push_back(integers("matrices", product.matrices));
    if (product.gathered()) w.arrays.push_back(integers("index", product.index));
    if (product.reports) {
      // The host has cleared the word to which clusters add what they find.
      w.arrays.push_back(integers("status", std::vector<uint32_t>{product.gathered() ? 0u : ~0u}));
      w.arrays.back().scratch = true;
      w.also.push_back({"status", integers("status", std::vector<uint32_t>{faults_of(product)}).bytes});
    }
  }
  if (product.matrix_alpha) w.arrays.push_back(std::move(matrix_alpha));
  if (product.has_bias()) w.arrays.push_back(std::move(bias));
  // The judged one comes last.
  if (product.judge_scales) {
    w.arrays.push_back(std::move(d));
    w.arrays.push_back(std::move(d_scales));
  } else {
    if (product.out == DType::e4m3 && data == Data::integers) w.also.push_back(exactly(d_scales, results.factors));
    if (product.out == DType::e4m3) w.arrays.push_back(std::move(d_scales));
    w.arrays.push_back(std::move(d));
  }
  return w;
}

double expect_again(const GroupedProduct& product, Workload& w) {
  const auto find = [&](const char* name) -> const Array* {
    const auto found = std::find_if(w.arrays.begin(), w.arrays.end(), [&](const Array& a) { return a.name == name; });
    return found == w.arrays.end() ? nullptr : &*found;
  };
  const Given given{find("A"),    find("B"), find("a_scales"),    find("b_scales"),
                    find("bias"), find("D"), find("matrix_alpha")};
  Results results = results_of(product, given, {false});
  w.expected = std::move(product.judge_scales ? results.factors : results.values);
  return results.farthest;
}

launch::GroupedProductOperands grouped_operands(const GroupedProduct& product, const Workload& w,
                                                const std::vector<void*>& p) {
  launch::GroupedProductOperands o;
  o.a = p[0];
  o.b = p[1];
  o.a_scales = pointer_of(w, p, "a_scales");
  o.b_scales = pointer_of(w, p, "b_scales");
  o.d = pointer_of(w, p, "D");
  o.n = int(w.shape.n);
  o.k = int(w.shape.k);
  o.bias = pointer_of(w, p, "bias");
  o.bias_type = product.bias_type;
  o.shared_bias = product.shared_bias;
  o.beta = product.beta;
  o.d_scales = pointer_of(w, p, "d_scales");
  o.accumulate = product.accumulate;
  o.index = static_cast<const int32_t*>(pointer_of(w, p, "index"));
  o.a_rows = int(product.a_rows);
  GroupTable& t = o.groups;
  t.rows = int(w.shape.m);
  t.groups = product.group_count();
  t.matrix_count = product.matrices_given();
  const auto* const rows = static_cast<const uint32_t*>(pointer_of(w, p, "rows"));
  if (product.groups == Groups::contiguous || product.groups == Groups::by_depth) t.offsets = rows;
  if (product.groups == Groups::by_depth) t.depth = o.k;
  if (product.groups == Groups::masked) {
    t.counts = rows;
    t.slot_rows = t.groups > 0 ? t.rows / t.groups : 0;
  }
  t.matrices = static_cast<const int32_t*>(pointer_of(w, p, "matrices"));
  t.status = static_cast<uint32_t*>(pointer_of(w, p, "status"));
  return o;
}

GroupedPointers grouped_pointers(const GroupedProduct& product, const Workload& w, const std::vector<void*>& p) {
  const launch::GroupedProductOperands o = grouped_operands(product, w, p);
  GroupedPointers pointers;
  pointers.a = o.a;
  pointers.b = o.b;
  pointers.a_scales = static_cast<const float*>(o.a_scales);
  pointers.b_scales = static_cast<const float*>(o.b_scales);
  pointers.d = o.d;
  pointers.rows = product.groups == Groups::masked ? o.groups.counts : o.groups.offsets;
  pointers.matrices = o.groups.matrices;
  pointers.status = o.groups.status;
  pointers.bias = o.bias;
  pointers.d_scales = static_cast<float*>(o.d_scales);
  pointers.index = o.index;
  pointers.matrix_alpha = static_cast<const float*>(pointer_of(w, p, "matrix_alpha"));
  return pointers;
}

}  // namespace warpwright::reference
