// The launches of a mixture of experts, from (problem, architecture, addresses): the same for a GPU and for the
// simulator.
#pragma once
#include <cstddef>

#include "warpwright/grouped.h"
#include "warpwright/moe.h"

namespace warpwright::launch {

// The two products, for any addresses.
GroupedProblem gate_up_problem(const MoeProblem& problem);
GroupedProblem down_problem(const MoeProblem& problem);
RouteConfig route_config(const MoeProblem& problem, Arch arch);
CombineConfig combine_config(const MoeProblem& problem, Arch arch);

// Whether the pointers that the problem needs are given and aligned.
Status check_pointers(const MoeProblem& problem, const MoePointers& pointers);

// Memory that the launches hand to each other.
size_t workspace_bytes(const MoeProblem& problem, Arch arch);

struct MoeLaunches {
  RouteArgs route;
  GroupedPointers gate_up, down;
  CombineArgs combine;
};
MoeLaunches moe_launches(const MoeProblem& problem, Arch arch, const MoePointers& pointers, void* workspace);

}  // namespace warpwright::launch
