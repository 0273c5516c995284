#include "cli/tune_random.h"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include "cli/commands.h"
#include "cli/simulation.h"
#include "gpu/devices.h"
#include "measure/basis.h"

namespace warpwright::cli {
namespace {

using measure::BasisRow;
using measure::BenchShape;

constexpr const char* kHeader = "device\tdtype\tm\tn\tk\tplan\tus";

std::string line_of(const std::string& device, const BasisRow& row) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{:.3f}", device, name(row.shape.dtype), row.shape.m, row.shape.n,
                     row.shape.k, row.plan.empty() ? "cublaslt" : row.plan, row.us);
}

// The problems of a table that an earlier run began, for this device.
using Problem = std::tuple<std::string, int64_t, int64_t, int64_t>;
std::set<Problem> measured(const std::string& path, const std::string& device) {
  std::set<Problem> problems;
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) return problems;
  if (line != kHeader) {
    throw UsageError(
        fmt::format("--out: {} begins with '{}'; a table of `tune --random` begins with the columns "
                    "device, dtype, m, n, k, plan, us",
                    path, line));
  }
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string of, dtype, m, n, k;
    std::getline(fields, of, '\t'), std::getline(fields, dtype, '\t');
    std::getline(fields, m, '\t'), std::getline(fields, n, '\t'), std::getline(fields, k, '\t');
    if (of != device) {
      throw UsageError(
          fmt::format("--out: {} has times of a {}, this is a {}; one table is for one device", path, of, device));
    }
    const auto extent = [&](const std::string& text) {
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size() || value < 1) {
        throw UsageError(
            fmt::format("--out: {} has the line '{}', whose m, n and k are not numbers from 1 on", path, line));
      }
      return value;
    };
    problems.emplace(dtype, extent(m), extent(n), extent(k));
  }
  return problems;
}

}  // namespace

int tune_random(const RandomTuning& options, Output& out) {
  const std::string device = gpu::list_gpus().front().name;
  const std::set<Problem> known = options.out.empty() ? std::set<Problem>() : measured(options.out, device);
  std::vector<BenchShape> shapes;
  for (const BenchShape& s : measure::draw_shapes(options.count, options.draw, options.dtype)) {
    if (known.count({name(s.dtype), s.m, s.n, s.k}) == 0) shapes.push_back(s);
  }
  std::ofstream file;
  if (!options.out.empty()) {
    const bool begins = known.empty();
    file.open(options.out, begins ? std::ios::trunc : std::ios::app);
    if (!file) throw UsageError(fmt::format("--out: {} cannot be written", options.out));
    if (begins) file << kHeader << '\n';
  }
  measure::BasisOptions how;
  how.budget_s = options.budget;
  if (!options.ahead_only) how.on_demand = choice::OnDemand::allowed;
  size_t done = 0, rows_done = 0;
  if (!file.is_open()) out.line(kHeader);
  {
    Progress progress("tune", shapes.size());
    const auto add = [&](const std::vector<BasisRow>& rows) {
      for (const BasisRow& row : rows) {
        if (file.is_open()) {
          file << line_of(device, row) << '\n';
        } else {
          out.line(line_of(device, row));
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
                {"draw", options.draw},
                {"problems", done},
                {"known", known.size()},
                {"left_out", shapes.size() - done},
                {"rows", rows_done},
                {"out", options.out.empty() ? Json() : Json(options.out)}});
  if (done < shapes.size()) out.note(fmt::format("the time ended before {} problems", shapes.size() - done));
  return exit_ok;
}

}  // namespace warpwright::cli
