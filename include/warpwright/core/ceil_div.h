// How many parts of size b cover a.
#pragma once
#include "warpwright/core/std.h"

namespace warpwright {

WW_HD constexpr stdx::int64_t ceil_div(stdx::int64_t a, stdx::int64_t b) { return (a + b - 1) / b; }

}  // namespace warpwright
