// A source file of the user's, compiled into a library by the host's C++ compiler and opened.
#pragma once
#include <string>
#include <vector>

#include "cli/line/command_line.h"

namespace warpwright::cli {

// What the compiler is given besides the file; also CXXFLAGS of the environment.
struct CompileOptions {
  std::vector<std::string> folders;  // -I
  std::vector<std::string> macros;   // -D
  bool for_debugger = false;         // not optimized, with all debug information
};
void add_compile_options(CommandLine& line, CompileOptions& options);
// Throws UsageError if one of them was given: `what` is not a file.
void refuse_compile_options(const CompileOptions& options, const std::string& what);

// Whether the word names a source file rather than something shipped.
bool is_source_file(const std::string& word);

// The function `entry` of the file, which stays open until the process ends; `header` says how it is declared. Warnings
// do not stop it, also where core/linear.h makes errors of them, unless they are about the receipt of a handle. Throws
// UsageError (no such file, it does not compile, it has no such function) or MissingError (no compiler, no headers).
void* open_user_file(const std::string& file, const CompileOptions& options, const char* entry,
                     const char* declaration);

}  // namespace warpwright::cli
