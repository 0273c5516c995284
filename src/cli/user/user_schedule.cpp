#include "cli/user/user_schedule.h"

#include <fmt/format.h>

#include <vector>

#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "warpwright/schedule/registry.h"

namespace warpwright::cli {
namespace {

const schedule::Registered& schedule_named(const std::vector<schedule::Registered>& list, const std::string& file,
                                           const std::string& name) {
  if (list.empty()) throw UsageError(fmt::format("'{}' registers no schedule", file));
  if (name.empty() && list.size() == 1) return list.front();
  std::vector<std::string> names;
  for (const schedule::Registered& one : list) {
    if (one.name == name) return one;
    names.push_back(one.name);
  }
  if (name.empty()) throw UsageError(fmt::format("--name: '{}' registers {}; name one of them", file, listed(names)));
  throw UsageError(fmt::format("--name: '{}' does not register '{}'; it has {}", file, name, listed(names)));
}

}  // namespace

UserSchedule compile_user_schedule(const std::string& file, const CompileOptions& options, const std::string& name,
                                   const schedule::Target* target) {
  const auto entry = reinterpret_cast<void (*)(schedule::Registry&)>(
      open_user_file(file, options, "warpwright_schedules",
                     "extern \"C\" void warpwright_schedules(warpwright::schedule::Registry&)"));
  schedule::Registry registry;
  entry(registry);
  const schedule::Registered& chosen = schedule_named(registry.schedules(), file, name);
  if (chosen.make == nullptr) {
    if (target == nullptr)
      throw UsageError(fmt::format("--target is required: '{}' of '{}' can be made for any target", chosen.name, file));
    return {chosen.name, chosen.make_for(*target)};
  }
  UserSchedule user{chosen.name, chosen.make()};
  if (target != nullptr && user.pipeline.target.arch != target->arch) {
    throw UsageError(fmt::format("--target {}: '{}' of '{}' is made for {}", target->name.c_str(), chosen.name, file,
                                 user.pipeline.target.name.c_str()));
  }
  return user;
}

}  // namespace warpwright::cli
