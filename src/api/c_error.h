// The end of every function of the C interface: nothing may leave it but a code.
#pragma once
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

#include "warpwright/status.h"

namespace warpwright::api {

// The sentence that ww_last_error() returns in this thread.
std::string& last_error();

inline int32_t report(const Status& status) {
  if (!status) last_error() = status.message();
  return int32_t(status.code());
}

template <class Body>
int32_t guarded(Body&& body) noexcept {
  try {
    return report(body());
  } catch (const std::exception& e) {
    try {
      last_error() = std::string("unexpected failure: ") + e.what() + ".";
    } catch (...) {
    }
    return int32_t(Code::failed);
  } catch (...) {
    return int32_t(Code::failed);
  }
}

// A number from C becomes an enumerator only if it is one of a table of core/words.h, or one up to `last`.
inline Status no_word(const char* argument, int32_t value) {
  return Status(Code::invalid_argument,
                fmt::format("{} = {}: it is not one of the values of its type.", argument, value));
}
template <class E, size_t N>
Status word(const char* argument, int32_t value, const E (&all)[N], E& to) {
  for (const E known : all)
    if (int32_t(known) == value) return to = known, Status();
  return no_word(argument, value);
}
template <class E>
Status word(const char* argument, int32_t value, E last, E& to) {
  if (value < 0 || value > int32_t(last)) return no_word(argument, value);
  to = E(value);
  return {};
}

}  // namespace warpwright::api
