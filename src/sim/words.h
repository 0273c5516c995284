// Shared by the files that implement the machine's words.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine.h"
#include "race.h"

namespace warpwright::simulator {

// Names and places are nearly always the same literal.
inline bool same_text(const char* a, const char* b) { return a == b || std::strcmp(a, b) == 0; }
inline bool same_place(here a, here b) { return a.line == b.line && same_text(a.file, b.file); }

// Lanes of `mask` meet; the last to come runs finish().
template <class Finish>
void rendezvous(Engine& e, Thread& t, const char* word, uint32_t mask, Meeting how, here at, Finish&& finish) {
  Warp& w = *t.warp;
  Collective& c = w.collective;
  if (!(mask >> t.lane() & 1))
    e.fail("warp.mask", fmt::format("{}: lane {} is not in its own mask {:#010x}", word, t.lane(), mask), &t, at);
  if (c.arrived == 0) {
    c.word = word;
    c.at = at;
    c.how = how;
    c.mask = mask;
    c.time = 0;
  } else if (!same_text(c.word, word) || c.mask != mask ||
             ((how == Meeting::here || how == Meeting::together) && !same_place(c.at, at))) {
    e.fail("warp.diverged",
           fmt::format("lanes of one warp meet in different words: {} at {} and {} at {}", c.word, where(c.at), word,
                       where(at)),
           &t, at);
  }
  c.arrived |= 1u << t.lane();
  c.time = std::max(c.time, t.time);
  c.finish = [](void* f) { (*static_cast<stdx::remove_reference_t<Finish>*>(f))(); };
  c.context = &finish;
  if (c.arrived != (c.mask & w.live)) {
    const uint64_t g = c.generation;
    while (c.generation == g) e.block(t, Wait::warp, &c, at);
    return;
  }
  void finish_collective(Engine&, Warp&);
  finish_collective(e, w);
}
void finish_collective(Engine& e, Warp& w);

Bar& own_bar(Engine& e, Thread& t, uint32_t address, here at, const char* word);
// For operations that reach a barrier from outside its CTA's threads: checks that its initialisation is visible to
// them.
void check_remote_ready(Engine& e, Thread& t, const Bar& b, here at, const char* word);
void check_shared_alignment(Engine& e, Thread& t, uint32_t address, uint32_t alignment, here at, const char* word);

}  // namespace warpwright::simulator
