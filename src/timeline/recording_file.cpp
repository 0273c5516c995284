#include "timeline/recording_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <istream>
#include <iterator>
#include <sstream>
#include <utility>

namespace warpwright::timeline {
namespace {

constexpr uint64_t kMostWarps = 1 << 20;

class Reader {
 public:
  Reader(std::string bytes, RecordingFile& file) : bytes_(std::move(bytes)), file_(file) {}

  bool read() {
    if (next_line() != record::kFileMagic) return false;
    while (!ended_) {
      if (!described(next_line())) return false;
    }
    BlockPlan& p = file_.recorded.plan;
    return p.warps > 0 && p.warps <= 32 && p.cluster > 0 && p.cluster <= 16 && lists();
  }

 private:
  std::string next_line() {
    const size_t end = std::min(bytes_.find('\n', at_), bytes_.size());
    std::string line = bytes_.substr(at_, end - at_);
    at_ = std::min(end + 1, bytes_.size());
    return line;
  }

  const char* keep(std::istream& line) {
    std::string name;
    std::getline(line >> std::ws, name);
    return file_.names.emplace_back(std::move(name)).c_str();
  }
  template <class T, size_t N>
  static T* next(T (&list)[N], int& count) {
    return count < int(N) ? &list[count++] : nullptr;
  }

  bool described(const std::string& text) {
    std::istringstream line(text);
    GpuRecording& r = file_.recorded;
    BlockPlan& p = r.plan;
    std::string word;
    line >> word;
    if (word == "kernel") {
      line >> p.cluster >> p.warps;
      p.kernel = keep(line);
    } else if (word == "device") {
      double cycle = 0;
      line >> cycle;
      r.ns_per_cycle = cycle / 1e9;
      r.device = keep(line);
    } else if (word == "role") {
      RoleSpec* role = next(p.roles, p.role_count);
      if (role == nullptr) return false;
      line >> role->first_warp >> role->warps;
      role->name = keep(line);
    } else if (word == "region") {
      RegionSpec* region = next(p.regions, p.region_count);
      if (region == nullptr) return false;
      line >> region->offset >> region->stage_bytes >> region->stages;
      region->name = keep(line);
      if (region->stage_bytes == 0) return false;
    } else if (word == "barrier") {
      BarrierSpec* barrier = next(p.barriers, p.barrier_count);
      if (barrier == nullptr) return false;
      line >> barrier->offset >> barrier->stages >> barrier->count;
      barrier->name = keep(line);
      if (barrier->count < 1) return false;
    } else if (word == "named") {
      NamedBarrierSpec* named = next(p.named, p.named_count);
      if (named == nullptr) return false;
      line >> named->id >> named->threads;
      named->name = keep(line);
      if (named->threads < 1) return false;
    } else if (word == "file") {
      uint64_t address = 0;
      line >> address;
      r.recording.files[address] = keep(line);
    } else if (word == "warps") {
      line >> warps_;
      ended_ = true;
    } else {
      return false;
    }
    return !line.bad();
  }

  bool take(void* to, size_t bytes) {
    if (bytes_.size() - at_ < bytes) return false;
    std::memcpy(to, bytes_.data() + at_, bytes);
    at_ += bytes;
    return true;
  }

  bool lists() {
    if (warps_ > kMostWarps) return false;
    Recording& r = file_.recorded.recording;
    for (uint64_t i = 0; i < warps_; ++i) {
      uint64_t count = 0;
      r.warps.emplace_back();
      if (!take(&r.warps.back(), sizeof(record::Warp)) || !take(&count, sizeof count)) return false;
      // A count that is wrong must not become an allocation.
      if (count > (bytes_.size() - at_) / sizeof(record::Event)) return false;
      r.events.emplace_back(count);
      if (!take(r.events.back().data(), count * sizeof(record::Event))) return false;
    }
    return at_ == bytes_.size();
  }

  std::string bytes_;
  size_t at_ = 0;
  bool ended_ = false;
  uint64_t warps_ = 0;
  RecordingFile& file_;
};

}  // namespace

Result<RecordingFile> read_recording(const std::string& path) {
  const auto refused = [&](const char* why) {
    return Status(Code::invalid_argument, fmt::format("{} {}.", path, why));
  };
  std::ifstream in(path, std::ios::binary);
  if (!in) return refused("cannot be read");
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  RecordingFile file;
  if (!Reader(std::move(bytes), file).read()) return refused("is not a recording, or a part of one");
  if (file.recorded.ns_per_cycle <= 0) return refused("holds no times: no warp has ended");
  file.recorded.same = true;
  return file;
}

}  // namespace warpwright::timeline
