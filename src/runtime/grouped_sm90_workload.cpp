#include "runtime/grouped_sm90_workload.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/workload_parts.h"

namespace warpwright::runtime {
namespace {

template <class T>
Array integers(const char* name, const std::vector<T>& values) {
  Array a = new_array(name, DType::fp32, 1, int64_t(values.size()));
  if (!values.empty()) std::memcpy(a.bytes.data(), values.data(), a.bytes.size());
  return a;
}

struct Rows {
  int64_t first = 0, end = 0, matrix = 0;
};

std::vector<Rows> rows_of(const GroupedProduct& s) {
  if (s.groups == Groups::none) return {{0, s.shape.m, 0}};
  std::vector<Rows> list;
  const int64_t slot = s.groups == Groups::masked ? s.shape.m / std::max(s.group_count(), 1) : 0;
  int64_t end = s.rows.empty() ? 0 : std::min<int64_t>(s.rows[0], s.shape.m);
  for (int g = 0; g < s.group_count(); ++g) {
    const int64_t matrix = s.matrices.empty() ? g : s.matrices[size_t(g)];
    Rows rows{g * slot, 0, matrix};
    if (s.groups == Groups::masked) {
      rows.end = rows.first + std::min<int64_t>(s.rows[size_t(g)], slot);
    } else {
      rows.first = end;
      rows.end = end = std::max(end, std::min<int64_t>(s.rows[size_t(g) + 1], s.shape.m));
    }
    if (matrix >= 0 && matrix < s.matrices_given()) list.push_back(rows);
  }
  return list;
}

// A row that nobody may use: every bit is set, a NaN in each of the types.
void spoil(Array& a, int64_t row) {
  const size_t bytes = size_t(a.columns) * size_t(bits(a.type)) / 8;
  std::fill_n(a.bytes.begin() + std::ptrdiff_t(size_t(row) * bytes), bytes, uint8_t(0xff));
}

// The elements of a matrix times their scales; line(row) is the row of the scales.
template <class Line>
std::vector<double> scaled(const Array& a, const Array* factors, Line line) {
  std::vector<double> x(size_t(a.rows * a.columns));
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t k = 0; k < a.columns; ++k) {
      const double f = factors == nullptr ? 1 : element(*factors, line(r) * factors->columns + k / kScaleBlock);
      x[size_t(r * a.columns + k)] = element(a, r * a.columns + k) * f;
    }
  }
  return x;
}

}  // namespace

int GroupedProduct::group_count() const {
  if (groups == Groups::none) return 1;
  return groups == Groups::contiguous ? std::max(int(rows.size()) - 1, 0) : int(rows.size());
}
int GroupedProduct::matrices_given() const { return matrix_count > 0 ? matrix_count : group_count(); }

Workload grouped_product_workload(const GroupedProduct& product, Data data, uint64_t seed) {
  const auto [m, n, k] = product.shape;
  Workload w;
  w.shape = product.shape;
  w.data = data;
  const bool has_scales = product.type == DType::e4m3;
  const int64_t k_blocks = (k + kScaleBlock - 1) / kScaleBlock, n_blocks = (n + kScaleBlock - 1) / kScaleBlock;
  const int64_t matrices = product.matrices_given();
  // The tensor core keeps 14 bits of the sums of a block.
  if (has_scales) w.sum_tolerance = 1e-3;
  Array a = new_array("A", product.type, m, k), b = new_array("B", product.type, matrices * n, k);
  fill(a, data, seed * 4 + 1);
  fill(b, data, seed * 4 + 2);
  Array a_scales = new_scales("a_scales", m, k_blocks, data, seed * 4 + 3);
  Array b_scales = new_scales("b_scales", matrices * n_blocks, k_blocks, data, seed * 4 + 4);
  const std::vector<double> x = scaled(a, has_scales ? &a_scales : nullptr, [](int64_t r) { return r; });
  const std::vector<double> y =
      scaled(b, has_scales ? &b_scales : nullptr, [&](int64_t r) { return r / n * n_blocks + r % n / kScaleBlock; });
  std::vector<bool> used(size_t(m), false);
  w.expected.assign(size_t(m * n), std::numeric_limits<double>::quiet_NaN());
  for (const Rows& rows : rows_of(product)) {
    for (int64_t r = rows.first; r < rows.end; ++r) {
      used[size_t(r)] = true;
      for (int64_t c = 0; c < n; ++c) {
        double sum = 0;
        for (int64_t i = 0; i < k; ++i) sum += x[size_t(r * k + i)] * y[size_t((rows.matrix * n + c) * k + i)];
        w.expected[size_t(r * n + c)] = sum;
      }
    }
  }
  for (int64_t r = 0; r < m; ++r) {
    if (used[size_t(r)]) continue;
    spoil(a, r);
    spoil(a_scales, r);
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
    w.arrays.push_back(integers("status", std::vector<uint32_t>{0}));
    w.arrays.back().scratch = true;
  }
  Array d = new_array("D", product.out, m, n);
  d.output = true;
  poison(d);
  w.arrays.push_back(std::move(d));
  return w;
}

GroupedProductOperands grouped_operands(const GroupedProduct& product, const Workload& w, const std::vector<void*>& p) {
  GroupedProductOperands o;
  o.a = p[0];
  o.b = p[1];
  o.a_scales = pointer_of(w, p, "a_scales");
  o.b_scales = pointer_of(w, p, "b_scales");
  o.d = p.back();
  o.n = int(w.shape.n);
  o.k = int(w.shape.k);
  GroupTable& t = o.groups;
  t.rows = int(w.shape.m);
  t.groups = product.group_count();
  t.matrix_count = product.matrices_given();
  const auto* const rows = static_cast<const uint32_t*>(pointer_of(w, p, "rows"));
  if (product.groups == Groups::contiguous) t.offsets = rows;
  if (product.groups == Groups::masked) {
    t.counts = rows;
    t.slot_rows = t.groups > 0 ? t.rows / t.groups : 0;
  }
  t.matrices = static_cast<const int32_t*>(pointer_of(w, p, "matrices"));
  t.status = static_cast<uint32_t*>(pointer_of(w, p, "status"));
  return o;
}

}  // namespace warpwright::runtime
