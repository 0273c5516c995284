// Checking a matrix product where it was made: operands are filled, the float64 reference is computed and the result is
// compared on the GPU, so that thousands of large products can be checked in a minute. Nothing here is shared with the
// kernels under test but the names of the types.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"
#include "warpwright/epilogue/config.h"
#include "warpwright/kernel/config.h"

namespace warpwright::device_check {

// One matrix, or `count` of them, in device memory. Strides count elements.
struct Matrix {
  void* data = nullptr;
  DType type = DType::bf16;
  int64_t rows = 0, columns = 0, count = 1;
  int64_t stride = 0, batch_stride = 0;
};

// What the product under test promised to compute.
struct Product {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  Matrix a, b;  // as stored; a count of 1 is shared by the batch
  Major a_major = Major::K, b_major = Major::K;
  Matrix c, residual, d;  // without data: not read
  const void* bias = nullptr;
  Bias bias_kind = Bias::none;
  DType bias_type = DType::fp32;
  int64_t bias_batch_stride = 0;
  Activation activation = Activation::none;  // swiglu: D has n / 2 columns, of rows c and n / 2 + c of B
  Scaling scaling = Scaling::none;
  const float* a_scales = nullptr;
  const float* b_scales = nullptr;
  bool quantize = false;
  float alpha = 1, beta = 0, d_scale = 1;
  bool promoted = false;
  // Every sum is exact: the result must be, to the bit. Otherwise each element must be within a bound that follows from
  // the formats and the sums themselves.
  bool exact = true;
};

// Rows, at most kRowBlock of them, that are multiplied by one B over one range along k.
inline constexpr int kRowBlock = 64;
struct RowBlock {
  int64_t row = 0, out_row = 0;  // in A and in D
  int32_t rows = 0, matrix = 0;
  int64_t first_k = 0, end_k = 0;  // with scales, first_k is a multiple of 128
};
// A product by groups, without gaps between rows. Scales, where there are any, are those of 1 x 128 elements of A and
// of b_scale_rows x 128 of B.
struct GroupedProduct {
  int64_t n = 0, k = 0;  // rows of a B, and their length
  Matrix a, b, d;
  const float* a_scales = nullptr;
  const float* b_scales = nullptr;
  int b_scale_rows = 128;
  const void* bias = nullptr;  // [matrices][n], or one for all
  DType bias_type = DType::fp32;
  bool shared_bias = false;
  bool swiglu = false;               // of columns c and n / 2 + c
  const float* addend = nullptr;     // what D of fp32 held before
  const float* d_scales = nullptr;   // of D in e4m3, one for 128 columns
  const RowBlock* blocks = nullptr;  // in device memory
  int block_count = 0;
  double* sums = nullptr;    // scratch, [rows of D][n]
  double* bounds = nullptr;  // and how far each may be off
  bool exact = true;
};

struct Findings {
  unsigned long long wrong = 0, unwritten = 0;  // elements of D
  unsigned long long stray = 0;                 // elements around D that changed
  unsigned long long first_wrong = ~0ull;       // (batch * m + row) * columns of D + column
  double worst = 0;                             // largest error past the last rounding, over what is allowed for it
  unsigned long long checksum_before = 0, checksum_after = 0;
};

// Everything below is put on the stream; `findings` is in device memory.
enum class Values : uint8_t { integers, normal, powers_of_two };
void fill(const Matrix& matrix, Values values, uint64_t seed, cudaStream_t stream);
// Adds a sum of all bytes to *sum; both a multiple of 16 bytes.
void add_checksum(const void* data, size_t bytes, unsigned long long* sum, cudaStream_t stream);
void compare(const Product& product, Findings* findings, cudaStream_t stream);
void compare(const GroupedProduct& product, Findings* findings, cudaStream_t stream);
// Counts what is not 0xff in [region, region + bytes) except the elements of d. The region begins and ends at elements.
void count_stray(const Matrix& d, const void* region, size_t bytes, Findings* findings, cudaStream_t stream);

// Keeps `blocks` SMs for so long: each block takes all shared memory of one.
void hold_multiprocessors(int blocks, uint64_t nanoseconds, cudaStream_t stream);

}  // namespace warpwright::device_check
