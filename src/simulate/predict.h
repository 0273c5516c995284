// The predicted time of a product on a whole chip: the grid is what a launch would take. docs/evidence/prediction.md
// compares those of the H200 with measurements; those of a B200 nobody has measured.
#pragma once
#include <cstdint>
#include <span>

#include "catalog/instance.h"
#include "sim/predict.h"
#include "warpwright/core/address.h"
#include "warpwright/gemm.h"
#include "warpwright/grouped.h"
#include "warpwright/status.h"

namespace warpwright::simulate {

// The plain product of two matrices without gaps by a dense or skinny instance for Hopper or a dense one for Blackwell.
// Compiles it, if it must. Unsupported: it needs more than two matrices, or cannot take these extents.
Result<simulator::Prediction> predict(const catalog::Instance& instance, int64_t m, int64_t n, int64_t k);
// The same of a problem, by the plan that it names or else by the choice's. Unsupported: it is more than A times B, or
// threads load its operands or copy them first.
Result<simulator::Prediction> predict(const GemmProblem& problem, Arch arch = Arch::sm90);

// Whether scales and tables are in the L2 before the launch, as where every launch uses the same.
enum class Scales { cold, warm };

// A product by groups or with blockwise scales on Hopper, by the plan that it names or else by the choice's; `rows` and
// `matrices` are what GroupedPointers has under these names. Scales are zeros. Unsupported: it needs more than A, B,
// their scales and D.
Result<simulator::Prediction> predict(const GroupedProblem& problem, std::span<const uint32_t> rows,
                                      std::span<const int32_t> matrices = {}, Scales scales = Scales::cold);

}  // namespace warpwright::simulate
