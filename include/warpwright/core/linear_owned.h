// The flat form, for lifetimes that follow no scope:
//
//   auto stage = ring.acquire_linear();
//   ...
//   stdx::move(stage).release();
//
// It can be moved, so types alone do not enforce it: clang's consumed analysis over the same files and the proving
// build do, and mode 2 checks while running. Prefer linear::scope and linear::overlap. Consumed analysis does not see a
// handle that is a member, an array element or in an optional, and it is wrong about loops without a condition: write
// `while (tiles.next(tile))`, not `for (;;)`. A factory that returns an Owned is declared WW_LINEAR_MAKES.
#pragma once

#include "warpwright/core/linear.h"

namespace warpwright::linear {
inline namespace WW_LINEAR_NAMESPACE {

// Impl as for linear::scope. A move-only Impl that only its ring can construct makes an Owned that cannot be forged.
template <class Impl>
class WW_LINEAR_HANDLE Owned {
 public:
  using Here = typename Impl::Here;

  WW_LINEAR_MAKES WW_LINEAR_INLINE constexpr explicit Owned(Impl impl) : impl_(static_cast<Impl&&>(impl)) {}
  // No typestate on the move: the source's state travels, and returning a local by name stays right.
  WW_LINEAR_INLINE constexpr Owned(Owned&& from) noexcept
      : impl_(static_cast<Impl&&>(from.impl_)), life_(static_cast<Life&&>(from.life_)) {}
  // Returns void: nvcc takes a discarded reference to a nodiscard class for a discarded object.
  WW_LINEAR_CONSUMED(callable_when("consumed")) WW_LINEAR_INLINE constexpr void operator=(Owned&& from) noexcept {
    life_.replace(from.life_);
    impl_ = static_cast<Impl&&>(from.impl_);
  }
  WW_LINEAR_CONSUMED(callable_when("consumed")) WW_LINEAR_INLINE constexpr ~Owned() { life_.leave(); }

  WW_LINEAR_LIVE WW_LINEAR_INLINE constexpr const Impl* operator->() const {
    life_.use();
    return &impl_;
  }
  WW_LINEAR_LIVE WW_LINEAR_INLINE constexpr const Impl& operator*() const {
    life_.use();
    return impl_;
  }

  WW_LINEAR_ANY_SIDE
  WW_LINEAR_ENDS WW_LINEAR_INLINE constexpr void release(Here at = {}) && {
    life_.end();
    Impl::release(impl_, at);
  }
  template <class... Arguments>
  WW_LINEAR_INLINE constexpr void release(Arguments&&...) & {
    static_assert(never<Impl, Arguments...>, "linear: release() ends the handle: write stdx::move(handle).release()");
  }

 private:
  Impl impl_;
  [[no_unique_address]] Life life_;
};

}  // namespace WW_LINEAR_NAMESPACE
}  // namespace warpwright::linear
