#include "cli/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "cli/commands.h"

namespace warpwright::cli {

std::string listed(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

std::vector<std::string> joined_words(const char* option, const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (std::find(words.begin(), words.end(), word) != words.end())
      throw UsageError(fmt::format("{} {}: '{}' is there twice", option, text, word));
    words.push_back(word);
    begin = end + 1;
  }
  return words;
}

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string shown = fmt::format("{}", fmt::join(words, "|"));
  return CLI::Validator(
      [words = std::move(words)](std::string& value) {
        if (std::find(words.begin(), words.end(), value) != words.end()) return std::string();
        return fmt::format("'{}' is not one of {}", value, listed(words));
      },
      shown);
}

CLI::Validator whole_number(std::int64_t lowest, std::int64_t highest) {
  return CLI::Validator(
      [=](std::string& value) {
        std::int64_t number = 0;
        const char* end = value.data() + value.size();
        const auto [stop, error] = std::from_chars(value.data(), end, number);
        if (value.empty() || stop != end || error != std::errc() || number < lowest || number > highest) {
          return fmt::format("'{}' is not a whole number from {} to {}", value, lowest, highest);
        }
        value = std::to_string(number);
        return std::string();
      },
      "");
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

CLI::Validator finite_number() {
  return CLI::Validator(
      [](std::string& value) {
        return parse_number(value) ? std::string() : fmt::format("'{}' is not a finite number", value);
      },
      "");
}

CLI::Validator number_between(double lowest, double highest) {
  return CLI::Validator(
      [=](std::string& value) {
        const auto number = parse_number(value);
        if (number && *number >= lowest && *number <= highest) return std::string();
        return fmt::format("'{}' is not a number from {} to {}", value, lowest, highest);
      },
      "");
}

CLI::Validator not_empty() {
  return CLI::Validator([](std::string& value) { return std::string(value.empty() ? "'' is empty" : ""); }, "");
}

CLI::Validator offers(const std::vector<std::string>& words) {
  CLI::Validator validator = not_empty();
  // The description would be shown on the help page.
  return validator.name(fmt::format("{}", fmt::join(words, "|")));
}

std::vector<std::string> offered_words(CLI::Option& option) {
  std::vector<std::string> words;
  for (int i = 0;; ++i) {
    const CLI::Validator* validator = nullptr;
    try {
      validator = option.get_validator(i);
    } catch (const CLI::OptionNotFound&) {
      return words;
    }
    const std::string text = validator->get_name().empty() ? validator->get_description() : validator->get_name();
    if (validator->get_name().empty() && text.find('|') == std::string::npos) continue;
    for (std::string word : CLI::detail::split(text, '|')) {
      const auto colon = word.find(':');
      const auto stands_for_another = [](unsigned char c) { return std::isupper(c) != 0; };
      if (colon != std::string::npos && std::all_of(word.begin() + colon + 1, word.end(), stands_for_another))
        word.resize(colon + 1);
      words.push_back(word);
    }
  }
}

}  // namespace warpwright::cli
