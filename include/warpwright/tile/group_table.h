// Rows of one matrix that are multiplied by different matrices, group by group (experts and their tokens). World-free:
// the host fills in the table's addresses; the kernel reads its contents, which nothing has checked by then.
#pragma once
#include "warpwright/core/std.h"

namespace warpwright {

// What a kernel found wrong in a table. It worked on the table with these values cut to what exists: rows beyond the
// end belong to no group, a group that would begin before the end of the one ahead of it has the rows that are left,
// and a group whose matrix, or whose blocks of scale factors, do not exist is skipped.
enum GroupFault : uint32_t {
  kOffsetsDecrease = 1,
  kRowsOutOfRange = 2,
  kMatrixOutOfRange = 4,
  kBlocksOutOfRange = 8,
  kExtentsOutOfRange = 16,
  kDepthUnaligned = 32,   // groups along k, a scale for 128 elements: an offset was rounded down to a multiple of 128
  kIndexOutOfRange = 64,  // the product gathers a row that A does not have: it was taken as zeros
};

// All arrays are in device memory.
struct GroupTable {
  // groups + 1 offsets: group g has the rows from offsets[g] to offsets[g + 1]; with Groups::by_depth, the columns.
  const uint32_t* offsets = nullptr;
  // Instead of offsets: group g has the first counts[g] of the `slot_rows` rows from g * slot_rows on.
  const uint32_t* counts = nullptr;
  // Instead of both: for groups with matrices of their own, {rows, columns, depth, 0} for each group.
  const int32_t* extents = nullptr;
  // The matrix of each group; a group with a negative one is skipped. Null: group g has matrix g.
  const int32_t* matrices = nullptr;
  // One word that the kernel sets to the GroupFault bits it found, 0 for none. May be null.
  uint32_t* status = nullptr;
  int32_t groups = 0;
  int32_t rows = 0;          // rows of the matrix that the groups share
  int32_t matrix_count = 0;  // how many matrices there are
  int32_t slot_rows = 0;
  // How many blocks of 128 rows scale factors are stored for, where each group (or slot) begins a new block. 0: there
  // are no such factors.
  int32_t blocks = 0;
  // With `extents`: the most columns and depth that a group may have. With Groups::by_depth: the number of columns.
  int32_t columns = 0;
  int32_t depth = 0;
};

}  // namespace warpwright
