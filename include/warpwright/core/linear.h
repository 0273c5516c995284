// Linear handles: "call release() exactly once, then never touch the handle again", checked while compiling.
//
//   ring.consume([&](auto stage) { use(stage->data()); return stdx::move(stage).release(); });
//
// The body receives a handle that cannot be copied or moved. Only release() makes a receipt, and a receipt cannot be
// copied or moved either, so elision leaves one way out of a body: `return stdx::move(handle).release();`. On every
// path release() comes last, and once. The receipt is branded with the body's closure type, so no other handle's
// receipt fits. In mode 0 this adds no data and no instruction.
//
// What no layer sees: a pointer to the content that is kept beyond the body, and a body that never returns.
//
// Including this header makes -Wreturn-type, -Wunused-result, -Wunused-variable (clang: also -Wunused-value and
// -Wconsumed) errors for the rest of the translation unit; they are what rejects a receipt that was dropped or named.
// With WW_LINEAR_UNUSED_WARNS the diagnostics about unused things are warnings, and none is about a named receipt:
// whoever compiles both ways (src/cli/user) knows which of them are about receipts.
#pragma once

#include "warpwright/core/std.h"

// 0: types only, the mode that ships. 1: prove; a check that the optimizer cannot delete calls an undefined function,
// so a program that may break a rule does not link (tools/prove.py names the line). 2: check while running.
#ifndef WW_LINEAR_MODE
#define WW_LINEAR_MODE 0
#endif

#if defined(__NVCC__) || defined(__CUDACC_RTC__)
#pragma nv_diag_suppress 2867    // `return stdx::move(h).release();` elides ~Receipt; nvcc still mentions its access
#pragma nv_diag_error 940, 3005  // a path falls off the end of a body; a receipt is dropped
// The bodies are device lambdas while these functions are host and device: only the instantiation knows which side.
#define WW_LINEAR_ANY_SIDE _Pragma("nv_exec_check_disable")
#define WW_LINEAR_CONSUMED(...)
#elif defined(__clang__)
#if WW_LINEAR_MODE != 1  // the proving build reports what the optimizer finds, alone
#pragma clang diagnostic error "-Wconsumed"
#endif
#pragma clang diagnostic error "-Wreturn-type"
#if defined(WW_LINEAR_UNUSED_WARNS)
#pragma clang diagnostic warning "-Wunused-result"
#pragma clang diagnostic warning "-Wunused-value"
#pragma clang diagnostic warning "-Wunused-variable"
#else
#pragma clang diagnostic error "-Wunused-result"
#pragma clang diagnostic error "-Wunused-value"
#pragma clang diagnostic error "-Wunused-variable"
#endif
#define WW_LINEAR_ANY_SIDE
#define WW_LINEAR_CONSUMED(...) [[clang::__VA_ARGS__]]
#else
#pragma GCC diagnostic error "-Wreturn-type"
#if defined(WW_LINEAR_UNUSED_WARNS)
#pragma GCC diagnostic warning "-Wunused-result"
#pragma GCC diagnostic warning "-Wunused-variable"
#else
#pragma GCC diagnostic error "-Wunused-result"
#pragma GCC diagnostic error "-Wunused-variable"
#endif
#define WW_LINEAR_ANY_SIDE
#define WW_LINEAR_CONSUMED(...)
#endif

// For clang's consumed analysis. SINK: a `T&&` parameter that the function releases. LEND: a `T&` parameter that it
// only uses. MAKES: a function that returns a live handle. LIVE and ENDS: methods that need one, and that end it.
#define WW_LINEAR_SINK WW_LINEAR_CONSUMED(param_typestate(unconsumed)) WW_LINEAR_CONSUMED(return_typestate(consumed))
#define WW_LINEAR_LEND WW_LINEAR_CONSUMED(param_typestate(unconsumed)) WW_LINEAR_CONSUMED(return_typestate(unconsumed))
#define WW_LINEAR_MAKES WW_LINEAR_CONSUMED(return_typestate(unconsumed))
#define WW_LINEAR_LIVE WW_LINEAR_CONSUMED(callable_when("unconsumed"))
#define WW_LINEAR_ENDS WW_LINEAR_LIVE WW_LINEAR_CONSUMED(set_typestate(consumed))

// nvcc's front end rejects every use of a private destructor except the elided return, so in device code naming or
// dropping a receipt is an error, even with (void). g++ and clang reject the elided return too: there it stays public.
#if (defined(__NVCC__) || defined(__CUDACC_RTC__)) && defined(__CUDA_ARCH__)
#define WW_LINEAR_RECEIPT_DESTRUCTOR private:
#else
#define WW_LINEAR_RECEIPT_DESTRUCTOR public:
#endif

