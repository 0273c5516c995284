// A timeline as a standalone SVG: lanes by role and unit, colours by age, waits and barriers below their lanes, the
// cycle that sets the interval in red, hazards listed at the end.
#pragma once
#include <string>
#include <vector>

#include "warpwright/schedule/timeline.h"

namespace warpwright::schedule {

namespace detail {

class TimelineSvg {
 public:
  TimelineSvg(const Timeline& t, const Diagnostics& hazards) : t_(t), hazards_(hazards) {
    const bool entries = t.axis == "entries";
    width_ = entries && t.length * kEntryWidth > kWidth ? t.length * kEntryWidth : kWidth;
    places_.resize(t.bars.size());
  }

  std::string draw() {
    text(kMargin, 26, "title", t_.title);
    legend(48);
    int y = 78;
    ruler_top_ = y;
    for (int role = 0; role < int(t_.roles.size()); ++role) y = draw_role(role, y);
    ruler(y);
    y += 42;
    arrows();
    for (const std::string& fact : t_.facts) text(kMargin, y, "fact", fact), y += 18;
    for (const Diagnostic& d : hazards_) text(kMargin, y, "hazard", to_text(d)), y += 18;
    const std::string size =
        pieces({"width=\"", number(kLeft + width_ + kMargin), "\" height=\"", number(y + 6), "\""});
    return pieces({"<svg xmlns=\"http://www.w3.org/2000/svg\" ", size, " viewBox=\"0 0 ",
                   number(kLeft + width_ + kMargin), " ", number(y + 6), "\">\n", kStyle,
                   "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", grid_, body_, "</svg>\n"});
  }

 private:
  static constexpr int kLeft = 120, kWidth = 1080, kMargin = 20, kLane = 24, kPill = 16, kEntryWidth = 38;
  static constexpr int kCharacter = 7;  // width of a character of 11 px
  static constexpr const char* kStyle =
      "<style>text{font-family:Helvetica,Arial,sans-serif}.title{font-size:17px;font-weight:bold;fill:#1b1f24}"
      ".unit{font-size:12px;fill:#57606a}.role{font-size:13px;font-weight:bold;fill:#1b1f24}"
      ".op{font-size:11px;font-family:monospace;fill:#ffffff}.dark{font-size:11px;font-family:monospace;fill:#1b1f24}"
      ".pill{font-size:10px;font-family:monospace;fill:#1b1f24}.tick{font-size:10px;fill:#57606a}"
      ".fact{font-size:12px;font-family:monospace;fill:#1b1f24}.hazard{font-size:12px;font-family:monospace;"
      "fill:#cf222e}</style>\n"
      "<defs><marker id=\"tip\" markerWidth=\"7\" markerHeight=\"7\" refX=\"6\" refY=\"3\" orient=\"auto\">"
      "<path d=\"M0,0 L6,3 L0,6 z\" fill=\"#cf222e\"/></marker></defs>\n";

  struct Place {
    int x = 0, y = 0, width = 0;
  };

  static std::string number(int v) { return std::to_string(v); }
  static std::string escaped(const std::string& s) {
    std::string out;
    for (const char c : s) out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
    return out;
  }
  static const char* colour(int age) {
    constexpr const char* colours[] = {"#0969da", "#bf5b04", "#1a7f37", "#8250df", "#0e7490", "#9a6700"};
    return colours[age % 6];
  }
  static const char* colour(Timeline::MarkKind kind) {
    switch (kind) {
      case Timeline::MarkKind::wait:
        return "#ffd33d";
      case Timeline::MarkKind::barrier:
        return "#ff8182";
      case Timeline::MarkKind::arrive:
        return "#aceebb";
      default:
        return "#d8dee4";
    }
  }
  int x_of(int at) const { return kLeft + int(int64_t(at) * width_ / t_.length); }

  void text(int x, int y, const char* style, const std::string& what) {
    body_ += pieces(
        {"<text x=\"", number(x), "\" y=\"", number(y), "\" class=\"", style, "\">", escaped(what), "</text>\n"});
  }
  void rect(int x, int y, int width, int height, const std::string& fill, const std::string& more,
            const std::string& tip) {
    body_ += pieces({"<rect x=\"", number(x), "\" y=\"", number(y), "\" width=\"", number(width), "\" height=\"",
                     number(height), "\" fill=\"", fill, "\" ", more, "><title>", escaped(tip), "</title></rect>\n"});
  }
  static void line(std::string& to, int x1, int y1, int x2, int y2, const char* style) {
    to += pieces({"<line x1=\"", number(x1), "\" y1=\"", number(y1), "\" x2=\"", number(x2), "\" y2=\"", number(y2),
                  "\" ", style, "/>\n"});
  }

