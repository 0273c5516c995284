#include "timeline/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "text/json.h"

namespace warpwright::timeline {
namespace {

constexpr int kTracksPerProcess = 10000;  // thread ids are unique in the whole file

std::string microseconds(int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }
std::string quoted(const std::string& text) { return Json(text).dump(); }

class Writer {
 public:
  // `name` comes before the numbers of its CTAs, unless it is the only run.
  void add(const TimelineModel& model, const std::string& name) {
    model_ = &model;
    name_ = name;
    next_tid_.clear();
    first_tid_.clear();
    int last = -1;
    for (const TimelineLane& lane : model.lanes) {
      add_lane(lane);
      last = std::max(last, lane.cta);
    }
    std::vector<bool> critical(model.bars.size());
    for (const TimelineStep& s : model.critical) critical[size_t(s.bar)] = true;
    for (size_t i = 0; i < model.bars.size(); ++i) add_bar(model.bars[i], critical[i]);
    for (const TimelineArrow& a : model.arrows) add_arrow(a);
    for (const TimelineCounter& c : model.counters) add_counter(c);
    first_pid_ += last + 1;
  }

  std::string finish(const TimelineInfo& info) {
    std::vector<size_t> order(events_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return std::pair(events_[a].time, a) < std::pair(events_[b].time, b); });
    std::string text = "{\"displayTimeUnit\":\"ns\",\"otherData\":{";
    text += fmt::format("\"kernel\":{},\"target\":{},\"problem\":{},\"times\":{}}},\n\"traceEvents\":[\n",
                        quoted(info.kernel), quoted(info.target), quoted(info.problem), quoted(info.times));
    const char* between = "";
    const auto add = [&](const std::string& event) {
      text += between + event;
      between = ",\n";
    };
    for (const std::string& m : metadata_) add(m);
    for (size_t i : order) add(events_[i].text);
    return text + "\n]}\n";
  }

 private:
  struct Event {
    int64_t time;
    std::string text;
  };

  int pid_of_cta(int cta) const { return first_pid_ + cta; }
  int pid_of(const TimelineBar& b) const { return pid_of_cta(model_->lanes[size_t(b.lane)].cta); }
  int tid_of(const TimelineBar& b) const { return first_tid_[size_t(b.lane)] + b.row; }

  void add_lane(const TimelineLane& lane) {
    const int pid = pid_of_cta(lane.cta);
    const auto [next, fresh] = next_tid_.try_emplace(lane.cta, pid * kTracksPerProcess);
    if (fresh) {
      name_thing("process_name", pid, next->second, fmt::format("{}CTA {}", name_, lane.cta));
      sort_thing("process_sort_index", pid, next->second, pid - 1);
    }
    first_tid_.push_back(next->second);
    for (int row = 0; row < lane.rows; ++row, ++next->second) {
      name_thing("thread_name", pid, next->second, row == 0 ? lane.name : fmt::format("{} ({})", lane.name, row + 1));
      sort_thing("thread_sort_index", pid, next->second, next->second % kTracksPerProcess);
    }
  }

  void name_thing(const char* what, int pid, int tid, const std::string& name) {
    metadata_.push_back(fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, pid,
                                    tid, quoted(name)));
  }
  void sort_thing(const char* what, int pid, int tid, int index) {
    metadata_.push_back(
        fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", what, pid, tid, index));
  }

  void add_bar(const TimelineBar& b, bool critical) {
    events_.push_back(
        {b.begin, fmt::format(R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},)"
                              R"("args":{{"at":{}{}}}}})",
                              quoted(b.name), word_of(b.kind), pid_of(b), tid_of(b), microseconds(b.begin),
                              microseconds(b.end - b.begin), quoted(b.at), critical ? R"(,"critical":true)" : "")});
  }

  // An arrow binds to the bar that encloses its end, so it starts and ends just inside.
  void add_arrow(const TimelineArrow& a) {
    ++arrows_;
    const auto flow = [&](const char* phase, const char* more, const TimelineBar& b) {
      const int64_t inside = std::max(b.begin, b.end - 1);
      events_.push_back({inside, fmt::format(R"({{"ph":"{}"{},"name":"releases","cat":"edge","id":{},"pid":{},)"
                                             R"("tid":{},"ts":{}}})",
                                             phase, more, arrows_, pid_of(b), tid_of(b), microseconds(inside))});
    };
    flow("s", "", model_->bars[size_t(a.from)]);
    flow("f", R"(,"bp":"e")", model_->bars[size_t(a.to)]);
  }

  void add_counter(const TimelineCounter& c) {
    for (const auto& [time, value] : c.changes) {
      events_.push_back({time, fmt::format(R"({{"ph":"C","name":{},"pid":{},"ts":{},"args":{{"value":{}}}}})",
                                           quoted(c.name), pid_of_cta(c.cta), microseconds(time), value)});
    }
  }

  const TimelineModel* model_ = nullptr;
  std::string name_;
  int first_pid_ = 1;            // process 0 is the idle process of a trace
  std::map<int, int> next_tid_;  // by CTA
  std::vector<int> first_tid_;   // by lane
  uint64_t arrows_ = 0;
  std::vector<std::string> metadata_;
  std::vector<Event> events_;
};

}  // namespace

std::string perfetto_of(const std::vector<TimelineRun>& runs) {
  Writer writer;
  TimelineInfo all = runs.empty() ? TimelineInfo{} : runs.front().info;
  for (const TimelineRun& run : runs) {
    writer.add(run.model, runs.size() == 1 ? "" : run.info.target + ", ");
    if (&run == &runs.front()) continue;
    all.target += " and " + run.info.target;
    all.times += "; " + run.info.target + ": " + run.info.times;
  }
  return writer.finish(all);
}
std::string perfetto_of(const TimelineRun& run) { return perfetto_of(std::vector{run}); }

}  // namespace warpwright::timeline
