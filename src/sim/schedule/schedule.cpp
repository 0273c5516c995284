// Who runs next: warps that have a ready lane wait in a queue, and the mode of the run says which of them comes first.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/engine.h"

namespace warpwright::simulator {

namespace {
Thread* first_ready(const Warp& w) {
  for (Thread* t : w.lanes)
    if (t && t->ready && !t->done) return t;
  return nullptr;
}
}  // namespace

bool Engine::by_lanes() const { return options_.scheduling == Scheduling::lanes && !timed(); }

void Engine::enqueue(Warp& w) {
  uint64_t first = ~0ull;
  for (Thread* t : w.lanes)
    if (t && t->ready && !t->done) first = std::min(first, t->time);
  if (first == ~0ull) return;
  if (timed()) w.priority = first;
  if (by_lanes()) w.priority = w.collective.arrived != 0 ? 0 : uint64_t(first_ready(w)->lane());
  if (!w.queued) {
    w.queued = true;
    queue_.push_back(&w);
  }
}

void Engine::wake(Thread& t, uint64_t time) {
  t.time = std::max(t.time, time);
  if (t.ready || t.done) return;
  t.ready = true;
  Warp& w = *t.warp;
  if (w.queued) {
    if (timed()) w.priority = std::min(w.priority, t.time);
    if (by_lanes()) w.priority = std::min(w.priority, uint64_t(t.lane()));
  } else if (timed() || by_lanes()) {
    enqueue(w);
  } else {
    w.queued = true;
    queue_.push_back(&w);
  }
}

void Engine::wake_all(std::vector<Thread*>& list, uint64_t time) {
  for (Thread* t : list) wake(*t, time);
  list.clear();
}

void Engine::maybe_yield(Thread& t) {
  bool others_first = false;
  switch (options_.scheduling) {
    case Scheduling::random:
      others_first = (random() & 7) == 0;
      break;
    case Scheduling::pct:
      others_first = true;
      break;
    default:
      break;
  }
  if (timed()) {
    others_first = !events_.empty() && events_.front().due < t.time;
    for (size_t i = 0; i < queue_.size() && !others_first; ++i) others_first = queue_[i]->priority < t.time;
  }
  if (!others_first) return;
  enqueue(*t.warp);
  leave(t);
  if (dying) throw Abort{};
}

void Engine::let_earlier_run(Thread& t) {
  if (!timed()) return;
  const auto is_earlier = [&] {
    const auto lane = [&](const Thread* o) { return o && o->ready && !o->done && o->time < t.time; };
    const auto warp = [&](const Warp* w) { return w->priority < t.time; };
    return (!events_.empty() && events_.front().due < t.time) ||
           std::any_of(std::begin(t.warp->lanes), std::end(t.warp->lanes), lane) ||
           std::any_of(queue_.begin(), queue_.end(), warp);
  };
  while (is_earlier()) {
    enqueue(*t.warp);
    leave(t);
    if (dying) throw Abort{};
  }
}

Warp* Engine::pick() {
  if (queue_.empty()) return nullptr;
  size_t best = 0;
  if (timed()) {
    for (size_t i = 1; i < queue_.size(); ++i)
      if (queue_[i]->priority < queue_[best]->priority) best = i;
  } else {
    switch (options_.scheduling) {
      case Scheduling::fifo:
        break;
      case Scheduling::random:
        best = random() % queue_.size();
        break;
      case Scheduling::freeze: {
        while (best < queue_.size() && options_.frozen_role == queue_[best]->role_name()) ++best;
        if (best == queue_.size()) {
          if (!events_.empty()) return nullptr;
          best = 0;
        }
        break;
      }
      case Scheduling::pct: {
        for (size_t i = 1; i < queue_.size(); ++i)
          if (queue_[i]->priority > queue_[best]->priority) best = i;
        for (uint64_t& change : pct_changes_)
          if (change == steps_) queue_[best]->priority = --pct_low_;
        break;
      }
      case Scheduling::lanes: {
        for (size_t i = 1; i < queue_.size(); ++i)
          if (queue_[i]->priority < queue_[best]->priority) best = i;
        if (queue_[best]->priority > 0 && !events_.empty()) return nullptr;
        break;
      }
    }
  }
  Warp* w = queue_[best];
  queue_.erase(queue_.begin() + int64_t(best));
  w->queued = false;
  if (timed()) now_ = std::max(now_, w->priority);
  return w;
}

void Engine::run_warp(Warp& w) {
  ++w.runs;
  if (by_lanes()) {
    Thread* const t = first_ready(w);
    if (!t) return;
    enter(*t);
    if (t->done) thread_finished(*t);
    if (int(findings_.size()) < options_.max_findings) enqueue(w);
    return;
  }
  const uint32_t rotate = options_.scheduling == Scheduling::random ? uint32_t(random() % 32) : 0;
  for (uint32_t i = 0; i < 32; ++i) {
    Thread* t = w.lanes[(i + rotate) % 32];
    if (!t || !t->ready || t->done) continue;
    enter(*t);
    if (t->done) thread_finished(*t);
    if (int(findings_.size()) >= options_.max_findings) return;
  }
  bool again = false;
  for (const Thread* t : w.lanes) again |= t && t->ready && !t->done;
  if (again) enqueue(w);
}

}  // namespace warpwright::simulator
