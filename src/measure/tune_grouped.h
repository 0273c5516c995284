// Measuring the kernels of products with blockwise scales and of products by groups: what their tuned table is made of.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "choice/tuned_grouped.h"
#include "measure/tune_gpu.h"
#include "warpwright/status.h"

namespace warpwright::measure {

using GroupedTuneRow = TuneRowOf<choice::GroupedShape>;
using GroupedTuneReport = TuneReportOf<choice::GroupedTunedTable, GroupedTuneRow>;

// The rows of the groups that are measured: between 0.7 and 1.3 of the shape's, the same on every machine. Masked
// groups have room for twice the usual number.
struct GroupedTable {
  GroupedProblem problem;
  std::vector<uint32_t> rows;  // what GroupedPointers::rows takes; empty: no groups
};
GroupedTable table_for(const choice::GroupedShape& shape);

// Every instance that was compiled ahead; what replaces the current choice, and failures, are as in tune_gpu.h.
Status tune(const std::vector<choice::GroupedShape>& shapes, const TuneOptions& options, GroupedTuneReport& report,
            const std::function<void(const GroupedTuneRow&)>& row);

}  // namespace warpwright::measure
