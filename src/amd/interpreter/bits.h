// A lane's register as a number, and back.
#pragma once
#include <bit>
#include <cstdint>

namespace warpwright::amd {

using U = uint32_t;

inline float f(U x) { return std::bit_cast<float>(x); }
inline U u(float x) { return std::bit_cast<U>(x); }

}  // namespace warpwright::amd
