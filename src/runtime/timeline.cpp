#include "runtime/timeline.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

namespace warpwright::runtime {
namespace {

using nlohmann::ordered_json;

struct Bar {
  std::string name;
  std::string detail;
  const char* category = "";
  int64_t begin = 0, end = 0;  // ns, the resolution of Perfetto
  int tid = 0;
};

struct Track {
  std::string name;
  int order = 0;  // warps by number, then the engines
  std::vector<size_t> bars;
};

constexpr int kEngineOrder = 1000;
constexpr int kTracksPerProcess = 10000;  // thread ids are unique in the whole file

int64_t nanoseconds(double us) { return std::llround(us * 1e3); }
std::string microseconds(int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }
std::string quoted(const std::string& text) {
  return ordered_json(text).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

int number_after(const std::string& text, size_t at) {
  int value = 0;
  std::from_chars(text.data() + std::min(at, text.size()), text.data() + text.size(), value);
  return value;
}

// "cta 3 / load / warp 4" or "cta 3 / TMA", as the simulator names tracks.
struct Place {
  int cta = 0;
  Track track;
};
Place place_of(const std::string& name) {
  constexpr const char* separator = " / ";
  Place p;
  p.cta = number_after(name, std::strlen("cta "));
  const size_t first = name.find(separator);
  if (first == std::string::npos) return p;
  const std::string rest = name.substr(first + 3);
  const size_t second = rest.find(separator);
  if (second == std::string::npos) {
    p.track = {rest, kEngineOrder, {}};
  } else {
    const std::string warp = rest.substr(second + 3);
    p.track = {rest.substr(0, second) + " " + warp, number_after(warp, std::strlen("warp ")), {}};
  }
  return p;
}

// The first lane that is free when the bar begins.
size_t free_lane(std::vector<int64_t>& lane_ends, const Bar& bar) {
  for (size_t i = 0; i < lane_ends.size(); ++i) {
    if (lane_ends[i] <= bar.begin) return i;
  }
  lane_ends.push_back(0);
  return lane_ends.size() - 1;
}

class Writer {
 public:
  explicit Writer(const simulator::Result& result) {
    for (const simulator::Span& s : result.spans) {
      Bar bar{s.name, s.detail, s.waiting ? "wait" : "engine", nanoseconds(s.begin_us), nanoseconds(s.end_us), 0};
      bar.end = std::max(bar.end, bar.begin);
      Place place = place_of(s.track);
      Track& track = tracks_[place.cta].try_emplace({place.track.order, place.track.name}, place.track).first->second;
      track.bars.push_back(bars_.size());
      bars_.push_back(std::move(bar));
    }
    spans_ = bars_.size();
    for (auto& [cta, tracks] : tracks_) {
      for (auto& [key, track] : tracks) {
        if (track.order < kEngineOrder) add_running(track);
      }
    }
    for (const auto& [cta, tracks] : tracks_) lay_out(cta, tracks);
    for (const Bar& bar : bars_) add_bar(bar);
    for (const simulator::Edge& e : result.edges) add_edge(e);
  }

  Timeline finish(const TimelineInfo& info) {
    std::vector<size_t> order(events_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return std::pair(events_[a].time, a) < std::pair(events_[b].time, b); });
    Timeline t;
    t.spans = spans_;
    t.edges = edges_;
    t.json = "{\"displayTimeUnit\":\"ns\",\"otherData\":{";
    t.json += fmt::format("\"kernel\":{},\"target\":{},\"problem\":{},", quoted(info.kernel), quoted(info.target),
                          quoted(info.problem));
    t.json += "\"times\":\"predicted by the simulator\"},\n\"traceEvents\":[\n";
    for (size_t i = 0; i < metadata_.size(); ++i) t.json += (i == 0 ? "" : ",\n") + metadata_[i];
    for (size_t i : order) t.json += ",\n" + events_[i].text;
    t.json += "\n]}\n";
    return t;
  }

 private:
  struct Event {
    int64_t time;
    std::string text;
  };
  using Tracks = std::map<std::pair<int, std::string>, Track>;

  static int pid_of_tid(int tid) { return tid / kTracksPerProcess; }

  std::vector<size_t> by_time(std::vector<size_t> bars) const {
    std::sort(bars.begin(), bars.end(), [&](size_t a, size_t b) {
      return std::tuple(bars_[a].begin, bars_[a].end, a) < std::tuple(bars_[b].begin, bars_[b].end, b);
    });
    return bars;
  }

  // The simulator records where a warp waits; between two waits it runs.
  void add_running(Track& track) {
    const std::vector<size_t> waits = by_time(track.bars);
    for (size_t i = 1; i < waits.size(); ++i) {
      const int64_t from = bars_[waits[i - 1]].end, to = bars_[waits[i]].begin;
      if (to <= from) continue;
      track.bars.push_back(bars_.size());
      bars_.push_back({"run", "to " + bars_[waits[i]].detail, "run", from, to, 0});
    }
  }

  void lay_out(int cta, const Tracks& tracks) {
    const int pid = cta + 1;  // process 0 is the idle process of a trace
    int next = pid * kTracksPerProcess;
    name_thing("process_name", pid, next, fmt::format("CTA {}", cta));
    metadata_.push_back(fmt::format(
        R"({{"ph":"M","name":"process_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", pid, next, cta));
    for (const auto& [key, track] : tracks) {
      std::vector<int64_t> lane_ends;
      for (size_t i : by_time(track.bars)) {
        const size_t lane = free_lane(lane_ends, bars_[i]);
        lane_ends[lane] = bars_[i].end;
        bars_[i].tid = next + int(lane);
      }
      for (size_t lane = 0; lane < lane_ends.size(); ++lane, ++next) {
        name_thing("thread_name", pid, next, lane == 0 ? track.name : fmt::format("{} ({})", track.name, lane + 1));
        metadata_.push_back(
            fmt::format(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", pid,
                        next, next % kTracksPerProcess));
      }
    }
  }

  void name_thing(const char* what, int pid, int tid, const std::string& name) {
    metadata_.push_back(fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, pid,
                                    tid, quoted(name)));
  }

  void add_bar(const Bar& b) {
    events_.push_back({b.begin, fmt::format(R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},)"
                                            R"("args":{{"at":{}}}}})",
                                            quoted(b.name), b.category, pid_of_tid(b.tid), b.tid, microseconds(b.begin),
                                            microseconds(b.end - b.begin), quoted(b.detail))});
  }

