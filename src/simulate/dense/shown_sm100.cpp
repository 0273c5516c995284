// Instances that are linked into one program have a section of call sites each.
#define WW_SITES ww_sites_shown_sm100
#include "simulate/dense/shown.h"
#include "warpwright/kernel/sm100/dense/dense_gemm.h"

namespace warpwright::simulate {

const simulator::Instance* shown_sm100() {
  static constexpr simulator::Instance instance = simulator::instance_of<kernel::sm100::DenseGemm<kShownSm100>>();
  return &instance;
}

}  // namespace warpwright::simulate
