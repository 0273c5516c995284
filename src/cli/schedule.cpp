// `schedule`: the software pipelines, ours, the reference's and those of the user, with their proofs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "cli/schedule_isa.h"
#include "cli/user/user_schedule.h"
#include "warpwright/kernel/sm80/config.h"
#include "warpwright/schedule/block_pipeline.h"
#include "warpwright/schedule/certificate.h"
#include "warpwright/schedule/legacy/standing.h"
#include "warpwright/schedule/timeline_svg.h"

namespace warpwright::cli {
namespace {

using namespace warpwright::schedule;

const std::vector<std::string> kNames = {"default",        "ping-pong",        "4-wave",       "blocks",
                                         "legacy/default", "legacy/ping-pong", "legacy/4-wave"};
const std::vector<std::string> kTargets = {"gfx942", "gfx950", "sm80", "sm90"};

struct Options {
  std::string name;  // or a file
  std::string target;
  std::string of_file;  // which one, if a file registers several
  CompileOptions compile;
  std::string isa;  // for verify: a code object
};

const Target& target_of(const std::string& word) {
  if (word == "gfx942") return targets::gfx942;
  if (word == "gfx950") return targets::gfx950;
  return word == "sm80" ? targets::sm80 : targets::sm90a;
}

// A phase of a role; of all waves if the role has no name.
struct Section {
  std::string role;
  Phase phase = Phase::kernel;
  EntryList entries = {};
  std::vector<std::string> notes = {};  // in addition to the entries

  std::string title() const { return role.empty() ? word(phase) : role + " " + word(phase); }
};

// One schedule of one target, whoever made it.
struct Report {
  std::string name, target;
  std::string reason;  // why the pair does not exist; empty: it does
  std::string standing;
  std::vector<Section> sections;
  TargetCostModel costs;
  std::optional<int> ii;
  int mii = 0;
  std::string interval;            // against the smallest, and what makes it so
  std::vector<std::string> cycle;  // the cycle of dependences that sets the recurrence
  Certificate certificate;
  Diagnostics hazards;
  std::vector<std::string> remarks;  // what is not wrong and hardly meant
  Timeline picture;

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
      return fmt::format("{} is complete, {} issued after it may be open", costs.name(e.op).c_str(), behind);
    }
    if (!counts_groups(counter)) behind += ticks.count;
  }
  return {};
}

// What a wait or an arrival on the barriers of a ring means.
std::string phase_note(const Pipeline& p, const ScheduleEntry& e) {
  const OpDesc& op = e.op;
  const PhaseRing* ring = nullptr;
  for (const PhaseRing& r : p.rings)
    if (r.id == op.phase_ring()) ring = &r;
  if (ring == nullptr) return {};
  const bool full = op.phase_barrier() == PhaseBarrier::full;
  if (op.tag == tags::phase_arrive) {
    return full ? fmt::format("expects {} B of {} for tile t", ring->tile_bytes, ring->name.c_str())
                : fmt::format("{} was the last to read tile t and is retired",
                              p.body.ops[size_t(e.source)].name.c_str());
  }
  const int slots = op.phase_slots();
  const std::string where = fmt::format("slot t mod {}, parity (t / {}{}) mod 2", slots, slots, full ? "" : " + 1");
  return full ? fmt::format("{}: tile t of {} has landed", where, ring->name.c_str())
              : fmt::format("{}: tile t - {} is read, the first {} pass", where, slots, slots);
}

BodySpec body_of(const std::string& name, const Target& target) {
  if (name == "ping-pong") return ping_pong(target);
  if (name == "4-wave") return four_wave(target);
  return target.arch == Arch::sm90 ? tma_ring(target) : default_matmul(target);
}

std::vector<Section> sections_of(const schedule::Schedule& s, const std::string& role) {
  return {{role, Phase::prologue, s.prologue}, {role, Phase::kernel, s.kernel}, {role, Phase::epilogue, s.epilogue}};
}

