// Random problems of the API, always the same ones: small enough for the simulator, and as different as the API allows.
#pragma once
#include <cstdint>
#include <string>
#include <variant>

#include "reference/grouped_sm90_workload.h"
#include "warpwright/gemm.h"
#include "warpwright/grouped.h"

namespace warpwright::random_problems {

struct Dense {
  GemmProblem problem;
  int64_t offset = 0;  // elements by which A, B and D miss the alignment of their memory
};
struct Grouped {
  GroupedProblem problem;
  reference::GroupedProduct product;  // with a table of groups
};
using Problem = std::variant<Dense, Grouped>;

// So many are drawn: seven of ten are dense, the others have groups or blockwise scales.
inline constexpr int kCount = 200;
// Legal, and served by some instance on an H200. The plan is left open.
Problem draw(int number);
std::string text(const Problem& problem);

// Mostly illegal: types, strides, alignments, extents or plans that no product may have.
GemmProblem draw_questionable(int number);

}  // namespace warpwright::random_problems
