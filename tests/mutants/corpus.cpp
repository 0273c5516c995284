#include "corpus.h"

namespace warpwright::mutants {

using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;

Explored explore(const Run& run, const std::vector<std::string>& roles, int seeds, bool stop_at_first) {
  Explored e;
  auto go = [&](const Options& o) {
    ++e.runs;
    simulator::Result r = run(o);
    if (!r.findings.empty()) e.findings.push_back(r.findings.front());
    return stop_at_first && !e.findings.empty();
  };
  for (Landing l : {Landing::eager, Landing::late, Landing::timed}) {
    Options o;
    o.landing = l;
    if (go(o)) return e;
  }
  for (const std::string& role : roles)
    for (Landing l : {Landing::eager, Landing::late}) {
      Options o;
      o.landing = l;
      o.scheduling = Scheduling::freeze;
      o.frozen_role = role;
      if (go(o)) return e;
    }
  for (int s = 1; s <= seeds; ++s)
    for (Scheduling how : {Scheduling::fifo, Scheduling::random, Scheduling::pct}) {
      Options o;
      o.landing = Landing::seeded;
      o.scheduling = how;
      o.seed = uint64_t(s);
      if (go(o)) return e;
    }
  return e;
}

bool matches(const std::string& rule, const std::vector<std::string>& expected) {
  for (const std::string& want : expected)
    if (want == rule || (!want.empty() && want.back() == '*' && rule.rfind(want.substr(0, want.size() - 1), 0) == 0))
      return true;
  return false;
}

CaseResult judge(const Mutant& m, int seeds) {
  CaseResult r;
  r.mutant = &m;
  const Explored good = explore(m.correct, m.roles, seeds, true);
  r.false_alarm = !good.findings.empty();
  const Explored bad = explore(m.mutated, m.roles, seeds, true);
  r.runs = good.runs + bad.runs;
  r.caught = !bad.findings.empty();
  if (r.false_alarm) r.report = good.findings.front().text();
  if (r.caught) {
    r.diagnosis = bad.findings.front().rule;
    r.diagnosed = matches(r.diagnosis, m.expected);
    if (!r.false_alarm) r.report = bad.findings.front().text();
  }
  return r;
}

const std::vector<Mutant>& corpus() {
  static const std::vector<Mutant> list = [] {
    std::vector<Mutant> all;
    add_barrier_mutants(all);
    add_role_mutants(all);
    add_phase_mutants(all);
    add_proxy_mutants(all);
    add_tensor_mutants(all);
    add_lifecycle_mutants(all);
    return all;
  }();
  return list;
}

}  // namespace warpwright::mutants
