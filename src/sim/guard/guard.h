// What a kernel does between its words: it may compute for ever, or touch memory that is not there. Both end the thread
// that does it, and the run, with a finding.
#pragma once
#include <csignal>
#include <cstdint>
#include <ctime>
#include <functional>

namespace warpwright::simulator {

class Engine;

// Why a thread was taken out of its code.
struct GivenUp {
  int signal = 0;  // 0: it was not; Guard::kHang: it computed for too long
  const void* address = nullptr;
  const void* instruction = nullptr;
};

// For one run on the thread that makes it. `hang_seconds` are of processor time, so that a busy machine does not look
// like a hang.
class Guard {
 public:
  static constexpr int kHang = -1;

  Guard(Engine& engine, double hang_seconds);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  static void install();  // the handlers, once, and a stack for them in this thread

 private:
  static void caught(int signal, siginfo_t* info, void* context);

  Engine& engine_;
  Guard* outer_;
  timer_t timer_ = {};
  bool timed_ = false;
  uint64_t beat_ = ~uint64_t(0);  // of the engine when the timer last rang
};

// Calls host code that a user wrote; a fault in it ends the call, not the program. What it held is not given back.
GivenUp call_guarded(const std::function<void()>& code);

}  // namespace warpwright::simulator
