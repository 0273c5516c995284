#include "guard.h"

#include <fmt/format.h>
#include <ucontext.h>
#include <unistd.h>

#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "sim/buffers/buffers.h"
#include "sim/call/call.h"
#include "sim/engine.h"

#if defined(WW_ASAN_FIBERS)
#include <sanitizer/asan_interface.h>
#endif

namespace warpwright::simulator {
namespace {

constexpr size_t kSignalStack = 64 * 1024;
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
constexpr int kAsleepFor = 3;            // times as long as a thread that computes
constexpr double kIdle = 0.001;          // seconds of computing between two looks up to which a thread counts as asleep
constexpr uintptr_t kFrame = 64 * 1024;  // how far from the stack pointer a fault still counts as a stack fault
thread_local Guard* active = nullptr;
struct sigaction before[64];

// The latest call_guarded() of this thread.
struct Way {
  sigjmp_buf back;
  GivenUp why;
  int seconds = 0;  // in the user's code
};
thread_local Way* way_out = nullptr;

// A signal that is sent within this process only, and that nobody else has a reason to use.
int ring() { return SIGRTMAX - 2; }
// Which timer rings.
constexpr int kComputing = 1, kWaiting = 2, kHost = 3;

// Rings again and again in the calling thread. False: there are no timers.
bool set_timer(timer_t& timer, clockid_t clock, int number, double seconds) {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = ring();
  event.sigev_value.sival_int = number;
  event._sigev_un._tid = gettid();
  if (timer_create(clock, &event, &timer) != 0) return false;
  const auto whole = time_t(seconds);
  const timespec period = {whole, long((seconds - double(whole)) * 1e9)};
  const itimerspec every = {period, period};
  timer_settime(timer, 0, &every, nullptr);
  return true;
}

// A handler cannot run on a stack that has overflowed. Threads without one get a second stack for as long as they live.
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

// Before the handler of a timer is left for good: the next one may ring.
void forget_ring() {
  forget_signal_stack();
  sigset_t rings;
  sigemptyset(&rings);
  sigaddset(&rings, ring());
  pthread_sigmask(SIG_UNBLOCK, &rings, nullptr);
}

double seconds_of_thread() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
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

const void* stack_pointer_of(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(machine.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(machine.sp);
#else
  return (static_cast<void>(machine), nullptr);
#endif
}
bool near(const void* a, const void* b) {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return (x > y ? x - y : y - x) < kFrame;
}

// What was thrown, if a program ends because nobody catches it.
thread_local std::string uncaught;
std::terminate_handler terminate_before = nullptr;
[[noreturn]] void terminating() {
  if (const auto thrown = std::current_exception(); active != nullptr || way_out != nullptr) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const std::exception& x) {
      uncaught = x.what();
    } catch (...) {
      uncaught = "something that is not a std::exception";
    }
  } else if (terminate_before != nullptr) {
    terminate_before();
  }
  std::abort();
}
}  // namespace

void Guard::take_out(const GivenUp& why) {
  Guard* const guard = active;
  if (guard != nullptr && guard->engine_.is_inside()) guard->engine_.give_up(why);
  if (guard == nullptr && way_out != nullptr) {
    way_out->why = why;
    siglongjmp(way_out->back, 1);
  }
}

void Guard::install() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = caught;
    action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART);
    for (const int signal : kFaults) sigaction(signal, &action, &before[signal]);
    // Timers that ring together take turns: the second would find the handler of the first interrupted, not the kernel.
    action.sa_flags &= ~static_cast<int>(SA_NODEFER);
    sigaction(ring(), &action, nullptr);
    terminate_before = std::set_terminate(terminating);
  });
  uncaught.clear();
  have_signal_stack();
}

Guard::Guard(Guarded& engine, double hang_seconds) : engine_(engine), outer_(active) {
  if (hang_seconds <= 0) return;
  install();
  active = this;
  computing_.set = set_timer(computing_.timer, CLOCK_THREAD_CPUTIME_ID, kComputing, hang_seconds);
  waiting_.set = set_timer(waiting_.timer, CLOCK_MONOTONIC, kWaiting, kAsleepFor * hang_seconds);
}

Guard::~Guard() {
  for (const Watch* watch : {&computing_, &waiting_})
    if (watch->set) timer_delete(watch->timer);
  active = outer_;
}

