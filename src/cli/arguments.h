// Checks of single arguments. Each rejects a value with the rest of one sentence, which the parser starts with the name
// of the option: "--dtype: 'int9' is not one of bf16, fp16, ...".
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warpwright::cli {

// One of the words, exactly as written.
CLI::Validator one_of(std::vector<std::string> words);

// A whole decimal number within the bounds. Rewrites the text without leading zeros, which the parser would take for
// octal.
CLI::Validator whole_number(std::int64_t lowest, std::int64_t highest);

CLI::Validator finite_number();
CLI::Validator number_between(double lowest, double highest);

// Anything but an empty text, which an unset variable of a script leaves.
CLI::Validator not_empty();

// The same; the words are what a shell offers.
CLI::Validator offers(const std::vector<std::string>& words);

// What a shell can offer as the value of an option: the words of one_of() and offers(), and those that another
// validator describes as "a|b:D". What stands for something else, as D does, is left out.
std::vector<std::string> offered_words(CLI::Option& option);

// The words of "a+b+c", each once. Throws UsageError, which names the option, for one that is there twice.
std::vector<std::string> joined_words(const char* option, const std::string& text);

// "a, b, c": words as a sentence lists them.
std::string listed(const std::vector<std::string>& words);

}  // namespace warpwright::cli
