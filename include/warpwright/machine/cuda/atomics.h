// Atomic operations on whole numbers of 4 or 8 bytes beyond add, scope gpu on global memory and cta on shared memory.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/cuda/here.h"
#include "warpwright/machine/cuda/memory.h"

namespace warpwright::inline WW_WORLD::machine {

template <class T>
concept WholeNumber = stdx::is_integral_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

namespace detail {
template <class T>
struct WholeText {
  static constexpr char text[] = {'.', stdx::is_signed_v<T> ? 's' : 'u', sizeof(T) == 4 ? '3' : '6',
                                  sizeof(T) == 4 ? '2' : '4', '\0'};
};
template <class T>
struct BitsText {
  static constexpr char text[] = {'.', 'b', sizeof(T) == 4 ? '3' : '6', sizeof(T) == 4 ? '2' : '4', '\0'};
};

// %0 the old value, %1 the address, %2 the operand, %3 order, %4 space, %5 type.
#define WW_ATOM_AT(operation, type, constraint, p, space)                                               \
  Bits<T> old;                                                                                          \
  if constexpr (sizeof(T) == 4) {                                                                       \
    asm volatile("atom%3%4." operation "%5 %0, [%1], %2;"                                               \
                 : "=r"(old)                                                                            \
                 : constraint(p), "r"(stdx::bit_cast<Bits<T>>(v)), "C"(OrderText<O>::text), "C"(space), \
                   "C"(type<T>::text)                                                                   \
                 : "memory");                                                                           \
  } else {                                                                                              \
    asm volatile("atom%3%4." operation "%5 %0, [%1], %2;"                                               \
                 : "=l"(old)                                                                            \
                 : constraint(p), "l"(stdx::bit_cast<Bits<T>>(v)), "C"(OrderText<O>::text), "C"(space), \
                   "C"(type<T>::text)                                                                   \
                 : "memory");                                                                           \
  }                                                                                                     \
  return stdx::bit_cast<T>(old);
#define WW_ATOM_WORD(word, operation, type)                                   \
  template <class T, Order O>                                                 \
  WW_FN T word(const T* p, T v) {                                             \
    WW_ATOM_AT(operation, type, "l", __cvta_generic_to_global(p), kGpuGlobal) \
  }                                                                           \
  template <class T, Order O>                                                 \
  WW_FN T word(uint32_t p, T v) {                                             \
    WW_ATOM_AT(operation, type, "r", p, kCtaShared)                           \
  }
WW_ATOM_WORD(atom_min, "min", WholeText)
WW_ATOM_WORD(atom_max, "max", WholeText)
WW_ATOM_WORD(atom_and, "and", BitsText)
WW_ATOM_WORD(atom_or, "or", BitsText)
WW_ATOM_WORD(atom_xor, "xor", BitsText)
#undef WW_ATOM_WORD
#undef WW_ATOM_AT
}  // namespace detail

template <Order O = Order::relaxed, WholeNumber T>
WW_FN T atomic_min(Global<T> p, stdx::type_identity_t<T> v, here = {}) {
  return detail::atom_min<T, O>(pointer_of(p), v);
}
template <Order O = Order::relaxed, WholeNumber T>
WW_FN T atomic_min(Shared<T> p, stdx::type_identity_t<T> v, here = {}) {
  return detail::atom_min<T, O>(p.address, v);
}
template <Order O = Order::relaxed, WholeNumber T>
WW_FN T atomic_max(Global<T> p, stdx::type_identity_t<T> v, here = {}) {
  return detail::atom_max<T, O>(pointer_of(p), v);
}
template <Order O = Order::relaxed, WholeNumber T>
WW_FN T atomic_max(Shared<T> p, stdx::type_identity_t<T> v, here = {}) {
  return detail::atom_max<T, O>(p.address, v);
}
template <Order O = Order::relaxed, WholeNumber T>
WW_FN T atomic_and(Global<T> p, stdx::type_identity_t<T> v, here = {}) {
  return detail::atom_and<T, O>(pointer_of(p), v);
}
template <Order O = Order::relaxed, WholeNumber T>
WW_FN T atomic_and(Shared<T> p, stdx::type_identity_t<T> v, here = {}) {
  return detail::atom_and<T, O>(p.address, v);
}
template <Order O = Order::relaxed, WholeNumber T>
WW_FN T atomic_or(Global<T> p, stdx::type_identity_t<T> v, here = {}) {
  return detail::atom_or<T, O>(pointer_of(p), v);
}
template <Order O = Order::relaxed, WholeNumber T>
WW_FN T atomic_or(Shared<T> p, stdx::type_identity_t<T> v, here = {}) {
  return detail::atom_or<T, O>(p.address, v);
}
template <Order O = Order::relaxed, WholeNumber T>
WW_FN T atomic_xor(Global<T> p, stdx::type_identity_t<T> v, here = {}) {
  return detail::atom_xor<T, O>(pointer_of(p), v);
}
template <Order O = Order::relaxed, WholeNumber T>
WW_FN T atomic_xor(Shared<T> p, stdx::type_identity_t<T> v, here = {}) {
  return detail::atom_xor<T, O>(p.address, v);
}

}  // namespace warpwright::inline WW_WORLD::machine
