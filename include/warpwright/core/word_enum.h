// An enumeration from a table of core/words.h, with all its values and the word of each:
//
//   WW_WORDS(Activation, kActivations, WW_ACTIVATIONS)    Activation::relu, kActivations[], name(Activation)
#pragma once
#include "warpwright/core/std.h"
#include "warpwright/core/words.h"

#define WW_ENUMERATOR(name_, NAME, value, word) name_ = value,
#define WW_USING_VALUE(name_, NAME, value, word) E::name_,
#define WW_CASE_WORD(name_, NAME, value, word) \
  case E::name_:                               \
    return word;
#define WW_WORDS(Enum, all, TABLE)                                \
  enum class Enum : uint8_t { TABLE(WW_ENUMERATOR) };             \
  namespace detail {                                              \
  template <class E>                                              \
  struct Table##Enum {                                            \
    static constexpr E values[] = {TABLE(WW_USING_VALUE)};        \
    WW_HD static constexpr const char* name(E value) {            \
      switch (value) { TABLE(WW_CASE_WORD) }                      \
      return "?";                                                 \
    }                                                             \
  };                                                              \
  }                                                               \
  inline constexpr auto& all = detail::Table##Enum<Enum>::values; \
  WW_HD constexpr const char* name(Enum value) { return detail::Table##Enum<Enum>::name(value); }
