// The tables of groups that `check` gives a kernel: what tells the rows, or the columns along k, of each group, which
// matrix it has, and which rows are gathered. Not all of them are legal.
#pragma once
#include <cstdint>
#include <vector>

#include "reference/workload.h"

namespace warpwright::reference::tables {

inline constexpr uint32_t kGroups = 4;
// More than a warp reads at once. Slots of masked ones divide a matrix evenly.
inline constexpr int kManyGroups = 40;

// Offsets of many groups, of rows or of columns along k in units: one that is below the one ahead of it, one below all
// that a warp has read at once before, one that is between two units, and a last one beyond the end, and beyond what a
// signed number holds. One group is larger than the others.
std::vector<uint32_t> many_offsets(uint32_t extent, uint32_t unit);
// Counts, some of which are more than a slot has.
std::vector<uint32_t> many_counts(uint32_t slot);
// Counts of rows with which groups end exactly where a block of 64 rows or a tile ends.
std::vector<uint32_t> exact_counts(uint32_t tall);
// Four groups along k that begin at multiples of `unit`, with stages of `deep`. The first has no depth; the second has
// whole stages, and begins between two of them where it may. Before and after are columns that no group has.
std::vector<uint32_t> four_along_k(Case shape, uint32_t unit, uint32_t deep);
// Four of which one has nearly all rows, more rows of tiles than a band of the raster.
std::vector<uint32_t> one_large_group(bool masked, Case shape);
// Six groups: few rows, none, many, some without a matrix, one row, the rest; two groups share a matrix.
std::vector<uint32_t> six_groups(Case shape);
inline constexpr int kMatrixCount = 4;
std::vector<int32_t> six_matrices();
// Many groups; every third has no rows.
std::vector<uint32_t> forty_groups(Case shape);

// Groups without a matrix, several with the same, and one with a matrix that does not exist.
std::vector<int32_t> many_matrices(int count);

// Rows of A for a product that gathers: fewer than the product has, so that some are taken more than once. Every
// sixteenth is never taken.
int64_t gathered_from(Case shape);
std::vector<int32_t> index_of(Case shape);

}  // namespace warpwright::reference::tables
