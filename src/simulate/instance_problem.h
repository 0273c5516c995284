// Problems that only one instance serves, at a size: what `check` runs of it.
#pragma once
#include "catalog/instance.h"
#include "reference/grouped_sm90_workload.h"
#include "reference/problem_workload.h"
#include "reference/workload.h"
#include "reference/wrong_elements.h"
#include "warpwright/gemm.h"
#include "warpwright/grouped.h"
#include "warpwright/status.h"

namespace warpwright::simulate {

// A problem for an instance that makes a dense product.
GemmProblem dense_problem(const catalog::Instance& instance, reference::Case shape);
// The same with rows as far apart as the condition says, where threads find them.
GemmProblem far_apart(const catalog::Instance& instance, const GemmProblem& problem);
// What keeps an instance from being run under this condition.
Status refuse(const catalog::Instance& instance, reference::Condition condition);
// Lists of nodes that a general kernel for AMD is checked with.
inline constexpr int64_t kNodeLists = 6;
// Where threads load or store, matrices begin at an odd element.
reference::Offset offset_of(const catalog::Instance& instance, reference::Condition condition);

// The part of the result that a block computes at a time; empty if the configuration alone does not decide it.
reference::Tile tile_of(const catalog::Instance& instance);

// For gathered rows: where they are few among very many, the others of which do not exist, each lies that many rows
// after the last.
int64_t rows_apart(reference::Case shape);

// The same for products by groups or with blockwise scales; the groups are uneven, and one of them has no rows.
GroupedProblem grouped_problem(const catalog::Instance& instance, reference::Case shape);
reference::GroupedProduct grouped_product(const catalog::Instance& instance, reference::Case shape);

}  // namespace warpwright::simulate
