// The words in which tables and command lines speak of problems.
#pragma once
#include <optional>
#include <string_view>
#include <utility>

#include "warpwright/core/block_scaling.h"
#include "warpwright/core/layout.h"
#include "warpwright/tile/group_mode.h"

namespace warpwright::problem {

// "blockwise", "grouped_contiguous", "grouped_masked" or "grouped_k": the operations beside a dense product.
const char* operation_of(Groups groups);
std::optional<Groups> parse_operation(std::string_view word);

// "nt": A then B. n: rows as written, A [m, k] and B [k, n]; t: transposed, so nt is A [m, k] times the transpose of
// B [n, k].
const char* layout_of(Major a, Major b);
std::optional<std::pair<Major, Major>> parse_layout(std::string_view word);

std::optional<BlockScaling> parse_block_scaling(std::string_view word);

}  // namespace warpwright::problem
