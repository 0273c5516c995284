// The times of several launches of the same work, on somebody's stream.
#pragma once
#include <functional>
#include <vector>

#include "warpwright/status.h"

namespace warpwright::gpu {

// Puts one of them on the stream.
using Launch = std::function<Status()>;

// Microseconds of each, the median of rounds in which all take their turn; infinite for one that failed. The stream is
// waited for. It takes a fifth of a second at most, unless one round alone takes longer. Failures of the driver are
// thrown (gpu/require.h).
std::vector<double> time_launches(const std::vector<Launch>& launches, void* stream);

}  // namespace warpwright::gpu
