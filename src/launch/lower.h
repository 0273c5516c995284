// A problem of the API in the terms of the runtime: every default filled in, and what the kernels must be able to do.
#pragma once
#include "choice/dense.h"
#include "warpwright/gemm.h"

namespace warpwright::launch {

// A matrix as it is stored: `rows` of `columns` elements, `count` times.
struct StoredMatrix {
  DType type = DType::bf16;
  int64_t rows = 0, columns = 0, count = 1;
  int64_t stride = 0, batch_stride = 0;  // elements

  bool empty() const { return rows == 0 || columns == 0 || count == 0; }
  // From the first byte to behind the last.
  int64_t bytes() const;
  // Whether rows and matrices start at multiples of the TMA's 16 bytes when the first one does.
  bool rows_fit_tma() const;
};

struct Lowered {
  StoredMatrix a, b, c, d, residual;
  choice::GemmShape shape;
  bool reads_c = false;
  bool d_fits_tma = false;  // whatever moves A and B
};

// For a problem that validate() accepts.
Lowered lower(const GemmProblem& problem);

// The defaults of a layout that stores rows of `columns` elements; also for a problem not yet validated.
StoredMatrix stored(const MatrixLayout& layout, int64_t rows, int64_t columns, int64_t batch);

}  // namespace warpwright::launch
