// A user-defined schedule, from a source file (include/warpwright/schedule/registry.h).
#pragma once
#include <string>

#include "cli/user/user_file.h"
#include "warpwright/schedule/pipeline.h"

namespace warpwright::cli {

struct UserSchedule {
  std::string name;
  schedule::Pipeline pipeline;  // may have an error
};

// `name` may be empty where the file registers one, `target` where that is made for one; null: it was not said. Throws
// as open_user_file() does.
UserSchedule compile_user_schedule(const std::string& file, const CompileOptions& options, const std::string& name,
                                   const schedule::Target* target);

}  // namespace warpwright::cli
