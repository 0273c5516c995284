// The page: its parts are files of src/page, put together here with the data of the runs.
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "system/embedded.h"
#include "text/json.h"
#include "timeline/timeline.h"

namespace warpwright::timeline {
namespace {

std::string part(const char* name) {
  for (const system::EmbeddedFile& file : system::embedded_page()) {
    if (std::strcmp(file.name, name) == 0) return file.text;
  }
  throw std::logic_error(fmt::format("the page has no part {}", name));
}

// Names repeat: the bars hold their numbers.
class Names {
 public:
  int number(const std::string& name) {
    const auto [it, fresh] = known_.try_emplace(name, int(list_.size()));
    if (fresh) list_.push_back(name);
    return it->second;
  }
  Json take() { return std::move(list_); }

 private:
  std::map<std::string, int> known_;
  Json list_ = Json::array();
};

Json run_of(const TimelineRun& run, Names& names) {
  const TimelineModel& m = run.model;
  Json lanes = Json::array(), bars = Json::array(), arrows = Json::array(), counters = Json::array(),
       critical = Json::array();
  for (const TimelineLane& l : m.lanes) lanes.push_back({l.cta, l.group, l.name, l.engine, l.rows});
  for (const TimelineBar& b : m.bars) {
    bars.push_back({b.lane, b.row, b.begin, b.end, int(b.kind), names.number(b.name), names.number(b.at), b.slot});
  }
  for (const TimelineArrow& a : m.arrows) arrows.push_back({a.from, a.to});
  for (const TimelineCounter& c : m.counters) counters.push_back({c.cta, c.name, c.most, c.changes});
  for (const TimelineStep& s : m.critical) critical.push_back({s.bar, s.begin, s.end});
  Json fields;
  fields["arrows"] = std::move(arrows);
  fields["bars"] = std::move(bars);
  fields["counters"] = std::move(counters);
  fields["critical"] = std::move(critical);
  fields["end"] = m.end;
  fields["kernel"] = run.info.kernel;
  fields["lanes"] = std::move(lanes);
  fields["problem"] = run.info.problem;
  fields["target"] = run.info.target;
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
  Names names;
  Json list = Json::array();
  for (const TimelineRun& run : runs) list.push_back(run_of(run, names));
  Json data;
  data["names"] = names.take();
  data["runs"] = std::move(list);
  std::string page = part("timeline.html");
  fill(page, "title", runs.empty() ? "timeline" : escaped(runs.front().info.kernel + " " + runs.front().info.problem));
  fill(page, "style", part("timeline.css"));
  fill(page, "script", part("timeline.js") + part("timeline_input.js"));
  fill(page, "data", harmless(data.dump()));
  return page;
}

}  // namespace warpwright::timeline
