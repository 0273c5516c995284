// `mutants`: the bug corpus. Every mutant must be reported with the right diagnosis, every correct twin must be silent.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "mutants/corpus.h"

namespace warpwright::cli {
namespace {

using mutants::Mutant;

struct MutantOptions {
  std::vector<std::string> only;
  std::int64_t seeds = 2;
  bool reports = false;
};

// "M66" of "M66.leak".
std::string number_of(const std::string& id) { return id.substr(0, id.find('.')); }

std::vector<const Mutant*> chosen(const MutantOptions& options) {
  std::vector<const Mutant*> list;
  for (const Mutant& m : mutants::corpus()) list.push_back(&m);
  std::sort(list.begin(), list.end(), [](const Mutant* a, const Mutant* b) { return std::string_view(a->id) < b->id; });
  if (options.only.empty()) return list;
  const auto means = [](const std::string& word, const Mutant* m) { return word == m->id || word == number_of(m->id); };
  for (const auto& word : options.only) {
    if (std::none_of(list.begin(), list.end(), [&](const Mutant* m) { return means(word, m); })) {
      std::vector<std::string> known;
      for (const Mutant* m : list) known.insert(known.end(), {number_of(m->id), m->id});
      throw UsageError(fmt::format("--only: '{}' is not in the corpus; its entries are numbered M01 to M70{}", word,
                                   suggestion(word, known)));
    }
  }
  std::vector<const Mutant*> some;
  for (const Mutant* m : list) {
    const auto asked = [&](const std::string& word) { return means(word, m); };
    if (std::any_of(options.only.begin(), options.only.end(), asked)) some.push_back(m);
  }
  return some;
}

int run_mutants(const MutantOptions& options, Output& out) {
  const auto list = chosen(options);
  if (list.empty()) throw UsageError("the corpus of this build is empty");
  const auto begin = std::chrono::steady_clock::now();

  std::map<std::string, bool> caught;  // a number with several entries is caught when all of them are
  int misdiagnosed = 0, false_alarms = 0, runs = 0;
  Json cases = Json::array();
  Table table({"id", "result", "diagnosis", "mutation"});
  std::vector<std::string> reports;
  Progress progress("mutants", list.size());
  for (const Mutant* m : list) {
    const mutants::CaseResult r = mutants::judge(*m, int(options.seeds));
    const bool misread = r.caught && !r.diagnosed;
    misdiagnosed += misread ? 1 : 0;
    false_alarms += r.false_alarm ? 1 : 0;
    runs += r.runs;
    caught.try_emplace(number_of(m->id), true).first->second &= r.caught;
    const std::string result = r.false_alarm ? "FALSE ALARM"
                               : !r.caught   ? "MISSED"
                               : misread     ? "MISDIAGNOSED"
                                             : "caught";
    cases.push_back({{"id", m->id},
                     {"caught", r.caught},
                     {"diagnosis", r.diagnosis},
                     {"expected", m->expected},
                     {"diagnosed", r.diagnosed},
                     {"false_alarm", r.false_alarm},
                     {"bug", m->bug},
                     {"mutation", m->mutation},
                     {"runs", r.runs},
                     {"report", r.report}});
    table.row({m->id, result, misread ? fmt::format("{} (expected {})", r.diagnosis, listed(m->expected)) : r.diagnosis,
               m->mutation});
    if ((options.reports || result != "caught") && !r.report.empty())
      reports.push_back(fmt::format("{}: {}", m->id, r.report));
    progress.advance();
  }
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto total = caught.size();
  const auto found = std::count_if(caught.begin(), caught.end(), [](const auto& c) { return c.second; });
  const bool good = std::size_t(found) == total && misdiagnosed == 0 && false_alarms == 0;

  out.document({{"caught", found},
                {"total", total},
                {"misdiagnosed", misdiagnosed},
                {"false_alarms", false_alarms},
                {"entries", list.size()},
                {"seeds", options.seeds},
                {"runs", runs},
                {"wall_s", wall},
                {"cases", cases}});
  out.table(table);
  for (const auto& report : reports) out.line("\n" + report);
  out.line(fmt::format("\n{}, {} misdiagnosed, {} false alarms; {} entries, {} runs, {:.1f} s",
                       out.paint(good ? Mark::good : Mark::bad, fmt::format("{} of {} bugs caught", found, total)),
                       misdiagnosed, false_alarms, list.size(), runs, wall));
  return good ? exit_ok : exit_wrong;
}

}  // namespace

void configure_mutants(CommandLine& line, Context& context) {
  auto options = std::make_shared<MutantOptions>();
  std::vector<std::string> ids;
  for (const Mutant& m : mutants::corpus()) ids.emplace_back(m.id);
  std::sort(ids.begin(), ids.end());
  line.list("--only", options->only, "M23,M66.leak,...: only these; a number takes all its entries")
      .delimiter(',')
      .offers(ids);
  line.number("--seeds", options->seeds, "seeds of the random modes (default 2)", 0, 1'000'000);
  line.flag("--reports", options->reports, "print the report of every mutant");
  context.runs(line, "./warpwright mutants --only M23,M66",
               [options](Output& out) { return run_mutants(*options, out); });
}

}  // namespace warpwright::cli
