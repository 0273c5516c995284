// What a launch must know of a compiled kernel. The image carries it, so that nothing computes it a second time.
#pragma once
#include "warpwright/core/block_plan.h"

namespace warpwright {

struct InstanceFacts {
  uint32_t threads = 0;
  uint32_t shared_bytes = 0;
  uint32_t cluster = 1;
  uint32_t blocks_per_sm = 1;
  uint32_t argument_bytes = 0;
};

WW_HD constexpr InstanceFacts facts_of(const BlockPlan& plan, unsigned long argument_bytes) {
  return {uint32_t(plan.threads()), plan.shared_bytes, uint32_t(plan.cluster), uint32_t(plan.blocks_per_sm),
          uint32_t(argument_bytes)};
}

}  // namespace warpwright
