// `schedule`: the software pipelines, ours and the reference's, with their proofs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "warpwright/schedule/bodies.h"
#include "warpwright/schedule/legacy/standing.h"
#include "warpwright/schedule/timeline.h"

namespace warpwright::cli {
namespace {

using namespace warpwright::schedule;

const std::vector<std::string> kNames = {"default",        "ping-pong",        "4-wave",
                                         "legacy/default", "legacy/ping-pong", "legacy/4-wave"};
const std::vector<std::string> kTargets = {"gfx942", "gfx950", "sm80", "sm90"};

// Runs of 0 to this many iterations, and the lengths of its peeled phases, are what "proven" means.
constexpr int kProvenIterations = 6;

struct Options {
  std::string name;
  std::string target;
};

const Target& target_of(const std::string& word) {
  if (word == "gfx942") return targets::gfx942;
  if (word == "gfx950") return targets::gfx950;
  return word == "sm80" ? targets::sm80 : targets::sm90a;
}

// One schedule of one target, whoever made it.
struct Report {
  std::string name, target;
  std::string reason;  // why the pair does not exist; empty: it does
  std::string standing;
  EntryList phases[3];
  TargetCostModel costs;
  std::optional<int> ii;
  int mii = 0;
  Diagnostics hazards;
  Timeline picture;
  std::vector<std::string> notes[3];  // beside the entries

