// The pairwise comparison with cuBLASLt: one process, alternating bursts, order swapped every round. Our side runs
// through the host API, as a user would.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "choice/dense.h"
#include "warpwright/status.h"

namespace warpwright::measure {

using BenchShape = problem::GemmShape;

enum class BenchMode : uint8_t { sustained, cool };
const char* name(BenchMode mode);

struct BenchOptions {
  std::vector<BenchMode> modes = {BenchMode::sustained, BenchMode::cool};
  std::string plan;          // a name or number of plan_choice.h; empty: chosen
  bool dependent = true;     // our kernels may start before the launch ahead has ended, where that pays
  bool constant_b = false;   // they may also read B before
  int rounds = 8;            // each measures both competitors; even, so that each goes first equally often
  int finalists = 2;         // how many of the peer's algorithms are measured in full rounds; the fastest is the peer
  double burst_s = 0.4;      // sustained: how long one competitor runs without a pause
  double cool_gap_s = 0.02;  // cool: idle time before each single launch
  int cool_launches = 8;     // cool: of each competitor in a round
  double budget_s = 0;       // stop taking new shapes after this many seconds; 0: never
  double cache_multiple = 3.2;  // operands rotate through this many times the L2
};

struct BenchRow {
  BenchShape shape;
  BenchMode mode = BenchMode::sustained;
  double us = 0, peer_us = 0;         // medians over the rounds
  double ratio = 0;                   // peer_us / us: above 1 we are faster
  double ratio_lo = 0, ratio_hi = 0;  // 95 % interval of the median of the rounds' ratios
  double tflops = 0, gbps = 0;        // ours; bytes: each operand read once, the result written once
  bool memory_bound = false;          // by the floor; then gbps over the copy's is what matters
  std::string plan, origin;           // the plan and where it came from
  int peer_choice = 0;                // which of cuBLASLt's heuristics was fastest in this mode
  int operand_sets = 0;
  double early = 0, peer_early = 0;  // share of the launches that may start before the last one has ended
  bool counts = false;               // in geomean and min: the mode that matters for a product of this length
  bool wrong = false;                // our result differs from the peer's: no times were taken
  double difference = 0;             // norm of the difference over norm of the peer's result
};

struct BenchReport {
  std::string device;
  std::string peer;
  uint64_t l2_bytes = 0;
  double copy_gbps = 0;  // device-to-device copy of 1 GiB in this run, bytes read plus written
  std::vector<BenchRow> rows;
  double geomean = 0, min = 0;  // over the ratios of the rows that count
  size_t left_out = 0;          // shapes the budget did not reach
  size_t peer_refused = 0;      // shapes for which the peer has no algorithm
  bool ok() const;
};

// missing: the machine lacks a driver, a GPU of compute capability 9.0 or cuBLASLt.
Status bench_ready(bool needs_peer = true);
// A plain product of these extents, if it can be measured with this plan (empty: any).
Result<BenchShape> bench_shape(int64_t m, int64_t n, int64_t k, DType dtype, const std::string& plan);

// Calls `row` after each one.
Status bench_dense(const std::vector<BenchShape>& shapes, const BenchOptions& options, BenchReport& report,
                   const std::function<void(const BenchRow&)>& row);

// Brief times of every plan compiled ahead that serves a shape, and of the peer's fastest choice (no name): what the
// model is fitted to.
struct PlanTime {
  std::string plan, text;
  double sustained_us = 0, cool_us = 0, model_us = 0;
};
Status time_plans(const BenchShape& shape, std::vector<PlanTime>& times);

// Launches our kernel, then the peer's choice, once each after a warm-up, between the start and the end of the
// profiler: for ncu.
Status profile_dense(const BenchShape& shape, const std::string& plan, int peer_choice);

}  // namespace warpwright::measure
