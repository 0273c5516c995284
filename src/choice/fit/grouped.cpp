#include "choice/fit/fit.h"

namespace warpwright::choice {
namespace {
#include "choice/fit/grouped.inc"
}  // namespace

const Fit kGroupedFit{kNumbers, kPlanNumbers, kRoots, kNodes};

}  // namespace warpwright::choice
