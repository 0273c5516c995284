#include "cli/tune_basis.h"

#include <fmt/format.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/simulation.h"
#include "gpu/devices.h"
#include "measure/basis.h"
#include "measure/basis_table.h"

namespace warpwright::cli {
namespace {

using measure::BasisRow;

// The problems of a table that an earlier run began, for this device.
std::set<std::string> measured(const std::string& path, const std::string& header, const std::string& device) {
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  auto problems = measure::basis_problems(text, header, device);
  if (!problems) throw UsageError(fmt::format("--out: {}: {}", path, problems.status().message()));
  return std::move(*problems);
}

template <class Shape>
int time_all(const std::vector<Shape>& wanted, const std::string& header, const BasisRun& options, Output& out) {
  const std::string device = gpu::list_gpus().front().name;
  const auto known = options.out.empty() ? std::set<std::string>() : measured(options.out, header, device);
  std::vector<Shape> shapes;
  for (const Shape& s : wanted) {
    if (known.count(measure::basis_problem(s)) == 0) shapes.push_back(s);
  }
  std::ofstream file;
  if (!options.out.empty()) {
    const bool begins = known.empty();
    file.open(options.out, begins ? std::ios::trunc : std::ios::app);
    if (!file) throw UsageError(fmt::format("--out: {} cannot be written", options.out));
    if (begins) file << header << '\n';
  }
  measure::BasisOptions how;
  how.budget_s = options.budget;
  how.plans = options.plans;
  if (!options.ahead_only) how.on_demand = choice::OnDemand::allowed;
  size_t done = 0, rows_done = 0;
  if (!file.is_open()) out.line(header);
  {
    Progress progress("tune", shapes.size());
    const auto add = [&](const std::vector<BasisRow>& rows) {
      for (const BasisRow& row : rows) {
        if (file.is_open()) {
          file << measure::basis_line(device, row) << '\n';
        } else {
          out.line(measure::basis_line(device, row));
        }
      }
      file.flush();  // a run that is stopped goes on here
      ++done;
      rows_done += rows.size();
      progress.advance();
    };
    if (const Status s = measure::time_basis(shapes, how, add); !s) fail(s);
  }
  out.document({{"device", device},
                {"problems", done},
                {"known", known.size()},
                {"left_out", shapes.size() - done},
                {"rows", rows_done},
                {"out", options.out.empty() ? Json() : Json(options.out)}});
  if (done < shapes.size()) out.note(fmt::format("the time ran out before {} problems", shapes.size() - done));
  return exit_ok;
}

}  // namespace

int tune_basis(const std::vector<measure::BenchShape>& shapes, const BasisRun& run, Output& out) {
  return time_all(shapes, measure::kBasisHeader, run, out);
}

int tune_basis(const std::vector<measure::GroupedCase>& shapes, const BasisRun& run, Output& out) {
  return time_all(shapes, measure::kGroupedBasisHeader, run, out);
}

}  // namespace warpwright::cli
