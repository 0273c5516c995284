// Mutants generated from a kernel's own run: for every synchronization that it performs, the ways to drop or alter it.
#pragma once
#include <string>
#include <vector>

#include "warpwright/sim/simulator.h"

namespace warpwright::generated {

using simulator::Fault;

inline std::string describe(const Fault& f) {
  static const char* const action[] = {"drop", "duplicate", "alter", "postpone"};
  return std::string(action[int(f.action)]) + " " + f.word + (f.object.empty() ? "" : " " + f.object) + " by " + f.role;
}

// What to do to each word. `alter` of a wait flips its parity, of an expect its bytes, of an initialisation its count.
inline std::vector<Fault> mutants_of(const BlockPlan& plan, const std::vector<Fault>& sites) {
  using enum Fault::Action;
  std::vector<Fault> all;
  for (const Fault& site : sites) {
    const auto add = [&](Fault::Action action, int64_t value = 0) {
      all.push_back(site);
      all.back().action = action;
      all.back().value = value;
    };
    const std::string& word = site.word;
    if (word == "mbarrier_init") {
      for (int i = 0; i < plan.barrier_count; ++i)
        if (site.object == plan.barriers[i].name) {
          add(alter, plan.barriers[i].count + 1);
          if (plan.barriers[i].count > 1) add(alter, plan.barriers[i].count - 1);
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

}  // namespace warpwright::generated
