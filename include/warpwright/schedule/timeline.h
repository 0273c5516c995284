// One iteration of a kernel as a picture, for programs that run on the host. A unit is a row; the glyph of an op is the
// age of the iteration that it belongs to (0: the newest), so overlapping iterations are seen at once.
#pragma once
#include <string>

#include "warpwright/schedule/pipeline.h"
#include "warpwright/schedule/text.h"

namespace warpwright::schedule {

struct Timeline {
  struct Bar {
    ResourceKind unit = ResourceKind::none;
    Name name = {};
    int begin = 0, length = 1;
    int age = 0;
    bool critical = false;  // on the cycle that sets the interval
  };
  struct Mark {  // a wait, a barrier or a hint, directly before `at`
    int at = 0;
    Name text = {};
  };
  std::string title = {};
  int length = 1;
  List<Bar> bars = {};
  List<Mark> marks = {};
  std::string footer = {};
};

namespace detail {
inline std::string pieces(std::initializer_list<std::string> list) {
  std::string s;
  for (const std::string& p : list) s += p;
  return s;
}
}  // namespace detail

// Columns are cycles.
inline Timeline timeline_of(const Pipeline& p) {
  using detail::pieces, std::to_string;
  Timeline t;
  t.title = pieces({p.name.c_str(), " on ", p.target.name.c_str()});
  t.length = p.interval();
  List<Name> waiting;
  for (const ScheduleEntry& e : p.schedule.kernel) {
    if (!e.op.tag.is_data()) {
      waiting.push_back(op_name(e.op));
      continue;
    }
    const OpNode& n = p.body.ops[size_t(e.source)];
    bool critical = false;
    for (const int i : p.placement.mii.cycle) critical = critical || i == e.source;
    const int begin = p.order.row[size_t(e.source)];
    for (const Name& w : waiting) t.marks.push_back({begin, w});
    waiting = {};
    const int length = n.occupancy > 0 ? n.occupancy : n.latency;
    t.bars.push_back({n.resource, n.name, begin, length < t.length ? length : t.length, p.order.stage[size_t(e.source)],
                      critical && p.placement.mii.recurrence == p.mii()});
  }
  for (const Name& w : waiting) t.marks.push_back({t.length, w});
  std::string cycle;
  for (const int i : p.placement.mii.cycle)
    cycle += pieces({cycle.empty() ? "" : " > ", p.body.ops[size_t(i)].name.c_str()});
  t.footer = pieces({"II ",
                     to_string(p.interval()),
                     ", MII ",
                     to_string(p.mii()),
                     " (units ",
                     to_string(p.placement.mii.resource),
                     " by ",
                     word(p.placement.mii.unit),
                     ", recurrence ",
                     to_string(p.placement.mii.recurrence),
                     cycle.empty() ? "" : ": ",
                     cycle,
                     ")\n",
                     "stages ",
                     to_string(p.stages()),
                     ", barriers ",
                     to_string(p.barriers()),
                     ", shared ",
                     to_string(p.shared()),
                     " B, registers ",
                     to_string(p.registers.peak)});
  for (const SharedBuffer& b : p.buffers)
    for (const BufferDepth& d : p.depths)
      if (d.buffer == b.id) t.footer += pieces({", depth of ", b.name.c_str(), " ", to_string(d.depth)});
  return t;
}

// Columns are entries, for schedules that know no cycles.
inline Timeline timeline_of(const EntryList& kernel, const TargetCostModel& costs, const std::string& title) {
  Timeline t;
  t.title = title;
  t.length = int(kernel.size()) > 0 ? int(kernel.size()) : 1;
  for (int i = 0; i < int(kernel.size()); ++i) {
    const OpDesc& op = kernel[size_t(i)].op;
    if (op.tag.is_data()) {
      t.bars.push_back({op.resource, costs.name(op), i, 1, 0, false});
    } else {
      t.marks.push_back({i, op_name(op)});
    }
  }
  t.footer = detail::pieces({std::to_string(kernel.size()), " entries"});
  return t;
}

// "global_mem |000....|", one row per unit, with the waits and barriers below.
inline std::string to_ascii(const Timeline& t, int columns = 96) {
  const auto column = [&](int at) { return int(int64_t(at) * columns / t.length); };
  std::string out = t.title + "\n";
  const auto row = [&](const std::string& name, const std::string& cells) {
    out += name + std::string(name.size() < 11 ? 11 - name.size() : 0, ' ') + '|' + cells + "|\n";
  };
  for (int unit = 0; unit < kResourceKinds; ++unit) {
    std::string cells(size_t(columns), '.');
    bool used = false;
    for (const Timeline::Bar& b : t.bars) {
      if (int(b.unit) != unit) continue;
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
  List<Timeline::Mark> left = t.marks;
  for (bool first = true; !left.empty(); first = false) {
    std::string cells(size_t(columns), ' ');
    List<Timeline::Mark> later;
    int free = 0;
    for (const Timeline::Mark& m : left) {
      const std::string text = m.text == Name("BAR") ? "#" : "|" + std::string(m.text.c_str()) + "|";
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
  return out + t.footer + "\n";
}

// A standalone document. Hazards are listed in red below the picture.
inline std::string to_svg(const Timeline& t, const Diagnostics& hazards = {}) {
  using detail::pieces, std::to_string;
  constexpr int kLeft = 90, kWidth = 1000, kRow = 18, kTop = 40;
  const auto escaped = [](const std::string& text) {
    std::string s;
    for (const char c : text) s += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
    return s;
  };
  const auto x_of = [&](int at) { return kLeft + int(int64_t(at) * kWidth / t.length); };
  constexpr const char* colours[] = {"#4e79a7", "#59a14f", "#f28e2b", "#9c755f", "#b07aa1"};
  std::string body;
  const auto text = [&](int x, int y, const std::string& what, const char* style) {
    body +=
        pieces({"<text x=\"", to_string(x), "\" y=\"", to_string(y), "\" ", style, ">", escaped(what), "</text>\n"});
  };
  // A unit has as many lanes as ops overlap on it, so none hides another.
  int rows = 0;
  for (int unit = 0; unit < kResourceKinds; ++unit) {
    List<int> lane_ends;
    for (const Timeline::Bar& b : t.bars) {
      if (int(b.unit) != unit) continue;
      if (lane_ends.empty()) text(4, kTop + rows * kRow + 14, word(b.unit), "class=\"unit\"");
      int lane = 0;
      while (lane < int(lane_ends.size()) && lane_ends[size_t(lane)] > b.begin) ++lane;
      if (lane == int(lane_ends.size())) lane_ends.push_back(0);
      lane_ends[size_t(lane)] = b.begin + b.length;
      const int y = kTop + (rows + lane) * kRow;
      const auto bar = [&](int begin, int end) {
        const int width = x_of(end) - x_of(begin) > 3 ? x_of(end) - x_of(begin) : 3;
        body += pieces({"<rect x=\"", to_string(x_of(begin)), "\" y=\"", to_string(y), "\" width=\"", to_string(width),
                        "\" height=\"", to_string(kRow - 2), "\" fill=\"", colours[unit], "\" stroke=\"",
                        b.critical ? "#e15759" : "#ffffff", "\" fill-opacity=\"0.6\"><title>", escaped(b.name.c_str()),
                        ", ", to_string(b.age), " iterations old, cycle ", to_string(b.begin), "</title></rect>\n"});
      };
      const int end = b.begin + b.length;
      bar(b.begin, end < t.length ? end : t.length);
      if (end > t.length) bar(0, end - t.length);
      text(x_of(b.begin) + 2, y + 13, b.name.c_str(), "class=\"op\"");
    }
    rows += int(lane_ends.size());
  }
  const int bottom = kTop + rows * kRow;
  int stacked = 0, last = -1;
  for (const Timeline::Mark& m : t.marks) {
    stacked = m.at == last ? stacked + 1 : 0;
    last = m.at;
    body += pieces({"<line x1=\"", to_string(x_of(m.at)), "\" y1=\"", to_string(kTop), "\" x2=\"",
                    to_string(x_of(m.at)), "\" y2=\"", to_string(bottom), "\" stroke=\"#333333\" stroke-dasharray=\"",
                    m.text == Name("BAR") ? "none" : "3 3", "\"/>\n"});
    text(x_of(m.at) + 2, bottom + 12 + 12 * stacked, m.text.c_str(), "class=\"op\"");
  }
  int y = bottom + 70;
  for (size_t from = 0; from < t.footer.size(); y += 16) {
    const size_t end = std::min(t.footer.find('\n', from), t.footer.size());
    text(4, y, t.footer.substr(from, end - from), "class=\"unit\"");
    from = end + 1;
  }
  for (const Diagnostic& d : hazards) text(4, y, to_text(d), "class=\"unit\" fill=\"#e15759\""), y += 16;
  return pieces({"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", to_string(kLeft + kWidth + 40), "\" height=\"",
                 to_string(y + 10), "\">\n<style>.unit{font:12px monospace}.op{font:10px monospace}</style>\n",
                 "<text x=\"4\" y=\"20\" class=\"unit\">", escaped(t.title), "</text>\n", body, "</svg>\n"});
}

}  // namespace warpwright::schedule