  void legend(int y) {
    int x = kMargin, oldest = 0;
    const auto entry = [&](const char* fill, const std::string& what) {
      rect(x, y - 10, 12, 12, fill, "rx=\"3\"", what);
      text(x + 17, y, "unit", what);
      x += 34 + kCharacter * int(what.size());
    };
    for (const Timeline::Bar& b : t_.bars) oldest = b.age > oldest ? b.age : oldest;
    for (int age = 0; age <= oldest && age < 6; ++age) entry(colour(age), age_text(age));
    const auto mark = [&](Timeline::MarkKind kind, const char* what) {
      for (const Timeline::Mark& m : t_.marks) {
        if (m.kind != kind) continue;
        entry(colour(kind), what);
        return;
      }
    };
    mark(Timeline::MarkKind::wait, "wait");
    mark(Timeline::MarkKind::barrier, "barrier");
    mark(Timeline::MarkKind::arrive, "arrival, commit");
    mark(Timeline::MarkKind::hint, "fence, priority");
  }
  std::string age_text(int age) const {
    if (t_.axis == "entries") return pieces({"LDS stage ", number(age)});
    return age == 0 ? "iteration i" : pieces({"iteration i - ", number(age)});
  }

  // Returns where the next role begins.
  int draw_role(int role, int y) {
    if (!t_.roles[size_t(role)].empty()) text(kMargin, y + 14, "role", t_.roles[size_t(role)]), y += 22;
    const int top = y;
    for (int unit = 0; unit < kResourceKinds; ++unit) y = draw_unit(role, ResourceKind(unit), y);
    return draw_marks(role, top, y + 4) + 14;
  }

  // A unit has as many lanes as ops overlap on it, so none hides another.
  int draw_unit(int role, ResourceKind unit, int y) {
    std::vector<std::vector<Place>> lanes;
    for (size_t i = 0; i < t_.bars.size(); ++i) {
      const Timeline::Bar& b = t_.bars[i];
      if (b.role != role || b.unit != unit) continue;
      if (lanes.empty()) text(kMargin, y + 16, "unit", word(unit));
      const int end = b.begin + b.length;
      std::vector<Place> parts = {{b.begin, 0, (end < t_.length ? end : t_.length) - b.begin}};
      if (end > t_.length) parts.push_back({0, 0, end - t_.length});
      size_t lane = 0;
      while (lane < lanes.size() && !fits(lanes[lane], parts)) ++lane;
      if (lane == lanes.size()) lanes.emplace_back();
      for (const Place& p : parts) lanes[lane].push_back(p);
      draw_bar(i, y + int(lane) * kLane, parts);
    }
    if (lanes.empty()) return y;
    const int bottom = y + int(lanes.size()) * kLane;
    line(grid_, kMargin, bottom + 2, kLeft + width_, bottom + 2, "stroke=\"#eaeef2\"");
    return bottom + 5;
  }
  static bool fits(const std::vector<Place>& lane, const std::vector<Place>& parts) {
    for (const Place& a : lane)
      for (const Place& b : parts)
        if (a.x < b.x + b.width && b.x < a.x + a.width) return false;
    return true;
  }
  void draw_bar(size_t index, int y, const std::vector<Place>& parts) {
    const Timeline::Bar& b = t_.bars[index];
    const std::string name = b.name.c_str();
    const std::string tip =
        pieces({name, ", ", age_text(b.age), ", from ", number(b.begin), " for ", number(b.length)});
    for (size_t k = 0; k < parts.size(); ++k) {
      const int x = x_of(parts[k].x), full = x_of(parts[k].x + parts[k].width) - x;
      const int width = full > 5 ? full - 2 : 3;
      const std::string edge = b.critical >= 0 ? "stroke=\"#cf222e\" stroke-width=\"2\"" : "stroke=\"none\"";
      rect(x + 1, y + 2, width, kLane - 4, colour(b.age), pieces({"rx=\"4\" ", edge}), tip);
      if (k == 0) places_[index] = {x + 1, y + kLane / 2, width};
      const bool inside = width > kCharacter * int(name.size()) + 6;
      if (inside) text(x + 6, y + 16, "op", (k > 0 ? "... " : "") + name);
      if (!inside && k == 0) text(x + width + 4, y + 16, "dark", name);
    }
  }

