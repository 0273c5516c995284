// What can be compiled and launched. A *plan* says how a product is computed ("dense-128x256-c2-s4"): the choice ranks
// plans. An *instance* is a plan for one architecture with what the problem fixes: types, majors, epilogue, movers
// ("sm90/dense-128x256-c2-s4/bf16-nt-silu"). Either name can be read back; nothing is known by a position in a list.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "warpwright/core/address.h"
#include "warpwright/core/block_plan.h"
#include "warpwright/kernel/cdna/config.h"
#include "warpwright/kernel/demo/config.h"
#include "warpwright/kernel/sm100/config.h"
#include "warpwright/kernel/sm100/grouped/config.h"
#include "warpwright/kernel/sm80/config.h"
#include "warpwright/kernel/sm90/dense/config.h"
#include "warpwright/kernel/sm90/grouped/config.h"
#include "warpwright/kernel/sm90/moe/config.h"
#include "warpwright/kernel/sm90/pack_rows_config.h"
#include "warpwright/kernel/sm90/skinny/config.h"
#include "warpwright/status.h"

namespace warpwright::catalog {

using Config =
    std::variant<DenseGemmConfig, SkinnyGemmConfig, GroupedGemmConfig, SkinnyBlockwiseConfig, DenseGemmSm100Config,
                 BlockwiseFp8Sm100Config, GroupedGemmSm100Config, MmaSyncGemmConfig, CdnaMatmulConfig, RingCopyConfig,
                 ClusterRingConfig, TmemLifecycleConfig, PackRowsConfig, RouteConfig, CombineConfig>;

struct Instance {
  Config config;
  // Parts into which a launch cuts the depth of a tile (DepthSplit::split_k). Part of the plan, not of the machine
  // code: 0 leaves it to the launch.
  int splits = 0;
  // The text of its own epilogue, where EpilogueConfig::own says that it has one (formula/formula.h). A name has only
  // the number: to read one back, the text must be known.
  std::string formula = {};

  template <class C>
  const C* as() const {
    return std::get_if<C>(&config);
  }
  bool operator==(const Instance&) const = default;
};

Arch arch_of(const Config& config);
inline Arch arch_of(const Instance& instance) { return arch_of(instance.config); }
// "dense_gemm": what the kernel calls itself in reports.
std::string kernel_of(const Instance& instance);

// "dense-128x256-c2-s4".
std::string plan_name(const Instance& instance);
// A plan without its stages: how deep a ring is follows from the shared memory that the rest of a kernel leaves, so it
// may differ between result types and versions.
std::string name_without_stages(const std::string& plan);
// "bf16-nt-silu".
std::string features_name(const Instance& instance);
// "sm90/dense-128x256-c2-s4/bf16-nt-silu".
std::string name_of(const Instance& instance);
// The same without words that do not change the machine code: the name of the image that is compiled.
std::string image_name(const Instance& instance);

// invalid_argument: a word is not one of the family's. The configuration may still be one that refuse() refuses.
Result<Instance> parse_instance(std::string_view name);
// A plan read with the features of `like`, an instance of the same architecture and family, or of any family of the
// architecture: then only its architecture matters, and the features are the usual ones.
Result<Instance> parse_plan(std::string_view plan, const Instance& like);

// Nothing wrong: ok. Otherwise unsupported, with the rule that the configuration breaks.
Status refuse(const Instance& instance);
// The layout of a block: roles, rings, barriers, shared memory. Only for what refuse() accepts.
BlockPlan block_plan(const Instance& instance);

// The names that are compiled ahead for an NVIDIA GPU in an install or a wheel, in the order of the lists (*.def).
const std::vector<std::string>& ahead_names();
// The same as configurations; every name can be read.
const std::vector<Instance>& ahead();
bool is_ahead(const Instance& instance);
// Unsupported: its own epilogue is known by its number alone, so it cannot be compiled.
Status check_formula(const Instance& instance);
// EpilogueConfig::own: 0 where it has no user-defined epilogue.
uint64_t own_of(const Instance& instance);
// The listed kernels for CDNA, in the order of the choice. Every build with clang++-22 has their code objects
// (cdna.def).
const std::vector<Instance>& cdna_instances();
// At most `count` names of the lists that resemble `name` most, the nearest first: of all architectures, or of one.
std::vector<std::string> nearest_names(std::string_view name, size_t count = 3, std::optional<Arch> arch = {});

// The source that both compilers take: which template, which configuration. Only with the text of its own epilogue,
// where it has one.
std::string source_of(const Instance& instance);

}  // namespace warpwright::catalog
