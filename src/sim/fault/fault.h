// Faults at the border between a kernel and the machine: where a word asks whether a fault strikes it, and what a near
// miss aims at instead.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

#include "sim/engine.h"

namespace warpwright::simulator {

constexpr uint32_t able(std::initializer_list<Fault::Action> actions) {
  uint32_t bits = 0;
  for (const Fault::Action a : actions) bits |= 1u << uint32_t(a);
  return bits;
}
constexpr uint32_t able(bool really, Fault::Action action) { return really ? 1u << uint32_t(action) : 0; }

// The fault that strikes this call, or null. `name` gives the object's name; it is asked for only where that matters.
template <class Name>
const Fault* fault_at(Thread& t, const Engine::Call& call, Name&& name) {
  Engine& e = *t.cta->engine;
  if (!e.has_faults() || !e.looks_at(call)) return nullptr;
  return e.fault(t, call, name());
}
inline const Fault* fault_at(Thread& t, const Engine::Call& call) {
  return fault_at(t, call, [] { return std::string(); });
}
// For words that can only be left out.
inline bool is_dropped(Thread& t, const char* word, here at) {
  const Fault* f = fault_at(t, {word, at});
  return f && f->action == Fault::Action::drop;
}

// Words at a barrier, as they are or as a fault makes them; `can` is what may be altered in this call beyond what may
// be in all calls of its kind.
struct Arriving {
  Bar* at = nullptr;
  int64_t count = 1;
  Scope scope = Scope::cta;
  int times = 1;  // 0 dropped, 2 duplicated
};
struct Announcing {
  Bar* at = nullptr;
  int64_t bytes = 0;
  int times = 1, arrivals = 1;
};
struct Waiting {
  Bar* on = nullptr;
  uint32_t parity = 0;
  Scope scope = Scope::cta;
  bool dropped = false;
};
void misdirect(Thread& t, uint32_t can, here at, Arriving& a);
void misdirect(Thread& t, const char* word, uint32_t can, here at, Announcing& a);
void misdirect(Thread& t, here at, Waiting& w);

// The place where a copy or a commit reports its completion.
struct Aim {
  uint32_t bar = 0;
  uint16_t mask = 0;
  bool multicast = false;
};
// How often to do it: 0 leaves it out, 2 does it twice. A near miss changes the aim. `postponed` is for words that know
// what it means.
int misaimed(Thread& t, const char* word, uint32_t object, here at, Aim& aim, bool* postponed = nullptr);

}  // namespace warpwright::simulator
