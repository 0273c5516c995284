// Why the host API refuses a problem: the argument, its value, the rule.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "warpwright/status.h"

namespace warpwright {

// Coordinates are 32-bit and rounded up to whole clusters of tiles.
constexpr int64_t kLargestExtent = int64_t(1) << 30;

template <class... Values>
Status refused(fmt::format_string<Values...> text, Values&&... values) {
  return Status(Code::invalid_argument, fmt::format(text, std::forward<Values>(values)...));
}

inline Status check_extent(const char* argument, int64_t value, int64_t most = kLargestExtent) {
  if (value < 0) return refused("{} = {}: it must not be negative.", argument, value);
  if (value > most) return refused("{} = {}: it must be at most {}.", argument, value, most);
  return {};
}

}  // namespace warpwright
