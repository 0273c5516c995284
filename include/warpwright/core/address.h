// Addresses that a kernel passes around but never dereferences: machine words do that.
#pragma once
#include "warpwright/core/std.h"

namespace warpwright {

// Bits 0..23: offset in the CTA's shared-memory window, bits 24..: rank of the CTA in its cluster. A CTA's own
// shared::cta addresses carry its own rank, so they are valid shared::cluster addresses too (as on sm_90 and sm_100).
inline constexpr uint32_t kSharedOffsetMask = 0x00ff'ffff;
inline constexpr uint32_t kSharedRankShift = 24;
// Clearing the lowest rank bit names the even CTA of a pair: the leader of cta_group::2.
inline constexpr uint32_t kPairLeaderMask = 0xfeff'ffff;

// Shared memory of the executing CTA.
template <class T>
struct Shared {
  uint32_t address = 0;
  WW_HD constexpr Shared operator+(int n) const { return {address + uint32_t(n) * uint32_t(sizeof(T))}; }
  WW_HD constexpr Shared plus_bytes(uint32_t n) const { return {address + n}; }
  template <class U>
  WW_HD constexpr Shared<U> as() const {
    return {address};
  }
  constexpr bool operator==(const Shared&) const = default;
};

// Shared memory of any CTA of the cluster; made by machine::map_to_rank.
template <class T>
struct ClusterShared {
  uint32_t address = 0;
  WW_HD constexpr ClusterShared operator+(int n) const { return {address + uint32_t(n) * uint32_t(sizeof(T))}; }
  template <class U>
  WW_HD constexpr ClusterShared<U> as() const {
    return {address};
  }
  constexpr bool operator==(const ClusterShared&) const = default;
};

// Device memory. It cannot be dereferenced; code that needs the number calls pointer_of().
template <class T>
class Global {
 public:
  constexpr Global() = default;
  WW_HD constexpr Global(T* pointer) : pointer_(pointer) {}
  WW_HD constexpr Global operator+(int64_t n) const { return {pointer_ + n}; }
  template <class U>
  WW_HD Global<U> as() const {
    return {reinterpret_cast<U*>(pointer_)};
  }
  template <class U>
  requires(stdx::is_same_v<U, const T> && !stdx::is_const_v<T>) WW_HD constexpr operator Global<U>() const {
    return {pointer_};
  }
  // For words and for arithmetic on addresses. In the simulator there is no memory behind it that ordinary code could
  // reach: dereferencing it is a finding.
  friend WW_HD constexpr T* pointer_of(Global g) { return g.pointer_; }

 private:
  T* pointer_ = nullptr;
};

// Tensor memory has a row for each thread of four warps; a warp reaches the rows that its place among them gives it.
inline constexpr int kWarpThreads = 32, kTmemLanes = 128, kTmemWarps = kTmemLanes / kWarpThreads;

// Tensor memory: bits 31..16 lane, 15..0 column.
struct Tmem {
  uint32_t address = 0;
  WW_HD constexpr Tmem column(uint32_t n) const { return {address + n}; }
  WW_HD constexpr Tmem lane(uint32_t n) const { return {address + (n << 16)}; }
};

// The eight opaque bytes of an mbarrier object in shared memory.
struct alignas(8) Mbarrier {
  uint64_t opaque;
};

// One element of up to 16 bytes that moves in one access.
template <class T, int N>
struct alignas(sizeof(T) * N) Vec {
  T v[N];
  WW_HD constexpr T& operator[](int i) { return v[i]; }
  WW_HD constexpr const T& operator[](int i) const { return v[i]; }
};

// A TMA descriptor. On the GPU the driver fills the 128 bytes; in the simulator our own encoder does.
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

// Extents or an index in a grid.
struct Index3 {
  uint32_t x = 0, y = 0, z = 0;
};

// The threads that a fence or an arrival orders memory for.
enum class Scope : uint8_t { cta, cluster, gpu, sys };
// The memory order of an access or a fence.
enum class Order : uint8_t { relaxed, acquire, release, acq_rel };
// What L2 should do with the lines of a copy.
enum class CacheHint : uint8_t { normal, evict_first, evict_last };
// State space named by fence.proxy.async: `all` is the form without a space.
enum class ProxySpace : uint8_t { all, shared_cta, shared_cluster, global };
// The architectures that kernels are written for.
enum class Arch : uint8_t { sm80, sm90, sm100, gfx942, gfx950 };

// The word for an architecture, as instance names have it.
WW_HD constexpr const char* name(Arch arch) {
  switch (arch) {
    case Arch::sm80:
      return "sm80";
    case Arch::sm90:
      return "sm90";
    case Arch::sm100:
      return "sm100";
    case Arch::gfx942:
      return "gfx942";
    case Arch::gfx950:
      return "gfx950";
  }
  return "?";
}
// Waves of 64 lanes, LDS, MFMA: a different kind of machine, with words of its own.
WW_HD constexpr bool is_cdna(Arch arch) { return arch == Arch::gfx942 || arch == Arch::gfx950; }

}  // namespace warpwright
