// Fences.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/sim/here.h"

namespace warpwright::inline WW_WORLD::machine {

void fence_mbarrier_init(here at = {});  // fence.mbarrier_init.release.cluster, by the thread that initialised
namespace detail {
void fence_proxy_async(ProxySpace space, here at);
void fence_memory(Order order, Scope scope, here at);
}  // namespace detail
// Orders this thread's generic accesses (and those it has acquired) before later asynchronous ones, and back.
template <ProxySpace P = ProxySpace::all>
void fence_proxy_async(here at = {}) {
  detail::fence_proxy_async(P, at);
}
template <Order O = Order::acq_rel, Scope S = Scope::gpu>
void fence(here at = {}) {
  detail::fence_memory(O, S, at);
}
// A tensor map in device memory was rewritten by this thread: make it visible to / see it through the tensor-map proxy.
void fence_tensormap_release(here at = {});
void fence_tensormap_acquire(const TensorMap* map, here at = {});

}  // namespace warpwright::inline WW_WORLD::machine
