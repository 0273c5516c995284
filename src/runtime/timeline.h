// The timeline of a simulated run as a file for Perfetto (https://ui.perfetto.dev) and chrome://tracing.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "warpwright/sim/simulator.h"

namespace warpwright::runtime {

struct TimelineInfo {
  std::string kernel;
  std::string target;
  std::string problem;  // "m=512 n=512 k=512"
};

struct Timeline {
  std::string json;
  uint64_t spans = 0;
  uint64_t edges = 0;
};

// Chrome trace events, sorted by time, in microseconds with whole nanoseconds. One process for each CTA; in it one
// track for each warp, in the order of the roles, then the engines (TMA, TMA store, tensor core). Operations of an
// engine that overlap get tracks of their own, because bars of one track must not cross. Between two waits a warp runs.
Timeline make_timeline(const simulator::Result& result, const TimelineInfo& info);

// A file that appears whole or not at all: written under another name in the same folder, then renamed.
class WholeFile {
 public:
  explicit WholeFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // Nothing, or a sentence that says why the file could not be written; leaves nothing behind. To be asked before the
  // work whose result the file will hold.
  std::optional<std::string> refuse() const;
  // Nothing, or a sentence that says why it was not written.
  std::optional<std::string> write(const std::string& text) const;

 private:
  std::string path_;
};

}  // namespace warpwright::runtime