void add_sections(Report& r, const Pipeline& p, const schedule::Schedule& s, int stages, const std::string& role) {
  const PipelineModel model{p, 0};
  // A kernel iteration follows others like itself, as many as an op may stay open.
  EntryList steady;
  for (int i = 0; i <= stages; ++i) steady.append(s.kernel);
  for (Section& section : sections_of(s, role)) {
    const EntryList before = section.phase == Phase::prologue ? EntryList() : steady;
    for (size_t i = 0; i < section.entries.size(); ++i) {
      const ScheduleEntry& e = section.entries[i];
      std::string note;
      if (e.op.is_wait()) note = wait_note(before, section.entries, i, model, p.costs);
      if (e.op.is_phase()) note = phase_note(p, e);
      section.notes.push_back(note);
    }
    r.sections.push_back(section);
  }
}

// On sm80 the schedule of the shipped kernel, which is made for the shape of its tile.
Pipeline pipeline_of(const std::string& name, const Target& target) {
  if (name == "default" && target.arch == Arch::sm80) return mma_sync_pipeline(MmaSyncGemmConfig{}.order());
  if (name == "blocks") return ping_pong_of_blocks(target);
  return compile(body_of(name, target), target);
}

// A declared order has no start times of its own: only the smallest interval that any order could have is known.
void fill_interval(Report& r, Pipeline& p) {
  if (p.interval() == 0) {
    p.body.edges = access_edges(p.body, p.depths);
    p.placement.mii = minimum_interval(p.body, p.target);
    r.interval = fmt::format("the order of declared blocks, MII {}", p.mii());
    r.picture = timeline_of(p.schedule.kernel, p.costs, fmt::format("{} on {}", r.name, r.target));
    return;
  }
  r.ii = p.interval();
  r.interval = interval_reason(p);
  r.picture = timeline_of(p);
}

// Latencies never make a schedule wrong, so that nothing else would tell of those that were never given.
std::vector<std::string> remarks_on(const Pipeline& p) {
  std::vector<std::string> remarks;
  for (const OpNode& n : p.body.ops) {
    if (!n.op.tag.is_data() || n.latency > 0) continue;
    remarks.push_back(
        fmt::format("{} takes 0 cycles: its latency is not one of {}, and the order is made as if it took no time",
                    n.name.c_str(), p.target.name.c_str()));
  }
  return remarks;
}

void fill_compiled(Report& r, Pipeline p) {
  if (!p.ok()) {
    r.reason = to_text(p.error);
    return;
  }
  r.costs = p.costs;
  fill_interval(r, p);
  r.mii = p.mii();
  for (const int i : p.placement.mii.cycle) r.cycle.push_back(p.body.ops[size_t(i)].name.c_str());
  r.certificate = certificate_of(p.body, p.target, p.placement.mii);
  r.hazards = prove(p);
  r.remarks = remarks_on(p);
  r.standing = r.hazards.empty() ? "proven" : "broken";
  if (!p.is_split()) add_sections(r, p, p.schedule, p.stages(), "");
  for (const RoleProgram& program : p.programs) {
    add_sections(r, p, program.schedule, program.stages(), program.name.c_str());
  }
}

template <class Spec>
void fill_legacy(Report& r, const Spec& spec, const Target& target) {
  const legacy::Compiled c = legacy::compile(spec);
  r.sections = sections_of(c, "");
  r.costs = c.costs;
  r.hazards = legacy::assess(spec);
  r.standing = word(legacy::standing_of(r.hazards));
  const Mii mii = minimum_interval(c.body, target);
  r.mii = mii.value();
  for (const int i : mii.cycle) r.cycle.push_back(c.body.ops[size_t(i)].name.c_str());
  r.certificate = certificate_of(c.body, target, mii);
  // The interval that its own order of ops allows; where its edges contradict that order there is none.
  const Placement placed = modulo_schedule(c.body, target, Identity{}, {0, 4 * r.mii});
  if (placed.ok()) r.ii = placed.interval;
  r.interval = fmt::format("II {}, MII {}: units {} ({}), recurrence {} ({})",
                           r.ii ? fmt::format("{}", *r.ii) : "none, the edges contradict the order", r.mii,
                           mii.resource, word(mii.unit), mii.recurrence, fmt::join(r.cycle, " > "));
  r.picture = timeline_of(c.kernel, c.costs, fmt::format("{} on {}", r.name, r.target));
}

