#include "cli/line/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <system_error>
#include <utility>

#include "cli/commands.h"

namespace warpwright::cli {
namespace {

// The number of edits between two words, for "did you mean".
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t furthest = 2;
  const std::string* best = nullptr;
  std::size_t best_distance = furthest + 1;
  for (const auto& candidate : known) {
    const std::size_t d = distance(word, candidate);
    if (d < best_distance && d < word.size()) {  // something of it is left
      best = &candidate;
      best_distance = d;
    }
  }
  return best == nullptr ? std::string() : fmt::format(" (did you mean '{}'?)", *best);
}

std::string listed(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::string> joined_words(const char* option, const std::string& text) {
  std::vector<std::string> words;
  for (const std::string& word : split(text, '+')) {
    if (std::find(words.begin(), words.end(), word) != words.end())
      throw UsageError(fmt::format("{} {}: '{}' is there twice", option, text, word));
    words.push_back(word);
  }
  return words;
}

Check one_of(std::vector<std::string> words) {
  const auto complaint = [words](std::string& value) {
    if (std::find(words.begin(), words.end(), value) != words.end()) return std::string();
    return fmt::format("'{}' is not one of {}{}", value, listed(words), suggestion(value, words));
  };
  std::string shown = fmt::format("{}", fmt::join(words, "|"));
  return {complaint, std::move(shown), std::move(words)};
}

Check whole_number(std::int64_t lowest, std::int64_t highest) {
  return {[=](std::string& value) {
    std::int64_t number = 0;
    const char* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    if (value.empty() || stop != end || error != std::errc() || number < lowest || number > highest) {
      return fmt::format("'{}' is not a whole number from {} to {}", value, lowest, highest);
    }
    value = std::to_string(number);
    return std::string();
  }};
}

namespace {

std::optional<double> parse_number(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || stop != end || error != std::errc() || !std::isfinite(number)) return std::nullopt;
  return number;
}

}  // namespace

Check finite_number() {
  return {[](std::string& value) {
    return parse_number(value) ? std::string() : fmt::format("'{}' is not a finite number", value);
  }};
}

Check number_between(double lowest, double highest) {
  return {[=](std::string& value) {
    const auto number = parse_number(value);
    if (number && *number >= lowest && *number <= highest) return std::string();
    return fmt::format("'{}' is not a number from {} to {}", value, lowest, highest);
  }};
}

Check not_empty() {
  return {[](std::string& value) { return std::string(value.empty() ? "'' is empty" : ""); }};
}

}  // namespace warpwright::cli
