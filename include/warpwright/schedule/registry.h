// Schedules of your own for the tool. A source file that defines
//
//   extern "C" void warpwright_schedules(warpwright::schedule::Registry& registry) {
//     registry.add("mine", make_pipeline);
//   }
//
// is shown, proven and drawn by `warpwright schedule show|verify|svg FILE`. `make_pipeline()` returns what compile()
// made, for one target or, with a parameter, for the one that is asked for.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "warpwright/schedule/schedule.h"

namespace warpwright::schedule {

// A schedule with its name.
struct Registered {
  std::string name;
  Pipeline (*make)() = nullptr;                   // for one target
  Pipeline (*make_for)(const Target&) = nullptr;  // for any
};

// Collects the schedules of a source file.
class Registry {
 public:
  void add(std::string name, Pipeline (*make)()) { schedules_.push_back({std::move(name), make, nullptr}); }
  void add(std::string name, Pipeline (*make_for)(const Target&)) {
    schedules_.push_back({std::move(name), nullptr, make_for});
  }
  const std::vector<Registered>& schedules() const { return schedules_; }

 private:
  std::vector<Registered> schedules_;
};

}  // namespace warpwright::schedule

// What your source file defines; the tool calls it once.
extern "C" void warpwright_schedules(warpwright::schedule::Registry& registry);