  int draw_marks(int role, int top, int y) {
    std::vector<int> row_ends;
    for (const Timeline::Mark& m : t_.marks) {
      if (m.role != role) continue;
      const std::string name = m.text.c_str();
      const int width = 6 * int(name.size()) + 10;
      int x = x_of(m.at);
      if (x + width > kLeft + width_) x = kLeft + width_ - width;
      size_t row = 0;
      while (row < row_ends.size() && row_ends[row] > x) ++row;
      if (row == row_ends.size()) row_ends.push_back(0);
      row_ends[row] = x + width + 3;
      const int at = y + int(row) * (kPill + 3);
      const bool barrier = m.kind == Timeline::MarkKind::barrier;
      line(grid_, x_of(m.at), top, x_of(m.at), at,
           barrier ? "stroke=\"#cf222e\" stroke-width=\"1.5\"" : "stroke=\"#afb8c1\" stroke-dasharray=\"2 3\"");
      rect(x, at, width, kPill, colour(m.kind), "rx=\"8\"", pieces({name, " before ", t_.axis, " ", number(m.at)}));
      text(x + 5, at + 12, "pill", name);
    }
    if (!row_ends.empty()) text(kMargin, y + 12, "unit", "sync");
    return y + int(row_ends.size()) * (kPill + 3);
  }

  void ruler(int y) {
    constexpr int kTicks = 8;
    for (int i = 0; i <= kTicks; ++i) {
      const int at = int(int64_t(t_.length) * i / kTicks), x = x_of(at);
      line(grid_, x, ruler_top_, x, y + 4, "stroke=\"#f0f2f4\"");
      text(x - 8, y + 16, "tick", number(at));
    }
    text(kMargin, y + 16, "tick", t_.axis);
  }

  // From the end of each op of the critical cycle to the next.
  void arrows() {
    int length = 0;
    for (const Timeline::Bar& b : t_.bars) length = b.critical + 1 > length ? b.critical + 1 : length;
    const auto of = [this](int step) {
      for (size_t i = 0; i < t_.bars.size(); ++i)
        if (t_.bars[i].critical == step) return i;
      return t_.bars.size();
    };
    for (int step = 0; length > 1 && step < length; ++step) {
      const size_t from = of(step), to = of((step + 1) % length);
      if (from == t_.bars.size() || to == t_.bars.size()) continue;
      const Place &a = places_[from], &b = places_[to];
      const int x = a.x + a.width, right = kLeft + width_ + kMargin - 4;
      if (x <= b.x + 6) {
        arrow(x, a.y, b.x, b.y);
      } else {  // into the next iteration
        arrow(x, a.y, right, a.y);
        arrow(kLeft - 16, b.y, b.x, b.y);
      }
    }
  }

  void arrow(int x1, int y1, int x2, int y2) {
    const std::string middle = number((x1 + x2) / 2);
    body_ += pieces({"<path d=\"M", number(x1), ",", number(y1), " C", middle, ",", number(y1), " ", middle, ",",
                     number(y2), " ", number(x2), ",", number(y2),
                     "\" fill=\"none\" stroke=\"#cf222e\" stroke-width=\"1.2\" marker-end=\"url(#tip)\"/>\n"});
  }

  const Timeline& t_;
  const Diagnostics& hazards_;
  int width_ = kWidth;
  int ruler_top_ = 0;
  std::vector<Place> places_;
  std::string grid_, body_;
};

}  // namespace detail

// The picture as an SVG document.
inline std::string to_svg(const Timeline& t, const Diagnostics& hazards = {}) {
  return detail::TimelineSvg(t, hazards).draw();
}
inline std::string to_svg(const Pipeline& p, const Diagnostics& hazards = {}) {
  return to_svg(timeline_of(p), hazards);
}

}  // namespace warpwright::schedule
