// What a kernel may do between its words: compute for ever, or touch memory that is not there. Both end the thread that
// does it, and the run, with a finding.
#pragma once
#include <boost/context/fiber.hpp>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "warpwright/machine/machine.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::simulator {

// Why a thread was taken out of its code.
struct GivenUp {
  int signal = 0;  // 0: it was not; Guard::kHang, Guard::kAsleep, Guard::kExit
  const void* address = nullptr;
  const void* instruction = nullptr;
  bool stack = false;  // the fault is where the stack ends
};

// An engine whose code is guarded. All of these are called from a signal handler.
class Guarded {
 public:
  virtual uint64_t beat() const = 0;      // changes with every word, and when another thread of the kernel runs
  virtual bool is_inside() const = 0;     // a thread's code runs, or a word of it
  virtual void give_up(GivenUp why) = 0;  // does not return

 protected:
  ~Guarded() = default;
};

// For one run, on the thread that makes it. `hang_seconds` are of processor time, so that a busy machine does not look
// like a hang. A thread that sleeps uses none: that is noticed by the clock on the wall, and only after three looks
// have found it so, since a program may be stopped for a while.
class Guard {
 public:
  static constexpr int kHang = -1, kExit = -2 /* it called exit() */, kAsleep = -3;

  Guard(Guarded& engine, double hang_seconds);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  static void install();                     // the handlers, once, and a stack for them in this thread
  static void take_out(const GivenUp& why);  // returns if nothing is guarded

 private:
  // What was found when a timer last rang, and how often it was the same.
  struct Watch {
    timer_t timer = {};
    bool set = false;
    uint64_t beat = ~uint64_t(0);  // Guarded::beat() at that time
    double computed = 0;           // seconds of this thread
    int same = 0;
  };
  static void caught(int signal, siginfo_t* info, void* context);
  void rung(Watch& watch, bool asleep, const GivenUp& why);

  Guarded& engine_;
  Guard* outer_;
  Watch computing_, waiting_;
};

// What exit() means in a kernel with an object of its own: it does not end the program as if all had gone well.
[[noreturn]] void left_by(int status);
// Fills in the rule, sentence, object and place of the report: `who` did it, and its last word was at `last`.
void describe(Finding& f, const GivenUp& why, const std::string& who, machine::here last, double hang_seconds,
              const std::vector<Buffer>& buffers);
// The name of such a reason.
std::string reason_of(const GivenUp& why);
// The place where the code of a thread that was given up stays: what a signal has interrupted must not be unwound.
void abandon(boost::context::fiber&& code, const void* stack);

// Calls host code that a user wrote; a fault in it ends the call, not the program, and so does using more than
// kHostSeconds of processor time outside what is guarded there: simulating what takes a host so long would take hours.
// What the call held is not given back.
inline constexpr int kHostSeconds = 30;
GivenUp call_guarded(const std::function<void()>& code);

}  // namespace warpwright::simulator
