#include "cli/check/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "catalog/instance.h"
#include "cli/check/machine_code.h"
#include "cli/output.h"
#include "simulate/coverage.h"
#include "system/on_cores.h"

namespace warpwright::cli {
namespace {

using reference::Condition;
using reference::Workload;

constexpr std::uint64_t kUsersSteps = 10'000'000;  // a product of 2^33 multiplications has some millions

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The processor time of the calling thread.
double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// What a verdict would say nothing about. Empty: every stage was refilled and every word of the kernel called.
std::string not_exercised(const CheckWork& work, const Checked& checked) {
  const bool exercised = checked.unturned.empty() && checked.unreached.empty() && checked.knows_calls;
  if (exercised && checked.gaps.empty()) return {};
  if (exercised) {
    return fmt::format("{}: nothing wrong was found, but another interleaving could behave differently: {}",
                       work.example->name, checked.gaps.front());
  }
  std::string text =
      fmt::format("{}: nothing wrong was found, and the sizes do not exercise all of it", work.example->name);
  for (const std::string& one : checked.unturned) text += "\n  " + one;
  for (const std::string& one : checked.unreached) text += "\n  never called: " + one;
  if (!checked.knows_calls) {
    text += "\n  its calls are unknown: the compiler does not optimize, or this host is not x86-64";
  }
  if (!checked.unturned.empty()) {
    if (const auto size = simulate::turning_size(*work.example, work.cases))
      text += fmt::format("\n  at {} every barrier would go through {}", shape_text(*size), simulate::kPhases);
  }
  return text;
}

// One kernel under check.
class Subject {
 public:
  Subject(const CheckWork& work, std::uint64_t seed) : work_(work), seed_(seed), workloads_(work.cases.size()) {
    checked_.predicted_us.resize(work.cases.size());
  }

  std::size_t runs() const { return work_.runs.size(); }
  // Compiles the kernel, once; a failure to do so is thrown.
  void begin() {
    const std::lock_guard lock(mutex_);
    if (coverage_) return;
    prepare(*work_.example);
    const CallSites sites = work_.example->sites ? work_.example->sites() : CallSites();
    if (work_.begins_calls) simulate::forget(sites);
    coverage_.emplace(*work_.example->plan, sites);
  }
  // `seconds_left` 0: no limit.
  void run(std::size_t number, double seconds_left) {
    if (number > first_failure_) return;  // the report of an earlier run stays
    const std::size_t which = work_.runs[number].which;
    Mode mode = work_.runs[number].mode;
    mode.max_seconds = seconds_left;
    mode.hang_seconds = 1;
    // A kernel that loops for ever with words is stopped within a minute. The shipped ones do not; with other headers
    // one may, and AMD's, which have no barriers to stand at, are not seen to stand still.
    if (work_.example->instance.empty() || is_cdna(work_.example->arch)) mode.step_limit = kUsersSteps;
    mode.certify = mode.landing == simulator::Landing::eager && mode.scheduling == simulator::Scheduling::fifo;
    const double begin = processor_seconds();
    const auto workload = workload_of(which);
    Swept swept;
    run_mode(*work_.example, *workload, mode, 0, swept);
    const std::lock_guard lock(mutex_);
    ++checked_.runs;
    checked_.processor_s += processor_seconds() - begin;
    checked_.checks += swept.checks;
    coverage_->add(swept.barriers);
    if (swept.predicted_us > 0) checked_.predicted_us[which] = swept.predicted_us;
    checked_.gaps.insert(checked_.gaps.end(), swept.gaps.begin(), swept.gaps.end());
    if (swept.ok() || number > first_failure_) return;
    if (swept.unfinished && seconds_left > 0 && swept.wall_s >= seconds_left) {
      --checked_.runs;
      stopped_ = true;
      checked_.finding = swept.finding;
      checked_.failed_at = shape_text(work_.cases[which]);
      return;
    }
    first_failure_ = number;
    checked_.verdict = swept.unfinished ? "incomplete" : "failed";
    checked_.finding = swept.finding;
    checked_.failed_at = shape_text(work_.cases[which]);
    checked_.report = fmt::format("{} on {}: {}", work_.example->name, checked_.failed_at, swept.report);
  }
  // True for the last of its runs.
  bool over() { return ++ended_ == runs(); }
  Checked finish(bool stopped, double seconds) {
    if (checked_.verdict != "clean") return checked_;
    if (stopped || stopped_) {
      checked_.verdict = "incomplete";
      checked_.report = fmt::format("stopped after {:.0f} s, before {} runs of {}", seconds,
                                    runs() - std::size_t(checked_.runs), work_.example->name);
      if (stopped_)
        checked_.report += fmt::format("\n  in the middle of {}: {}", checked_.failed_at, checked_.finding.message);
      return checked_;
    }
    checked_.unturned = coverage_->unturned();
    checked_.knows_calls = coverage_->has_sites();
    if (work_.judges_calls) checked_.unreached = coverage_->unreached(work_.example->name);
    checked_.report = not_exercised(work_, checked_);
    if (!checked_.report.empty()) checked_.verdict = "incomplete";
    look_at_machine_code();
    workloads_.clear();
    return checked_;
  }

