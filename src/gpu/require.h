// Failures inside host code that measures and checks: thrown, caught by the functions that others call, and returned
// from there as a Status.
#pragma once
#include <stdexcept>

#include "gpu/driver.h"
#include "gpu/maker.h"
#include "warpwright/status.h"

namespace warpwright::gpu {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void require(const Status& status) {
  if (!status) throw Failure(status.message());
}
inline void require(abi::Result result, const char* what) {
  if (result != abi::kSuccess) throw Failure(failure(result, what).message());
}
// Gives the calling thread a context, if it has none.
inline void require_device() { require(current_device().status()); }

}  // namespace warpwright::gpu
