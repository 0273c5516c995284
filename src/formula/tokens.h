// A text in tokens, each with its place.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warpwright::formula {

// Lines and columns count from 1, columns in characters.
struct Place {
  int line = 1, column = 1;
};

// Thrown by whatever reads a text, caught by parse().
struct Mistake {
  Place place;
  std::string sentence;  // without a full stop
};

struct Token {
  enum class Sort : uint8_t { word, whole, real, sign, end };
  Sort sort = Sort::end;
  std::string_view text;
  Place place;
  float real = 0;
  int32_t whole = 0;

  bool is(std::string_view what) const { return (sort == Sort::word || sort == Sort::sign) && text == what; }
};

// The last one, after the text, is Sort::end.
std::vector<Token> tokens_of(std::string_view text);

}  // namespace warpwright::formula