 private:
  std::shared_ptr<const Workload> workload_of(std::size_t which) {
    const std::lock_guard lock(workload_mutex_);
    if (!workloads_[which]) {
      const reference::Case& c = work_.cases[which];
      // Whole numbers: every sum is exact, so that a single wrong element is seen.
      const auto data = c.condition == Condition::real ? reference::Data::normal : reference::Data::integers;
      workloads_[which] = std::make_shared<const Workload>(work_.example->workload(c, data, seed_));
    }
    return workloads_[which];
  }

  // Where nothing else is wrong.
  void look_at_machine_code() {
    const auto instance = catalog::parse_instance(work_.example->instance);
    if (!instance || checked_.verdict != "clean") return;
    const MachineCode code = check_machine_code(*instance);
    if (!code.report.empty()) {
      checked_.verdict = "failed";
      checked_.report = fmt::format("{}: {}", work_.example->name, code.report);
    }
    if (!code.missing.empty()) {
      checked_.verdict = "incomplete";
      checked_.report = fmt::format("{}: nothing wrong was found, and its machine code was not looked at: {}",
                                    work_.example->name, code.missing);
    }
  }

  const CheckWork& work_;
  std::uint64_t seed_;
  std::mutex mutex_, workload_mutex_;
  std::vector<std::shared_ptr<const Workload>> workloads_;
  std::optional<simulate::Coverage> coverage_;
  std::atomic<std::size_t> first_failure_ = ~std::size_t(0), ended_ = 0;
  bool stopped_ = false;  // in the middle of a run
  Checked checked_;
};

}  // namespace

std::string shape_text(const reference::Case& c) {
  constexpr const char* condition[] = {"",
                                       " after a launch that has not ended",
                                       " after a launch that does not write B",
                                       " with C as D",
                                       " for the second time on one workspace",
                                       " with other tables",
                                       " with real numbers",
                                       " with rows far apart"};
  return (c.k == 0 ? fmt::format("{}x{}", c.m, c.n) : fmt::format("{}x{}x{}", c.m, c.n, c.k)) +
         condition[int(c.condition)];
}

void check_all(const std::vector<CheckWork>& work, const CheckLimits& limits,
               const std::function<void(std::size_t, const Checked&)>& done) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<Subject>> subjects;
  std::vector<std::pair<std::size_t, std::size_t>> jobs;  // kernel and run
  for (const CheckWork& one : work) {
    subjects.push_back(std::make_unique<Subject>(one, limits.seed));
    for (std::size_t i = 0; i < subjects.back()->runs(); ++i) jobs.emplace_back(subjects.size() - 1, i);
  }
  Progress progress(work.size() == 1 ? work.front().example->name : "kernels and their runs", jobs.size());
  std::mutex mutex;  // guards what is shown
  system::on_cores(jobs.size(), limits.threads, [&](std::size_t i) {
    const auto [kernel, number] = jobs[i];
    Subject& subject = *subjects[kernel];
    const double left = limits.max_seconds > 0 ? double(limits.max_seconds) - seconds_since(begin) : 0;
    const bool late = limits.max_seconds > 0 && left <= 0;
    if (!late) {
      subject.begin();
      subject.run(number, left);
    }
    const bool last = subject.over();
    Checked checked;
    if (last) checked = subject.finish(late, seconds_since(begin));
    const std::lock_guard lock(mutex);
    progress.advance();
    if (last) {
      progress.hide();
      done(kernel, checked);
    }
  });
}

}  // namespace warpwright::cli
