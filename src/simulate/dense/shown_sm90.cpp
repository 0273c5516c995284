// Instances that are linked into one program have a section of call sites each.
#define WW_SITES ww_sites_shown_sm90
#include "simulate/dense/shown.h"
#include "warpwright/kernel/sm90/dense/dense_gemm.h"

namespace warpwright::simulate {

const simulator::Instance* shown_sm90() {
  static constexpr simulator::Instance instance = simulator::instance_of<kernel::sm90::DenseGemm<kShownSm90>>();
  return &instance;
}

}  // namespace warpwright::simulate
