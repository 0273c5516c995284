// A rule that a configuration breaks, as an error of the compiler:
//
//   static_assert(Refusal<refuse(config)>::none);
//
// The sentence is not known where the assertion is written, so it cannot be its message. It becomes part of a type's
// name instead, and compilers say in which type an assertion failed.
#pragma once
#include "warpwright/core/address.h"

namespace warpwright {

namespace detail {
inline void refused(const char*) {}
}  // namespace detail

// A text as an argument of templates.
struct Sentence {
  char text[256] = {};
  // Null: no text.
  WW_HD constexpr Sentence(const char* from) {
#if defined(__clang__)
    // Clang writes only the first letters of such an argument; but it writes all of a call that is not a constant
    // expression.
    if (from != nullptr) detail::refused(from);
#endif
    for (int i = 0; from != nullptr && from[i] != '\0' && i < 255; ++i) text[i] = from[i];
  }
  WW_HD constexpr bool empty() const { return text[0] == '\0'; }
};

template <Sentence Why>
struct Refusal {
  static_assert(Why.empty(), "this configuration cannot be compiled: the name of the Refusal says why");
  static constexpr bool none = true;
};

}  // namespace warpwright
