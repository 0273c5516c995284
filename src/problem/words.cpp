#include "problem/words.h"

namespace warpwright::problem {

const char* operation_of(Groups groups) {
  switch (groups) {
    case Groups::contiguous:
      return "grouped_contiguous";
    case Groups::masked:
      return "grouped_masked";
    case Groups::by_depth:
      return "grouped_k";
    case Groups::none:
      break;
  }
  return "blockwise";
}
std::optional<Groups> parse_operation(std::string_view word) {
  for (const Groups groups : {Groups::none, Groups::contiguous, Groups::masked, Groups::by_depth})
    if (word == operation_of(groups)) return groups;
  return {};
}

const char* layout_of(Major a, Major b) {
  if (a == Major::K) return b == Major::K ? "nt" : "nn";
  return b == Major::K ? "tt" : "tn";
}
std::optional<std::pair<Major, Major>> parse_layout(std::string_view word) {
  for (const Major a : {Major::K, Major::MN})
    for (const Major b : {Major::K, Major::MN})
      if (word == layout_of(a, b)) return std::pair{a, b};
  return {};
}

std::optional<BlockScaling> parse_block_scaling(std::string_view word) {
  for (const BlockScaling s : kBlockScalings)
    if (word == name(s)) return s;
  return {};
}

}  // namespace warpwright::problem
