// The end of every function of the C interface: nothing may leave it but a code.
#pragma once
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

}  // namespace warpwright::api
