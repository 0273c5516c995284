// The words of a CDNA kernel as clang builtins. One value per lane; the wave is the hardware's.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/std.h"

namespace warpwright::inline WW_WORLD::machine::cdna {

struct here {};

using Lanes = uint32_t;
using Mask = bool;
using Fragment = uint32_t __attribute__((ext_vector_type(4)));
using Accumulator = float __attribute__((ext_vector_type(4)));
struct BufferResource {
  __amdgpu_buffer_rsrc_t descriptor;
};
// Sixteen bytes of a lane in elements of this many bytes, loaded one by one, each into a register of its own.
template <int Bytes>
struct Gathered {
  Lanes elements[16 / Bytes];
};

namespace detail {
using Half = uint32_t __attribute__((ext_vector_type(2)));
using Whole = int __attribute__((ext_vector_type(8)));
using Bf16x8 = __bf16 __attribute__((ext_vector_type(8)));
using Fp16x8 = _Float16 __attribute__((ext_vector_type(8)));
using Fp16x4 = _Float16 __attribute__((ext_vector_type(4)));
using Short4 = short __attribute__((ext_vector_type(4)));
template <class T>
using LdsPointer = __attribute__((address_space(3))) T*;
template <class T>
WW_FN LdsPointer<T> lds(uint32_t address) {
  return reinterpret_cast<LdsPointer<T>>(address);
}
// Eight bytes of a fragment. Not by __builtin_bit_cast of .lo and .hi: clang 22 takes the first eight bytes for both.
template <class T, int N>
WW_FN T half(const Fragment& f) {
  const Half h = {f[2 * N], f[2 * N + 1]};
  return __builtin_bit_cast(T, h);
}
// Number format and swizzle bits of word 3 of a descriptor: a raw buffer of 32-bit data.
inline constexpr int kRawBuffer = 0x0002'0000;
}  // namespace detail

WW_FN Lanes lane_index() { return __builtin_amdgcn_workitem_id_x() & 63; }
WW_FN uint32_t wave_index() { return __builtin_amdgcn_readfirstlane(__builtin_amdgcn_workitem_id_x() >> 6); }
WW_FN uint32_t workgroup_index() { return __builtin_amdgcn_workgroup_id_x(); }
WW_FN Lanes select(Mask which, Lanes yes, Lanes no) { return which ? yes : no; }

// The same value, in scalar registers from here on. A kernel's arguments come by scalar loads, which lgkmcnt counts
// too, in no order: one that is still open would turn every wait for fragments into a wait for all of them.
template <class T>
WW_FN T settled(T value) {
  asm volatile("" : "+s"(value));
  return value;
}

// The same for a value that is equal in all lanes, wherever the compiler has computed it.
WW_FN uint32_t uniform(uint32_t value) { return __builtin_amdgcn_readfirstlane(value); }
// The arguments of the kernel, which are `given`, read from memory here: no register has kept them until now.
template <class T>
WW_FN T read_again(const T&) {
  static_assert(sizeof(T) % 8 == 0 && alignof(T) == 8);
  struct Words {
    uint64_t of[sizeof(T) / 8];
  } words;
  using Constant = const __attribute__((address_space(4))) uint64_t;
  auto* at = (Constant*)__builtin_amdgcn_kernarg_segment_ptr();
  asm volatile("" : "+s"(at));
#pragma unroll
  for (unsigned long i = 0; i < sizeof(T) / 8; ++i) words.of[i] = settled(at[i]);
  return __builtin_bit_cast(T, words);
}
// The same value, of which the compiler knows nothing: whatever is computed from it stays after this place.
WW_FN Lanes opaque(Lanes value) {
  asm volatile("" : "+v"(value));
  return value;
}

// Loads past `bytes` give zero and stores there are dropped. The check covers the lanes' own offset only.
WW_FN BufferResource make_buffer(Global<const uint8_t> base, uint32_t bytes, here = {}) {
  return {__builtin_amdgcn_make_buffer_rsrc(const_cast<uint8_t*>(pointer_of(base)), short(0), int(bytes),
                                            detail::kRawBuffer)};
}
WW_FN BufferResource make_buffer(Global<uint8_t> base, uint32_t bytes, here = {}) {
  return {__builtin_amdgcn_make_buffer_rsrc(pointer_of(base), short(0), int(bytes), detail::kRawBuffer)};
}

// gfx950: 16 bytes of each lane, to `to` + 16 * lane.
WW_FN void buffer_load_lds(const BufferResource& from, uint32_t to, Lanes offset, here = {}) {
#if defined(__gfx950__)
  __builtin_amdgcn_raw_ptr_buffer_load_lds(from.descriptor, (detail::LdsPointer<void>)detail::lds<char>(to), 16, offset,
                                           0, 0, 0);
#else
  static_cast<void>(from), static_cast<void>(to), static_cast<void>(offset);
  __builtin_trap();
#endif
}
WW_FN void buffer_load(Fragment& to, const BufferResource& from, Lanes offset, here = {}) {
  to = __builtin_amdgcn_raw_buffer_load_b128(from.descriptor, offset, 0, 0);
}
// One element, wherever it begins; the bits above it are zero.
template <int Bytes>
WW_FN void buffer_load_element(Gathered<Bytes>& to, int i, const BufferResource& from, Lanes offset, here = {}) {
  if constexpr (Bytes == 1) {
    to.elements[i] = __builtin_amdgcn_raw_buffer_load_b8(from.descriptor, offset, 0, 0);
  } else if constexpr (Bytes == 2) {
    to.elements[i] = __builtin_amdgcn_raw_buffer_load_b16(from.descriptor, offset, 0, 0);
  } else {
    to.elements[i] = __builtin_amdgcn_raw_buffer_load_b32(from.descriptor, offset, 0, 0);
  }
}
WW_FN void buffer_store(const BufferResource& to, Lanes offset, Lanes a, Lanes b, Lanes c, Lanes d, here = {}) {
  __builtin_amdgcn_raw_buffer_store_b128(Fragment{a, b, c, d}, to.descriptor, offset, 0, 0);
}
WW_FN void buffer_store(const BufferResource& to, Lanes offset, Lanes a, Lanes b, here = {}) {
  __builtin_amdgcn_raw_buffer_store_b64(detail::Half{a, b}, to.descriptor, offset, 0, 0);
}
WW_FN void buffer_store(const BufferResource& to, Lanes offset, Lanes a, here = {}) {
  __builtin_amdgcn_raw_buffer_store_b32(a, to.descriptor, offset, 0, 0);
}
WW_FN void buffer_store_short(const BufferResource& to, Lanes offset, Lanes a, here = {}) {
  __builtin_amdgcn_raw_buffer_store_b16(uint16_t(a), to.descriptor, offset, 0, 0);
}
WW_FN void buffer_store_byte(const BufferResource& to, Lanes offset, Lanes a, here = {}) {
  __builtin_amdgcn_raw_buffer_store_b8(uint8_t(a), to.descriptor, offset, 0, 0);
}

WW_FN void ds_read(Fragment& to, Lanes address, here = {}) { to = *detail::lds<Fragment>(address); }
WW_FN void ds_write(Lanes address, const Fragment& from, here = {}) { *detail::lds<Fragment>(address) = from; }
// The elements side by side.
template <int Bytes>
WW_FN void ds_write(Lanes address, const Gathered<Bytes>& from, here = {}) {
  constexpr int in_word = 4 / Bytes;
  Fragment whole = {0, 0, 0, 0};
#pragma unroll
  for (int i = 0; i < 16 / Bytes; ++i) whole[i / in_word] |= from.elements[i] << (i % in_word * 8 * Bytes);
  *detail::lds<Fragment>(address) = whole;
}
template <int Bytes>
WW_FN Lanes element(const Gathered<Bytes>& from, int i, here = {}) {
  return from.elements[i];
}

// A function of the bits of one lane, for all lanes.
template <class F, class... L>
WW_FN Lanes map(F&& function, L... lanes) {
  return function(lanes...);
}

WW_FN void clear(Accumulator& d) { d = Accumulator{0, 0, 0, 0}; }
// By a copy: of an element in its place clang 22 takes the bits of the first one.
WW_FN Lanes element(const Accumulator& d, int i) {
  const float number = d[i];
  return __builtin_bit_cast(uint32_t, number);
}
// d += the numbers of a fragment.
WW_FN void add(Accumulator& d, const Fragment& a, here = {}) { d += __builtin_bit_cast(Accumulator, a); }
// The bits of element i, multiplied by a factor first.
WW_FN Lanes scaled_bits(const Accumulator& d, int i, float factor) {
  return __builtin_bit_cast(uint32_t, d[i] * factor);
}
// Two elements as a pair of bf16, the first in the low half.
WW_FN Lanes scaled_bf16_pair(const Accumulator& d, int i, float factor) {
  using Pair = __bf16 __attribute__((ext_vector_type(2)));
  return __builtin_bit_cast(uint32_t, Pair{__bf16(d[i] * factor), __bf16(d[i + 1] * factor)});
}

// d += the products of 16 rows of a and 16 rows of b over the 16 bytes that each lane holds: lane l has row l % 16 and
// the K positions of its quarter l / 16. Element i of lane l of d is row 4 * (l / 16) + i of a, row l % 16 of b.
WW_FN void mfma_bf16(Accumulator& d, const Fragment& a, const Fragment& b, here = {}) {
#if defined(__gfx950__)
  d = __builtin_amdgcn_mfma_f32_16x16x32_bf16(__builtin_bit_cast(detail::Bf16x8, a),
                                              __builtin_bit_cast(detail::Bf16x8, b), d, 0, 0, 0);
#else
  using detail::half;
  d = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(half<detail::Short4, 0>(a), half<detail::Short4, 0>(b), d, 0, 0, 0);
  d = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(half<detail::Short4, 1>(a), half<detail::Short4, 1>(b), d, 0, 0, 0);
#endif
}
WW_FN void mfma_fp16(Accumulator& d, const Fragment& a, const Fragment& b, here = {}) {
#if defined(__gfx950__)
  d = __builtin_amdgcn_mfma_f32_16x16x32_f16(__builtin_bit_cast(detail::Fp16x8, a),
                                             __builtin_bit_cast(detail::Fp16x8, b), d, 0, 0, 0);
#else
  using detail::half;
  d = __builtin_amdgcn_mfma_f32_16x16x16f16(half<detail::Fp16x4, 0>(a), half<detail::Fp16x4, 0>(b), d, 0, 0, 0);
  d = __builtin_amdgcn_mfma_f32_16x16x16f16(half<detail::Fp16x4, 1>(a), half<detail::Fp16x4, 1>(b), d, 0, 0, 0);
#endif
}
// The same for e4m3; gfx942 takes the codes as FNUZ, gfx950 as OCP.
WW_FN void mfma_fp8(Accumulator& d, const Fragment& a, const Fragment& b, here = {}) {
  using detail::half;
  d = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(half<long, 0>(a), half<long, 0>(b), d, 0, 0, 0);
  d = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(half<long, 1>(a), half<long, 1>(b), d, 0, 0, 0);
}
// gfx950: one instruction over the 32 bytes of two fragments, at twice the rate.
WW_FN void mfma_fp8_wide(Accumulator& d, const Fragment& a0, const Fragment& a1, const Fragment& b0, const Fragment& b1,
                         here = {}) {
#if defined(__gfx950__)
  const auto join = [](const Fragment& x, const Fragment& y) {
    return detail::Whole{int(x[0]), int(x[1]), int(x[2]), int(x[3]), int(y[0]), int(y[1]), int(y[2]), int(y[3])};
  };
  // Format 0 is e4m3; scales that are constant zero select the form without them.
  d = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(join(a0, a1), join(b0, b1), d, 0, 0, 0, 0, 0, 0);
#else
  static_cast<void>(d), static_cast<void>(a0), static_cast<void>(a1), static_cast<void>(b0), static_cast<void>(b1);
  __builtin_trap();
#endif
}

// At most N of the wave's loads, or of its LDS accesses, are still in flight.
template <int N>
WW_FN void wait_vm(here = {}) {
  static_assert(N >= 0 && N <= 63, "vmcnt has 6 bits");
  __builtin_amdgcn_s_waitcnt(0x0f70 | (N & 15) | (N >> 4) << 14);
}
template <int N>
WW_FN void wait_lgkm(here = {}) {
  static_assert(N >= 0 && N <= 15, "lgkmcnt has 4 bits");
  __builtin_amdgcn_s_waitcnt(0xc07f | N << 8);
}
// Whatever the wave has stored before is visible to those who acquire after they have seen what the wave does next.
WW_FN void release_device(here = {}) { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent"); }
WW_FN void acquire_device(here = {}) { __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent"); }
// How many waves have been here before, counted in memory from 0 to `last`, then from 0 again.
WW_FN uint32_t count_arrival(Global<uint32_t> counter, uint32_t last, here = {}) {
  using Counter = __attribute__((address_space(1))) uint32_t;
  uint32_t before = 0;
  if (lane_index() == 0)
    before = __builtin_amdgcn_atomic_inc32((Counter*)pointer_of(counter), last, __ATOMIC_RELAXED, "agent");
  return __builtin_amdgcn_readfirstlane(before);
}
WW_FN void workgroup_barrier(here = {}) { __builtin_amdgcn_s_barrier(); }
template <int N>
WW_FN void set_priority(here = {}) {
  __builtin_amdgcn_s_setprio(N);
}
// Nothing moves across in either direction; no instruction.
WW_FN void order_fence() {
  asm volatile("" ::: "memory");
  __builtin_amdgcn_sched_barrier(0);
}
// Where in its schedule the wave is; for reports.
WW_FN void at_entry(const char*, int, const char*) {}
// The wave has passed this many barriers more than the leading waves when they come here: the stagger for which the
// schedule was proven. For the simulator, which holds the waves to it.
WW_FN void expect_barriers_ahead(uint32_t, here = {}) {}

}  // namespace warpwright::inline WW_WORLD::machine::cdna
