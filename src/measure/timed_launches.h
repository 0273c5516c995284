// Single launches that are timed one by one: how many, of which the median counts, and the pause before each.
#pragma once
#include <chrono>

namespace warpwright::measure {

constexpr int kTimedLaunches = 11;
// Long enough for the chip to lose the heat of a launch.
constexpr std::chrono::milliseconds kIdle(5);

}  // namespace warpwright::measure
