// Every synchronization that a grouped or blockwise Hopper kernel performs, dropped or altered.
#pragma once
#include <string>
#include <vector>

#include "sim/grouped_sm90.h"
#include "sim/reported.h"

namespace warpwright::grouped_sm90 {

// `equivalent` lists the mutants that change nothing.
template <auto C>
void expect_all_reported(const GroupedProduct& product, const std::vector<std::string>& equivalent, size_t at_least) {
  using simulator::Fault;
  constexpr const BlockPlan& plan = KernelOf<C>::type::plan;
  const reference::Workload w = reference::grouped_product_workload(product, Data::integers, 3);
  Options list;
  list.list_fault_sites = true;
  const Outcome clean = run<C>(product, w, list, 1);
  ASSERT_TRUE(clean.sim.ok()) << clean.sim.findings[0].text();
  std::vector<Fault> mutants = generated::mutants_of(plan, clean.sim.fault_sites);
  // Not synchronization: a store that is left out is missing in the result, where everybody sees it.
  std::erase_if(mutants, [](const Fault& f) { return f.word == "tma_store" || f.word == "tma_reduce_add"; });
  EXPECT_GE(mutants.size(), at_least);
  expect_reported(plan, mutants, equivalent, [&](const Options& o) { return run<C>(product, w, o, 1); });
}

}  // namespace warpwright::grouped_sm90
