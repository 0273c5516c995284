// The words of formulas, and what those who write others are told.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "formula/formula.h"

namespace warpwright::formula {

inline constexpr std::string_view kInfinityWord = "infinity";
inline constexpr std::string_view kSelectWord = "select";

struct FunctionRow {
  std::string_view word;
  Function function;
  int arguments;
  bool real;  // whole arguments become fp32
};
// Null: no function is called so.
const FunctionRow* function_of(std::string_view word);

// What to write instead of a word of C++ or Python that formulas do not take; null: no such word is known.
const char* refused_word(std::string_view word);
// A sentence without a full stop: what was perhaps meant, or which words exist.
std::string unknown_word(std::string_view word, const std::vector<std::string_view>& locals);

}  // namespace warpwright::formula
