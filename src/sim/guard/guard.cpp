#include "guard.h"

#include <ucontext.h>
#include <unistd.h>

#include <csetjmp>
#include <memory>
#include <mutex>

#include "sim/engine.h"

namespace warpwright::simulator {
namespace {

constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
thread_local Guard* active = nullptr;
struct sigaction before[64];

// The latest call_guarded() of this thread.
struct Way {
  sigjmp_buf back;
  GivenUp why;
};
thread_local Way* way_out = nullptr;

// Rings in this process alone, and nobody else has a reason to use it.
int ring() { return SIGRTMAX - 2; }

// A handler cannot stand on the stack that has overflowed. Threads that have none get one, for as long as they live.
void have_signal_stack() {
  constexpr size_t bytes = 64 * 1024;
  static thread_local std::unique_ptr<char[]> memory;
  stack_t now = {};
  if (memory || sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
  memory = std::make_unique<char[]>(bytes);
  now = {};
  now.ss_sp = memory.get();
  now.ss_size = bytes;
  sigaltstack(&now, nullptr);
}

const void* instruction_of(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(machine.pc);
#else
  return (static_cast<void>(machine), nullptr);
#endif
}

}  // namespace

void Guard::install() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = caught;
    action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART);
    for (const int signal : kFaults) sigaction(signal, &action, &before[signal]);
    sigaction(ring(), &action, nullptr);
  });
  have_signal_stack();
}

Guard::Guard(Engine& engine, double hang_seconds) : engine_(engine), outer_(active) {
#if !defined(WW_ASAN_FIBERS)  // which reports what it sees itself
  if (hang_seconds <= 0) return;
  install();
  active = this;
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = ring();
  event._sigev_un._tid = gettid();
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) != 0) return;
  timed_ = true;
  const auto whole = time_t(hang_seconds);
  const timespec period = {whole, long((hang_seconds - double(whole)) * 1e9)};
  const itimerspec every = {period, period};
  timer_settime(timer_, 0, &every, nullptr);
#else
  (void)hang_seconds;
#endif
}

Guard::~Guard() {
  if (timed_) timer_delete(timer_);
  active = outer_;
}

void Guard::caught(int signal, siginfo_t* info, void* context) {
  Guard* const guard = active;
  if (signal == ring()) {
    if (guard == nullptr) return;
    const uint64_t beat = guard->engine_.beat();
    const bool same = beat == guard->beat_;
    guard->beat_ = beat;
    if (same && guard->engine_.is_inside()) guard->engine_.give_up({kHang, nullptr, instruction_of(context)});
    return;
  }
  const GivenUp why{signal, info->si_addr, instruction_of(context)};
  if (guard != nullptr && guard->engine_.is_inside()) guard->engine_.give_up(why);
  if (guard == nullptr && way_out != nullptr) {
    way_out->why = why;
    siglongjmp(way_out->back, 1);
  }
  sigaction(signal, &before[signal], nullptr);  // it happens again, and ends the program as it would have
}

GivenUp call_guarded(const std::function<void()>& code) {
#if !defined(WW_ASAN_FIBERS)
  Guard::install();
  Way way;
  Way* const outer = way_out;
  way_out = &way;
  if (sigsetjmp(way.back, 1) == 0) {
    try {
      code();
    } catch (...) {
      way_out = outer;
      throw;
    }
  }
  way_out = outer;
  return way.why;
#else
  code();
  return {};
#endif
}

}  // namespace warpwright::simulator
