#include "api/contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "choice/measured.h"
#include "gpu/door.h"
#include "gpu/require.h"

namespace warpwright::api {
namespace {

// Less than that is noise, and the model's choice stays.
constexpr double kClearlyFaster = 0.99;

}  // namespace

size_t Contest::settle(size_t plan, double us, double first_us) const {
  us_ = us;
  first_us_ = first_us;
  winner_.store(int(plan), std::memory_order_release);
  return plan;
}

size_t Contest::pick(void* stream, bool keeps_memory, const std::function<std::vector<gpu::Launch>()>& launches) const {
  if (const int known = winner_.load(std::memory_order_acquire); known >= 0) return size_t(known);
  const std::lock_guard lock(mutex_);
  if (const int known = winner_.load(std::memory_order_acquire); known >= 0) return size_t(known);
  int capturing = 0;
  if (gpu::door().stream_is_capturing(stream, &capturing) != 0 || capturing != 0) {
    if (!keeps_memory) return 0;
    why_not_ = "not measured, because its first run was captured with a workspace of the caller's";
    return settle(0, 0, 0);
  }
  // Another plan of the problem may have been measured since this one was made.
  if (const auto row = choice::measured_row(problem_, chip_)) {
    const auto found = std::find(plans_.begin(), plans_.end(), row->plan);
    if (found != plans_.end()) return settle(size_t(found - plans_.begin()), row->us, row->model_us);
  }
  try {
    const std::vector<double> us = gpu::time_launches(launches(), stream);
    size_t best = size_t(std::min_element(us.begin(), us.end()) - us.begin());
    if (!(us[best] < kClearlyFaster * us[0])) best = 0;
    // Where nothing could be launched, the run itself will say why.
    if (!std::isfinite(us[best])) return 0;
    const double first = std::isfinite(us[0]) ? us[0] : us[best];
    choice::keep_measured({problem_, plans_[best], us[best], first}, chip_);
    return settle(best, us[best], first);
  } catch (const gpu::Failure& failure) {
    why_not_ = fmt::format("not measured: {}", failure.what());
    return settle(0, 0, 0);
  }
}

std::string Contest::origin(choice::ChosenBy by, double measured_us) const {
  const std::lock_guard lock(mutex_);
  const bool here = us_ > 0;
  if (!here && by != choice::ChosenBy::measured) return choice::word_of(by);
  return choice::measured_text(chip_, here ? us_ : measured_us);
}

std::string Contest::reason(const std::string& own) const {
  if (plans_.size() == 1) return own;
  const std::lock_guard lock(mutex_);
  if (winner_ < 0) return fmt::format("until it is measured beside {} others; {}", plans_.size() - 1, own);
  if (!why_not_.empty()) return fmt::format("{}; {}", why_not_, own);
  return choice::measured_reason(own, {problem_, plans_[size_t(winner_)], us_, first_us_}, chip_);
}

}  // namespace warpwright::api
