// The options that describe a matrix problem and where it runs, shared by every command that takes one. This is what
// the user wrote, with its words checked; whether a kernel can serve it is decided by the runtime.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/line/command_line.h"
#include "warpwright/core/dtype.h"

namespace warpwright::cli {

struct ProblemOptions {
  std::string op = "dense";
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t groups = 1;
  std::int64_t a_rows = 0;  // how many rows the product's rows are gathered from; 0: they are the rows of A
  std::int64_t batch = 1;
  std::string dtype = "bf16";  // never "fp8": that is rewritten to e4m3
  std::string out_dtype;       // empty: the kernel's own
  std::string layout = "nt";
  double alpha = 1.0;
  double beta = 0.0;
  std::string epilogue;  // empty: store the product
  std::string scaling;   // empty: none
  std::string target = "auto";
  std::string plan;  // empty: chosen
  std::uint64_t seed = 0;

  // Simulator only. An empty landing or schedule asks for the quick sweep of all of them.
  std::string landing;
  std::string schedule;
  std::int64_t seeds = 0;  // 0: the sweep's own number
};

// A schedule word, taken apart: the role of freeze:ROLE, the depth of pct:D.
struct ScheduleWord {
  std::string kind;  // fifo, lanes, freeze, random, pct
  std::string role;
  int depth = 0;
};

// Throws UsageError where it is none.
DType dtype_of(const std::string& word);

ScheduleWord parse_schedule(const std::string& word);

// Adds the options to a command; with `sizes_required` the user must give --m, --n and --k.
// What is true of a problem one of whose extents is 0; empty for all others.
std::string empty_text(const ProblemOptions& options);

void add_problem_options(CommandLine& line, ProblemOptions& options, bool sizes_required = true);

// Only --landing and --schedule.
void add_mode_options(CommandLine& line, ProblemOptions& options);

// Only --landing, --schedule, --seeds and --seed, for commands that bring their own problem.
void add_simulation_options(CommandLine& line, ProblemOptions& options);

}  // namespace warpwright::cli
