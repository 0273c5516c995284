// Operands, reference and verdict for one problem, the same for the simulator and the GPU.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"
#include "warpwright/epilogue/config.h"
#include "warpwright/kernel/config.h"
#include "warpwright/kernel/demo/config.h"

namespace warpwright::reference {

// What surrounds a launch.
enum class Condition : uint8_t {
  alone,
  behind,    // a launch ahead on the stream still runs, and writes or reads every array
  constant,  // the same, but nobody writes B
  in_place,  // C is D
  again,     // the second launch on one workspace
  varied,    // what may be given or left out, tables and addends of groups, is the other way round
  real,      // real numbers, rounded; all others have whole ones; what may begin at any element does
  far,       // rows or matrices of a batch that threads find themselves lie so far apart, or the first group of rows
             // so far from the first row, that offsets have more than 32 bits
};

// What an example is run on. A GEMM reads all three; a copy is m x n.
struct Case {
  int64_t m = 0, n = 0, k = 0;
  Condition condition = Condition::alone;
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
  bool scratch = false;  // written and read by the kernel, its contents mean nothing to the caller
  // Where a kernel under the checker finds it: so many bytes behind a multiple of 256 and, where there is a distance,
  // every `row_bytes` of it so far from those before; what is `ahead` of it, in bytes, is not there.
  uint32_t behind_aligned = 0;
  uint64_t row_bytes = 0, distance = 0, ahead = 0;
  uint64_t size() const { return uint64_t(rows) * uint64_t(columns) * uint64_t(bits(type)) / 8; }
};

// How a matrix, or a batch of them, is stored in its array; counted in elements.
struct ArrayLayout {
  int64_t rows = 0, columns = 0;
  int64_t row_stride = 0, batch_stride = 0;
  int64_t offset = 0;  // where the first element is
  int64_t at(int64_t batch, int64_t row, int64_t column) const {
    return offset + batch * batch_stride + row * row_stride + column;
  }
};

// What an array other than the output holds after the launch, to the bit; elements have this many bytes. Of floats one
// NaN is as good as another, except for the one that was there before.
struct AlsoExpected {
  std::string array;
  std::vector<uint8_t> bytes;
  size_t element_bytes = 4;
  bool floats = false;
};

struct Workload {
  Case shape;
  Data data = Data::integers;
  std::vector<Array> arrays;     // the last one is the output
  std::vector<double> expected;  // the output, exact or in float64; NaN: must not be written; -NaN: is a NaN
  ArrayLayout layout = {};       // the layout of the output; no rows: as its array says
  double alpha = 1, beta = 0;
  uint64_t seed = 0;         // for a kernel that makes its arrays itself
  double sum_tolerance = 0;  // relative, of the sums before they are rounded to the output's type
  std::vector<AlsoExpected> also;
  const Array& output() const { return arrays.back(); }
};

struct Verdict {
  bool ok = false;
  double max_rel_error = 0;  // norm of the difference over norm of the reference
  uint64_t wrong = 0;        // elements: any difference with integers, beyond the tolerance otherwise
  uint64_t unwritten = 0;
  uint64_t not_numbers = 0;   // NaN was written where a number is due
  std::string other = {};     // the first wrong element of another array than the output
  uint64_t others_wrong = 0;  // elements of such arrays
};

// Bytes that are multiplied so deep are near the largest.
inline constexpr int64_t kLargeSums = 1728;

// Fills with whole numbers in -3..3 or normal values, rounded to the type.
void fill(Array& array, Data data, uint64_t seed);
double element(const Array& array, int64_t index);
// Gives the whole numbers of an array of fp32 twelve significant bits, more than a narrow type has: so a kernel that
// rounds them is noticed, and sums with them stay exact.
void refine(Array& array);
// As the last step of a kernel rounds a result of this type.
double rounded(DType type, double value);
// Relative, of results of this type that are compared as real numbers.
double tolerance(DType type);
// One of 0, 1 and 2 for every number, without a pattern, so that a value of another row or block is noticed.
int one_of_three(uint64_t number);
// Outputs start as NaN, so that elements that were never written are noticed.
void poison(Array& array);
Verdict judge(const Workload& workload, const std::vector<uint8_t>& output);
// Adds what other arrays hold; `contents` are those of the workload's arrays after the launch.
void judge_others(const Workload& workload, const std::vector<void*>& contents, Verdict& verdict);

// Rows without gaps.
ArrayLayout dense_layout(int64_t rows, int64_t columns);
// Rows that begin at multiples of 16 bytes, as the TMA wants; matrices of a batch with a gap between them.
ArrayLayout aligned_layout(int64_t rows, int64_t columns, DType type);
// Rows that begin anywhere: an odd stride, and an odd first element.
ArrayLayout odd_layout(int64_t rows, int64_t columns);

// A matrix product with everything that the kernels know.
struct GemmSpec {
  Case shape;
  int64_t batch = 1;
  DType a_type = DType::bf16, b_type = DType::bf16;
  Major a_major = Major::K, b_major = Major::K;  // MN: the array has k rows
  ArrayLayout a, b, d;                           // as stored; a batch stride of 0 shares the matrix
  ArrayLayout c, residual;                       // the same; no rows: without gaps
  EpilogueConfig epilogue = factor_and_conversion(DType::bf16);
  double alpha = 1, beta = 0, scale = 1;
  Scaling scaling = Scaling::none;
  int64_t workspace_bytes = 0;
  std::string formula = {};  // the text of an epilogue, if there is one
};

// The arrays are A, B, then C, residual, bias, a_scales, b_scales and workspace as far as the product has
// them, and D. What lies between the rows of a matrix is NaN.
Workload gemm_workload(const GemmSpec& spec, Data data, uint64_t seed);
// The product of the arrays, for operands that have changed since.
void expect_product(const GemmSpec& spec, Workload& workload);
Workload gemm_workload(Case shape, DType type, DType out_type, double alpha, Data data, uint64_t seed);
// The address of an array in a list parallel to workload.arrays; null if the workload does not have it.
void* pointer_of(const Workload& workload, const std::vector<void*>& pointers, const char* name);
Workload affine_workload(Case shape, DType type, double alpha, double beta, Data data, uint64_t seed);
Workload cluster_sum_workload(Case shape, const ClusterRingConfig& config, int clusters, Data data, uint64_t seed);

}  // namespace warpwright::reference
