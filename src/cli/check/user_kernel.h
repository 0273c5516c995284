// Kernels of the user's own: a source file (include/warpwright/check.h) is compiled into a library and opened.
#pragma once
#include <string>
#include <vector>

#include "simulate/example.h"

namespace warpwright::cli {

// Whether the word names a source file rather than a shipped kernel.
bool is_source_file(const std::string& word);

// The kernels that the file registers; they live until the process ends. Throws UsageError (no such file, it does not
// compile, it registers nothing) or MissingError (no compiler, no headers).
std::vector<const simulate::Example*> compile_user_kernels(const std::string& file);

}  // namespace warpwright::cli
