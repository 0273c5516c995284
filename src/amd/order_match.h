// The two halves of compare_order: events against entries, and the origin of what an entry uses.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "amd/order.h"

namespace warpwright::amd {

struct Match {
  std::map<int, int> entry_of;  // instruction -> entry
  std::vector<std::string> mismatches, notes;
  bool ok() const { return mismatches.empty(); }
};

Match match_entries(const CodeObjectKernel& kernel, const std::vector<ExpectedEntry>& entries,
                    const std::vector<Event>& events);

void check_dataflow(const CodeObjectKernel& kernel, const Loop& loop, const std::vector<ExpectedEntry>& entries,
                    const std::map<int, int>& entry_of, const std::set<std::pair<int, int>>* lds_flow,
                    OrderReport& report);

}  // namespace warpwright::amd
