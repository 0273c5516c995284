// The page: its parts are files of src/page, put together here with the data of the runs.
#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "system/embedded.h"
#include "text/json.h"
#include "timeline/meaning.h"
#include "timeline/stalls.h"
#include "timeline/timeline.h"

namespace warpwright::timeline {
namespace {

std::string part(const char* name) {
  for (const system::EmbeddedFile& file : system::embedded_page()) {
    if (std::strcmp(file.name, name) == 0) return file.text;
  }
  throw std::logic_error(fmt::format("the page has no part {}", name));
}

// Numbers as text: each in groups of seven bits, the lowest first, with the eighth set where more follow; a sign is the
// lowest bit. Then base64.
class Packed {
 public:
  void add(int64_t number) {
    uint64_t rest = (uint64_t(number) << 1) ^ uint64_t(number >> 63);
    for (; rest >= 0x80; rest >>= 7) bytes_.push_back(uint8_t(rest | 0x80));
    bytes_.push_back(uint8_t(rest));
  }
  std::string text() const {
    static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes_.size() + 2) / 3 * 4);
    for (size_t i = 0; i < bytes_.size(); i += 3) {
      const size_t left = bytes_.size() - i;
      const uint32_t three = uint32_t(bytes_[i]) << 16 | (left > 1 ? uint32_t(bytes_[i + 1]) << 8 : 0) |
                             (left > 2 ? uint32_t(bytes_[i + 2]) : 0);
      for (size_t d = 0; d < 4; ++d) out += d > left ? '=' : digits[three >> (18 - 6 * d) & 63];
    }
    return out;
  }

 private:
  std::vector<uint8_t> bytes_;
};

// Bars differ by their lane, row and time; everything else about them repeats and is kept in one list.
class Labels {
 public:
  int number(const TimelineBar& b) {
    const auto [it, fresh] = known_.try_emplace(std::tuple(b.kind, b.name, b.at), int(list_.size()));
    if (fresh) {
      const std::string object = b.kind == BarKind::run ? "" : object_of(b);
      list_.push_back({b.name, b.at, int(b.kind), b.slot, object, meaning_of(b)});
    }
    return it->second;
  }
  Json take() { return std::move(list_); }

 private:
  std::map<std::tuple<BarKind, std::string, std::string>, int> known_;
  Json list_ = Json::array();
};

Json roles_of(const Stalls& stalls) {
  Json roles = Json::array();
  for (const RoleTime& r : stalls.roles) {
    Json waits = Json::array();
    for (const TimelineShare& w : r.waits) waits.push_back({w.what, w.share});
    roles.push_back({r.role, r.warps, r.busy, r.done, std::move(waits)});
  }
  return roles;
}

Json run_of(const TimelineRun& run, Labels& labels) {
  const TimelineModel& m = run.model;
  Json lanes = Json::array(), counters = Json::array();
  std::vector<int> count(m.lanes.size(), 0);
  Packed bars, arrows, critical;
  int64_t before = 0;
  for (size_t i = 0; i < m.bars.size(); ++i) {
    const TimelineBar& b = m.bars[i];
    if (count[size_t(b.lane)]++ == 0) before = 0;
    bars.add(b.row);
    bars.add(b.begin - before);
    bars.add(b.end - b.begin);
    bars.add(labels.number(b));
    before = b.begin;
  }
  for (size_t i = 0; i < m.lanes.size(); ++i) {
    const TimelineLane& l = m.lanes[i];
    lanes.push_back({l.cta, l.group, l.name, l.engine, l.rows, count[i]});
  }
  int last = 0;
  for (const TimelineArrow& a : m.arrows) {
    arrows.add(a.to - last);
    arrows.add(a.from - a.to);
    last = a.to;
  }
  for (const TimelineCounter& c : m.counters) {
    Packed changes;
    int64_t at = 0;
    for (const auto& [time, value] : c.changes) {
      changes.add(time - at);
      changes.add(value);
      at = time;
    }
    counters.push_back({c.cta, c.name, c.most, changes.text()});
  }
  last = 0;
  int64_t at = 0;
  for (const TimelineStep& s : m.critical) {
    critical.add(s.bar - last);
    critical.add(s.begin - at);
    critical.add(s.end - s.begin);
    last = s.bar;
    at = s.begin;
  }
  const Stalls stalls = stalls_of(m);
  Json fields;
  fields["arrows"] = arrows.text();
  fields["bars"] = bars.text();
  fields["begin"] = m.begin;
  fields["block"] = m.block;
  fields["counters"] = std::move(counters);
  fields["critical"] = critical.text();
  fields["end"] = m.end;
  fields["idle"] = stalls.idle.text();
  fields["kernel"] = run.info.kernel;
  fields["lanes"] = std::move(lanes);
  fields["problem"] = run.info.problem;
  fields["roles"] = roles_of(stalls);
  fields["target"] = run.info.target;
  fields["time"] = run.info.time;
  fields["times"] = run.info.times;
  return fields;
}

// Text between the tags of a page: nothing in it may end the element.
std::string harmless(std::string text) {
  for (size_t at = 0; (at = text.find("</", at)) != std::string::npos; at += 3) text.replace(at, 2, "<\\/");
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

void fill(std::string& page, const std::string& field, const std::string& text) {
  const std::string mark = "{{" + field + "}}";
  page.replace(page.find(mark), mark.size(), text);
}

}  // namespace

std::string page_of(const std::vector<TimelineRun>& runs) {
  Labels labels;
  Json list = Json::array();
  for (const TimelineRun& run : runs) list.push_back(run_of(run, labels));
  Json data;
  data["labels"] = labels.take();
  data["runs"] = std::move(list);
  std::string page = part("timeline.html");
  fill(page, "title", runs.empty() ? "timeline" : escaped(runs.front().info.kernel + " " + runs.front().info.problem));
  fill(page, "style", part("timeline.css"));
  fill(page, "script", part("data.js") + part("rows.js") + part("draw.js") + part("input.js") + part("panel.js"));
  fill(page, "data", harmless(data.dump()));
  return page;
}

}  // namespace warpwright::timeline
