// The kernel that copies rows for the TMA, which no problem of the API asks for alone: the checker gives it matrices
// whose rows begin anywhere.
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "problem/refused.h"
#include "simulate/families.h"
#include "simulate/run.h"
#include "warpwright/core/ceil_div.h"

namespace warpwright::simulate {
namespace {

using reference::Array;
using reference::ArrayLayout;
using reference::Case;
using reference::Condition;
using reference::Data;
using reference::Workload;

constexpr int64_t kPackedMatrices = 2,
                  kBehindAligned = 3;  // elements behind what is aligned, where the first row begins
constexpr int64_t kPackedUnit = 16;    // bytes, to which rows of the copy are filled up

ArrayLayout source_of(Case s) {
  const int64_t stride = s.n + 3 - s.n % 2;
  // Nothing that may be read lies ahead of the first row.
  return {s.m, s.n, stride, s.m * stride + (s.condition == Condition::far ? 0 : 5), 0};
}
// From row to row as the kernel finds them.
int64_t far_stride(Case s) { return s.condition == Condition::far ? (int64_t(1) << 30) + 67 : source_of(s).row_stride; }
int64_t copied_row(const PackRowsConfig& c, Case s) {
  return ceil_div(s.n * c.element_bytes, kPackedUnit) * kPackedUnit;
}
// Behind each row of the copy lie bytes that nobody writes.
int64_t row_bytes(const PackRowsConfig& c, Case s) { return copied_row(c, s) + kPackedUnit; }

Workload rows_workload(const PackRowsConfig& c, Case s, Data data, uint64_t seed) {
  const DType type = c.element_bytes == 2 ? DType::bf16 : DType::e4m3;
  const ArrayLayout from = source_of(s);
  Workload w;
  w.shape = s;
  w.data = data;
  Array x{"x", type, 1, from.at(kPackedMatrices - 1, s.m - 1, s.n - 1) + 1, false, {}};
  x.bytes.resize(x.size());
  x.behind_aligned = uint32_t(kBehindAligned * c.element_bytes);
  if (s.condition == Condition::far) {
    x.row_bytes = uint64_t(from.row_stride * c.element_bytes);
    x.distance = uint64_t(far_stride(s) * c.element_bytes);
  }
  fill(x, data, seed);
  Array y{"y", type, kPackedMatrices * s.m, row_bytes(c, s) / c.element_bytes, true, {}};
  y.bytes.resize(y.size());
  reference::poison(y);
  for (int64_t row = 0; row < y.rows; ++row) {
    for (int64_t i = 0; i < y.columns; ++i) {
      w.expected.push_back(i < s.n                                  ? element(x, from.at(row / s.m, row % s.m, i))
                           : i * c.element_bytes < copied_row(c, s) ? 0
                                                                    : std::numeric_limits<double>::quiet_NaN());
    }
  }
  w.arrays.push_back(std::move(x));
  w.arrays.push_back(std::move(y));
  return w;
}

}  // namespace

bool complete(Example& e, const catalog::Instance& instance, const PackRowsConfig& c) {
  e.takes = [](Case s) { return s.m < 1 || s.n < 1 ? problem::refused("m and n: at least 1.") : Status(); };
  e.workload = [c](Case s, Data d, uint64_t seed) { return rows_workload(c, s, d, seed); };
  e.simulate = [instance, c](const Workload& w, const simulator::Options& o, int ctas) {
    return run_filled<PackRowsArgs>(instance, w, o, ctas ? ctas : 2,
                                    [&](PackRowsArgs& args, const std::vector<void*>& p, const launch::MapEncoder&) {
                                      const bool far = w.shape.condition == Condition::far;
                                      args = {};
                                      args.list[0] = {
                                          p[0],
                                          p[1],
                                          far_stride(w.shape),
                                          far ? w.shape.m * far_stride(w.shape) : source_of(w.shape).batch_stride,
                                          row_bytes(c, w.shape),
                                          int32_t(w.shape.m),
                                          int32_t(w.shape.n),
                                          int32_t(kPackedMatrices)};
                                      return Status();
                                    });
  };
  describe(e, {}, "rows that begin anywhere, copied to where the TMA can address them",
           {{5, 2 * kPackSegmentBytes + 100, 0}, {40, 1021, 0}, {3, 40, 0}, {1, 1, 0}, {5, 40, 0, Condition::far}});
  return true;
}

}  // namespace warpwright::simulate
