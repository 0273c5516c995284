// Files of recorded launches (warpwright/record_file.h).
#pragma once
#include <deque>
#include <string>

#include "timeline/recorded.h"
#include "warpwright/status.h"

namespace warpwright::timeline {

struct RecordingFile {
  GpuRecording recorded;
  std::deque<std::string> names;  // the names of the plan
};

Result<RecordingFile> read_recording(const std::string& path);

}  // namespace warpwright::timeline
