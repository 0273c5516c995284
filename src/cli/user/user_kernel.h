// user-defined kernels, from a source file (include/warpwright/check.h).
#pragma once
#include <string>
#include <vector>

#include "cli/user/user_file.h"
#include "simulate/example.h"

namespace warpwright::cli {

// The kernels that the file registers; they live until the process ends. Throws UsageError (no such file, it does not
// compile, it registers nothing) or MissingError (no compiler, no headers).
std::vector<const simulate::Example*> compile_user_kernels(const std::string& file, const CompileOptions& options);

}  // namespace warpwright::cli
