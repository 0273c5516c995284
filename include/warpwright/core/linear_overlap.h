// Two stages held at once: stage k-1 is released only after the work on stage k was issued, as `wgmma.wait_group 1` and
// bulk stores need it. Enforced by types, like linear::scope:
//
//   linear::overlap(n, [&] { return ring.next(); },
//       [&](auto current) { issue(current); return stdx::move(current).keep(); },
//       [&](auto previous, auto current) {
//         issue(current); wait_for_all_but_one();
//         return stdx::move(previous).release_keep(stdx::move(current)); },
//       [&](auto previous) { wait_for_all(); return stdx::move(previous).release(); });
#pragma once

#include "warpwright/core/linear.h"

namespace warpwright::linear {
inline namespace WW_LINEAR_NAMESPACE {

// What the receipt of keep() carries.
struct Kept {};
// What the receipt of release_keep() carries.
struct ReleasedAndKept {};

// The newest stage. It outlives the body, so its duty passes on with keep() or release_keep().
template <class Brand, class Impl>
class WW_LINEAR_HANDLE Current {
 public:
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  WW_LINEAR_CONSUMED(callable_when("consumed")) WW_LINEAR_INLINE constexpr ~Current() { life_.leave(); }

  WW_LINEAR_LIVE WW_LINEAR_INLINE constexpr const Impl* operator->() const {
    life_.use();
    return &impl_;
  }
  WW_LINEAR_LIVE WW_LINEAR_INLINE constexpr const Impl& operator*() const {
    life_.use();
    return impl_;
  }

  WW_LINEAR_ENDS WW_LINEAR_INLINE constexpr Receipt<Brand, Kept> keep() && {
    life_.end();
    return Receipt<Brand, Kept>(Kept{});
  }

 private:
  friend struct Window;
  template <class, class>
  friend class Previous;

  WW_LINEAR_MAKES WW_LINEAR_INLINE constexpr explicit Current(const Impl& impl) : impl_(impl) {}

  const Impl& impl_;
  [[no_unique_address]] Life life_;
};

// The stage before it, which the step releases.
template <class Brand, class Impl>
class WW_LINEAR_HANDLE Previous {
 public:
  using Here = typename Impl::Here;

  Previous(const Previous&) = delete;
  Previous& operator=(const Previous&) = delete;
  WW_LINEAR_CONSUMED(callable_when("consumed")) WW_LINEAR_INLINE constexpr ~Previous() { life_.leave(); }

  WW_LINEAR_LIVE WW_LINEAR_INLINE constexpr const Impl* operator->() const {
    life_.use();
    return &impl_;
  }
  WW_LINEAR_LIVE WW_LINEAR_INLINE constexpr const Impl& operator*() const {
    life_.use();
    return impl_;
  }

  WW_LINEAR_ANY_SIDE
  WW_LINEAR_ENDS WW_LINEAR_INLINE constexpr Receipt<Brand, ReleasedAndKept> release_keep(
      Current<Brand, Impl>&& current WW_LINEAR_SINK, Here at = {}) && {
    life_.end();
    static_cast<void>(static_cast<Current<Brand, Impl>&&>(current).keep());
    Impl::release(impl_, at);
    return Receipt<Brand, ReleasedAndKept>(ReleasedAndKept{});
  }
  // The same, with work on the current stage, work(const Impl&), after the release.
  WW_LINEAR_ANY_SIDE
  template <class Work>
  WW_LINEAR_ENDS WW_LINEAR_INLINE constexpr Receipt<Brand, ReleasedAndKept> release_keep_then(
      Current<Brand, Impl>&& current WW_LINEAR_SINK, Work&& work, Here at = {}) && {
    const Impl& kept = *current;
    life_.end();
    static_cast<void>(static_cast<Current<Brand, Impl>&&>(current).keep());
    Impl::release(impl_, at);
    work(kept);
    return Receipt<Brand, ReleasedAndKept>(ReleasedAndKept{});
  }

 private:
  friend struct Window;

  WW_LINEAR_MAKES WW_LINEAR_INLINE constexpr explicit Previous(Impl& impl) : impl_(impl) {}

  Impl& impl_;
  [[no_unique_address]] Life life_;
};

// Makes the handles of overlap() and takes their receipts; call overlap() instead.
struct Window {
  WW_LINEAR_ANY_SIDE
  template <class Count, class Next, class First, class Step, class Last>
  WW_LINEAR_INLINE static constexpr void run(Count n, Next& next, First& first, Step& step, Last& last) {
    using Impl = stdx::remove_cvref_t<decltype(next())>;
    using A = stdx::remove_cv_t<First>;
    using B = stdx::remove_cv_t<Step>;
    using C = stdx::remove_cv_t<Last>;
    constexpr bool first_keeps = stdx::is_same_v<decltype(first(current<A>(stdx::declval<Impl&>()))), Receipt<A, Kept>>;
    constexpr bool step_passes_on =
        stdx::is_same_v<decltype(step(previous<B>(stdx::declval<Impl&>()), current<B>(stdx::declval<Impl&>()))),
                        Receipt<B, ReleasedAndKept>>;
    constexpr bool last_releases =
        stdx::is_same_v<decltype(last(stdx::declval<Handle<C, Impl> (&)()>()())), Receipt<C>>;
    static_assert(first_keeps, "linear: every path of first must return stdx::move(current).keep()");
    static_assert(step_passes_on,
                  "linear: every path of step must return stdx::move(previous).release_keep(stdx::move(current))");
    static_assert(last_releases,
                  "linear: every path of last must return stdx::move(previous).release() without a value, "
                  "because n may be 0");
    if constexpr (first_keeps && step_passes_on && last_releases) {
      if (n < 1) return;
      Impl older = next();
      static_cast<void>(first(current<A>(older)));
      for (Count k = 1; k < n; ++k) {
        Impl newer = next();
        static_cast<void>(step(previous<B>(older), current<B>(newer)));
        older = static_cast<Impl&&>(newer);
      }
      Scope::run(older, last);
    }
  }

 private:
  template <class Brand, class Impl>
  WW_LINEAR_MAKES WW_LINEAR_INLINE static constexpr Current<Brand, Impl> current(Impl& impl) {
    return Current<Brand, Impl>(impl);
  }
  template <class Brand, class Impl>
  WW_LINEAR_MAKES WW_LINEAR_INLINE static constexpr Previous<Brand, Impl> previous(Impl& impl) {
    return Previous<Brand, Impl>(impl);
  }
};

// Takes n stages with next(): first(current) on the first one, step(previous, current) on each further one,
// last(previous) when all were taken. With n = 0 nothing is taken and nothing runs.
WW_LINEAR_ANY_SIDE
template <class Count, class Next, class First, class Step, class Last>
WW_LINEAR_INLINE constexpr void overlap(Count n, Next&& next, First&& first, Step&& step, Last&& last) {
  Window::run(n, next, first, step, last);
}

}  // namespace WW_LINEAR_NAMESPACE
}  // namespace warpwright::linear
