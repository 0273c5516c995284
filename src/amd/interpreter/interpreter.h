// Executes a kernel of a linked code object on the CPU, wave by wave, and reports what the machine would not forgive:
// a register used before its load was waited for, LDS that is read or overwritten without the wait and the barrier that
// order it, memory outside of its buffer.
//
// What is asynchronous on the machine is asynchronous here: a load, a store or an LDS DMA lands at the first legal
// moment, at the last one, or at a seeded one in between. The reports do not depend on that choice: they follow from
// the waits and the barriers alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "amd/program.h"

namespace warpwright::amd {

enum class Completion { earliest, latest, seeded };

enum class Rule {
  register_in_flight,  // a register is touched while a load that writes it is in flight
  lds_raw,             // LDS read that is not ordered after the write
  lds_war,             // LDS write that is not ordered after a read
  lds_waw,             // two LDS writes that are not ordered
  lds_uninitialised,   // LDS read of bytes that were never written
  lds_range,           // outside the LDS of the workgroup
  global_range,        // outside of every buffer of the launch
  buffer_range,        // in range or not depending on whether soffset takes part in the range check
  barrier,             // waves that do not meet at the same number of barriers
  memory_order,        // a counter of several workgroups without the release before it or the acquire after it
};
const char* word(Rule rule);

struct Finding {
  Rule rule = Rule::register_in_flight;
  uint64_t address = 0;
  int group = 0;
  int wave = 0;
  uint64_t times = 1;
  std::string text;
};

struct MemoryRegion {
  void* base = nullptr;
  size_t bytes = 0;
  bool writable = false;
};

struct Launch {
  uint32_t groups[3] = {1, 1, 1};
  uint32_t threads[3] = {64, 1, 1};
  std::vector<uint8_t> kernarg;
  std::vector<MemoryRegion> memory;  // what the kernel may touch, kernarg and code apart
  Completion completion = Completion::latest;
  uint64_t seed = 1;
  uint64_t step_limit = 200'000'000;  // instructions of one wave
  bool trace = false;                 // trace the first workgroup
};

struct RunResult {
  std::string error;  // why the run stopped early; empty: every wave reached its end
  std::vector<Finding> findings;
  uint64_t instructions = 0;  // instructions that waves executed
  int opcodes = 0;            // different ones that were executed
  int most_vm = 0;            // operations in flight that vmcnt counts
  int most_lgkm = 0;
  // Which instruction read LDS bytes that which instruction had written: (reader, writer), as indices of the code.
  std::set<std::pair<int, int>> lds_flow;

  // What each wave of the first workgroup executed, as indices of the code, if the launch asked for it.
  std::vector<std::vector<int>> trace;

  bool clean() const { return error.empty() && findings.empty(); }
};

RunResult execute(const CodeObject& object, const CodeObjectKernel& kernel, const Launch& launch);

// Opcodes that execute() knows, without the encoding suffix.
std::vector<std::string> supported_opcodes();

}  // namespace warpwright::amd
