// The places of an object file at which words are called, and which of them a run has come to.
//
// Every `here` that the compiler makes of a line leaves a record in a section of the object, in each copy of the code
// that the optimizer makes, and sets its mark when the code is executed. So the list is of what was compiled into an
// instance, not of what its source could have become. There are none where the compiler does not optimize or the host
// is not an x86-64.
#pragma once
#include "warpwright/core/std.h"

namespace warpwright {

struct CallSite {
  uint32_t reached;
  uint32_t line;
  const char* file;
};
// The sites of one object, or of one translation unit where WW_SITES is its own.
struct CallSites {
  CallSite* first = nullptr;
  CallSite* last = nullptr;
  constexpr bool recorded() const { return first != last; }
};

}  // namespace warpwright

// Objects of several instances that are linked into one program have a section each.
#if !defined(WW_SITES)
#define WW_SITES ww_sites
#endif
#define WW_TEXT_OF_(x) #x
#define WW_TEXT_OF(x) WW_TEXT_OF_(x)
#define WW_JOIN_(a, b) a##b
#define WW_JOIN(a, b) WW_JOIN_(a, b)

#if defined(__x86_64__) && defined(__OPTIMIZE__)
// Both arguments are constants of the place; "?" puts the record into the group of its function, so that they leave the
// program together.
#define WW_CALL_SITE(file_, line_) \
  asm volatile("movl $1, 7f(%%rip)\n\t.pushsection " WW_TEXT_OF(WW_SITES) ",\"aw?\",@progbits" \
               "\n\t.balign 16\n7:\t.long 0, %c0\n\t.quad %c1\n\t.popsection"               \
               :                                                                             \
               : "i"(line_), "i"(file_)                                                      \
               : "memory")
#else
#define WW_CALL_SITE(file_, line_) static_cast<void>(0)
#endif

extern "C" {
// The linker's names for both ends of the section; null where it is empty.
extern __attribute__((weak, visibility("hidden"))) ::warpwright::CallSite WW_JOIN(__start_, WW_SITES)[];
extern __attribute__((weak, visibility("hidden"))) ::warpwright::CallSite WW_JOIN(__stop_, WW_SITES)[];
}
#define WW_CALL_SITES_HERE \
  ::warpwright::CallSites { WW_JOIN(__start_, WW_SITES), WW_JOIN(__stop_, WW_SITES) }
