// Lanes of a warp: words that they execute together, and whether they come to them together.
//
// After divergent code PTX promises nothing about which lanes execute an instruction together (CUDA C++ Programming
// Guide, independent thread scheduling), and a word that PTX calls .aligned wants all lanes of the warp there. In
// practice a compiler brings lanes together where branches join, and lanes that execute a wait with the same operands
// get the same answer and stay together; every kernel with wgmma or tcgen05 is built on that. What it may not rely on
// is that lanes which have waited for different things are together: those that did not have to wait may go on. So a
// lane keeps a trail of what it has waited for since the warp was together, and a word that is .aligned wants equal
// trails. bar.sync is .aligned as well, but each thread waits in it, and __syncthreads after the wait of one thread is
// what everybody writes: it brings lanes together.
#pragma once
#include <cstdint>

#include "sim/clock.h"
#include "warpwright/machine/machine.h"

namespace warpwright::simulator {

using machine::here;
class Engine;
struct Bar;
struct Thread;
struct Warp;

// How lanes come to a word that they execute together.
enum class Meeting : uint8_t {
  anywhere,  // bar.warp.sync: each waits for the others, wherever they call it, and then they are together
  here,      // elect.sync, shfl.sync, vote.sync, bar.sync: the same, and all from one place
  together,  // .sync.aligned: they have to be together when they come
  apart,     // barrier.sync: it counts all of them and brings nobody together
};

struct Collective {  // a warp-wide word in progress
  const char* word = nullptr;
  here at{"", 0};
  Meeting how = Meeting::anywhere;
  uint32_t arrived = 0, mask = 0;
  uint64_t generation = 0;
  uint32_t in[32] = {}, out[32] = {};  // out: copied when all have come, valid until all come again
  uint64_t time = 0;
  void (*finish)(void*) = nullptr;  // run by the last lane to come
  void* context = nullptr;
};

struct MmaLane {  // registers that a lane hands to an mma.sync
  void* d = nullptr;
  const uint32_t *a = nullptr, *b = nullptr;
};

struct LaneGroup {  // lanes that meet in bar.warp.sync under a mask that is not the whole warp's
  uint32_t arrived = 0;
  uint64_t generation = 0;
  uint64_t time = 0;
  SyncBuilder collecting;
  SyncClocks released;
};

// What a thread waited for. Not where: a poll that fails and a wait after it are as good as a poll that succeeds.
struct Waited {
  const char* word = nullptr;
  here at{"", 0};
  const void* object = nullptr;
  int64_t which = 0;         // completion of the object
  const Bar* bar = nullptr;  // the object, where it is one
};

// The waits of a thread since its warp was together. A wait that is repeated counts once.
class Trail {
 public:
  void add(const Waited& w) {
    if (count_ != 0 && last_.object == w.object && last_.which == w.which) return;
    if (count_++ == 0) first_ = w;
    last_ = w;
    hash_ = (hash_ ^ reinterpret_cast<uint64_t>(w.object) ^ uint64_t(w.which) << 48) * 0x9e37'79b9'7f4a'7c15u;
  }
  void clear() {
    count_ = 0;
    hash_ = 0;
  }
  bool empty() const { return count_ == 0; }
  bool operator==(const Trail& o) const { return count_ == o.count_ && hash_ == o.hash_; }
  // A wait that the other trail does not have, or not at that place; this one is not shorter.
  const Waited& beyond(const Trail& o) const {
    return o.count_ == 0 || first_.object != o.first_.object || first_.which != o.first_.which ? first_ : last_;
  }
  uint64_t count() const { return count_; }

 private:
  uint64_t count_ = 0, hash_ = 0;
  Waited first_, last_;
};

void waited(Thread& t, const Waited& what);
// The lanes of the warp's collective word have come.
void settle_trails(Engine& e, Warp& w);

}  // namespace warpwright::simulator
