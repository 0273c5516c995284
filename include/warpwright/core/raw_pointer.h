// Whether the arguments of a kernel hold a raw pointer, at any depth: code could follow one without a word, where the
// checker does not see it. C++20 cannot list the members of a class, but an aggregate can be initialised by objects
// that convert to anything, which counts its members, and in each place by one that converts to nothing but pointers
// and to what holds them.
//
// Seen are members, elements of arrays, bases and the same of aggregates in them. Not seen: what a class with
// constructors or private members keeps, all members of a union but the first, addresses in integers, and what comes
// after the first kMostMembers.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/std.h"

namespace warpwright {

inline constexpr int kMostMembers = 256;  // including those of arrays

template <class T>
constexpr bool holds_raw_pointer();

namespace detail {

template <int>
struct Anything {
  template <class U>
  constexpr operator U() const;
};
struct RawPointer {
  template <class U>
  requires(holds_raw_pointer<U>()) constexpr operator U() const;
};

template <class T, int... I>
constexpr bool has_members(stdx::integer_sequence<int, I...>) {
  return requires { T{Anything<I>{}...}; };
}
template <class T, int... I>
constexpr bool is_pointer_behind(stdx::integer_sequence<int, I...>) {
  return requires { T{Anything<I>{}..., RawPointer{}}; };
}
// From the member with this number on.
template <class T, int From>
constexpr bool holds_from() {
  if constexpr (From >= kMostMembers || !has_members<T>(stdx::make_integer_sequence<int, From + 1>{})) {
    return false;
  } else if constexpr (is_pointer_behind<T>(stdx::make_integer_sequence<int, From>{})) {
    return true;
  } else {
    return holds_from<T, From + 1>();
  }
}

}  // namespace detail

template <class T>
constexpr bool holds_raw_pointer() {
  using Plain = stdx::remove_cv_t<T>;
  if constexpr (stdx::is_pointer_v<Plain>) {
    return true;
  } else if constexpr (stdx::is_array_v<Plain>) {
    return holds_raw_pointer<stdx::remove_extent_t<Plain>>();
  } else if constexpr (stdx::is_class_v<Plain> && stdx::is_aggregate_v<Plain>) {
    return detail::holds_from<Plain, 0>();
  } else {
    return false;
  }
}

}  // namespace warpwright
