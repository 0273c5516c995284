#include "choice/fit/fit.h"

namespace warpwright::choice {
namespace {
#include "choice/fit/dense.inc"
}  // namespace

const Fit kDenseFit{kNumbers, kPlanNumbers, kRoots, kNodes};

}  // namespace warpwright::choice