Report report_of(const std::string& name, const std::string& word) {
  const Target& target = target_of(word);
  Report r;
  r.name = name;
  r.target = word;
  const std::string prefix = "legacy/";
  if (!name.starts_with(prefix)) {
    fill_compiled(r, pipeline_of(name, target));
    return r;
  }
  // The hardware's requirements are the same as for ours.
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

Report users_report(const Options& options) {
  const Target* const target = options.target.empty() ? nullptr : &target_of(options.target);
  UserSchedule user = compile_user_schedule(options.name, options.compile, options.of_file, target);
  Report r;
  r.name = user.name;
  r.target = user.pipeline.target.name.c_str();
  fill_compiled(r, std::move(user.pipeline));
  if (!r.legal())
    throw UsageError(fmt::format("'{}' of '{}' is not a schedule for {}: {}", r.name, options.name,
                                 r.target.empty() ? "its target" : r.target, r.reason));
  return r;
}

// A pair that was asked for and does not exist is bad input.
Report wanted(const Options& options) {
  if (is_source_file(options.name)) return users_report(options);
  refuse_compile_options(options.compile, options.name);
  if (!options.of_file.empty())
    throw UsageError(fmt::format("--name: it is for a file, and {} is not one", options.name));
  if (options.target.empty()) throw UsageError("--target is required");
  Report r = report_of(options.name, options.target);
  if (!r.legal()) {
    throw UsageError(fmt::format("schedule '{}' does not exist on {}: {}", options.name, options.target, r.reason));
  }
  return r;
}

Json certificate_document(const Certificate& c) {
  Json uses = Json::array(), cycle = Json::array();
  for (const UnitUse& u : c.uses) uses.push_back({{"op", u.op.c_str()}, {"cycles", u.cycles}});
  for (const CycleStep& s : c.cycle) {
    cycle.push_back({{"from", s.from.c_str()},
                     {"to", s.to.c_str()},
                     {"kind", word(s.kind)},
                     {"delay", s.delay},
                     {"distance", s.distance}});
  }
  Json units{{"mii", c.resource()}, {"unit", word(c.unit)}, {"capacity", c.capacity}, {"uses", uses}};
  Json recurrence{{"mii", c.recurrence()}, {"delay", c.delay()}, {"distance", c.distance()}, {"cycle", cycle}};
  return {{"set_by", c.set_by_units() ? "units" : "recurrence"}, {"units", units}, {"recurrence", recurrence}};
}

Json document_of(const Report& r) {
  Json entries = Json::array();
  for (const Section& section : r.sections) {
    for (size_t i = 0; i < section.entries.size(); ++i) {
      const ScheduleEntry& e = section.entries[i];
      Json entry{{"phase", word(e.phase)}, {"slot", e.time_slot}, {"op", r.costs.name(e.op).c_str()}};
      if (!section.role.empty()) entry["role"] = section.role;
      if (e.source >= 0) entry["iteration"] = int(e.shift);
      if (i < section.notes.size() && !section.notes[i].empty()) entry["why"] = section.notes[i];
      entries.push_back(entry);
    }
  }
  Json hazards = Json::array();
  for (const Diagnostic& d : r.hazards) hazards.push_back(to_text(d));
  Json document{{"name", r.name}, {"target", r.target}, {"entries", entries}};
  document["ii"] = r.ii ? Json(*r.ii) : Json(nullptr);
  document["mii"] = r.mii;
  document["critical_cycle"] = r.cycle;
  document["certificate"] = certificate_document(r.certificate);
  document["proven"] = r.proven();
  document["standing"] = r.standing;
  document["hazards"] = hazards;
  document["remarks"] = r.remarks;
  return document;
}

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
  out.line(fmt::format("{} on {}: {}, {}", r.name, r.target, r.standing, r.interval));
  for (const std::string& remark : r.remarks) out.line("  " + remark);
  for (const std::string& line : {units_text(r.certificate), cycle_text(r.certificate)})
    if (!line.empty()) out.line("  " + line);
  for (const Section& section : r.sections) {
    if (section.entries.empty()) continue;
    out.line("");
    out.line(fmt::format("{} ({} entries)", section.title(), section.entries.size()));
    Table table({"slot", "op", "iteration", "why"});
    for (size_t i = 0; i < section.entries.size(); ++i) {
      const ScheduleEntry& e = section.entries[i];
      table.row({fmt::format("{}", e.time_slot), r.costs.name(e.op).c_str(),
                 e.source >= 0 ? fmt::format("{:+}", e.shift) : "", i < section.notes.size() ? section.notes[i] : ""});
    }
    if (!table.empty()) out.table(table);
  }
  out.line("");
  out.line(to_ascii(r.picture));
  return exit_ok;
}

