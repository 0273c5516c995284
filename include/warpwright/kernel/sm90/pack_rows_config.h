// sm90/pack_rows.h: what it is configured with and what a launch passes to it.
#pragma once
#include "warpwright/core/std.h"

namespace warpwright {

// Copies matrices whose rows may start at any element to where every row starts at a multiple of 16 bytes, as the TMA
// requires.
struct PackRowsConfig {
  int element_bytes = 2;  // 1 or 2
  int warps = 8;
  int blocks_per_sm = 4;
  bool operator==(const PackRowsConfig&) const = default;
};

// `matrices` matrices of rows x columns elements.
struct RowsToPack {
  const void* from = nullptr;  // a multiple of an element
  void* to = nullptr;          // a multiple of 16 bytes
  int64_t from_stride = 0;     // elements: from one row to the next,
  int64_t from_matrix = 0;     // and from one matrix to the next
  int64_t to_row_bytes = 0;    // a multiple of 16, at least those of a row; the rows of all matrices follow each other
  int32_t rows = 0;
  int32_t columns = 0;
  int32_t matrices = 0;

  WW_HD constexpr int64_t row_count() const { return int64_t(rows) * matrices; }
};
struct PackRowsArgs {
  static constexpr int kMost = 2;
  RowsToPack list[kMost];  // those without rows or columns are skipped
};

// What one warp copies at a time.
constexpr int kPackSegmentBytes = 2048;
WW_HD constexpr int64_t pack_segments(const RowsToPack& m, int element_bytes) {
  const int64_t row = int64_t(m.columns) * element_bytes;
  return m.row_count() * ((row + kPackSegmentBytes - 1) / kPackSegmentBytes);
}

}  // namespace warpwright
