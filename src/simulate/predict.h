// The predicted time of a product on a whole chip: the grid is what a launch would take. docs/evidence/prediction.md
// compares those of the H200 with measurements; those of a B200 nobody has measured.
#pragma once
#include <cstdint>

#include "catalog/instance.h"
#include "sim/predict.h"
#include "warpwright/status.h"

namespace warpwright::simulate {

// The plain product of two matrices without gaps by a dense or skinny instance for Hopper or a dense one for Blackwell.
// Compiles it, if it must. Unsupported: it needs more than two matrices, or cannot take these extents.
Result<simulator::Prediction> predict(const catalog::Instance& instance, int64_t m, int64_t n, int64_t k);

}  // namespace warpwright::simulate
