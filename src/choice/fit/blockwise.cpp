#include "choice/fit/fit.h"

namespace warpwright::choice {
namespace {
#include "choice/fit/blockwise.inc"
}  // namespace

const Fit kBlockwiseFit{kNumbers, kPlanNumbers, kRoots, kNodes};

}  // namespace warpwright::choice
