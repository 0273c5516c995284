// The bug corpus: real bugs of warp-specialized kernels as mutations of correct ones (M01..M71). Each case has a
// correct twin, which must stay silent in every exploration mode, and a mutant, which must be reported with the right
// diagnosis.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "warpwright/sim/simulator.h"

namespace warpwright::mutants {

using Run = std::function<simulator::Result(const simulator::Options&)>;

struct Mutant {
  const char* id;   // "M23", or "M66.double_free" where a case has several mutations
  const char* bug;  // one line: what went wrong in the field
  const char* mutation;
  std::vector<std::string> expected;  // rules of which one is the right diagnosis; a trailing '*' matches a prefix
  std::vector<std::string> roles;     // of the kernel, for Scheduling::freeze
  Run correct;
  Run mutated;
};

struct Explored {
  int runs = 0;
  std::vector<simulator::Finding> findings;  // the first of each mode that found one
};
// All modes: eager, late, timed, `seeds` seeded and random and pct runs, each role frozen. Stops at the first finding
// if asked.
Explored explore(const Run& run, const std::vector<std::string>& roles, int seeds, bool stop_at_first);

struct CaseResult {
  const Mutant* mutant = nullptr;
  bool caught = false;
  bool diagnosed = false;    // by an expected rule
  bool false_alarm = false;  // the correct twin was reported
  std::string diagnosis;     // rule found first, or empty
  std::string report;
  int runs = 0;
};
CaseResult judge(const Mutant& mutant, int seeds);
bool matches(const std::string& rule, const std::vector<std::string>& expected);

// One function a file, each adding its cases.
void add_barrier_mutants(std::vector<Mutant>&);    // A: M01..M09, M71
void add_role_mutants(std::vector<Mutant>&);       // B: M10..M22
void add_phase_mutants(std::vector<Mutant>&);      // C: M23..M41
void add_proxy_mutants(std::vector<Mutant>&);      // D: M42..M51
void add_tensor_mutants(std::vector<Mutant>&);     // E: M52..M61
void add_lifecycle_mutants(std::vector<Mutant>&);  // F: M62..M70
const std::vector<Mutant>& corpus();

}  // namespace warpwright::mutants
