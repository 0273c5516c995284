#include "cli/check/mutants.h"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "cli/check/runs.h"
#include "cli/commands.h"
#include "simulate/mutants.h"

namespace warpwright::cli {
namespace {

bool is_reported(const simulate::Mutant& m) { return !m.rule.empty(); }

Json document_of(const simulate::Mutant& m) {
  const bool seen = is_reported(m);
  return {{"mutant", simulate::describe(m.fault)},
          {"word", m.fault.word},
          {"object", m.fault.object},
          {"role", m.fault.role},
          {"line", m.fault.line},
          {"rule", seen ? Json(m.rule) : Json(nullptr)},
          {"report", seen ? Json(m.report) : Json(nullptr)},
          {"size", seen ? Json(shape_text(m.at)) : Json(nullptr)},
          {"argument", seen ? "" : simulate::argument_for(m.fault)},
          {"verdict", seen       ? "reported"
                      : m.proven ? "redundant"
                                 : "not covered"}};
}

std::string remark_on(const simulate::Mutant& m) {
  if (m.rule == "result") return "no rule is broken, but " + m.report;
  if (!m.proven) return "every run is right; other orders might not be";
  const std::string why = simulate::argument_for(m.fault);
  return "every run is right, and stays so in any order of its instructions" + (why.empty() ? "" : ": " + why);
}

}  // namespace

int check_mutants(const std::vector<const simulate::Example*>& examples, Output& out) {
  Table table({"kernel", "mutants", "reported", "redundant", "not covered", "time"});
  Json kernels = Json::array();
  std::string remarks;
  std::size_t missed = 0;
  for (const simulate::Example* example : examples) {
    prepare(*example);
    Progress progress(example->name, 1);
    const auto begin = std::chrono::steady_clock::now();
    // What the kernels of a source file share belongs to the user.
    const auto mutants = simulate::run_mutants(*example, example->instance.empty() ? 1 : 0,
                                               [&](std::size_t done, std::size_t all) { progress.set(done, all); });
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::size_t reported = 0, redundant = 0;
    Json list = Json::array();
    for (const simulate::Mutant& m : mutants) {
      list.push_back(document_of(m));
      reported += is_reported(m) ? 1 : 0;
      redundant += !is_reported(m) && m.proven ? 1 : 0;
      if (!is_reported(m) || m.rule == "result")
        remarks += fmt::format("\n{}: {}: {}", example->name, simulate::describe(m.fault), remark_on(m));
    }
    const std::size_t left = mutants.size() - reported - redundant;
    missed += left;
    kernels.push_back({{"name", example->name},
                       {"mutants", mutants.size()},
                       {"reported", reported},
                       {"redundant", redundant},
                       {"not_covered", left},
                       {"wall_s", wall},
                       {"list", list}});
    table.row({example->name, fmt::format("{}", mutants.size()), fmt::format("{}", reported),
               fmt::format("{}", redundant), fmt::format("{}", left), fmt::format("{:.1f} s", wall)});
  }
  out.document({{"kernels", kernels}, {"not_covered", missed}});
  out.table(table);
  if (!remarks.empty()) out.line(remarks);
  return missed == 0 ? exit_ok : exit_wrong;
}

}  // namespace warpwright::cli
