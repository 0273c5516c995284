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
    return fmt::format("'{}' is not one of {}", value, listed(words));
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
