// Files of recorded launches (warpwright/record_file.h).
#pragma once
#include <deque>
#include <optional>
#include <string>

#include "timeline/recorded.h"

namespace warpwright::timeline {

struct RecordingFile {
  GpuRecording recorded;
  std::deque<std::string> names;  // of the plan
};

// Nothing, or a sentence that says what is wrong with the file.
std::optional<std::string> read_recording(const std::string& path, RecordingFile& file);

}  // namespace warpwright::timeline
