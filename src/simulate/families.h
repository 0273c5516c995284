// What the examples of a family know beside name and plan: problems, operands, arguments. One function for each
// configuration; the files are named after the families.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/instance.h"
#include "simulate/example.h"

namespace warpwright::simulate {

// Fill in summary, cases, refuse, workload, simulate, and where there are such: launch, gemm. False: there is no
// problem for such a configuration.
bool complete(Example& e, const catalog::Instance& instance, const DenseGemmSm100Config& c);
bool complete(Example& e, const catalog::Instance& instance, const BlockwiseFp8Sm100Config& c);
bool complete(Example& e, const catalog::Instance& instance, const GroupedGemmSm100Config& c);
bool complete(Example& e, const catalog::Instance& instance, const MmaSyncGemmConfig& c);
bool complete(Example& e, const catalog::Instance& instance, const CdnaMatmulConfig& c);
bool complete(Example& e, const catalog::Instance& instance, const RingCopyConfig& c);
bool complete(Example& e, const catalog::Instance& instance, const ClusterRingConfig& c);
bool complete(Example& e, const catalog::Instance& instance, const TmemLifecycleConfig& c);

// The Blackwell GEMM once more, on results with any number of columns, whose rows begin anywhere.
inline constexpr std::string_view kAnyColumns = "any_columns";
void complete_any_columns(Example& e, const catalog::Instance& instance);

// The instances of CDNA that are examples: nothing of them is compiled ahead for a GPU, so no list has them.
std::vector<catalog::Instance> cdna_instances();

// What is said of an instance, and the sizes it is run on.
struct Known {
  const char* name;
  const char* summary;
  std::vector<reference::Case> cases;  // empty: those made from the configuration
};
// Takes summary and cases of the instance from a list, or what `otherwise` says; cases that e.refuse refuses are left
// out of the latter.
void describe(Example& e, std::span<const Known> list, const char* summary, std::vector<reference::Case> otherwise);

}  // namespace warpwright::simulate