#define WW_LINEAR_DROPPED \
  "linear: a receipt is only ever returned: end the body in return stdx::move(handle).release();"
#if defined(__NVCC__) || defined(__CUDACC_RTC__) || defined(WW_LINEAR_UNUSED_WARNS)
#define WW_LINEAR_RECEIPT [[nodiscard(WW_LINEAR_DROPPED)]]
#else
// g++ and clang report an unused variable of a class with a destructor only where the class asks for it.
#define WW_LINEAR_RECEIPT [[nodiscard(WW_LINEAR_DROPPED)]] [[gnu::warn_unused]]
#endif
#define WW_LINEAR_HANDLE \
  WW_LINEAR_CONSUMED(consumable(unconsumed)) [[nodiscard("linear: this handle must be released")]]

// Inlining is part of the contract: zero cost in mode 0, and in mode 1 a check survives in a function of its own.
#if defined(__CUDACC__)
#define WW_LINEAR_INLINE __host__ __device__ __forceinline__
#else
#define WW_LINEAR_INLINE inline __attribute__((always_inline))
#endif

#if WW_LINEAR_MODE == 1 && defined(__CUDA_ARCH__)
#define WW_LINEAR_RULE(name, sentence) extern "C" __device__ void warpwright_linear_##name();
#elif WW_LINEAR_MODE == 1 && !defined(__CUDACC__)
// noexcept: otherwise unwinding paths would count as paths that do not release.
#define WW_LINEAR_RULE(name, sentence) \
  extern "C" void warpwright_linear_##name() noexcept __attribute__((error("linear: " sentence)));
#elif WW_LINEAR_MODE == 2 && defined(__CUDA_ARCH__)
#define WW_LINEAR_RULE(name, sentence) \
  WW_LINEAR_INLINE void warpwright_linear_##name() { asm volatile("trap;"); }
#elif WW_LINEAR_MODE == 2 && !defined(__CUDACC__)
#define WW_LINEAR_RULE(name, sentence) \
  inline void warpwright_linear_##name() { on_violation ? on_violation("linear: " sentence) : __builtin_trap(); }
#else
#define WW_LINEAR_RULE(name, sentence) \
  WW_LINEAR_INLINE void warpwright_linear_##name() {}
#endif

// Translation units of different modes may be linked together, so each mode has types of its own.
#if WW_LINEAR_MODE == 0
#define WW_LINEAR_NAMESPACE types
#elif WW_LINEAR_MODE == 1
#define WW_LINEAR_NAMESPACE prove
#elif WW_LINEAR_MODE == 2
#define WW_LINEAR_NAMESPACE trap
#else
#error "WW_LINEAR_MODE must be 0 (types only), 1 (prove) or 2 (trap)"
#endif

