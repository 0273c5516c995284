// The words of a schedule: which unit an op occupies, what it is for, which K tile it moves, and the tag that names it.
// The integer values are part of the contract with schedules stored outside the program.
#pragma once
#include "warpwright/schedule/list.h"

namespace warpwright::schedule {

enum class ResourceKind : uint8_t { global_mem = 0, lds = 1, mma_unit = 2, scalar = 3, valu = 4, none = 255 };
inline constexpr int kResourceKinds = 5;

// sync: a barrier or a wait. fence: a hint that orders the compiler or the arbiter, never memory.
enum class OpRole : uint8_t {
  global_load = 0,
  shared_store = 1,
  fragment_load = 2,
  compute = 3,
  sync = 4,
  fence = 5,
  valu_compute = 6,
  none = 255
};

enum class Phase : uint8_t { prologue = 0, kernel = 1, epilogue = 2 };
enum class DepKind : uint8_t { flow = 0, anti = 1, output = 2 };

// Displacement of a load along K, in tiles, from the K position of the loop.
enum class KOffset : uint8_t { k0 = 0, k1 = 1, k_next = 2, k_prev = 3, none = 255 };

// An op without a displacement has none to give: asking is a mistake that the second form of the question shows.
constexpr bool has_k_offset(KOffset k) { return k != KOffset::none; }
constexpr int k_tiles(KOffset k) { return k == KOffset::k_prev ? -1 : k == KOffset::none ? 0 : int(k); }

constexpr const char* word(ResourceKind r) {
  constexpr const char* words[kResourceKinds] = {"global_mem", "lds", "mma_unit", "scalar", "valu"};
  return r == ResourceKind::none ? "none" : words[int(r)];
}
constexpr const char* word(Phase p) {
  constexpr const char* words[3] = {"prologue", "kernel", "epilogue"};
  return words[int(p)];
}
constexpr const char* word(DepKind k) {
  constexpr const char* words[3] = {"FLOW", "ANTI", "OUTPUT"};
  return words[int(k)];
}
constexpr const char* word(KOffset k) {
  constexpr const char* words[4] = {"K0", "K1", "K2", "K-1"};
  return k == KOffset::none ? "" : words[int(k)];
}

// A short name that may be a template argument, so that a refused schedule shows it in the compiler's message. Too long
// a text is cut: a name identifies, it does not decide.
template <int N>
struct FixedText {
  char text[N] = {};

  constexpr FixedText() = default;
  constexpr FixedText(const char* s) { add(s); }

  constexpr int size() const {
    int n = 0;
    while (n < N - 1 && text[n] != '\0') ++n;
    return n;
  }
  constexpr bool empty() const { return text[0] == '\0'; }
  constexpr const char* c_str() const { return text; }
  constexpr FixedText& add(const char* s) {
    int n = size();
    while (*s != '\0' && n < N - 1) text[n++] = *s++;
    text[n] = '\0';  // written and not only left: clang prints an array as text if its terminator was initialised
    return *this;
  }
  constexpr FixedText& add(char c) {
    const char s[2] = {c, '\0'};
    return add(s);
  }
  constexpr FixedText& add(int v) {
    char digits[12] = {};
    int n = 11;
    unsigned u = v < 0 ? 0u - unsigned(v) : unsigned(v);
    do {
      digits[--n] = char('0' + u % 10);
      u /= 10;
    } while (u != 0);
    if (v < 0) digits[--n] = '-';
    return add(digits + n);
  }
  constexpr bool operator==(const FixedText&) const = default;
};
using Name = FixedText<20>;

// 0..127 belong to the kernel, 128..254 to the framework, 255 is "no op". data_tag (op.h) is the checked way in.
struct Tag {
  uint8_t value = 255;
  constexpr bool is_data() const { return value < 128; }
  constexpr bool is_none() const { return value == 255; }
  constexpr bool operator==(const Tag&) const = default;
};
inline constexpr int kDataTags = 128;

namespace tags {
inline constexpr Tag barrier{128};
inline constexpr Tag wait_vm{129};
inline constexpr Tag wait_lgkm{130};
inline constexpr Tag set_prio{131};
inline constexpr Tag schedule_barrier{132};
inline constexpr Tag sched_group_barrier{133};
// NVIDIA: groups of cp.async, groups of wgmma, phases of an mbarrier of a slot.
inline constexpr Tag commit_copy{134};
inline constexpr Tag wait_copy{135};
inline constexpr Tag wgmma_fence{136};
inline constexpr Tag commit_wgmma{137};
inline constexpr Tag wait_wgmma{138};
inline constexpr Tag phase_wait{139};
inline constexpr Tag phase_arrive{140};
inline constexpr Tag none{255};
}  // namespace tags

}  // namespace warpwright::schedule
