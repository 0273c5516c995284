// Names and configurations are two forms of one thing. A family of kernels lists the words of its names once, as rules;
// the same rules print a configuration and read it back. A field at its usual value leaves no word, so a field that is
// added later does not change the names of today.
#pragma once
#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace warpwright::catalog {

// "a-b-c" as a, b, c; an empty text has no words.
inline std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; !text.empty() && begin <= text.size();) {
    const size_t end = text.find(at, begin) == std::string_view::npos ? text.size() : text.find(at, begin);
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// A whole number of at most four digits without leading zeros, so that a configuration has one name.
inline std::optional<int> read_number(std::string_view text) {
  if (text.empty() || text.size() > 4 || (text.size() > 1 && text.front() == '0')) return {};
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return {};
  return value;
}
inline std::optional<int> read_number_after(std::string_view prefix, std::string_view word) {
  return word.starts_with(prefix) ? read_number(word.substr(prefix.size())) : std::nullopt;
}
// "128x256".
inline std::optional<std::pair<int, int>> read_pair(std::string_view word) {
  const size_t x = word.find('x');
  if (x == std::string_view::npos) return {};
  const auto a = read_number(word.substr(0, x)), b = read_number(word.substr(x + 1));
  if (!a || !b) return {};
  return std::pair(*a, *b);
}

template <class C>
class Words {
 public:
  using Print = std::function<std::string(const C&)>;           // empty: no word
  using Read = std::function<bool(C&, std::string_view word)>;  // false: not this rule's word

  Words& rule(Print print, Read read) {
    rules_.push_back({std::move(print), std::move(read), false});
    return *this;
  }
  // The last rule's word must be there: a name that leaves it out says nothing.
  Words& required() {
    rules_.back().required = true;
    return *this;
  }
  // A number after a prefix; without a usual value it is always there.
  Words& number(std::string prefix, int C::*member, std::optional<int> usual = {}) {
    return rule(
        [=](const C& c) {
          return usual && c.*member == *usual ? std::string() : fmt::format("{}{}", prefix, c.*member);
        },
        [=](C& c, std::string_view word) {
          const auto value = read_number_after(prefix, word);
          if (value) c.*member = *value;
          return value.has_value();
        });
  }
  Words& flag(std::string word, bool C::*member, bool when = true) { return value(std::move(word), member, when); }
  // The word stands for one value of a field.
  template <class T>
  Words& value(std::string word, T C::*member, T meant) {
    return rule([=](const C& c) { return c.*member == meant ? word : std::string(); },
                [=](C& c, std::string_view given) { return given == word && (c.*member = meant, true); });
  }

  std::string print(const C& c) const {
    std::string text;
    for (const Rule& r : rules_) {
      const std::string word = r.print(c);
      if (!word.empty()) text.append(text.empty() ? "" : "-").append(word);
    }
    return text;
  }
  // The first word that no rule reads, or that is there twice, or an empty one if a word is missing; nothing if all is
  // well.
  std::optional<std::string_view> read(C& c, std::string_view text) const {
    std::vector<bool> used(rules_.size(), false);
    for (const std::string_view word : split(text, '-')) {
      bool known = false;
      for (size_t i = 0; i < rules_.size() && !known; ++i) {
        if (used[i]) continue;
        known = used[i] = rules_[i].read(c, word);
      }
      if (!known) return word;
    }
    for (size_t i = 0; i < rules_.size(); ++i)
      if (rules_[i].required && !used[i]) return std::string_view();
    return {};
  }

 private:
  struct Rule {
    Print print;
    Read read;
    bool required = false;
  };
  std::vector<Rule> rules_;
};

}  // namespace warpwright::catalog
