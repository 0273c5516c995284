// One iteration of a kernel as a picture, for programs that run on the host. Each unit of each role is a lane; an op
// has the age of the iteration that it belongs to (0: the newest), so overlapping iterations are seen at once.
#pragma once
#include <string>
#include <vector>

#include "warpwright/schedule/proof.h"
#include "warpwright/schedule/text.h"

namespace warpwright::schedule {

// The picture: bars, and marks between them.
struct Timeline {
  struct Bar {
    int role = 0;
    ResourceKind unit = ResourceKind::none;
    Name name = {};
    int begin = 0, length = 1;
    int age = 0;
    int critical = -1;  // place on the cycle that sets the interval
  };
  enum class MarkKind { wait, barrier, arrive, hint };
  struct Mark {  // directly before `at`
    int role = 0;
    int at = 0;
    Name text = {};
    MarkKind kind = MarkKind::wait;
  };
  std::string title = {};
  std::vector<std::string> roles = {""};
  std::string axis = "cycles";
  int length = 1;
  std::vector<Bar> bars = {};
  std::vector<Mark> marks = {};
  std::vector<std::string> facts = {};
};

namespace detail {

inline std::string pieces(std::initializer_list<std::string> list) {
  std::string s;
  for (const std::string& p : list) s += p;
  return s;
}

inline Timeline::MarkKind mark_kind(const OpDesc& op) {
  if (op.is_barrier()) return Timeline::MarkKind::barrier;
  if (op.tag == tags::phase_arrive || op.is_commit()) return Timeline::MarkKind::arrive;
  return op.role == OpRole::fence ? Timeline::MarkKind::hint : Timeline::MarkKind::wait;
}

// Cycles are counted from one op for all roles, so that ops that run at the same time are drawn one above the other.
inline void add_kernel(Timeline& t, const Pipeline& p, const EntryList& kernel, int stages, int origin, int role) {
  std::vector<OpDesc> waiting;
  const auto put = [&](int at) {
    for (const OpDesc& op : waiting) t.marks.push_back({role, at, op_name(op), mark_kind(op)});
    waiting.clear();
  };
  const Mii& mii = p.placement.mii;
  int behind = 0;  // where the entries after the last op go: a wave does not wait for an asynchronous one
  for (const ScheduleEntry& e : kernel) {
    if (!e.op.tag.is_data()) {
      waiting.push_back(e.op);
      continue;
    }
    const OpNode& n = p.body.ops[size_t(e.source)];
    int critical = -1;
    for (size_t i = 0; mii.recurrence == p.mii() && i < mii.cycle.size(); ++i)
      if (mii.cycle[i] == e.source) critical = int(i);
    const int begin = ((p.placement.start[size_t(e.source)] - origin) % t.length + t.length) % t.length;
    put(begin);
    behind = p.target.counter_of(e.op.role) == Counter::none ? t.length : begin;
    const int length = n.occupancy > 0 ? n.occupancy : n.latency;
    t.bars.push_back(
        {role, n.resource, n.name, begin, length < t.length ? length : t.length, stages - 1 - e.shift, critical});
  }
  put(behind);
}

}  // namespace detail

// Why the interval is what it is: "MII 1024 = units 1024 (mma_unit); recurrence 992: LD > ST > LD".
inline std::string interval_reason(const Pipeline& p) {
  using detail::pieces, std::to_string;
  const Mii& mii = p.placement.mii;
  std::string cycle;
  for (const int i : mii.cycle) cycle += pieces({p.body.ops[size_t(i)].name.c_str(), " > "});
  if (!mii.cycle.empty()) cycle += p.body.ops[size_t(mii.cycle[0])].name.c_str();
  std::string s = pieces({"II ", to_string(p.interval()), ", MII ", to_string(p.mii()), ": units ",
                          to_string(mii.resource), " (", word(mii.unit), "), recurrence ", to_string(mii.recurrence)});
  if (!cycle.empty()) s += pieces({" (", cycle, ")"});
  return s + (p.placement.optimal() ? ", optimal" : "");
}

// The picture of one iteration of a pipeline or of a schedule.
inline Timeline timeline_of(const Pipeline& p) {
  using detail::pieces, std::to_string;
  Timeline t;
  t.title = pieces({p.name.c_str(), " on ", p.target.name.c_str()});
  t.length = p.interval();
  const EntryList& last = p.is_split() ? p.programs.back().schedule.kernel : p.schedule.kernel;
  int origin = 0;
  for (size_t i = last.size(); i > 0; --i)
    if (last[i - 1].op.tag.is_data()) origin = p.placement.start[size_t(last[i - 1].source)];
  if (!p.is_split()) detail::add_kernel(t, p, p.schedule.kernel, p.stages(), origin, 0);
  for (size_t r = 0; r < p.programs.size(); ++r) {
    const RoleProgram& program = p.programs[r];
    std::string name = program.name.c_str();
    if (program.copies > 1) name += pieces({" x", to_string(program.copies)});
    if (r == 0) t.roles.clear();
    t.roles.push_back(name);
    detail::add_kernel(t, p, program.schedule.kernel, program.stages(), origin, int(r));
  }
  t.facts.push_back(interval_reason(p));
  std::string second = pieces({"stages ", to_string(p.stages()), ", barriers ", to_string(p.barriers()), ", shared ",
                               to_string(p.shared()), " B, registers ", to_string(p.registers.peak)});
  for (const SharedBuffer& b : p.buffers)
    for (const BufferDepth& d : p.depths)
      if (d.space == Space::shared && d.buffer == b.id) {
        second += pieces({", depth of ", b.name.c_str(), " ", to_string(d.depth)});
      }
  t.facts.push_back(second);
  for (const PhaseRing& r : p.rings) {
    t.facts.push_back(
        pieces({"ring ", to_string(int(r.id)), " (", r.name.c_str(), "): ", to_string(r.slots), " slots, full after ",
                to_string(r.full_arrivals), " arrival and ", to_string(int(r.tile_bytes)), " B, empty after ",
                to_string(r.empty_arrivals), " arrivals"}));
  }
  return t;
}

// Columns are entries, for schedules that know no cycles.
inline Timeline timeline_of(const EntryList& kernel, const TargetCostModel& costs, const std::string& title) {
  Timeline t;
  t.title = title;
  t.axis = "entries";
  t.length = int(kernel.size()) > 0 ? int(kernel.size()) : 1;
  for (int i = 0; i < int(kernel.size()); ++i) {
    const OpDesc& op = kernel[size_t(i)].op;
    if (op.tag.is_data()) {
      t.bars.push_back({0, op.resource, costs.name(op), i, 1, op.role == OpRole::compute ? 0 : int(op.stage), -1});
    } else {
      t.marks.push_back({0, i, op_name(op), detail::mark_kind(op)});
    }
  }
  t.facts.push_back(detail::pieces({std::to_string(kernel.size()), " entries"}));
  return t;
}

// "global_mem |000....|", one row per unit, with the waits and barriers of the role below.
inline std::string to_ascii(const Timeline& t, int columns = 96) {
  const auto column = [&](int at) { return int(int64_t(at) * columns / t.length); };
  std::string out = t.title + "\n";
  const auto row = [&](const std::string& name, const std::string& cells) {
    out += name + std::string(name.size() < 11 ? 11 - name.size() : 0, ' ') + '|' + cells + "|\n";
  };
  for (int role = 0; role < int(t.roles.size()); ++role) {
    if (!t.roles[size_t(role)].empty()) out += t.roles[size_t(role)] + "\n";
    for (int unit = 0; unit < kResourceKinds; ++unit) {
      std::string cells(size_t(columns), '.');
      bool used = false;
      for (const Timeline::Bar& b : t.bars) {
        if (b.role != role || int(b.unit) != unit) continue;
        used = true;
        const int first = column(b.begin), last = column(b.begin + b.length);
        for (int x = first; x < last || x == first; ++x) {
          char& cell = cells[size_t(x % columns)];
          // Where ops of several ages share a column, the newest is shown.
          const char glyph = char('0' + b.age % 10);
          if (cell == '.' || glyph < cell) cell = glyph;
        }
      }
      if (used) row(word(ResourceKind(unit)), cells);
    }
    // Marks take as many rows as they need not to cover each other.
    std::vector<Timeline::Mark> left;
    for (const Timeline::Mark& m : t.marks)
      if (m.role == role) left.push_back(m);
    for (bool first = true; !left.empty(); first = false) {
      std::string cells(size_t(columns), ' ');
      std::vector<Timeline::Mark> later;
      int free = 0;
      for (const Timeline::Mark& m : left) {
        const bool barrier = m.kind == Timeline::MarkKind::barrier;
        const std::string text = barrier ? std::string("#") : std::string("|").append(m.text.c_str()).append("|");
        int at = column(m.at);
        if (at + int(text.size()) > columns) at = columns - int(text.size());
        if (at < free) {
          later.push_back(m);
          continue;
        }
        cells.replace(size_t(at), text.size(), text);
        free = at + int(text.size());
      }
      row(first ? "sync" : "", cells);
      left = later;
    }
  }
  for (const std::string& fact : t.facts) out += fact + "\n";
  return out;
}
inline std::string to_ascii(const Pipeline& p, int columns = 96) { return to_ascii(timeline_of(p), columns); }

}  // namespace warpwright::schedule
