// Atomic operations on whole numbers of 4 or 8 bytes beyond add, scope gpu on global memory and cta on shared memory.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/sim/here.h"
#include "warpwright/machine/sim/memory.h"

namespace warpwright::inline WW_WORLD::machine {

template <class T>
concept WholeNumber = stdx::is_integral_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

namespace detail {
// The operations of atomic(), by their numbers.
enum class Atom : int { max = 3, min, bit_and, bit_or, bit_xor };
template <Atom A, Order O, class T>
T whole_atomic(T* p, uint32_t shared_address, T v, here at) {
  T old;
  const bool is_shared = p == nullptr;
  atomic(p, shared_address, is_shared, type_letter<T>(), sizeof(T), int(A), &v, nullptr, &old, O,
         is_shared ? Scope::cta : Scope::gpu, at);
  return old;
}
}  // namespace detail

template <Order O = Order::relaxed, WholeNumber T>
T atomic_min(Global<T> p, stdx::type_identity_t<T> v, here at = {}) {
  return detail::whole_atomic<detail::Atom::min, O, T>(pointer_of(p), 0, v, at);
}
template <Order O = Order::relaxed, WholeNumber T>
T atomic_min(Shared<T> p, stdx::type_identity_t<T> v, here at = {}) {
  return detail::whole_atomic<detail::Atom::min, O, T>(nullptr, p.address, v, at);
}
template <Order O = Order::relaxed, WholeNumber T>
T atomic_max(Global<T> p, stdx::type_identity_t<T> v, here at = {}) {
  return detail::whole_atomic<detail::Atom::max, O, T>(pointer_of(p), 0, v, at);
}
template <Order O = Order::relaxed, WholeNumber T>
T atomic_max(Shared<T> p, stdx::type_identity_t<T> v, here at = {}) {
  return detail::whole_atomic<detail::Atom::max, O, T>(nullptr, p.address, v, at);
}
template <Order O = Order::relaxed, WholeNumber T>
T atomic_and(Global<T> p, stdx::type_identity_t<T> v, here at = {}) {
  return detail::whole_atomic<detail::Atom::bit_and, O, T>(pointer_of(p), 0, v, at);
}
template <Order O = Order::relaxed, WholeNumber T>
T atomic_and(Shared<T> p, stdx::type_identity_t<T> v, here at = {}) {
  return detail::whole_atomic<detail::Atom::bit_and, O, T>(nullptr, p.address, v, at);
}
template <Order O = Order::relaxed, WholeNumber T>
T atomic_or(Global<T> p, stdx::type_identity_t<T> v, here at = {}) {
  return detail::whole_atomic<detail::Atom::bit_or, O, T>(pointer_of(p), 0, v, at);
}
template <Order O = Order::relaxed, WholeNumber T>
T atomic_or(Shared<T> p, stdx::type_identity_t<T> v, here at = {}) {
  return detail::whole_atomic<detail::Atom::bit_or, O, T>(nullptr, p.address, v, at);
}
template <Order O = Order::relaxed, WholeNumber T>
T atomic_xor(Global<T> p, stdx::type_identity_t<T> v, here at = {}) {
  return detail::whole_atomic<detail::Atom::bit_xor, O, T>(pointer_of(p), 0, v, at);
}
template <Order O = Order::relaxed, WholeNumber T>
T atomic_xor(Shared<T> p, stdx::type_identity_t<T> v, here at = {}) {
  return detail::whole_atomic<detail::Atom::bit_xor, O, T>(nullptr, p.address, v, at);
}

}  // namespace warpwright::inline WW_WORLD::machine
