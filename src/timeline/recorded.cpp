#include "timeline/recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace warpwright::timeline {
namespace {

constexpr size_t kMostBars = 300'000;  // as many as the page of the largest simulated problem has

}  // namespace

TimelineRun timeline_run(const GpuRecording& r, const std::string& kernel, const std::string& problem) {
  size_t bars = 0;
  int most_ctas = 0;
  for (size_t i = 0; i < r.recording.events.size() && bars < kMostBars; ++i) {
    bars += r.recording.events[i].size();
    most_ctas = int(i) / r.plan.warps + 1;
  }
  const RecordedTimeline t = timeline_of(r.plan, r.recording, r.ns_per_cycle, most_ctas);
  TimelineRun run{model_of(t.result), {kernel, std::string(name(r.plan.arch)), problem, ""}};
  run.model.end = std::max<int64_t>(run.model.end, std::llround(t.us * 1e3));
  // When a load landed that nobody waited for is not known.
  for (TimelineCounter& c : run.model.counters) {
    constexpr std::string_view full = " stages full";
    if (c.name.ends_with(full)) c.name.replace(c.name.size() - full.size(), full.size(), " stages seen full");
  }
  run.info.time = fmt::format("{:.1f} us from the first instruction to the last", double(run.model.end) / 1e3);
  run.info.times = fmt::format("measured on {} by timestamps in the kernel", r.device);
  // Each event holds up the warp that writes it.
  if (r.plain_us > 0) {
    run.info.times +=
        fmt::format(", with which the launch takes {:.1f} us instead of {:.1f} us", r.recorded_us, r.plain_us);
  }
  if (t.shown < t.ctas) run.info.times += fmt::format("; the first {} of {} CTAs", t.shown, t.ctas);
  if (t.lost > 0) run.info.times += fmt::format("; {} events were lost", t.lost);
  return run;
}

}  // namespace warpwright::timeline
