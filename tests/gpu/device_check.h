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
  Activation activation = Activation::none;
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

struct Findings {
  unsigned long long wrong = 0, unwritten = 0;  // elements of D
  unsigned long long stray = 0;                 // elements around D that changed
  unsigned long long first_wrong = ~0ull;       // (batch * m + row) * n + column
  double worst = 0;                             // largest error beyond the last rounding, over what is allowed for it
  unsigned long long checksum_before = 0, checksum_after = 0;
};

// Everything below is put on the stream; `findings` is in device memory.
enum class Values : uint8_t { integers, normal, powers_of_two };
void fill(const Matrix& matrix, Values values, uint64_t seed, cudaStream_t stream);
// Adds a sum of all bytes to *sum; both a multiple of 16 bytes.
void add_checksum(const void* data, size_t bytes, unsigned long long* sum, cudaStream_t stream);
void compare(const Product& product, Findings* findings, cudaStream_t stream);
// Counts what is not 0xff in [region, region + bytes) beside the elements of d. The region begins and ends at elements.
void count_stray(const Matrix& d, const void* region, size_t bytes, Findings* findings, cudaStream_t stream);

// Keeps `blocks` SMs for so long: each block takes all shared memory of one.
void hold_multiprocessors(int blocks, uint64_t nanoseconds, cudaStream_t stream);

}  // namespace warpwright::device_check