  // An arrow binds to the bar that encloses its end, so it starts and ends just inside. An arrow back in time cannot be
  // drawn: the barrier was completed again before the waiting warp was resumed.
  void add_edge(const simulator::Edge& e) {
    if (e.from_span < 0 || e.to_span < 0 || size_t(e.from_span) >= spans_ || size_t(e.to_span) >= spans_) return;
    const Bar &from = bars_[size_t(e.from_span)], &to = bars_[size_t(e.to_span)];
    const auto inside = [](const Bar& b) { return std::max(b.begin, b.end - 1); };
    if (inside(from) > inside(to)) return;
    ++edges_;
    const auto flow = [&](const char* phase, const char* more, const Bar& b) {
      events_.push_back(
          {inside(b), fmt::format(R"({{"ph":"{}"{},"name":"releases","cat":"edge","id":{},"pid":{},)"
                                  R"("tid":{},"ts":{}}})",
                                  phase, more, edges_, pid_of_tid(b.tid), b.tid, microseconds(inside(b)))});
    };
    flow("s", "", from);
    flow("f", R"(,"bp":"e")", to);
  }

  std::vector<Bar> bars_;
  size_t spans_ = 0;
  uint64_t edges_ = 0;
  std::map<int, Tracks> tracks_;
  std::vector<std::string> metadata_;
  std::vector<Event> events_;
};

// The file behind a link, so that the link stays one.
std::string resolved(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

std::string temporary_name(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.parent_path() / fmt::format(".{}.{}.tmp", whole.filename().string(), getpid())).string();
}

std::string cannot_write(const std::string& path, int error) {
  return fmt::format("{} cannot be written: {}.", path, std::strerror(error));
}

int create(const std::string& path) { return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); }

}  // namespace

Timeline make_timeline(const simulator::Result& result, const TimelineInfo& info) {
  return Writer(result).finish(info);
}

std::optional<std::string> WholeFile::refuse() const {
  if (path_.empty() || path_.back() == '/') return fmt::format("'{}' is not the name of a file.", path_);
  const std::string real = resolved(path_);
  struct stat info;
  if (stat(real.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return fmt::format("{} is a folder, not a file.", path_);
    if (!S_ISREG(info.st_mode)) return fmt::format("{} is not an ordinary file.", path_);
    if (access(real.c_str(), W_OK) != 0) return cannot_write(path_, errno);
  }
  const std::string probe = temporary_name(real);
  const int file = create(probe);
  if (file < 0) return cannot_write(path_, errno);
  close(file);
  unlink(probe.c_str());
  return {};
}

std::optional<std::string> WholeFile::write(const std::string& text) const {
  if (auto why = refuse()) return why;
  const std::string real = resolved(path_), temporary = temporary_name(real);
  const int file = create(temporary);
  if (file < 0) return cannot_write(path_, errno);
  int error = 0;
  for (size_t done = 0; done < text.size() && error == 0;) {
    const ssize_t wrote = ::write(file, text.data() + done, text.size() - done);
    if (wrote > 0)
      done += size_t(wrote);
    else if (errno != EINTR)
      error = errno;
  }
  if (close(file) != 0 && error == 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), real.c_str()) != 0) error = errno;
  if (error == 0) return {};
  unlink(temporary.c_str());
  return cannot_write(path_, error);
}

}  // namespace warpwright::runtime