namespace warpwright::linear {

// Mode 2 on the host: what is called with the broken rule instead of a trap. It may return; the program then goes on.
#if !defined(__CUDACC__)
inline void (*on_violation)(const char* rule) = nullptr;
#endif

inline namespace WW_LINEAR_NAMESPACE {

WW_LINEAR_RULE(not_released, "a handle left its scope without release()")
WW_LINEAR_RULE(released_twice, "release() was called twice on one handle")
WW_LINEAR_RULE(used_after_release, "a handle was used after its release()")
WW_LINEAR_RULE(overwritten_while_live, "a handle was overwritten before its release()")

// The value of a receipt that carries none out.
struct Nothing {};

// The location type of an Impl that has no use for locations.
struct Nowhere {};

// Whether a handle still has its duty before it; no state at all in mode 0.
class Life {
 public:
  Life() = default;
#if WW_LINEAR_MODE
  WW_LINEAR_INLINE constexpr Life(Life&& from) noexcept : live_(from.live_) { from.live_ = false; }
  WW_LINEAR_INLINE constexpr void replace(Life& from) {
    if (live_) warpwright_linear_overwritten_while_live();
    live_ = from.live_;
    from.live_ = false;
  }
  WW_LINEAR_INLINE constexpr void use() const {
    if (!live_) warpwright_linear_used_after_release();
  }
  WW_LINEAR_INLINE constexpr void end() {
    if (!live_) warpwright_linear_released_twice();
    live_ = false;
  }
  WW_LINEAR_INLINE constexpr void leave() const {
    if (live_) warpwright_linear_not_released();
  }

 private:
  bool live_ = true;
#else
  WW_LINEAR_INLINE constexpr Life(Life&&) noexcept {}
  WW_LINEAR_INLINE constexpr void replace(Life&) {}
  WW_LINEAR_INLINE constexpr void use() const {}
  WW_LINEAR_INLINE constexpr void end() {}
  WW_LINEAR_INLINE constexpr void leave() const {}
#endif
};

// False for any arguments: for a static_assert in a function that must not be instantiated.
template <class...>
inline constexpr bool never = false;

// Proof that the body Brand did its duty; Value is what it carries out.
template <class Brand, class Value = Nothing>
class WW_LINEAR_RECEIPT Receipt {
 public:
  Receipt(const Receipt&) = delete;
  Receipt& operator=(const Receipt&) = delete;
  WW_LINEAR_RECEIPT_DESTRUCTOR ~Receipt() = default;

 private:
  friend struct Scope;
  friend struct Window;
  template <class, class>
  friend class Handle;
  template <class, class>
  friend class Current;
  template <class, class>
  friend class Previous;

  WW_LINEAR_INLINE constexpr explicit Receipt(Value&& value) : value_(static_cast<Value&&>(value)) {}

  Value value_;
};

// Whether T is a receipt of the body Brand.
template <class T, class Brand>
inline constexpr bool is_receipt_of = false;
template <class Brand, class Value>
inline constexpr bool is_receipt_of<Receipt<Brand, Value>, Brand> = true;

// Owns one Impl for the length of a body. Impl holds the data and has
//   using Here = ...;                        the location type, empty on the GPU
//   static void release(Impl&, Here);        its one duty
// Access is const, so a handle's content cannot be replaced; if Impl is also move-only, it cannot be copied into a
// second handle.
template <class Brand, class Impl>
class WW_LINEAR_HANDLE Handle {
 public:
  using Here = typename Impl::Here;

  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  // Not defaulted: clang's analysis does not see a trivial destructor.
  WW_LINEAR_CONSUMED(callable_when("consumed")) WW_LINEAR_INLINE constexpr ~Handle() { life_.leave(); }

  WW_LINEAR_LIVE WW_LINEAR_INLINE constexpr const Impl* operator->() const {
    life_.use();
    return &impl_;
  }
  WW_LINEAR_LIVE WW_LINEAR_INLINE constexpr const Impl& operator*() const {
    life_.use();
    return impl_;
  }

  WW_LINEAR_ANY_SIDE
  WW_LINEAR_ENDS WW_LINEAR_INLINE constexpr Receipt<Brand> release(Here at = {}) && {
    life_.end();
    Impl::release(impl_, at);
    return Receipt<Brand>(Nothing{});
  }

  // Carries a value out of the body, for instance a stop flag. clang's analysis takes `stdx::move(handle)` for the end
  // of the handle, so compute a value that reads the handle before the return statement.
  WW_LINEAR_ANY_SIDE
  template <class Value>
  WW_LINEAR_ENDS WW_LINEAR_INLINE constexpr Receipt<Brand, Value> release(Value value, Here at = {}) && {
    life_.end();
    Impl::release(impl_, at);
    return Receipt<Brand, Value>(static_cast<Value&&>(value));
  }

  template <class... Arguments>
  WW_LINEAR_INLINE constexpr Receipt<Brand> release(Arguments&&...) & {
    static_assert(never<Brand, Arguments...>, "linear: release() ends the handle: write stdx::move(handle).release()");
    return Receipt<Brand>(Nothing{});
  }

 private:
  friend struct Scope;

  WW_LINEAR_MAKES WW_LINEAR_INLINE constexpr explicit Handle(Impl&& impl) : impl_(static_cast<Impl&&>(impl)) {}

  Impl impl_;
  [[no_unique_address]] Life life_;
};

// Makes handles and takes receipts; call scope() instead.
struct Scope {
  WW_LINEAR_ANY_SIDE
  template <class Impl, class Body>
  WW_LINEAR_INLINE static constexpr auto run(Impl& impl, Body& body) {
    using Brand = stdx::remove_cv_t<Body>;
    using Result = decltype(body(make<Brand>(impl)));
    static_assert(is_receipt_of<Result, Brand>,
                  "linear: every path of the body must return stdx::move(handle).release() of its own handle");
    if constexpr (stdx::is_same_v<Result, Receipt<Brand>>) {
      static_cast<void>(body(make<Brand>(impl)));
    } else if constexpr (is_receipt_of<Result, Brand>) {
      return body(make<Brand>(impl)).value_;
    }
  }

 private:
  template <class Brand, class Impl>
  WW_LINEAR_MAKES WW_LINEAR_INLINE static constexpr Handle<Brand, Impl> make(Impl& impl) {
    return Handle<Brand, Impl>(static_cast<Impl&&>(impl));
  }
};

// Runs body(handle) and returns what release(value) carried out, if anything.
WW_LINEAR_ANY_SIDE
template <class Impl, class Body>
WW_LINEAR_INLINE constexpr auto scope(Impl impl, Body&& body) {
  return Scope::run(impl, body);
}

}  // namespace WW_LINEAR_NAMESPACE
}  // namespace warpwright::linear
