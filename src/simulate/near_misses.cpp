// Which faults represent the slips of the pen at each call.
#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "simulate/mutants.h"

namespace warpwright::simulate {
namespace {

using simulator::Fault;
using simulator::FaultSite;
using Action = Fault::Action;

// Not synchronization, or not something that a kernel gets wrong in silence: a result that is not stored is missing,
// memory that is not allocated is not there.
bool is_other_business(const std::string& word) {
  static const std::set<std::string> others = {"shuffle",         "tcgen05_alloc",
                                               "tma_store",       "registers_increase",
                                               "set_priority",    "expect_barriers_ahead",
                                               "buffer_load",     "buffer_store",
                                               "buffer_load_lds", "ds_read",
                                               "ds_write",        "mfma"};
  return others.contains(word);
}

const BarrierSpec* spec_of(const BlockPlan& plan, const std::string& name) {
  for (int i = 0; i < plan.barrier_count; ++i)
    if (name == plan.barriers[i].name) return &plan.barriers[i];
  return nullptr;
}

// So much more than the word says is a near miss; the unit of a wait is a group, of a barrier a thread or a warp.
std::vector<int64_t> additions(const FaultSite& site, const BarrierSpec* spec) {
  if (site.word == "mbarrier_init")
    return spec && spec->count == 1 ? std::vector<int64_t>{1} : std::vector<int64_t>{1, -1};
  if (site.word.ends_with("expect_tx")) return {16, -16};
  if (site.word.starts_with("named_barrier")) return {32, -32};
  return {1};
}

std::string short_place(const Fault& f) {
  const size_t own = f.file.rfind("/warpwright/");
  const size_t name = own == std::string::npos ? f.file.rfind('/') : own + 11;
  return fmt::format("{}:{}", name == std::string::npos ? f.file : f.file.substr(name + 1), f.line);
}

std::string what(const Fault& f) {
  switch (f.action) {
    case Action::drop:
      return "drop";
    case Action::duplicate:
      return "duplicate";
    case Action::alter:
      if (f.word == "elect_one") return f.value == 0 ? "all lanes for" : "no lane for";
      return "alter";
    case Action::postpone:
      return "postpone";
    case Action::add:
      return fmt::format("{:+} in", f.value);
    case Action::stage:
      return fmt::format("stage {:+} of", f.value);
    case Action::peer:
      return "wrong peer of";
    case Action::scope:
      return "narrow";
    case Action::advance:
      return "advance";
  }
  return {};
}

}  // namespace

std::string describe(const Fault& f) {
  std::string text = fmt::format("{} {}{} by {}", what(f), f.word, f.object.empty() ? "" : " " + f.object, f.role);
  if (f.warp >= 0) text += fmt::format(" in warp {}", f.warp);
  if (f.line != 0) text += " at " + short_place(f);
  return text;
}

std::vector<Fault> mutants_of(const BlockPlan& plan, const std::vector<FaultSite>& sites) {
  using enum Fault::Action;
  std::map<std::tuple<std::string, std::string, std::string>, Fault> merged;
  for (const FaultSite& site : sites) {
    Fault all_calls;
    std::tie(all_calls.word, all_calls.object, all_calls.role) = std::tie(site.word, site.object, site.role);
    merged.emplace(std::tie(site.word, site.object, site.role), all_calls);
  }
  std::vector<Fault> all;
  for (const auto& [key, site] : merged) {
    const auto add = [&](Fault::Action action, int64_t value = 0) {
      all.push_back(site);
      all.back().action = action;
      all.back().value = value;
    };
    const std::string& word = site.word;
    if (word == "mbarrier_init") {
      if (const BarrierSpec* spec = spec_of(plan, site.object)) {
        add(alter, spec->count + 1);
        if (spec->count > 1) add(alter, spec->count - 1);
      }
      continue;
    }
    // Not synchronization, or not something that a kernel leaves out.
    if (word == "elect_one" || word == "shuffle" || word == "tcgen05_alloc" || word == "atomic_add") continue;
    add(drop);
    if (word == "mbarrier_wait") add(alter, -1);
    if (word == "mbarrier_arrive" || word == "tcgen05_dealloc") add(duplicate);
    if (word == "mbarrier_arrive_expect_tx") add(alter, 48);
    if (word == "tcgen05_commit") add(postpone);
    if (word == "clc_try_cancel") add(alter, 0b01);
  }
  return all;
}

std::vector<Fault> near_misses_of(const BlockPlan& plan, const std::vector<FaultSite>& sites) {
  using enum Fault::Action;
  std::vector<Fault> all;
  for (const FaultSite& site : sites) {
    if (is_other_business(site.word)) continue;
    const BarrierSpec* spec = spec_of(plan, site.object);
    const auto add = [&](Fault::Action action, int64_t value = 0, int warp = -1) {
      all.push_back(site);
      all.back().action = action;
      all.back().value = value;
      all.back().warp = warp;
    };
    const auto can = [&](Fault::Action action) { return (site.can >> uint32_t(action) & 1) != 0; };
    if (site.word == "elect_one") {
      add(alter, 0);
      add(alter, 1);
      continue;
    }
    add(drop);
    // Not what is one instruction of a warpgroup, what converges lanes, or waits for what comes before the kernel: that
    // is the same for each warp.
    const bool guarded = !site.word.starts_with("wgmma") && site.word != "sync_warp" &&
                         site.word != "grid_dependency_wait" && !site.word.starts_with("registers");
    if (site.by_several_warps && guarded) add(drop, 0, site.first_warp);
    if (can(duplicate)) add(duplicate);
    if (can(alter)) add(alter, site.word == "mbarrier_wait" ? -1 : 0);
    if (can(postpone)) add(postpone);
    if (can(Fault::Action::add))
      for (const int64_t more : additions(site, spec)) add(Fault::Action::add, more);
    if (can(stage)) {
      add(stage, 1);
      if (spec && spec->stages > 2) add(stage, -1);
    }
    if (can(peer)) add(peer);
    if (can(scope)) add(scope);
    if (can(advance)) add(advance);
  }
  return all;
}

}  // namespace warpwright::simulate
