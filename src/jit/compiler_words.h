// What a C++ compiler says, g++ or clang++ in the language of the locale C, for the person whose file it is.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace warpwright::jit {

struct CompilerMessage {
  enum class Kind : char { error, warning, note };
  Kind kind = Kind::error;
  std::string file;  // empty: it is about no line
  int line = 0;
  std::string place;  // file, line and column as they are written
  std::string text;
  size_t at = 0;  // the line of the output
};
std::vector<CompilerMessage> messages_of(const std::string& output);

// The first error in one sentence: the name that a plan does not have, the rule of a static_assert without what
// surrounds it and with the names that break it, or the compiler's own words.
struct CompileError {
  std::string file;  // the nearest line that is neither in `headers` nor in those of the system; empty: there is none
  int line = 0;
  std::string sentence;
  std::string text() const;  // "FILE:LINE: this does not compile: SENTENCE"
};
CompileError first_error(const std::string& output, const std::string& headers);

// Whether all errors are about variables and results that are not used: those are warnings elsewhere.
bool only_unused(const std::vector<CompilerMessage>& messages);
// The messages about receipts (core/linear.h): the errors of `strict` that are no warnings of `lenient`, where receipts
// with a name are not reported, and those that quote the rule.
std::vector<CompilerMessage> unused_receipts(const std::vector<CompilerMessage>& strict,
                                             const std::vector<CompilerMessage>& lenient);

}  // namespace warpwright::jit
