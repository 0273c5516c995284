// Loads, stores and atomics through typed addresses.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/machine/cuda/here.h"

namespace warpwright::inline WW_WORLD::machine {

template <class T>
concept Loadable = stdx::is_trivially_copyable_v<T> &&
    (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);

namespace detail {
// Narrow accesses are plain dereferences, so that constant offsets fold into the address. Accesses of 8 and 16 bytes
// are asm: through a pointer the compiler may split an aggregate into its elements and not find the vector again.
template <size_t Bytes>
struct NarrowType;
template <>
struct NarrowType<1> {
  using type = unsigned char;
};
template <>
struct NarrowType<2> {
  using type = unsigned short;
};
template <>
struct NarrowType<4> {
  using type = unsigned int;
};
template <class T>
using Narrow = typename NarrowType<sizeof(T)>::type;
template <class T>
concept Wide = sizeof(T) > 4;

inline constexpr char kShared[] = ".shared::cta";
inline constexpr char kCluster[] = ".shared::cluster";
inline constexpr char kGlobal[] = ".global";

#define WW_LOAD_WIDE(space, constraint, address)                          \
  if constexpr (sizeof(T) == 8) {                                         \
    Vec<uint32_t, 2> w;                                                   \
    asm volatile("ld%3.v2.b32 {%0, %1}, [%2];"                            \
                 : "=r"(w.v[0]), "=r"(w.v[1])                             \
                 : constraint(address), "C"(space)                        \
                 : "memory");                                             \
    return stdx::bit_cast<T>(w);                                          \
  } else {                                                                \
    Vec<uint32_t, 4> w;                                                   \
    asm volatile("ld%5.v4.b32 {%0, %1, %2, %3}, [%4];"                    \
                 : "=r"(w.v[0]), "=r"(w.v[1]), "=r"(w.v[2]), "=r"(w.v[3]) \
                 : constraint(address), "C"(space)                        \
                 : "memory");                                             \
    return stdx::bit_cast<T>(w);                                          \
  }
#define WW_STORE_WIDE(space, constraint, address)                                                                    \
  if constexpr (sizeof(T) == 8) {                                                                                    \
    const auto w = stdx::bit_cast<Vec<uint32_t, 2>>(v);                                                              \
    asm volatile("st%3.v2.b32 [%0], {%1, %2};" ::constraint(address), "r"(w.v[0]), "r"(w.v[1]), "C"(space)           \
                 : "memory");                                                                                        \
  } else {                                                                                                           \
    const auto w = stdx::bit_cast<Vec<uint32_t, 4>>(v);                                                              \
    asm volatile("st%5.v4.b32 [%0], {%1, %2, %3, %4};" ::constraint(address), "r"(w.v[0]), "r"(w.v[1]), "r"(w.v[2]), \
                 "r"(w.v[3]), "C"(space)                                                                             \
                 : "memory");                                                                                        \
  }
template <Wide T>
WW_FN T load_shared(uint32_t address) {
  WW_LOAD_WIDE(kShared, "r", address)
}
template <Wide T>
WW_FN void store_shared(uint32_t address, const T& v) {
  WW_STORE_WIDE(kShared, "r", address)
}
template <Wide T>
WW_FN T load_cluster(uint32_t address) {
  WW_LOAD_WIDE(kCluster, "r", address)
}
template <Wide T>
WW_FN void store_cluster(uint32_t address, const T& v) {
  WW_STORE_WIDE(kCluster, "r", address)
}
template <Wide T>
WW_FN T load_global(const T* p) {
  WW_LOAD_WIDE(kGlobal, "l", __cvta_generic_to_global(p))
}
template <Wide T>
WW_FN void store_global(T* p, const T& v) {
  WW_STORE_WIDE(kGlobal, "l", __cvta_generic_to_global(p))
}
#undef WW_LOAD_WIDE
#undef WW_STORE_WIDE

template <class T>
WW_FN T load_shared(uint32_t address) {
  return stdx::bit_cast<T>(*static_cast<const Narrow<T>*>(__cvta_shared_to_generic(address)));
}
template <class T>
WW_FN void store_shared(uint32_t address, const T& v) {
  *static_cast<Narrow<T>*>(__cvta_shared_to_generic(address)) = stdx::bit_cast<Narrow<T>>(v);
}
// Asm although narrow: a dereference could not say shared::cluster.
template <class T>
WW_FN T load_cluster(uint32_t address) {
  if constexpr (sizeof(T) == 1) {
    uint32_t v;
    asm volatile("ld.shared::cluster.u8 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
    return stdx::bit_cast<T>(static_cast<unsigned char>(v));
  } else if constexpr (sizeof(T) == 2) {
    uint16_t v;
    asm volatile("ld.shared::cluster.b16 %0, [%1];" : "=h"(v) : "r"(address) : "memory");
    return stdx::bit_cast<T>(v);
  } else {
    uint32_t v;
    asm volatile("ld.shared::cluster.b32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
    return stdx::bit_cast<T>(v);
  }
}
template <class T>
WW_FN void store_cluster(uint32_t address, const T& v) {
  if constexpr (sizeof(T) == 1) {
    const uint32_t wide = stdx::bit_cast<unsigned char>(v);
    asm volatile("st.shared::cluster.u8 [%0], %1;" ::"r"(address), "r"(wide) : "memory");
  } else if constexpr (sizeof(T) == 2) {
    asm volatile("st.shared::cluster.b16 [%0], %1;" ::"r"(address), "h"(stdx::bit_cast<uint16_t>(v)) : "memory");
  } else {
    asm volatile("st.shared::cluster.b32 [%0], %1;" ::"r"(address), "r"(stdx::bit_cast<uint32_t>(v)) : "memory");
  }
}
// The compiler knows that pointers from kernel arguments, and those read through them, are global.
template <class T>
WW_FN T load_global(const T* p) {
  return stdx::bit_cast<T>(*reinterpret_cast<const Narrow<T>*>(p));
}
template <class T>
WW_FN void store_global(T* p, const T& v) {
  *reinterpret_cast<Narrow<T>*>(p) = stdx::bit_cast<Narrow<T>>(v);
}

// The words of the instruction set as text, for the "C" operand of an asm statement.
template <Order O>
struct OrderText;
template <>
struct OrderText<Order::relaxed> {
  static constexpr char text[] = ".relaxed";
};
template <>
struct OrderText<Order::acquire> {
  static constexpr char text[] = ".acquire";
};
template <>
struct OrderText<Order::release> {
  static constexpr char text[] = ".release";
};
template <>
struct OrderText<Order::acq_rel> {
  static constexpr char text[] = ".acq_rel";
};
inline constexpr char kGpuGlobal[] = ".gpu.global";
inline constexpr char kCtaShared[] = ".cta.shared::cta";
inline constexpr char kBits32[] = ".b32";
inline constexpr char kBits64[] = ".b64";
// What atom.add calls the type; two's complement makes the 64-bit signed sum the unsigned one.
template <class T>
struct AddText;
template <>
struct AddText<unsigned int> {
  static constexpr char text[] = ".u32";
};
template <>
struct AddText<int> {
  static constexpr char text[] = ".s32";
};
template <>
struct AddText<unsigned long> {
  static constexpr char text[] = ".u64";
};
template <>
struct AddText<unsigned long long> : AddText<unsigned long> {};
template <>
struct AddText<long> : AddText<unsigned long> {};
template <>
struct AddText<long long> : AddText<unsigned long> {};
template <>
struct AddText<float> {
  static constexpr char text[] = ".f32";
};
template <>
struct AddText<double> {
  static constexpr char text[] = ".f64";
};
template <class T>
using Bits = stdx::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// %0 the old value, %1 the address, %2 the operand, %3 order, %4 space, %5 type.
#define WW_ATOM(words, register, address, p, v, space, type)                             \
  asm volatile(words                                                                     \
               : "=" register(old)                                                       \
               : address(p), register(v), "C"(OrderText<O>::text), "C"(space), "C"(type) \
               : "memory")
template <class T, Order O>
WW_FN Bits<T> atomic_add(const T* p, Bits<T> v) {
  Bits<T> old;
  if constexpr (sizeof(T) == 4) {
    WW_ATOM("atom%3%4.add%5 %0, [%1], %2;", "r", "l", __cvta_generic_to_global(p), v, kGpuGlobal, AddText<T>::text);
  } else {
    WW_ATOM("atom%3%4.add%5 %0, [%1], %2;", "l", "l", __cvta_generic_to_global(p), v, kGpuGlobal, AddText<T>::text);
  }
  return old;
}
template <class T, Order O>
WW_FN Bits<T> atomic_add(uint32_t shared_address, Bits<T> v) {
  Bits<T> old;
  if constexpr (sizeof(T) == 4) {
    WW_ATOM("atom%3%4.add%5 %0, [%1], %2;", "r", "r", shared_address, v, kCtaShared, AddText<T>::text);
  } else {
    WW_ATOM("atom%3%4.add%5 %0, [%1], %2;", "l", "r", shared_address, v, kCtaShared, AddText<T>::text);
  }
  return old;
}
template <class T, Order O>
WW_FN Bits<T> atomic_exchange(const T* p, Bits<T> v) {
  Bits<T> old;
  if constexpr (sizeof(T) == 4) {
    WW_ATOM("atom%3%4.exch%5 %0, [%1], %2;", "r", "l", __cvta_generic_to_global(p), v, kGpuGlobal, kBits32);
  } else {
    WW_ATOM("atom%3%4.exch%5 %0, [%1], %2;", "l", "l", __cvta_generic_to_global(p), v, kGpuGlobal, kBits64);
  }
  return old;
}
#undef WW_ATOM
template <class T, Order O>
WW_FN Bits<T> atomic_compare_swap(const T* p, Bits<T> expected, Bits<T> v) {
  Bits<T> old;
  if constexpr (sizeof(T) == 4) {
    asm volatile("atom%4.gpu.global.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(old)
                 : "l"(__cvta_generic_to_global(p)), "r"(expected), "r"(v), "C"(OrderText<O>::text)
                 : "memory");
  } else {
    asm volatile("atom%4.gpu.global.cas.b64 %0, [%1], %2, %3;"
                 : "=l"(old)
                 : "l"(__cvta_generic_to_global(p)), "l"(expected), "l"(v), "C"(OrderText<O>::text)
                 : "memory");
  }
  return old;
}
}  // namespace detail

template <Loadable T>
WW_FN stdx::remove_const_t<T> load(Shared<T> p, here = {}) {
  return detail::load_shared<stdx::remove_const_t<T>>(p.address);
}
template <Loadable T>
WW_FN void store(Shared<T> p, stdx::type_identity_t<T> v, here = {}) {
  detail::store_shared<T>(p.address, v);
}
template <Loadable T>
WW_FN stdx::remove_const_t<T> load(ClusterShared<T> p, here = {}) {
  return detail::load_cluster<stdx::remove_const_t<T>>(p.address);
}
template <Loadable T>
WW_FN void store(ClusterShared<T> p, stdx::type_identity_t<T> v, here = {}) {
  detail::store_cluster<T>(p.address, v);
}
template <Loadable T>
WW_FN stdx::remove_const_t<T> load(Global<T> p, here = {}) {
  return detail::load_global<stdx::remove_const_t<T>>(pointer_of(p));
}
template <Loadable T>
WW_FN void store(Global<T> p, stdx::type_identity_t<T> v, here = {}) {
  detail::store_global<T>(pointer_of(p), v);
}
// 16 bytes go as b128, which the memory model treats as one access (a vector of words it does not).
template <Loadable T>
WW_FN T load_acquire(Global<T> p, here = {}) {
  const size_t at = __cvta_generic_to_global(pointer_of(p));
  if constexpr (sizeof(T) == 1) {
    uint32_t v;
    asm volatile("ld.acquire.gpu.global.u8 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
    return stdx::bit_cast<T>(static_cast<unsigned char>(v));
  } else if constexpr (sizeof(T) == 2) {
    uint16_t v;
    asm volatile("ld.acquire.gpu.global.b16 %0, [%1];" : "=h"(v) : "l"(at) : "memory");
    return stdx::bit_cast<T>(v);
  } else if constexpr (sizeof(T) == 4) {
    uint32_t v;
    asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
    return stdx::bit_cast<T>(v);
  } else if constexpr (sizeof(T) == 8) {
    uint64_t v;
    asm volatile("ld.acquire.gpu.global.b64 %0, [%1];" : "=l"(v) : "l"(at) : "memory");
    return stdx::bit_cast<T>(v);
  } else {
    ulonglong2 v;
    asm volatile("{\n.reg .b128 q;\nld.acquire.gpu.global.b128 q, [%2];\nmov.b128 {%0, %1}, q;\n}"
                 : "=l"(v.x), "=l"(v.y)
                 : "l"(at)
                 : "memory");
    return stdx::bit_cast<T>(v);
  }
}
template <Loadable T>
WW_FN void store_release(Global<T> p, stdx::type_identity_t<T> v, here = {}) {
  const size_t at = __cvta_generic_to_global(pointer_of(p));
  if constexpr (sizeof(T) == 1) {
    const uint32_t wide = stdx::bit_cast<unsigned char>(v);
    asm volatile("st.release.gpu.global.u8 [%0], %1;" ::"l"(at), "r"(wide) : "memory");
  } else if constexpr (sizeof(T) == 2) {
    asm volatile("st.release.gpu.global.b16 [%0], %1;" ::"l"(at), "h"(stdx::bit_cast<uint16_t>(v)) : "memory");
  } else if constexpr (sizeof(T) == 4) {
    asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(at), "r"(stdx::bit_cast<uint32_t>(v)) : "memory");
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("st.release.gpu.global.b64 [%0], %1;" ::"l"(at), "l"(stdx::bit_cast<uint64_t>(v)) : "memory");
  } else {
    const auto halves = stdx::bit_cast<ulonglong2>(v);
    asm volatile("{\n.reg .b128 q;\nmov.b128 q, {%1, %2};\nst.release.gpu.global.b128 [%0], q;\n}" ::"l"(at),
                 "l"(halves.x), "l"(halves.y)
                 : "memory");
  }
}

// Scope gpu on global memory, cta on shared memory.
template <Order O = Order::relaxed, class T>
WW_FN T atomic_add(Global<T> p, stdx::type_identity_t<T> v, here = {}) {
  return stdx::bit_cast<T>(detail::atomic_add<T, O>(pointer_of(p), stdx::bit_cast<detail::Bits<T>>(v)));
}
template <Order O = Order::relaxed, class T>
WW_FN T atomic_add(Shared<T> p, stdx::type_identity_t<T> v, here = {}) {
  return stdx::bit_cast<T>(detail::atomic_add<T, O>(p.address, stdx::bit_cast<detail::Bits<T>>(v)));
}
template <Order O = Order::relaxed, class T>
WW_FN T atomic_exchange(Global<T> p, stdx::type_identity_t<T> v, here = {}) {
  return stdx::bit_cast<T>(detail::atomic_exchange<T, O>(pointer_of(p), stdx::bit_cast<detail::Bits<T>>(v)));
}
template <Order O = Order::relaxed, class T>
WW_FN T atomic_compare_swap(Global<T> p, stdx::type_identity_t<T> expected, stdx::type_identity_t<T> v, here = {}) {
  return stdx::bit_cast<T>(detail::atomic_compare_swap<T, O>(pointer_of(p), stdx::bit_cast<detail::Bits<T>>(expected),
                                                             stdx::bit_cast<detail::Bits<T>>(v)));
}
template <class T>
WW_FN void reduce_add(Global<T> p, stdx::type_identity_t<T> v, here = {}) {
  const size_t at = __cvta_generic_to_global(pointer_of(p));
  if constexpr (sizeof(T) == 4) {
    asm volatile("red.relaxed.gpu.global.add%2 [%0], %1;" ::"l"(at), "r"(stdx::bit_cast<uint32_t>(v)),
                 "C"(detail::AddText<T>::text)
                 : "memory");
  } else {
    asm volatile("red.relaxed.gpu.global.add%2 [%0], %1;" ::"l"(at), "l"(stdx::bit_cast<uint64_t>(v)),
                 "C"(detail::AddText<T>::text)
                 : "memory");
  }
}

// mapa: the same variable in the CTA of that rank.
template <class T>
WW_FN ClusterShared<T> map_to_rank(Shared<T> p, uint32_t rank) {
  uint32_t address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(p.address), "r"(rank));
  return {address};
}
// The even CTA of the pair (cta_group::2), without mapa.
template <class T>
WW_FN ClusterShared<T> map_to_leader(Shared<T> p) {
  return {p.address & kPairLeaderMask};
}

}  // namespace warpwright::inline WW_WORLD::machine
