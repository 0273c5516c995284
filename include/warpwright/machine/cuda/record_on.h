// The timestamps of a translation unit that defines WW_RECORD.
#pragma once
#include "warpwright/core/record.h"
#include "warpwright/machine/cuda/here.h"
#include "warpwright/machine/cuda/identity.h"

namespace warpwright::inline WW_WORLD::machine::record {

using ::warpwright::record::Buffers;
using ::warpwright::record::Event;
using ::warpwright::record::Kind;
using ::warpwright::record::kLists;

namespace detail {
WW_FN uint32_t clock() {
  uint32_t now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
  return now;
}
WW_FN uint64_t timer_ns() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

// Where a thread writes next, and for how many events there is room, are registers of the kernel that these functions
// name: every word is inlined into it. In shared memory they would cost the warp hundreds of cycles for each event
// while the tensor cores read theirs.
WW_FN void set_cursor(Event* next, uint32_t room) {
  asm volatile(
      ".reg .b64 ww_record_next;\n"
      ".reg .b32 ww_record_room;\n"
      "mov.b64 ww_record_next, %0;\n"
      "mov.b32 ww_record_room, %1;" ::"l"(__cvta_generic_to_global(next)),
      "r"(room));
}
// What is left of it; less than none for every event that did not fit.
WW_FN int32_t room() {
  int32_t left;
  asm volatile("mov.b32 %0, ww_record_room;" : "=r"(left));
  return left;
}
WW_FN void put_if(bool writes, uint32_t what, here at, uint32_t begin, uint32_t end) {
  asm volatile(
      "{\n"
      ".reg .pred writes, fits;\n"
      "setp.ne.b32 writes, %4, 0;\n"
      "setp.gt.and.s32 fits, ww_record_room, 0, writes;\n"
      "@fits st.global.v4.b32 [ww_record_next], {%0, %1, %2, %3};\n"
      "@fits add.u64 ww_record_next, ww_record_next, 16;\n"
      "@writes add.s32 ww_record_room, ww_record_room, -1;\n"
      "}" ::"r"(what),
      "r"(at.id), "r"(begin), "r"(end), "r"(uint32_t(writes))
      : "memory");
}

WW_FN uint32_t active_lanes() {
  uint32_t mask;
  asm volatile("activemask.b32 %0;" : "=r"(mask));
  return mask;
}
WW_FN bool is_first_of(uint32_t lanes) { return lane_index() == uint32_t(__ffs(int(lanes))) - 1; }
}  // namespace detail

// From its construction to the end of its scope a warp waits.
class Wait {
 public:
  WW_FN Wait(Kind kind, uint32_t object, uint32_t number, here at)
      : what_(Event::pack(kind, number, object)),
        at_(at),
        writes_(detail::is_first_of(detail::active_lanes())),
        begin_(detail::clock()) {}
  WW_FN ~Wait() { detail::put_if(writes_, what_, at_, begin_, detail::clock()); }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

 private:
  uint32_t what_;
  here at_;
  bool writes_;
  uint32_t begin_;
};

// Something done at once by all active lanes, written by the first of them.
WW_FN void event(Kind kind, uint32_t object, uint32_t number, here at) {
  const uint32_t now = detail::clock();
  detail::put_if(detail::is_first_of(detail::active_lanes()), Event::pack(kind, number, object), at, now, now);
}
WW_FN void arrival(Kind kind, uint32_t object, uint32_t count, here at) {
  const uint32_t now = detail::clock(), lanes = detail::active_lanes();
  detail::put_if(detail::is_first_of(lanes), Event::pack(kind, count * uint32_t(__popc(lanes)), object), at, now, now);
}
// Each lane arrives at a CTA of its own.
WW_FN void remote_arrival(uint32_t address, here at) {
  const uint32_t now = detail::clock();
  detail::put_if(true, Event::pack(Kind::arrive_remote, address >> kSharedRankShift, address), at, now, now);
}
WW_FN void load(Kind kind, uint32_t to, uint32_t barrier, here at) {
  const uint32_t now = detail::clock();
  detail::put_if(true, Event::pack(kind, 0, to), at, now, barrier);
}

// By all threads, first and last in a kernel.
WW_FN void begin(const Buffers& buffers, const char* file = __builtin_FILE()) {
  const uint32_t warp = blockIdx.x * (blockDim.x / 32) + warp_index(), lane = lane_index();
  const bool writes = lane < uint32_t(kLists);
  detail::set_cursor(writes ? buffers.list(warp, lane) : nullptr, writes ? buffers.room(lane) : 0);
  if (lane == 0) {
    ::warpwright::record::Warp& w = buffers.warps[warp];
    asm volatile("mov.u32 %0, %%smid;" : "=r"(w.sm));
    w.shared_base = shared_base() & kSharedOffsetMask;
    w.file = reinterpret_cast<uint64_t>(file);
    w.begin_ns = detail::timer_ns();
    w.begin_clock = uint64_t(clock64());
  }
  __syncwarp();
}
WW_FN void end(const Buffers& buffers) {
  __syncwarp();
  const uint64_t last = uint64_t(clock64());
  const uint32_t warp = blockIdx.x * (blockDim.x / 32) + warp_index(), lane = lane_index();
  ::warpwright::record::Warp& w = buffers.warps[warp];
  if (lane < uint32_t(kLists)) w.events[lane] = uint32_t(int32_t(buffers.room(lane)) - detail::room());
  if (lane == 0) {
    w.end_clock = last;
    // The timer moves in steps of up to a microsecond: the moment of a step is exact.
    const uint64_t before = detail::timer_ns();
    uint64_t now = before, clock = last;
    while (now == before) {
      now = detail::timer_ns();
      clock = uint64_t(clock64());
    }
    w.tick_ns = now;
    w.tick_clock = clock;
    w.written = 1;
  }
}

}  // namespace warpwright::inline WW_WORLD::machine::record
