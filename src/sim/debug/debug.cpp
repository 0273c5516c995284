#include "debug.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "sim/engine.h"
#include "sim/report.h"

namespace warpwright::simulator {
namespace {

thread_local const Engine* debugged = nullptr;
std::string answer;  // to the last question

const Thread* running() { return debugged != nullptr && debugged->is_inside() ? &Engine::self() : nullptr; }

std::string state_of(const Thread& t) {
  if (&t == running()) return "runs";
  if (t.done) return "has ended";
  if (t.ready) return "is ready";
  return "waits for " + waited_for(*debugged, t, t.waiting, t.wait_object);
}

std::string line_of(const Bar& b) {
  std::string waiters;
  for (const Thread* t : b.waiters) {
    const std::string role = t->warp->role_name();
    if (waiters.find(role) == std::string::npos) waiters += (waiters.empty() ? "" : ", ") + role;
  }
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", b.cta->id, b.name(), b.generation, b.count - b.pending, b.count,
                     b.tx, waiters);
}

}  // namespace

bool following_threads = false;
void follow_threads() { following_threads = true; }

Debugged::Debugged(const Engine& engine) : outer_(debugged) { debugged = &engine; }
Debugged::~Debugged() { debugged = outer_; }

}  // namespace warpwright::simulator

// Exported, and kept although no code calls them.
#define WW_DEBUGGER extern "C" __attribute__((used, visibility("default"), noinline))

using namespace warpwright::simulator;

WW_DEBUGGER void warpwright_debug_finding(const char* rule, const char* message) {
  asm volatile("" ::"r"(rule), "r"(message) : "memory");
}

// The thread that runs: CTA, warp and lane, -1 outside of the kernel; then the name of its role.
extern "C" {
__attribute__((used, visibility("default"))) int warpwright_debug_place[3] = {-1, -1, -1};
__attribute__((used, visibility("default"))) char warpwright_debug_role[32] = "";
}

// A line for each thread: CTA, warp, its place in the role, lane, role, what it does, where; tabs between.
WW_DEBUGGER const char* warpwright_debug_threads() {
  answer.clear();
  if (debugged == nullptr) return answer.c_str();
  for (const auto& cta : debugged->ctas) {
    for (const auto& t : cta->threads) {
      const Warp& w = *t->warp;
      answer += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", cta->id, w.index, w.role ? w.index - w.role->first_warp : 0,
                            t->lane(), w.role_name(), state_of(*t), where(t->where));
    }
  }
  return answer.c_str();
}

// A line for each mbarrier: CTA, name, completed phases, arrivals of this phase, its count, bytes that are announced
// and have not landed, roles that wait; tabs between.
WW_DEBUGGER const char* warpwright_debug_barriers() {
  answer.clear();
  if (debugged == nullptr) return answer.c_str();
  for (const auto& cta : debugged->ctas)
    for (const auto& [offset, bar] : cta->bars)
      if (bar->valid) answer += line_of(*bar);
  return answer.c_str();
}

// Where the registers of a thread that is not running lie; null: it is running, has ended, or does not exist.
WW_DEBUGGER const void* warpwright_debug_context(int cta, int warp, int lane) {
  if (debugged == nullptr || cta < 0 || size_t(cta) >= debugged->ctas.size()) return nullptr;
  const auto& threads = debugged->ctas[size_t(cta)]->threads;
  const size_t index = size_t(warp) * 32 + size_t(lane);
  if (index >= threads.size() || threads[index]->done || threads[index].get() == running()) return nullptr;
  static_assert(sizeof(boost::context::fiber) == sizeof(void*), "a fiber is the address of its saved registers");
  const void* context = nullptr;
  std::memcpy(&context, static_cast<const void*>(&threads[index]->self), sizeof context);
  return context;
}

namespace warpwright::simulator {

void follow(const Thread* t) {
  warpwright_debug_place[0] = t != nullptr ? int(t->cta->id) : -1;
  warpwright_debug_place[1] = t != nullptr ? t->warp->index : -1;
  warpwright_debug_place[2] = t != nullptr ? t->lane() : -1;
  std::strncpy(warpwright_debug_role, t != nullptr ? t->warp->role_name() : "", sizeof warpwright_debug_role - 1);
}

void announce(const Finding& finding) { warpwright_debug_finding(finding.rule.c_str(), finding.message.c_str()); }

}  // namespace warpwright::simulator
