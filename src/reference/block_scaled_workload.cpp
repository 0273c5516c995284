#include "reference/block_scaled_workload.h"

#include <cmath>
#include <utility>
#include <vector>

#include "reference/workload_parts.h"
#include "warpwright/core/numeric.h"

namespace warpwright::reference {
namespace {

Array array(const char* name, DType type, int64_t rows, int64_t columns, std::vector<uint8_t> bytes) {
  return {name, type, rows, columns, false, std::move(bytes)};
}

std::vector<float> samples(int64_t rows, int64_t columns, Data data, uint64_t seed) {
  Array a{"", DType::fp32, rows, columns, false, {}};
  a.bytes.resize(a.size());
  fill(a, data, seed);
  std::vector<float> x(size_t(rows * columns));
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t row = int64_t(i) / columns, block = int64_t(i) % columns / 16;
    x[i] = float(element(a, int64_t(i)));
    if (data == Data::normal) x[i] = std::ldexp(x[i], int((row + block * 3) % 5) - 2);
  }
  return x;
}

uint8_t code_of(DType type, float x) {
  return type == DType::e4m3    ? from_float<e4m3>(x).bits
         : type == DType::e5m2  ? from_float<e5m2>(x).bits
         : type == DType::e2m1  ? from_float<e2m1>(x).bits
         : type == DType::ue4m3 ? from_float<ue4m3>(x).bits
                                : from_float<ue8m0>(x).bits;
}

}  // namespace

ScaledMatrix scaled_matrix(BlockScaling scaling, DType type, int64_t rows, int64_t columns, Data data, uint64_t seed) {
  const std::vector<float> x = samples(rows, columns, data, seed);
  if (data == Data::normal) {
    return scaling == BlockScaling::nvfp4 ? quantize_nvfp4(x.data(), rows, columns)
                                          : quantize_mx(x.data(), rows, columns, type);
  }
  ScaledMatrix m{type, scale_dtype(scaling), rows, columns, 1, scale_block(scaling), 1, {}, {}};
  m.values.resize(size_t(rows * m.row_bytes()));
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t bit = i % columns * bits(type);
    uint8_t& byte = m.values[size_t(i / columns * m.row_bytes() + bit / 8)];
    byte = uint8_t(byte | code_of(type, x[size_t(i)]) << bit % 8);
  }
  for (int64_t i = 0; i < rows * m.scale_columns(); ++i) {
    m.scales.push_back(code_of(m.scale_type, std::ldexp(1.f, one_of_three(uint64_t(i) + seed * 0x10001) - 1)));
  }
  return m;
}

Workload block_scaled_workload(Case s, BlockScaling scaling, DType type, DType out_type, Data data, uint64_t seed) {
  Workload w;
  w.shape = s;
  w.data = data;
  ScaledMatrix a = scaled_matrix(scaling, type, s.m, s.k, data, seed * 4 + 1);
  ScaledMatrix b = scaled_matrix(scaling, b_dtype(scaling, type), s.n, s.k, data, seed * 4 + 2);
  w.alpha = double(a.tensor_scale * b.tensor_scale);
  const auto values = [](const ScaledMatrix& m) {
    std::vector<double> x(size_t(m.rows * m.columns));
    for (size_t i = 0; i < x.size(); ++i) x[i] = m.value(int64_t(i) / m.columns, int64_t(i) % m.columns);
    return x;
  };
  const std::vector<double> x = values(a), y = values(b);
  w.expected = product_of(x, y, s);
  std::vector<uint8_t> a_tiles = tiled_scales(a), b_tiles = tiled_scales(b);
  const auto tiles = [&](const char* name, std::vector<uint8_t> bytes) {
    const auto rows = int64_t(bytes.size()) / kScaleTileBytes;
    return array(name, scale_dtype(scaling), rows, kScaleTileBytes, std::move(bytes));
  };
  w.arrays.push_back(array("A", type, s.m, s.k, std::move(a.values)));
  w.arrays.push_back(array("B", b.type, s.n, s.k, std::move(b.values)));
  w.arrays.push_back(tiles("a_scales", std::move(a_tiles)));
  w.arrays.push_back(tiles("b_scales", std::move(b_tiles)));
  Array d{"D", out_type, s.m, s.n, true, {}};
  d.bytes.resize(d.size());
  poison(d);
  w.arrays.push_back(std::move(d));
  return w;
}

}  // namespace warpwright::reference
