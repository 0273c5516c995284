// Diagnostics and schedules as text, for programs that run on the host; everything else here also compiles in NVRTC.
#pragma once
#include <string>
#include <vector>

#include "warpwright/schedule/entry.h"

namespace warpwright::schedule {

// "HAZARD_WAR: LB00 (role 0) and FB01 (role 1), kernel, iteration 2: have 6, need 0: a write is not ordered ..."
inline std::string to_text(const Diagnostic& d) {
  if (d.ok()) return "ok";
  std::string s = word(d.code);
  s += ':';
  const auto op = [&s](const Name& name, int role) {
    s += ' ';
    s += name.c_str();
    if (role >= 0) s.append(" (role ").append(std::to_string(role)).append(")");
  };
  if (!d.a.empty()) op(d.a, d.role_a);
  if (!d.b.empty()) s += " and", op(d.b, d.role_b);
  if (d.same_wave) s += " of one wave";
  if (d.iteration >= 0) {
    s.append(", ").append(word(d.phase)).append(", iteration ").append(std::to_string(d.iteration));
  }
  if (d.have >= 0 || d.need >= 0) {
    s.append(": have ").append(std::to_string(d.have));
    if (d.need >= 0) s.append(", need ").append(std::to_string(d.need));
  }
  if (s.back() != ':') s += ':';
  return s + ' ' + rule(d.code);
}

// "FB00 FA00 LA11@K-1 LG8 BAR ..."; a prefetch ends with a star.
inline std::string to_text(const EntryList& list, const TargetCostModel& model) {
  std::string s;
  for (const ScheduleEntry& e : list) {
    if (!s.empty()) s += ' ';
    s += model.name(e.op).c_str();
    if (e.is_prefetch) s += '*';
  }
  return s;
}

// What changes from one schedule to another, for the review of a golden: one line for each entry that only one of them
// has, "- kernel 3 BAR" or "+ epilogue 0 LG0", in the order of both; empty if they do the same.
inline std::string diff(const Schedule& from, const Schedule& to, const TargetCostModel& model) {
  std::string out;
  const EntryList* const before[3] = {&from.prologue, &from.kernel, &from.epilogue};
  const EntryList* const after[3] = {&to.prologue, &to.kernel, &to.epilogue};
  for (int phase = 0; phase < 3; ++phase) {
    const EntryList &a = *before[phase], &b = *after[phase];
    const auto same = [&](size_t i, size_t j) { return a[i].op.same_work(b[j].op) && a[i].shift == b[j].shift; };
    // Entries that the ends of both lists have in common.
    std::vector<std::vector<int>> common(a.size() + 1, std::vector<int>(b.size() + 1, 0));
    for (size_t i = a.size(); i-- > 0;) {
      for (size_t j = b.size(); j-- > 0;) {
        common[i][j] = same(i, j)                            ? common[i + 1][j + 1] + 1
                       : common[i + 1][j] > common[i][j + 1] ? common[i + 1][j]
                                                             : common[i][j + 1];
      }
    }
    const auto line = [&](char sign, size_t at, const ScheduleEntry& e) {
      out.append(1, sign).append(" ").append(word(Phase(phase))).append(" ").append(std::to_string(at)).append(" ");
      out.append(model.name(e.op).c_str()).append("\n");
    };
    for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
      if (i < a.size() && j < b.size() && same(i, j)) {
        ++i, ++j;
      } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
        line('-', i, a[i]), ++i;
      } else {
        line('+', j, b[j]), ++j;
      }
    }
  }
  return out;
}

}  // namespace warpwright::schedule
