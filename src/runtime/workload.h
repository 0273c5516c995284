// Operands, reference and verdict for one problem, the same for the simulator and the GPU.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "warpwright/core/dtype.h"
#include "warpwright/kernel/config.h"

namespace warpwright::runtime {

// What an example is run on. A GEMM reads all three; a copy is m x n.
struct Case {
  int64_t m = 0, n = 0, k = 0;
};

// `integers`: small whole numbers, so that every sum is exact and results must agree to the bit. `normal`: standard
// normal.
enum class Data : uint8_t { integers, normal };

struct Array {
  std::string name;
  DType type = DType::fp32;
  int64_t rows = 0, columns = 0;
  bool output = false;
  std::vector<uint8_t> bytes;
  uint64_t size() const { return uint64_t(rows) * uint64_t(columns) * uint64_t(bits(type)) / 8; }
};

struct Workload {
  Case shape;
  Data data = Data::integers;
  std::vector<Array> arrays;     // the last one is the output
  std::vector<double> expected;  // of the output, exact or in float64
  double alpha = 1, beta = 0;
  const Array& output() const { return arrays.back(); }
};

struct Verdict {
  bool ok = false;
  double max_rel_error = 0;  // norm of the difference over norm of the reference
  uint64_t wrong = 0;        // elements: any difference with integers, beyond the tolerance otherwise
  uint64_t unwritten = 0;
};

// Fills with whole numbers in -3..3 or normal values, rounded to the type.
void fill(Array& array, Data data, uint64_t seed);
double element(const Array& array, int64_t index);
// Outputs start as NaN, so that what nobody wrote is seen.
void poison(Array& array);
Verdict judge(const Workload& workload, const std::vector<uint8_t>& output);

Workload gemm_workload(Case shape, DType type, DType out_type, double alpha, Data data, uint64_t seed);
Workload affine_workload(Case shape, DType type, double alpha, double beta, Data data, uint64_t seed);
Workload cluster_sum_workload(Case shape, const ClusterRingConfig& config, int clusters, Data data, uint64_t seed);

}  // namespace warpwright::runtime