int run_verify(const Options& options, Output& out) {
  const Report r = wanted(options);
  const bool has_isa = !options.isa.empty();
  if (has_isa && is_source_file(options.name))
    throw UsageError("--isa: its order is compared with that of a shipped schedule; leave the file out");
  const auto isa = has_isa ? prove_code_object(options.isa, r.name, r.target) : std::vector<amd::MatmulProof>();
  Json document = document_of(r);
  if (has_isa) document["isa"] = isa_document(isa);
  out.document(document);
  std::vector<std::string> said;  // runs of several lengths find the same
  for (const Diagnostic& d : r.hazards) {
    const std::string text = to_text(d);
    if (std::find(said.begin(), said.end(), text) != said.end()) continue;
    said.push_back(text);
    out.line(out.paint(Mark::bad, text));
  }
  out.line(fmt::format("{} on {}: {}, {}", r.name, r.target, r.standing, r.interval));
  for (const std::string& remark : r.remarks) out.line(remark);
  print_isa(isa, out);
  return r.proven() && all_proven(isa) ? exit_ok : exit_wrong;
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

void configure_one(CommandLine& line, Context& context, const std::string& verb,
                   int (*action)(const Options&, Output&)) {
  auto options = std::make_shared<Options>();
  Check known = one_of(kNames);
  known.complaint = [of_names = known.complaint](std::string& word) {
    return is_source_file(word) ? std::string() : of_names(word);
  };
  line.text("name", options->name,
            fmt::format("which one: {}; or a C++ file that registers schedules of your own "
                        "(warpwright/schedule/registry.h)",
                        listed(kNames)))
      .check(std::move(known))
      .type("NAME|FILE")
      .required();
  line.text("--target", options->target, "for which chip; a schedule of your own may be made for one").one_of(kTargets);
  line.text("--name", options->of_file, "which one, if a file registers several").not_empty();
  add_compile_options(line, options->compile);
  if (verb == "verify") {
    line.file("--isa", options->isa, "also prove the kernels of this linked AMD code object: order and execution");
  }
  context.runs(line, fmt::format("./warpwright schedule {} ping-pong --target gfx950", verb),
               [options, action](Output& out) { return action(*options, out); });
}

}  // namespace

void configure_schedule(CommandLine& line, Context& context) {
  line.footer("Example:\n  ./warpwright schedule verify ping-pong --target gfx950 --json");
  CommandLine& list = line.command("list", "the schedules, and whether each is proven");
  context.runs(list, "./warpwright schedule list", run_list);
  configure_one(line.command("show", "the entries by phase, the waits and a timeline"), context, "show", run_show);
  configure_one(line.command("verify", "the validators; exit code 0 only if proven"), context, "verify", run_verify);
  configure_one(line.command("svg", "the timeline of the kernel as SVG, on stdout"), context, "svg", run_svg);
}

}  // namespace warpwright::cli
