#include "choice/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace warpwright::choice {
namespace {

constexpr int64_t kTmaAlignment = 16;
constexpr std::string_view kPackedWord = "-packed";

// On an H200: a launch that the kernel then waits for, and the rate of a copy (bench/choice/unaligned.py).
constexpr double kPackFixedUs = 5.74;
constexpr double kPackBytesPerUs = 3.15e6;
// Below this the threads of one kernel are done before a second one would have started.
constexpr int64_t kLeastBytes = 1 << 16;

int64_t round_up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

StoredMatrix copy_of(const StoredMatrix& m) {
  StoredMatrix copy = m;
  const int64_t elements = kTmaAlignment * 8 / bits(m.type);
  copy.stride = round_up(m.columns, elements);
  copy.batch_stride = m.rows * copy.stride;
  return copy;
}

std::string sentence(const Packing& packing) {
  return fmt::format(
      "; {} first copied into the workspace ({} bytes), because {} rows do not start at multiples of 16 "
      "bytes",
      packing.a && packing.b ? "A and B are"
      : packing.a            ? "A is"
                             : "B is",
      packing.bytes(), packing.a && packing.b ? "their" : "its");
}

// The SMs that the problem may occupy.
Chip part_of(const Chip& chip, int sm_limit) {
  if (sm_limit <= 0 || sm_limit >= chip.multiprocessors) return chip;
  // The tuned table was measured with all of them.
  return {fmt::format("{} SMs of {}", sm_limit, chip.name), sm_limit};
}

}  // namespace

Packing packing_of(const GemmProblem& problem, const Lowered& low) {
  Packing packing;
  if (low.shape.load == Mover::tma) return packing;
  const bool aligned = problem.alignment >= kTmaAlignment;
  packing.a = !aligned || !low.a.rows_fit_tma();
  packing.b = !aligned || !low.b.rows_fit_tma();
  if (packing.a) packing.a_copy = copy_of(low.a);
  if (packing.b) packing.b_copy = copy_of(low.b);
  return packing;
}

Lowered with_copies(Lowered low, const Packing& packing) {
  if (!packing.any()) return low;
  if (packing.a) low.a = packing.a_copy;
  if (packing.b) low.b = packing.b_copy;
  low.shape.load = Mover::tma;
  low.shape.store = low.d_fits_tma ? Mover::tma : Mover::threads;
  return low;
}

double packing_us(const Lowered& low, const Packing& packing) {
  if (!packing.any()) return 0;
  const auto moved = [](const StoredMatrix& m) {
    return 2.0 * double(m.count * m.rows * m.columns * bits(m.type) / 8);
  };
  const double bytes = (packing.a ? moved(low.a) : 0) + (packing.b ? moved(low.b) : 0);
  return kPackFixedUs + bytes / kPackBytesPerUs;
}

std::string Decision::name() const {
  return catalog::plan_name(choice.instance) + (packing.any() ? std::string(kPackedWord) : "");
}

Result<Decision> decide(const GemmProblem& problem, const Lowered& low, const Chip& whole, OnDemand on_demand) {
  const Chip chip = part_of(whole, problem.sm_limit);
  const Packing packing = packing_of(problem, low);
  const auto without = [&](const std::string& plan) -> Result<Decision> {
    auto choice = choose(low.shape, chip, plan, on_demand);
    if (!choice) return choice.status();
    return Decision{std::move(*choice), {}, low};
  };
  const auto with = [&](const std::string& plan) -> Result<Decision> {
    Lowered kernel = with_copies(low, packing);
    auto choice = choose(kernel.shape, chip, plan, on_demand);
    if (!choice) return choice.status();
    choice->reason += sentence(packing);
    return Decision{std::move(*choice), packing, std::move(kernel)};
  };
  if (std::string_view(problem.plan).ends_with(kPackedWord)) {
    if (!packing.any()) {
      return Status(Code::unsupported,
                    fmt::format("plan = {}: there is nothing to copy, the TMA can address A and B.", problem.plan));
    }
    return with(problem.plan.substr(0, problem.plan.size() - kPackedWord.size()));
  }
  if (!problem.plan.empty() || packing.bytes() < kLeastBytes) return without(problem.plan);
  auto threads = without("");
  auto copied = with("");
  if (!copied) return threads;
  if (!threads) return copied;
  const double us = copied->choice.estimate.us + packing_us(low, packing);
  return us < threads->choice.estimate.us ? copied : threads;
}

std::vector<Decision> best_by_model(const GemmProblem& problem, const Lowered& low, const Chip& whole, size_t count,
                                    OnDemand on_demand) {
  const Chip chip = part_of(whole, problem.sm_limit);
  const Packing packing = packing_of(problem, low);
  std::vector<Decision> list;
  for (Choice& choice : best_by_model(low.shape, chip, count, on_demand)) list.push_back({std::move(choice), {}, low});
  if (packing.any()) {
    const Lowered kernel = with_copies(low, packing);
    for (Choice& choice : best_by_model(kernel.shape, chip, count, on_demand)) {
      choice.reason += sentence(packing);
      list.push_back({std::move(choice), packing, kernel});
    }
  }
  const auto us = [&](const Decision& d) { return d.choice.estimate.us + packing_us(low, d.packing); };
  std::stable_sort(list.begin(), list.end(), [&](const Decision& x, const Decision& y) { return us(x) < us(y); });
  if (list.size() > count) list.erase(list.begin() + std::ptrdiff_t(count), list.end());
  return list;
}

}  // namespace warpwright::choice
