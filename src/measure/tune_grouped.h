// Measuring the kernels of products with blockwise scales and of products by groups: what their tuned table is made of.
#pragma once
#include <functional>
#include <vector>

#include "choice/tuned_grouped.h"
#include "measure/draw.h"
#include "measure/tune_gpu.h"
#include "warpwright/status.h"

namespace warpwright::measure {

using GroupedTuneRow = TuneRowOf<GroupedCase>;
using GroupedTuneReport = TuneReportOf<choice::GroupedTunedTable, GroupedTuneRow>;

// Every instance that was compiled ahead; what replaces the current choice, and failures, are as in tune_gpu.h.
Status tune(const std::vector<GroupedCase>& shapes, const TuneOptions& options, GroupedTuneReport& report,
            const std::function<void(const GroupedTuneRow&)>& row);

}  // namespace warpwright::measure
