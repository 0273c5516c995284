// Who may touch what: the happens-before test of an access against the shadow.
#pragma once
#include "engine.h"

namespace warpwright::simulator {

// An access about to happen: by a thread itself, or by an asynchronous operation that it issues.
struct Toucher {
  Thread* thread;
  Proxy proxy;
  const char* word;
  here at;
  uint32_t id = 0;  // in the log
  // An MMA or copy of a pair: each SM reads its own shared memory, addressed in shared::cta by the descriptor.
  bool reads_own_sm = false;
};

// A thread's own access; reuses the log entry while nothing relevant changed.
Toucher own_access(Engine&, Thread&, const char* word, here at, bool atomic = false);
// A new asynchronous operation.
Toucher async_access(Engine&, Thread&, const char* word, here at, Proxy proxy = Proxy::async, Pipe pipe = Pipe::none);

void touch_shared(Engine&, Cta& owner, const Toucher&, uint32_t address, uint32_t bytes, bool write);
void touch_global(Engine&, const Toucher&, const void* p, uint64_t bytes, bool write);
// Whether columns of tensor memory are allocated.
void check_columns(Engine&, Cta& owner, const Toucher&, uint32_t column, uint32_t columns, bool write);
// Cells of tensor memory: 16 lanes x 1 column each.
void touch_tmem(Engine&, Cta& owner, const Toucher&, uint32_t lane, uint32_t lanes, uint32_t column, uint32_t columns,
                bool write);

bool ordered(const Access& prior, const Thread& t, const Access& mine, Proxy proxy, bool other_cta, bool global);
void complete(Engine&, uint32_t access, Stamp);  // the operation is done; whoever knows the stamp knows it

}  // namespace warpwright::simulator
