// Measuring candidate plans against the current choice, pairwise: what the tuned table is made of.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "choice/tuned.h"
#include "measure/bench_gpu.h"
#include "warpwright/status.h"

namespace warpwright::measure {

struct TuneOptions {
  double budget_s = 0;  // stop taking new shapes after this many seconds; 0: never
  int finalists = 3;    // candidates that are measured pairwise, after a brief test of all
  choice::OnDemand on_demand = choice::OnDemand::allowed;  // refused: only instances that were compiled ahead
  BenchOptions protocol;
};

// The fastest launch of a product, with that of the current choice.
struct TuneFigures {
  BenchMode mode = BenchMode::sustained;  // the one that counts for a product of this length
  double us = 0, current_us = 0;
  double ratio = 1, ratio_lo = 1, ratio_hi = 1;  // current_us / us; all 1 where the current choice stays
};

template <class Shape>
struct TuneRowOf : TuneFigures {
  Shape shape;
  std::string plan, current;  // the fastest; what would be chosen without the table
  int candidates = 0;
};
using TuneRow = TuneRowOf<BenchShape>;

template <class Table, class Row>
struct TuneReportOf {
  Table table;
  std::vector<Row> rows;
  size_t left_out = 0;  // shapes the budget did not reach
};
using TuneReport = TuneReportOf<choice::TunedTable, TuneRow>;

// The toolkit that compiled the kernels ahead: "CUDA 13.0"; empty without one.
std::string toolkit_version();

// A candidate replaces the current choice only if the whole interval of its ratio is above 1.
Status tune(const std::vector<BenchShape>& shapes, const TuneOptions& options, TuneReport& report,
            const std::function<void(const TuneRow&)>& row);

}  // namespace warpwright::measure
