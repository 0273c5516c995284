// The input ring as every Blackwell kernel has it: what a stage holds, where the stages lie, and who hands one back.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/kernel/sm100/config.h"
#include "warpwright/pipeline/input_tile.h"
#include "warpwright/pipeline/ring.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

// A choice that does not name the other payload, whose rules the bytes would break.
template <bool Scaled, TileBytes Bytes, template <TileBytes> class WithScales = pipeline::BlockScaledPayload>
struct PayloadOf {
  using type = pipeline::StandardPayload<Bytes>;
};
template <TileBytes Bytes, template <TileBytes> class WithScales>
struct PayloadOf<true, Bytes, WithScales> {
  using type = WithScales<Bytes>;
};

// The commit of the MMAs that read a stage, to every CTA that has loaded a part of it.
template <DenseGemmSm100Config C>
using FreeInputOf = stdx::conditional_t<(C.cluster() > 1), pipeline::ReleaseByWarpCommitMulticast<C.cta_group>,
                                        pipeline::ReleaseByWarpCommit<C.cta_group>>;

// The input ring of the kernel K, by its plan.
template <class K, int Stages>
WW_FN pipeline::Ring<Stages> input_ring_of(uint32_t base) {
  constexpr uint32_t full = K::plan.barrier("input.full").offset, empty = K::plan.barrier("input.empty").offset;
  return pipeline::ring_at<Stages>(base, full, empty);
}
// K::kBScales is the region of B's factors.
template <class K, bool Scaled>
WW_FN typename K::Payload payload_of(uint32_t base) {
  constexpr uint32_t a = K::plan.region("input.a").offset, b = K::plan.region("input.b").offset;
  if constexpr (Scaled) {
    constexpr uint32_t a_scales = K::plan.region("input.a_scales").offset;
    constexpr uint32_t b_scales = K::plan.region(K::kBScales).offset;
    return {{base + a}, {base + b}, {base + a_scales}, {base + b_scales}};
  } else {
    return {{base + a}, {base + b}};
  }
}

}  // namespace warpwright::inline WW_WORLD::kernel::sm100
