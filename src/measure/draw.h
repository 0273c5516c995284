// Problems drawn at random, the same on every machine: the model is fitted to one draw and judged by another. Needs no
// GPU.
#pragma once
#include <cstdint>
#include <vector>

#include "choice/tuned_grouped.h"
#include "measure/bench_gpu.h"

namespace warpwright::measure {

// Extents are log-uniform: m from 1 to 8192, n from 256 to 32768, k from 256 to 16384. Three of four have n and k in
// multiples of 8, the others any.
std::vector<BenchShape> draw_shapes(int count, uint64_t draw, DType dtype);

// How the rows, or the depth along k, are divided among the groups of a table.
enum class Counts {
  even,    // each group has between 0.7 and 1.3 of the shape's
  skewed,  // a quarter of the groups have none, and of the others the n-th in size has 1/n of the largest
};
const char* name(Counts counts);

// A product with blockwise scales, or by groups, and its table.
struct GroupedCase : choice::GroupedShape {
  Counts counts = Counts::even;
};

// Extents are log-uniform: one product as draw_shapes() has them, 1 to 256 groups with n and k up to 8192 and 1 to 4096
// rows each (masked groups up to 1024, groups along k 64 to 4096 rows in all). Every third table is skewed. Both sides
// of `bench --against deepgemm` take them: n is a multiple of 64, or of 8 in every fourth, and k one of 128, for bf16
// of 64. No problem needs more than 8 GiB for its matrices.
std::vector<GroupedCase> draw_grouped_shapes(int count, uint64_t draw, Groups op, DType type);

// The problem that is measured, and its table, the same on every machine.
struct GroupedTable {
  GroupedProblem problem;
  std::vector<uint32_t> rows;  // what GroupedPointers::rows takes; empty: no groups
};
// Masked groups have room for twice the usual number of rows, or for the largest group.
GroupedTable table_for(const GroupedCase& shape);

}  // namespace warpwright::measure
