// The one __global__ function. A kernel K is a type with `static constexpr BlockPlan plan`, a trivially copyable
// `struct Args` (tensor maps are members of it) and `static WW_FN void body(const Args&)`.
#pragma once
#include "warpwright/core/block_plan.h"
#if defined(WW_RECORD)
#include "warpwright/machine/cuda/record.h"
#endif

#if defined(__CUDACC__)
namespace warpwright::inline WW_WORLD {

// __grid_constant__ keeps the arguments in the constant bank: a TMA reads its map there, by address.
#if defined(WW_RECORD)
template <class K>
__global__ void __launch_bounds__(K::plan.threads(), K::plan.blocks_per_sm)
    entry(const __grid_constant__ typename K::Args args, const __grid_constant__ record::Buffers buffers) {
  machine::record::begin(buffers);
  K::body(args);
  machine::record::end(buffers);
}
#else
template <class K>
__global__ void __launch_bounds__(K::plan.threads(), K::plan.blocks_per_sm)
    entry(const __grid_constant__ typename K::Args args) {
  static_assert(stdx::is_trivially_copyable_v<typename K::Args>, "a kernel's arguments are copied as bytes");
  K::body(args);
}
#endif

}  // namespace warpwright::inline WW_WORLD
#endif
