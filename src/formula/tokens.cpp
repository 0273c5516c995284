#include "formula/tokens.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <system_error>
#include <utility>

namespace warpwright::formula {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
// What is neither to be seen nor white space.
bool is_control(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < 0x20 && c != '\t' && c != '\n' && c != '\r') || code == 0x7f;
}
// A byte that continues a character of UTF-8.
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0u) == 0x80u; }

// The longest first.
constexpr std::string_view kSigns[] = {"<<=", ">>=", "<=>", "->*", "...", "**", "::", "->", "++", "--",
                                       "+=",  "-=",  "*=",  "/=",  "%=",  "&=", "|=", "^=", "<<", ">>",
                                       "<=",  ">=",  "==",  "!=",  "&&",  "||", "+",  "-",  "*",  "/",
                                       "%",   "<",   ">",   "=",   "!",   "~",  "&",  "|",  "^",  "?",
                                       ":",   "(",   ")",   ",",   ";",   ".",  "[",  "]",  "{",  "}"};
// Words for signs, as C++ has them.
constexpr std::pair<std::string_view, std::string_view> kWordsForSigns[] = {{"and", "&&"}, {"or", "||"}, {"not", "!"}};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<Token> all() {
    std::vector<Token> list;
    while (skip_to_token()) list.push_back(next());
    list.push_back({Token::Sort::end, {}, place_, 0, 0});
    return list;
  }

 private:
  char at(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void step(size_t count = 1) {
    for (; count > 0 && at_ < text_.size(); --count, ++at_) {
      if (text_[at_] == '\n') {
        place_ = {place_.line + 1, 1};
      } else if (!continues(text_[at_])) {
        ++place_.column;
      }
    }
  }

  void step_in_comment() {
    if (is_control(at())) refuse_character();
    step();
  }

  // Past white space and comments. False: the text ends.
  bool skip_to_token() {
    while (at_ < text_.size()) {
      if (at() == ' ' || at() == '\t' || at() == '\n' || at() == '\r') {
        step();
      } else if (at() == '/' && at(1) == '/') {
        while (at_ < text_.size() && at() != '\n') step_in_comment();
      } else if (at() == '/' && at(1) == '*') {
        const Place begin = place_;
        step(2);
        while (at_ < text_.size() && !(at() == '*' && at(1) == '/')) step_in_comment();
        if (at_ >= text_.size()) throw Mistake{begin, "this comment has no end"};
        step(2);
      } else {
        return true;
      }
    }
    return false;
  }

  Token next() {
    if (is_digit(at()) || (at() == '.' && is_digit(at(1)))) return number();
    if (begins_word(at())) return word();
    for (const std::string_view sign : kSigns) {
      if (!text_.substr(at_).starts_with(sign)) continue;
      const Token token{Token::Sort::sign, sign, place_, 0, 0};
      step(sign.size());
      return token;
    }
    refuse_character();
  }

  Token word() {
    const size_t begin = at_;
    const Place place = place_;
    while (begins_word(at()) || is_digit(at())) step();
    const std::string_view text = text_.substr(begin, at_ - begin);
    for (const auto& [of, sign] : kWordsForSigns)
      if (text == of) return {Token::Sort::sign, sign, place, 0, 0};
    return {Token::Sort::word, text, place, 0, 0};
  }

  Token number() {
    const size_t begin = at_;
    const Place place = place_;
    bool is_real = false;
    const auto digits = [&] {
      while (is_digit(at())) step();
    };
    if (at() == '0' && (at(1) == 'x' || at(1) == 'X' || at(1) == 'b' || at(1) == 'B'))
      throw Mistake{place, "numbers are written in decimal digits"};
    digits();
    if (at() == '.') {
      is_real = true;
      step();
      digits();
    }
    const bool has_sign = at(1) == '+' || at(1) == '-';
    if ((at() == 'e' || at() == 'E') && is_digit(at(has_sign ? 2 : 1))) {
      is_real = true;
      step(has_sign ? 2 : 1);
      digits();
    }
    const std::string_view text = text_.substr(begin, at_ - begin);
    if (at() == 'f' || at() == 'F') {
      if (!is_real) throw Mistake{place_, fmt::format("{0}f is not a number in C++; write {0}.0f, or {0}", text)};
      step();
    }
    if (begins_word(at()) || is_digit(at())) {
      throw Mistake{place_, fmt::format("'{}' cannot follow the number {}", at(), text)};
    }
    const char* const end = text.data() + text.size();
    if (!is_real) {
      if (text.size() > 1 && text.front() == '0')
        throw Mistake{place, fmt::format("{}: a whole number does not begin with 0", text)};
      int32_t value = 0;
      const auto [stop, error] = std::from_chars(text.data(), end, value);
      if (error != std::errc() || stop != end)
        throw Mistake{place, fmt::format("{0} is larger than a whole number may be; write {0}.0", text)};
      return {Token::Sort::whole, text, place, float(value), value};
    }
    float value = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || !std::isfinite(value))
      throw Mistake{place, fmt::format("{} is not within the range of fp32", text)};
    return {Token::Sort::real, text, place, value, 0};
  }

  [[noreturn]] void refuse_character() const {
    const char c = at();
    if (c == '"' || c == '\'') throw Mistake{place_, "an epilogue has no texts"};
    if (c == '#') throw Mistake{place_, "an epilogue has no preprocessor lines"};
    size_t end = at_ + 1;
    while (end < text_.size() && continues(text_[end])) ++end;
    if (is_control(c))
      throw Mistake{place_,
                    fmt::format("the character with the code {} is not text", int(static_cast<unsigned char>(c)))};
    throw Mistake{place_, fmt::format("'{}' is not a character of an epilogue", text_.substr(at_, end - at_))};
  }

  std::string_view text_;
  size_t at_ = 0;
  Place place_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text) { return Reader(text).all(); }

}  // namespace warpwright::formula
