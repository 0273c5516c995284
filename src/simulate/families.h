// Kernels that no problem of the API asks for: what their examples know beside name and plan. And what is said about
// listed instances.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/instance.h"
#include "simulate/example.h"

namespace warpwright::simulate {

// Fill in takes, workload and simulate, and where there are such: summary, cases, launch. False: there is no problem
// for such a configuration.
bool complete(Example& e, const catalog::Instance& instance, const GroupedGemmSm100Config& c);
bool complete(Example& e, const catalog::Instance& instance, const RingCopyConfig& c);
bool complete(Example& e, const catalog::Instance& instance, const ClusterRingConfig& c);
bool complete(Example& e, const catalog::Instance& instance, const TmemLifecycleConfig& c);
bool complete(Example& e, const catalog::Instance& instance, const PackRowsConfig& c);
bool complete(Example& e, const catalog::Instance& instance, const RouteConfig& c);
bool complete(Example& e, const catalog::Instance& instance, const CombineConfig& c);

// The Blackwell GEMM once more, on results with any number of columns, whose rows begin anywhere.
void complete_any_columns(Example& e, const catalog::Instance& instance);

// What is reported about an instance, and the sizes it is run on.
struct Known {
  const char* name;
  const char* summary;
  std::vector<reference::Case> cases;  // empty: those made from the configuration
};
// What is said about an instance that makes a product for another architecture than Hopper. Null: nothing in
// particular.
const char* listed_summary(std::string_view name);
// Takes summary and cases of the instance from a list, or what `otherwise` says; cases that e.takes refuses are left
// out of the latter.
void describe(Example& e, std::span<const Known> list, const char* summary, std::vector<reference::Case> otherwise);

}  // namespace warpwright::simulate
