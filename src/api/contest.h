// Several plans for one problem (Tuning::measure): the first run that is not captured times them, and the fastest is
// taken from then on.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "choice/dense.h"
#include "gpu/time_launches.h"

namespace warpwright::api {

class Contest {
 public:
  // The names of the plans, as the problem would name them; the first is the choice without measuring. If only one is
  // left, it has won.
  Contest(std::string problem, choice::Chip chip, std::vector<std::string> plans)
      : problem_(std::move(problem)), chip_(std::move(chip)), plans_(std::move(plans)) {
    if (plans_.size() == 1) winner_ = 0;
  }

  // The plan for this run, where is_decided() says no. `launches` makes a launch of each, which must affect nothing but
  // what the run itself writes; it may throw gpu::Failure. `keeps_memory`: a run that is captured leaves memory behind
  // that only the same plan may use.
  size_t pick(void* stream, bool keeps_memory, const std::function<std::vector<gpu::Launch>()>& launches) const;
  bool is_decided() const { return winner_.load(std::memory_order_acquire) >= 0; }
  // The plan as far as it is known.
  size_t current() const { return size_t(std::max(0, winner_.load(std::memory_order_acquire))); }
  // "model", "table", "name" or "measured on NVIDIA H200: 41.2 us", for what the choice says of the plan.
  std::string origin(choice::ChosenBy by, double measured_us) const;
  // What the plan's own reason becomes.
  std::string reason(const std::string& own) const;

 private:
  size_t settle(size_t plan, double us, double first_us) const;

  const std::string problem_;
  const choice::Chip chip_;
  const std::vector<std::string> plans_;
  mutable std::mutex mutex_;
  mutable std::atomic<int> winner_ = -1;
  mutable double us_ = 0, first_us_ = 0;
  mutable std::string why_not_;
};

}  // namespace warpwright::api
