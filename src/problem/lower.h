// A problem of the API with every default filled in, and what the kernels must be able to do.
#pragma once
#include <cstdint>
#include <string>

#include "warpwright/core/block_scaling.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"
#include "warpwright/epilogue/config.h"
#include "warpwright/gemm.h"
#include "warpwright/kernel/config.h"

namespace warpwright::problem {

// A product as the choice sees it: its extents, and all that decides which instances can compute it.
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  DType dtype = DType::bf16;  // the type of A
  bool mixed = false;         // one of A and B is e4m3, the other e5m2
  EpilogueConfig epilogue = factor_and_conversion(usual_result(dtype));
  Major a_major = Major::K, b_major = Major::K;
  Scaling scaling = Scaling::none;
  bool promoted = false;  // 8-bit operands: after every 128 elements the sums are added in fp32
  int64_t batch = 1;
  Mover load = Mover::tma, store = Mover::tma;  // threads: an address or stride the TMA cannot take
  bool deterministic = false;                   // the same bits on any number of SMs

  BlockScaling block_scaling = BlockScaling::none;
  int own_operations = 0;  // operations of a formula in the epilogue, for one element

  DType b_dtype() const {
    if (block_scaling != BlockScaling::none) return warpwright::b_dtype(block_scaling, dtype);
    return !mixed ? dtype : dtype == DType::e4m3 ? DType::e5m2 : DType::e4m3;
  }
  // "bf16 nt 128x4096x7168", with what differs from the plain product.
  std::string text() const;
};

// A matrix as it is stored: `rows` of `columns` elements, `count` times.
struct StoredMatrix {
  DType type = DType::bf16;
  int64_t rows = 0, columns = 0, count = 1;
  int64_t stride = 0, batch_stride = 0;  // elements

  bool empty() const { return rows == 0 || columns == 0 || count == 0; }
  // From the first byte to the one after the last.
  int64_t bytes() const;
  // Whether rows and matrices start at multiples of the TMA's 16 bytes when the first one does.
  bool rows_fit_tma() const;
};

struct Lowered {
  StoredMatrix a, b, c, d, residual;
  GemmShape shape;
  bool reads_c = false;
  bool d_fits_tma = false;  // whatever moves A and B
};

// The columns of D: swiglu makes one of two columns of the product.
int64_t result_columns(const GemmProblem& problem);

// Whether there is a C: a factor of it, or a formula that names it.
bool reads_c(const GemmProblem& problem);

// Operations of a formula for one element; 0 without one.
int operations_of(const std::string& formula);

// For a problem that validate() accepts.
Lowered lower(const GemmProblem& problem);

// A product of two matrices without gaps, and nothing else.
GemmProblem plain_product(int64_t m, int64_t n, int64_t k, DType dtype);

// The defaults of a layout that stores rows of `columns` elements; also for a problem not yet validated.
StoredMatrix stored(const MatrixLayout& layout, int64_t rows, int64_t columns, int64_t batch);

}  // namespace warpwright::problem
