// Every synchronization that a grouped or blockwise Hopper kernel performs, dropped or altered.
#pragma once
#include <algorithm>

#include "sim/generated.h"
#include "sim/grouped_sm90.h"
#include "sim/modes.h"

namespace warpwright::grouped_sm90 {

// `equivalent` are the mutants that change nothing.
template <auto C>
void expect_all_reported(const GroupedProduct& product, const std::vector<std::string>& equivalent, size_t at_least) {
  using simulator::Fault;
  constexpr const Plan& plan = KernelOf<C>::type::plan;
  const runtime::Workload w = runtime::grouped_product_workload(product, Data::integers, 3);
  Options list;
  list.list_fault_sites = true;
  const Outcome clean = run<C>(product, w, list, 1);
  ASSERT_TRUE(clean.sim.ok()) << clean.sim.findings[0].text();
  std::vector<Fault> mutants = generated::mutants_of(plan, clean.sim.fault_sites);
  // Not synchronization: what is not stored is missing in the result, where everybody sees it.
  std::erase_if(mutants, [](const Fault& f) { return f.word == "tma_store" || f.word == "tma_reduce_add"; });
  EXPECT_GE(mutants.size(), at_least);
  for (const Fault& f : mutants) {
    const std::string name = generated::describe(f);
    bool reported = false;
    in_every_mode(plan, 1, [&](Options o) {
      if (reported) return;
      o.faults = {f};
      const Outcome out = run<C>(product, w, o, 1);
      reported = !out.sim.ok();
      EXPECT_TRUE(reported || out.verdict.ok) << "a silent wrong result: " << name;
    });
    const bool excused = std::count(equivalent.begin(), equivalent.end(), name) > 0;
    EXPECT_NE(reported, excused) << name << (excused ? " is reported, and listed as equivalent" : " is not reported");
  }
}

}  // namespace warpwright::grouped_sm90
