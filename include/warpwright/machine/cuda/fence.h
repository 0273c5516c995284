// Fences.
#pragma once
#include <cuda/ptx>

#include "warpwright/core/address.h"
#include "warpwright/machine/cuda/here.h"
#include "warpwright/machine/cuda/memory.h"

namespace warpwright::inline WW_WORLD::machine {

namespace detail {
template <Scope S>
struct ScopeText;
template <>
struct ScopeText<Scope::cta> {
  static constexpr char text[] = ".cta";
};
template <>
struct ScopeText<Scope::cluster> {
  static constexpr char text[] = ".cluster";
};
template <>
struct ScopeText<Scope::gpu> {
  static constexpr char text[] = ".gpu";
};
template <>
struct ScopeText<Scope::sys> {
  static constexpr char text[] = ".sys";
};
}  // namespace detail

WW_FN void fence_mbarrier_init(here = {}) {
  ::cuda::ptx::fence_mbarrier_init(::cuda::ptx::sem_release, ::cuda::ptx::scope_cluster);
}
// Orders this thread's generic accesses (and those it has acquired) before later asynchronous ones, and back.
template <ProxySpace P = ProxySpace::all>
WW_FN void fence_proxy_async(here = {}) {
  if constexpr (P == ProxySpace::all) {
    ::cuda::ptx::fence_proxy_async();
  } else if constexpr (P == ProxySpace::shared_cta) {
    ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);
  } else if constexpr (P == ProxySpace::shared_cluster) {
    ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_cluster);
  } else {
    ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_global);
  }
}
template <Order O = Order::acq_rel, Scope S = Scope::gpu>
WW_FN void fence(here = {}) {
  static_assert(O != Order::relaxed, "a relaxed fence orders nothing");
  asm volatile("fence%0%1;" ::"C"(detail::OrderText<O>::text), "C"(detail::ScopeText<S>::text) : "memory");
}
// A tensor map in device memory was rewritten by this thread: make it visible to / see it through the tensor-map proxy.
WW_FN void fence_tensormap_release(here = {}) {
  ::cuda::ptx::fence_proxy_tensormap_generic(::cuda::ptx::sem_release, ::cuda::ptx::scope_gpu);
}
WW_FN void fence_tensormap_acquire(const TensorMap* map, here = {}) {
  ::cuda::ptx::fence_proxy_tensormap_generic(::cuda::ptx::sem_acquire, ::cuda::ptx::scope_gpu, map,
                                             ::cuda::ptx::n32_t<sizeof(TensorMap)>{});
}

}  // namespace warpwright::inline WW_WORLD::machine
