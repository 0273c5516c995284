#include "formula/vocabulary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace warpwright::formula {
namespace {

// clang-format off
#define WW_REAL_1(name) {#name, Function::name, 1, true},
#define WW_REAL_2(name) {#name, Function::name, 2, true},
#define WW_REAL_3(name) {#name, Function::name, 3, true},
#define WW_ANY_1(name) {#name, Function::name, 1, false},
#define WW_ANY_2(name) {#name, Function::name, 2, false},
#define WW_ANY_3(name) {#name, Function::name, 3, false},
constexpr FunctionRow kFunctions[] = {
  WW_FORMULA_REAL_1(WW_REAL_1) WW_FORMULA_REAL_2(WW_REAL_2) WW_FORMULA_REAL_3(WW_REAL_3)
  WW_FORMULA_ANY_1(WW_ANY_1) WW_FORMULA_ANY_2(WW_ANY_2) WW_FORMULA_ANY_3(WW_ANY_3)
};
// clang-format on

// The number of edits from one word to another.
size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

}  // namespace

const char* word(Name name) {
  constexpr const char* kWords[] = {"x", "c", "bias", "row_bias", "residual", "beta", "row", "column", "batch"};
  return kWords[size_t(name)];
}

const FunctionRow* function_of(std::string_view word) {
  for (const FunctionRow& row : kFunctions)
    if (row.word == word) return &row;
  return nullptr;
}

const char* refused_word(std::string_view word) {
  constexpr std::pair<std::string_view, const char*> kRefused[] = {
      {"if", "'if' is not an expression; write condition ? a : b"},
      {"else", "'else' is not an expression; write condition ? a : b"},
      {"for", "there are no loops"},
      {"while", "there are no loops"},
      {"do", "there are no loops"},
      {"goto", "there are no loops"},
      {"switch", "'switch' is not an expression; write condition ? a : b"},
      {"asm", "there is no assembly"},
      {"double", "all numbers are fp32; write float"},
      {"alpha", "alpha is in x already"},
      {"lambda", "write the expression alone, without 'lambda'"},
      {"static_cast", "write float(...) or int(...)"},
      {"reinterpret_cast", "there is nothing that points to memory"},
      {"new", "there is nothing that points to memory"},
  };
  for (const auto& [refused, sentence] : kRefused)
    if (word == refused) return sentence;
  return nullptr;
}

std::string unknown_word(std::string_view text, const std::vector<std::string_view>& locals) {
  std::vector<std::string_view> known;
  for (const Name name : kNames) known.emplace_back(word(name));
  const size_t values = known.size();
  known.insert(known.end(), locals.begin(), locals.end());
  for (const FunctionRow& row : kFunctions) known.push_back(row.word);
  known.insert(known.end(), {kSelectWord, kInfinityWord, "true", "false"});
  const auto nearest = std::min_element(known.begin(), known.end(), [&](std::string_view a, std::string_view b) {
    return edits(text, a) < edits(text, b);
  });
  const size_t far = edits(text, *nearest);
  if (far <= 2 && far < text.size() && far < nearest->size())
    return fmt::format("'{}' is not known; did you mean '{}'?", text, *nearest);
  known.resize(values);
  return fmt::format("'{}' is not known; the values are {}", text, fmt::join(known, ", "));
}

}  // namespace warpwright::formula
