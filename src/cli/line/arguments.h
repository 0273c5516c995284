// Checks of single arguments. Each rejects a value with the rest of one sentence, which the parser starts with the name
// of the option: "--dtype: 'int9' is not one of bf16, fp16, ...".
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace warpwright::cli {

struct Check {
  // What is wrong with a value; empty: nothing. May rewrite it.
  std::function<std::string(std::string&)> complaint = {};
  std::string shown = {};                 // on the help page
  std::vector<std::string> offered = {};  // by a shell
};

// One of the words, exactly as written.
Check one_of(std::vector<std::string> words);

// A whole decimal number within the bounds. Rewrites the text without leading zeros, which the parser would take for
// octal.
Check whole_number(std::int64_t lowest, std::int64_t highest);

Check finite_number();
Check number_between(double lowest, double highest);

// Anything but an empty text, which an unset variable of a script leaves.
Check not_empty();

// The parts of a text between separators.
std::vector<std::string> split(const std::string& text, char separator);

// The words of "a+b+c", each once. Throws UsageError, which names the option, for one that is there twice.
std::vector<std::string> joined_words(const char* option, const std::string& text);

// " (did you mean 'ping-pong'?)": the word of a list that differs least from one that is not in it; empty: none is
// near.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

// "a, b, c": words as a sentence lists them.
std::string listed(const std::vector<std::string>& words);

}  // namespace warpwright::cli
