#include "guard.h"

#include <fmt/format.h>
#include <ucontext.h>
#include <unistd.h>

#include <csetjmp>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "sim/buffers/buffers.h"
#include "sim/engine.h"

#if defined(WW_ASAN_FIBERS)
#include <sanitizer/asan_interface.h>
#endif

namespace warpwright::simulator {
namespace {

constexpr size_t kSignalStack = 64 * 1024;
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
  static thread_local std::unique_ptr<char[]> memory;
  stack_t now = {};
  if (memory || sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
  memory = std::make_unique<char[]>(kSignalStack);
  now = {};
  now.ss_sp = memory.get();
  now.ss_size = kSignalStack;
  sigaltstack(&now, nullptr);
}

// A handler that does not return leaves its frames there, which AddressSanitizer would take for those of the next one.
void forget_signal_stack() {
#if defined(WW_ASAN_FIBERS)
  stack_t now = {};
  if (sigaltstack(nullptr, &now) == 0 && now.ss_sp != nullptr) __asan_unpoison_memory_region(now.ss_sp, now.ss_size);
#endif
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

Guard::Guard(Guarded& engine, double hang_seconds) : engine_(engine), outer_(active) {
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
    if (!same || !guard->engine_.is_inside()) return;
    forget_signal_stack();
    guard->engine_.give_up({kHang, nullptr, instruction_of(context)});
    return;
  }
  forget_signal_stack();
  const GivenUp why{signal, info->si_addr, instruction_of(context)};
  if (guard != nullptr && guard->engine_.is_inside()) guard->engine_.give_up(why);
  if (guard == nullptr && way_out != nullptr) {
    way_out->why = why;
    siglongjmp(way_out->back, 1);
  }
  sigaction(signal, &before[signal], nullptr);  // it happens again, and ends the program as it would have
}

void describe(Finding& f, const GivenUp& why, const std::string& who, machine::here last, double hang_seconds,
              const std::vector<Buffer>& buffers) {
  const auto [signal, address, instruction] = why;
  const bool fault = signal == SIGSEGV || signal == SIGBUS, hang = signal == Guard::kHang;
  const Buffer* const near = fault ? buffer_near(buffers, address) : nullptr;
  f.rule = hang ? "hang" : fault ? "bounds.bare" : "exception";
  if (hang) {
    f.message =
        fmt::format("{} computes for more than {:.3g} s without a word: a loop that never finishes", who, hang_seconds);
  } else if (near != nullptr) {
    f.message = fmt::format(
        "{} touches memory without a word ({}): a kernel reaches it by the loads, stores and copies of machine/", who,
        name_of_global(buffers, address, 1));
  } else if (fault) {
    f.message =
        fmt::format("{} touches memory that no buffer of the launch holds, without a word (address {})", who, address);
  } else {
    f.message = fmt::format("{} is stopped by signal {} ({})", who, signal, strsignal(signal));
  }
  if (last.line != 0) f.message += fmt::format("; its last word was at {}", where(last));
  f.file = last.file;
  f.line = last.line;
  f.instruction = instruction;
  if (near) f.object = near->name;
}

void abandon(boost::context::fiber&& code, const void* stack) {
  static std::mutex mutex;
  // The fiber was left on the stack of the signal, so its own is remembered beside it.
  static auto* const all = new std::vector<std::pair<boost::context::fiber, const void*>>;
  const std::lock_guard lock(mutex);
  all->emplace_back(std::move(code), stack);
}

GivenUp call_guarded(const std::function<void()>& code) {
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
}

}  // namespace warpwright::simulator
