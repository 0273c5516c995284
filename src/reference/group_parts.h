// The groups of a product as the kernels take them from a table.
#pragma once
#include <cstdint>
#include <vector>

#include "reference/grouped_sm90_workload.h"

namespace warpwright::reference {

// The part of a product that one group has.
struct GroupPart {
  int64_t first = 0, end = 0, matrix = 0;
  int64_t first_k = 0, end_k = 0;
  int64_t out = 0;    // the first row in D
  int64_t batch = 0;  // what a user-defined function is told: the matrix or, for groups along k, the group
};

// The parts that have a matrix. A table that is not legal is taken as the kernels take it.
std::vector<GroupPart> parts_of(const GroupedProduct& product);
// What the kernels find wrong in the table: GroupFault.
uint32_t faults_of(const GroupedProduct& product);
// Which row of A row `r` of the product is; -1: the table names one that A does not have.
int64_t taken_row(const GroupedProduct& product, int64_t a_rows, int64_t r);

}  // namespace warpwright::reference
