// The certificate: the run's barriers would go through the same phases in every interleaving. It follows from three
// conditions on each mbarrier, which are checked by what was executed before what (View kControl), not by what happened
// to come first this time:
//  A  whoever arrives in phase p knows that phase p - 1 is complete: the arrival cannot fall into an older phase
//  B  every wait for the completion of phase p - 1 is known to an arrival of phase p: the wait cannot be overtaken
//  C  whoever waits for the completion of phase p knows that phase p - 1 is complete: the parity of an older phase
//     cannot let it through
// Then, by induction along the run, each wait is enabled by the same arrivals in every order, so no order deadlocks;
// and the order that the race checker uses is the same in all of them, so no order races. Named barriers have the same
// conditions in named.lap and named.over, and the cluster's barrier in cluster.lap: what breaks them is a finding. What
// could change the path itself (an answer of try_wait, a value in global memory, a cancelled launch) is listed
// separately: then the proof is for the path of this run.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine.h"

namespace warpwright::simulator {

namespace {
constexpr size_t kMostSaid = 16;
}  // namespace

BarrierProof& Engine::proof(const char* barrier) {
  const auto found = proofs_.find(barrier);
  if (found != proofs_.end()) return found->second;
  BarrierProof& p = proofs_[barrier];
  p.name = barrier;
  return p;
}

void Engine::gap(const Bar& of, std::string why) {
  std::vector<std::string>& gaps = proof(of.spec ? of.spec->name : "others").gaps;
  if (gaps.size() < kMostSaid && std::find(gaps.begin(), gaps.end(), why) == gaps.end()) gaps.push_back(std::move(why));
}

Certificate Engine::certificate() const {
  Certificate c{options_.certify, {}, {certificate_path.begin(), certificate_path.end()}};
  // In the order of the block plan, followed by those that it does not have.
  auto rest = proofs_;
  const auto add = [&](BarrierProof&& p) {
    c.gaps.insert(c.gaps.end(), p.gaps.begin(), p.gaps.end());
    c.barriers.push_back(std::move(p));
  };
  const BlockPlan& plan = *launch_.plan;
  for (int i = 0; i < plan.barrier_count; ++i)
    if (auto own = rest.extract(plan.barriers[i].name)) add(std::move(own.mapped()));
  for (auto& [name, proof] : rest) add(std::move(proof));
  std::sort(c.gaps.begin(), c.gaps.end());
  return c;
}

void Engine::path_may_change(std::string why) {
  if (options_.certify && certificate_path.size() < kMostSaid) certificate_path.insert(std::move(why));
}

// A new epoch: what the thread does next is not covered.
void Engine::release_control(Thread& t, SyncBuilder& to) {
  if (!options_.certify) return;
  View v = t.releases_early ? t.last_step.view[kControl] : t.view[kControl];
  v.own = t.releases_early ? t.last_step.epoch : t.epoch;
  ++t.epoch;
  to.add(kControl, v, t.channel, clocks);
}

Issue Engine::issue(Thread& t) {
  if (!options_.certify) return {};
  Issue i{t.view[kControl], t.channel};
  i.view.own = t.epoch++;
  return i;
}

// Lanes that execute a word together have all arrived before any of them goes on. Nearly always they already know the
// same, and none has waited since they last met: then there is nothing to exchange.
void Engine::meet(Warp& w, uint32_t lanes) {
  if (!options_.certify) return;
  const auto for_present = [&](auto&& f) {
    for (Thread* t : w.lanes)
      if (t && (lanes >> t->lane() & 1)) f(*t);
  };
  const Thread* first = nullptr;
  bool has_news = false;
  for_present([&](Thread& t) {
    if (!first) first = &t;
    has_news |= t.has_waited || t.view[kControl].base.id() != first->view[kControl].base.id();
  });
  if (!has_news) return;
  SyncBuilder all;
  for_present([&](Thread& t) { release_control(t, all); });
  const SyncClocks met = all.freeze();
  for_present([&](Thread& t) {
    ClockRef& known = t.view[kControl].base;
    // It holds all that the thread knew, unless a fault has moved its release ahead.
    known = t.releases_early ? clocks.join(known, met.view[kControl]) : met.view[kControl];
    t.has_waited = false;
  });
}

void Engine::certify_arrival(Bar& b, const Arrival& who, const Issue* issued) {
  ++proof(b.spec ? b.spec->name : "others").arrivals;
  const View* view = nullptr;
  Channel self = 0;
  if (issued) {
    view = &issued->view;
    self = issued->self;
    b.collecting.add(kControl, *view, self, clocks);
  } else if (who.by && !who.asynchronous) {
    view = &who.by->view[kControl];
    self = who.by->channel;
  } else {
    gap(b, fmt::format("{} completes on {}: its issue was not followed", who.what, b.name()));
    return;
  }
  if (b.generation > 0 && !view->knows(self, {b.channel, uint32_t(b.generation)}))
    gap(b,
        fmt::format("{} at {} arrives in phase {} of {}, and nothing tells it that phase {} is complete: it could fall "
                    "into that one",
                    who.what, where(who.at), b.generation, b.name(), b.generation - 1));
}

void Engine::certify_wait(Thread& t, Bar& b, here at) {
  const int64_t g = b.generation;
  ++proof(b.spec ? b.spec->name : "others").waits;
  if (g >= 2 && t.view[kControl].base.at(b.channel) + 1 < uint64_t(g))
    gap(b, fmt::format(
               "the wait of {} on {} at {} passes on phase {}, and could have passed on phase {}: nothing tells it "
               "that phase {} is complete",
               who(t), b.name(), where(at), g - 1, g - 3, g - 2));
  b.waits.push_back({{t.channel, t.epoch}, &t});
  t.has_waited = true;
}

void Engine::certify_completion(Bar& b) {
  ++proof(b.spec ? b.spec->name : "others").phases;
  for (const auto& [stamp, t] : b.waits)
    if (b.collecting.at(kControl, stamp.channel) < stamp.epoch)
      gap(b,
          fmt::format("phase {} of {} could complete before {} has seen that phase {} did: no arrival follows its wait",
                      b.generation, b.name(), who(*t), b.generation - 1));
  b.waits.clear();
}

}  // namespace warpwright::simulator
