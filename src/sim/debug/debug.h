// What a debugger asks of a run that it has stopped. Plain C, so that it can be called without debug information; the
// commands that do so are in tools/gdb. Nothing here is called by the simulator, except that a finding is announced.
#pragma once

namespace warpwright::simulator {

struct Finding;
struct Thread;
class Engine;

// The run of this thread, visible to a debugger for as long as it lives.
class Debugged {
 public:
  explicit Debugged(const Engine& engine);
  ~Debugged();
  Debugged(const Debugged&) = delete;
  Debugged& operator=(const Debugged&) = delete;

 private:
  const Engine* outer_;
};

// Records which thread runs where a debugger can read it without calling anything, because conditions of breakpoints
// ask at every turn. It costs a little, and serves one run at a time.
void follow_threads();
extern bool following_threads;
void follow(const Thread* running);  // null: none

// A breakpoint on warpwright_debug_finding stops here, on the stack of the thread that broke the rule.
void announce(const Finding& finding);

}  // namespace warpwright::simulator
