// Which elements of a result are wrong, for people.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reference/workload.h"

namespace warpwright::reference {

// The part of the result that a block computes; 0: unknown.
struct Tile {
  int64_t rows = 0, columns = 0;
};

// The first ones with their tile, what was expected and what is there, then the rows and columns that all of them lie
// in. Of real numbers, those that are far off: it is their sum that was judged. Only for a result that is wrong.
std::vector<std::string> wrong_elements(const Workload& workload, const std::vector<uint8_t>& output, Tile tile);

}  // namespace warpwright::reference
