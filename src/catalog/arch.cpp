#include <variant>

#include "catalog/instance.h"

namespace warpwright::catalog {
namespace {

struct ArchOf {
  Arch operator()(const DenseGemmSm100Config&) const { return Arch::sm100; }
  Arch operator()(const BlockwiseFp8Sm100Config&) const { return Arch::sm100; }
  Arch operator()(const GroupedGemmSm100Config&) const { return Arch::sm100; }
  Arch operator()(const TmemLifecycleConfig&) const { return Arch::sm100; }
  Arch operator()(const MmaSyncGemmConfig&) const { return Arch::sm80; }
  Arch operator()(const CdnaMatmulConfig& c) const { return c.arch; }
  Arch operator()(const RouteConfig& c) const { return c.arch; }
  Arch operator()(const CombineConfig& c) const { return c.arch; }
  template <class C>
  Arch operator()(const C&) const {
    return Arch::sm90;
  }
};

}  // namespace

Arch arch_of(const Config& config) { return std::visit(ArchOf{}, config); }

}  // namespace warpwright::catalog
