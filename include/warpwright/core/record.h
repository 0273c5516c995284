// What a kernel that was compiled with WW_RECORD writes down: one list of events for each warp. The kernel and the host
// that reads the lists share this file.
#pragma once
#include "warpwright/core/record_kind.h"

namespace warpwright::record {

// Clocks are the low half of the SM's cycle counter.
struct alignas(16) Event {
  uint32_t what = 0;  // kind, detail, object
  uint32_t at = 0;    // source line
  uint32_t begin = 0, end = 0;

  static constexpr int kObjectBits = 18, kDetailBits = 8;
  WW_HD static constexpr uint32_t pack(Kind kind, uint32_t detail, uint32_t object) {
    return uint32_t(kind) << (kObjectBits + kDetailBits) | (detail & ((1u << kDetailBits) - 1)) << kObjectBits |
           (object & ((1u << kObjectBits) - 1));
  }
  constexpr Kind kind() const { return Kind(what >> (kObjectBits + kDetailBits)); }
  constexpr uint32_t detail() const { return what >> kObjectBits & ((1u << kDetailBits) - 1); }
  constexpr uint32_t object() const { return what & ((1u << kObjectBits) - 1); }
};
static_assert(sizeof(Event) == 16, "an event is one store");

// A line of a source file, which is known by the address of its name in the device's memory: the low bits of it here,
// an address nearby in Warp.
inline constexpr int kFileBits = 18;
WW_HD constexpr uint32_t place(uint32_t file_address, uint32_t line) {
  return line << kFileBits | (file_address & ((1u << kFileBits) - 1));
}
constexpr uint32_t line_of(uint32_t place) { return place >> kFileBits; }
constexpr uint64_t file_of(uint32_t place, uint64_t nearby) {
  constexpr int64_t window = int64_t(1) << kFileBits;
  int64_t offset = int64_t(place & uint32_t(window - 1)) - int64_t(nearby & uint64_t(window - 1));
  if (offset > window / 2) offset -= window;
  if (offset < -window / 2) offset += window;
  return nearby + uint64_t(offset);
}

// Lanes of a warp that have parted write at the same time, so each of the first has a list of its own. Lane 0 does most
// of it; further lanes tell the CTAs of a cluster something, one each.
inline constexpr int kLists = 8;

// Written by each warp, at its first instruction and at its last.
struct alignas(16) Warp {
  uint64_t begin_clock = 0, end_clock = 0;
  uint64_t begin_ns = 0;                 // what the timer that all SMs share showed when it began
  uint64_t tick_ns = 0, tick_clock = 0;  // a step of that timer, and the cycle in which it was seen
  uint32_t events[kLists] = {};          // how many it wanted to write into each of its lists
  uint32_t sm = 0;
  uint32_t shared_base = 0;  // what addresses of events count from
  uint32_t written = 0;      // 1 when the warp has ended
  uint64_t file = 0;         // the address of a file's name
};

// Where a launch writes. Warp w of CTA c has number c * (warps of a CTA) + w; its lists follow each other.
struct Buffers {
  Warp* warps = nullptr;
  Event* events = nullptr;
  uint32_t capacity = 0;  // the size of the first list, a multiple of 8; events that do not fit are counted

  WW_HD constexpr uint32_t room(uint32_t list) const { return list == 0 ? capacity : capacity / kLists; }
  WW_HD constexpr size_t first(size_t warp, uint32_t list) const {
    return warp * per_warp() + (list == 0 ? 0 : capacity + (list - 1) * (capacity / kLists));
  }
  WW_HD constexpr size_t per_warp() const { return capacity + (kLists - 1) * (capacity / kLists); }
  WW_HD constexpr Event* list(size_t warp, uint32_t number) const { return events + first(warp, number); }
};

}  // namespace warpwright::record
