// The fastest of several launches. Failures are thrown (gpu/require.h).
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "gpu/devices.h"
#include "gpu/require.h"
#include "measure/bench_measure.h"
#include "measure/tune_gpu.h"

namespace warpwright::measure {

struct Fastest : TuneFigures {
  int winner = -1;  // which of the others; -1: the current one stays
};
// A brief test of all, then the best of them pairwise against the current one, which only gives way to a launch whose
// whole interval lies above 1.
Fastest fastest_of(const LaunchSet& current, const std::vector<LaunchSet>& others, int sets, const TuneOptions& options,
                   const gpu::Stream& stream);

// measure(shape, gpu) makes a row, entry_of(row) its line of the table. Stops at the budget.
template <class Shape, class Report, class Row, class Measure, class EntryOf>
Status tune_all(const std::vector<Shape>& shapes, const TuneOptions& options, Report& report,
                const std::function<void(const Row&)>& done, Measure measure, EntryOf entry_of) {
  if (Status s = bench_ready(false); !s) return s;
  const gpu::GpuInfo gpu = gpu::list_gpus().front();
  const auto begin = std::chrono::steady_clock::now();
  report = {};
  report.table.device = gpu.name;
  report.table.multiprocessors = gpu.sm_count;
  report.table.toolkit = toolkit_version();
  try {
    for (size_t i = 0; i < shapes.size(); ++i) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      if (options.budget_s > 0 && spent.count() > options.budget_s) {
        report.left_out = shapes.size() - i;
        break;
      }
      const Row row = measure(shapes[i], gpu);
      report.table.rows.push_back(entry_of(row));
      report.rows.push_back(row);
      done(row);
    }
  } catch (const gpu::Failure& failure) {
    return Status(Code::failed, failure.what());
  }
  return {};
}

}  // namespace warpwright::measure
