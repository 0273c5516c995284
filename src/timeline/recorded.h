// A launch with timestamps, and what is drawn of it.
#pragma once
#include <string>

#include "timeline/recording.h"
#include "timeline/timeline.h"
#include "warpwright/core/block_plan.h"

namespace warpwright::timeline {

struct GpuRecording {
  Recording recording;
  double ns_per_cycle = 0;
  BlockPlan plan{"", Arch::sm90};
  std::string device;
  double plain_us = 0;     // the kernel without timestamps, by events around a launch that follows another; median
  double recorded_us = 0;  // the recorded launch, measured in the same way
  bool same = false;       // it wrote the bytes that the kernel without timestamps wrote
};

// What is drawn of it: as many CTAs as a page can show.
TimelineRun timeline_run(const GpuRecording& recorded, const std::string& kernel, const std::string& problem);

}  // namespace warpwright::timeline