void Guard::rung(Watch& watch, bool asleep, const GivenUp& why) {
  const uint64_t beat = engine_.beat();
  const double computed = seconds_of_thread();
  const bool idle = computed - watch.computed < kIdle;
  watch.same = beat == watch.beat && (!asleep || idle) && engine_.is_inside() ? watch.same + 1 : 0;
  watch.beat = beat;
  watch.computed = computed;
  if (watch.same < (asleep ? 2 : 1)) return;
  forget_ring();
  engine_.give_up(why);
}

void Guard::caught(int signal, siginfo_t* info, void* context) {
  Guard* const guard = active;
  if (signal == ring()) {
    const int who = info->si_value.sival_int;
    if (who == kHost) {
      if (guard != nullptr || way_out == nullptr || ++way_out->seconds < kHostSeconds) return;
      forget_ring();
      take_out({kHang, nullptr, instruction_of(context)});
    }
    if (guard == nullptr) return;
    if (who == kComputing) guard->rung(guard->computing_, false, {kHang, nullptr, instruction_of(context)});
    if (who == kWaiting) guard->rung(guard->waiting_, true, {kAsleep, nullptr, call_from_outside()});
    return;
  }
  forget_signal_stack();
  const bool fault = signal == SIGSEGV || signal == SIGBUS;
  take_out({signal, info->si_addr, signal == SIGABRT ? call_from_outside() : instruction_of(context),
            fault && near(info->si_addr, stack_pointer_of(context))});
  sigaction(signal, &before[signal], nullptr);  // it happens again, and ends the program as it would have
}

void describe(Finding& f, const GivenUp& why, const std::string& who, machine::here last, double hang_seconds,
              const std::vector<Buffer>& buffers) {
  const auto [signal, address, instruction, stack] = why;
  const bool fault = (signal == SIGSEGV || signal == SIGBUS) && !stack;
  const bool asleep = signal == Guard::kAsleep, hang = signal == Guard::kHang || asleep;
  const Buffer* const near = fault ? buffer_near(buffers, address) : nullptr;
  f.rule = hang ? "hang" : fault ? "bounds.bare" : "exception";
  if (asleep) {
    f.message =
        fmt::format("{} neither computes nor says a word for more than {:.3g} s: it sleeps, or waits for the host", who,
                    2 * kAsleepFor * hang_seconds);
  } else if (hang) {
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
    f.message = fmt::format("{} {}", who, reason_of(why));
  }
  if (last.line != 0) f.message += fmt::format("; its last word was at {}", where(last));
  f.file = last.file;
  f.line = last.line;
  f.instruction = instruction;
  if (near) f.object = near->name;
}

std::string reason_of(const GivenUp& why) {
  if (why.signal == Guard::kExit) return "called exit(), which ends the whole program";
  if (why.signal == Guard::kHang) {
    return fmt::format(
        "computes for more than {} s: a loop that never finishes, or a shape that is too large to be simulated",
        kHostSeconds);
  }
  if (why.stack)
    return "uses more stack than there is: a recursion without an end, or an array that is too large for the stack";
  if (why.signal == SIGILL || why.signal == SIGTRAP) {
    return "does what C++ leaves open: an overflow of a signed number, a division by zero, a shift that is too far, or "
           "an index past the end of an array";
  }
  const std::string by = fmt::format("was stopped by signal {} ({})", why.signal, strsignal(why.signal));
  if (why.signal == SIGABRT && !uncaught.empty()) return fmt::format("{}: nobody caught '{}'", by, uncaught);
  return by;
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
  timer_t timer = {};
  const bool timed = set_timer(timer, CLOCK_THREAD_CPUTIME_ID, kHost, 1);
  const auto leave = [&] {
    if (timed) timer_delete(timer);
    way_out = outer;
  };
  if (sigsetjmp(way.back, 1) == 0) {
    try {
      code();
    } catch (...) {
      leave();
      throw;
    }
  }
  leave();
  return way.why;
}

void left_by(int status) {
  Guard::take_out({Guard::kExit, nullptr, call_from_outside()});
  std::exit(status);
}

}  // namespace warpwright::simulator

// What an object that was linked with --wrap=exit and the like calls.
#define WW_LEAVES(name)                                                          \
  extern "C" [[noreturn, gnu::used, gnu::visibility("default")]] void name(int); \
  void name(int status) { warpwright::simulator::left_by(status); }
WW_LEAVES(__wrap_exit)        // NOLINT(bugprone-reserved-identifier): the linker makes the name
WW_LEAVES(__wrap__exit)       // NOLINT(bugprone-reserved-identifier)
WW_LEAVES(__wrap__Exit)       // NOLINT(bugprone-reserved-identifier)
WW_LEAVES(__wrap_quick_exit)  // NOLINT(bugprone-reserved-identifier)
#undef WW_LEAVES
