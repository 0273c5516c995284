// Diagnostics and schedules as text, for programs that run on the host; everything else here also compiles in NVRTC.
#pragma once
#include <string>

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

}  // namespace warpwright::schedule