  bool legal() const { return reason.empty(); }
  bool proven() const { return legal() && hazards.empty(); }
};

// Which op a wait is for: going back, the first that may not be among those it leaves in flight.
std::string wait_note(const EntryList& before, const EntryList& list, size_t at, const PipelineModel& model,
                      const TargetCostModel& costs) {
  const OpDesc& wait = list[at].op;
  const Counter counter = counter_of_sync(wait);
  int behind = 0;
  bool committed = !counts_groups(counter);
  for (size_t back = 0; back < at + before.size(); ++back) {
    const ScheduleEntry& e = back < at ? list[at - 1 - back] : before[before.size() - 1 - (back - at)];
    if (e.op.is_commit() && counter_of_sync(e.op) == counter) {
      if (committed) ++behind;
      committed = true;
      continue;
    }
    const OpTicks ticks = model.ticks(e.op);
    if (ticks.counter != counter) continue;
    if (behind >= wait.wait_count()) {
      return fmt::format("{} is complete, {} issued behind it may be open", costs.name(e.op).c_str(), behind);
    }
    if (!counts_groups(counter)) behind += ticks.count;
  }
  return {};
}

BodySpec body_of(const std::string& name, const Target& target) {
  if (name == "ping-pong") return ping_pong(target);
  if (name == "4-wave") return four_wave(target);
  if (target.arch == Arch::sm80) return copy_ring(target);
  return target.arch == Arch::sm90 ? tma_ring(target) : default_matmul(target);
}

void fill_compiled(Report& r, const Target& target) {
  const Pipeline p = compile(body_of(r.name, target), target);
  if (!p.ok()) {
    r.reason = to_text(p.error);
    return;
  }
  r.phases[0] = p.schedule.prologue;
  r.phases[1] = p.schedule.kernel;
  r.phases[2] = p.schedule.epilogue;
  r.costs = p.costs;
  r.ii = p.interval();
  r.mii = p.mii();
  for (int n = 0; n <= std::max(kProvenIterations, 2 * p.stages() + 2); ++n) {
    for (const Diagnostic& d : verify(p, n)) r.hazards.push_back(d);
  }
  r.standing = r.hazards.empty() ? "proven" : "broken";
  r.picture = timeline_of(p);
  const PipelineModel model{p, 0};
  // A kernel iteration follows others like itself, as many as an op may stay open.
  EntryList steady;
  for (int i = 0; i <= p.stages(); ++i) steady.append(p.schedule.kernel);
  for (int phase = 0; phase < 3; ++phase) {
    const EntryList before = phase == 0 ? p.schedule.prologue.slice(0, 0) : steady;
    for (size_t i = 0; i < r.phases[phase].size(); ++i) {
      const OpDesc& op = r.phases[phase][i].op;
      r.notes[phase].push_back(op.is_wait() ? wait_note(before, r.phases[phase], i, model, p.costs) : std::string());
    }
  }
}

template <class Spec>
void fill_legacy(Report& r, const Spec& spec, const Target& target) {
  const legacy::Compiled c = legacy::compile(spec);
  r.phases[0] = c.prologue;
  r.phases[1] = c.kernel;
  r.phases[2] = c.epilogue;
  r.costs = c.costs;
  r.hazards = legacy::assess(spec);
  r.standing = word(legacy::standing_of(r.hazards));
  r.mii = minimum_interval(c.body, target).value();
  // The interval that its own order of ops allows; where its edges contradict that order there is none.
  const Placement placed = modulo_schedule(c.body, target, Identity{}, {0, 4 * r.mii});
  if (placed.ok()) r.ii = placed.interval;
  r.picture = timeline_of(c.kernel, c.costs, fmt::format("{} on {}", r.name, r.target));
}

Report report_of(const std::string& name, const std::string& word) {
  const Target& target = target_of(word);
  Report r;
  r.name = name;
  r.target = word;
  const std::string prefix = "legacy/";
  if (!name.starts_with(prefix)) {
    fill_compiled(r, target);
    return r;
  }
  // What the hardware must have is the same as for ours.
  const Diagnostic error =
      target.wave_size == 64 ? body_of(name.substr(prefix.size()), target).error : schedule::detail::check_wave(target);
  if (!error.ok()) {
    r.reason = to_text(error);
  } else if (name == "legacy/ping-pong") {
    fill_legacy(r, legacy::PingPong::bf16(), target);
  } else if (name == "legacy/4-wave") {
    fill_legacy(r, legacy::FourWave{}, target);
  } else {
    fill_legacy(r, legacy::DefaultMatmul{}, target);
  }
  return r;
}

// A pair that was asked for and does not exist is bad input.
Report wanted(const Options& options) {
  Report r = report_of(options.name, options.target);
  if (!r.legal()) {
    throw UsageError(fmt::format("schedule '{}' does not exist on {}: {}", options.name, options.target, r.reason));
  }
  return r;
}

Json document_of(const Report& r) {
  Json entries = Json::array();
  for (int phase = 0; phase < 3; ++phase) {
    for (size_t i = 0; i < r.phases[phase].size(); ++i) {
      const ScheduleEntry& e = r.phases[phase][i];
      Json entry{{"phase", word(e.phase)}, {"slot", e.time_slot}, {"op", r.costs.name(e.op).c_str()}};
      if (e.source >= 0) entry["iteration"] = int(e.shift);
      if (i < r.notes[phase].size() && !r.notes[phase][i].empty()) entry["why"] = r.notes[phase][i];
      entries.push_back(entry);
    }
  }
  Json hazards = Json::array();
  for (const Diagnostic& d : r.hazards) hazards.push_back(to_text(d));
  Json document{{"name", r.name}, {"target", r.target}, {"entries", entries}};
  document["ii"] = r.ii ? Json(*r.ii) : Json(nullptr);
  document["mii"] = r.mii;
  document["proven"] = r.proven();
  document["standing"] = r.standing;
  document["hazards"] = hazards;
  return document;
}

std::string interval_text(const Report& r) { return r.ii ? fmt::format("{}", *r.ii) : std::string("none"); }

int run_list(Output& out) {
  Json list = Json::array();
  Table table({"name", "target", "legal", "proven", "why not"});
  for (const std::string& name : kNames) {
    for (const std::string& target : kTargets) {
      const Report r = report_of(name, target);
      std::string reason = r.reason;
      if (r.legal() && !r.proven()) reason = fmt::format("{}: {}", r.standing, to_text(r.hazards.front()));
      list.push_back(
          {{"name", name}, {"target", target}, {"legal", r.legal()}, {"reason", reason}, {"proven", r.proven()}});
      table.row({name, target, r.legal() ? "yes" : "no", r.proven() ? "yes" : "no", reason});
    }
  }
  out.document({{"schedules", list}});
  out.table(table);
  return exit_ok;
}

int run_show(const Options& options, Output& out) {
  const Report r = wanted(options);
  out.document(document_of(r));
  out.line(fmt::format("{} on {}: {}, II {}, MII {}", r.name, r.target, r.standing, interval_text(r), r.mii));
  for (int phase = 0; phase < 3; ++phase) {
    out.line("");
    out.line(fmt::format("{} ({} entries)", word(Phase(phase)), r.phases[phase].size()));
    Table table({"slot", "op", "iteration", "why"});
    for (size_t i = 0; i < r.phases[phase].size(); ++i) {
      const ScheduleEntry& e = r.phases[phase][i];
      table.row({fmt::format("{}", e.time_slot), r.costs.name(e.op).c_str(),
                 e.source >= 0 ? fmt::format("{:+}", e.shift) : "",
                 i < r.notes[phase].size() ? r.notes[phase][i] : ""});
    }
    if (!table.empty()) out.table(table);
  }
  out.line("");
  out.line(to_ascii(r.picture));
  return exit_ok;
}

int run_verify(const Options& options, Output& out) {
  const Report r = wanted(options);
  out.document(document_of(r));
  for (const Diagnostic& d : r.hazards) out.line(out.paint(Mark::bad, to_text(d)));
  out.line(fmt::format("{} on {}: {}, II {}, MII {}", r.name, r.target, r.standing, interval_text(r), r.mii));
  return r.proven() ? exit_ok : exit_wrong;
}

int run_svg(const Options& options, Output& out) {
  const Report r = wanted(options);
  const std::string svg = to_svg(r.picture, r.hazards);
  Json document = document_of(r);
  document["svg"] = svg;
  out.document(document);
  if (!out.json()) out.line(svg);
  return exit_ok;
}

void configure_one(CLI::App& app, Context& context, const std::string& verb, int (*action)(const Options&, Output&)) {
  auto options = std::make_shared<Options>();
  app.add_option("name", options->name, fmt::format("which one: {}", listed(kNames)))
      ->transform(one_of(kNames))
      ->required();
  app.add_option("--target", options->target, "for which chip")->transform(one_of(kTargets))->required();
  context.runs(app, fmt::format("./warpwright schedule {} ping-pong --target gfx950", verb),
               [options, action](Output& out) { return action(*options, out); });
}

}  // namespace

void configure_schedule(CLI::App& app, Context& context) {
  app.require_subcommand(1);
  app.footer("Example:\n  ./warpwright schedule verify ping-pong --target gfx950 --json");
  CLI::App& list = *app.add_subcommand("list", "what there is, and what is proven");
  context.runs(list, "./warpwright schedule list", run_list);
  configure_one(*app.add_subcommand("show", "the entries by phase, the waits and a timeline"), context, "show",
                run_show);
  configure_one(*app.add_subcommand("verify", "both validators; exit code 0 only if proven"), context, "verify",
                run_verify);
  configure_one(*app.add_subcommand("svg", "the timeline of the kernel as SVG, on stdout"), context, "svg", run_svg);
}

}  // namespace warpwright::cli
