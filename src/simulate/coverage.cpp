#include "simulate/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <istream>
#include <map>
#include <sstream>
#include <utility>

#include "jit/host_compiler.h"

namespace warpwright::simulate {
namespace {

namespace fs = std::filesystem;
using reference::Case;

size_t indent_of(const std::string& line) { return std::min(line.find_first_not_of(' '), line.size()); }

// Whether a line says that the kernel does not come there: "// unreached: why", or of some kernels only, by parts of
// their names, "// unreached [grouped, blockwise]: why".
bool excuses(const std::string& line, const std::string& kernel) {
  const std::string mark = "// unreached";
  const size_t at = line.find(mark);
  if (at == std::string::npos) return false;
  const std::string rest = line.substr(at + mark.size());
  if (rest.starts_with(": ")) return true;
  const size_t end = rest.find("]: ");
  if (!rest.starts_with(" [") || end == std::string::npos) return false;
  std::istringstream names(rest.substr(2, end - 2));
  for (std::string name; std::getline(names >> std::ws, name, ',');) {
    if (kernel.find(name) != std::string::npos) return true;
  }
  return false;
}

// The sources that places are in: where the compiler found them, or beside this program.
class Sources {
 public:
  std::string line(const std::string& file, uint32_t number) {
    const auto& lines = lines_of(file);
    return number >= 1 && number <= lines.size() ? lines[number - 1] : "";
  }
  // By the line itself or by one that opens a block around it.
  bool is_excused(const std::string& file, uint32_t number, const std::string& kernel) {
    const auto& lines = lines_of(file);
    if (number < 1 || number > lines.size()) return false;
    if (excuses(lines[number - 1], kernel)) return true;
    size_t indent = indent_of(lines[number - 1]);
    for (size_t i = number - 1; i > 0 && indent > 0; --i) {
      if (lines[i - 1].empty() || indent_of(lines[i - 1]) >= indent) continue;
      if (excuses(lines[i - 1], kernel)) return true;
      indent = indent_of(lines[i - 1]);
    }
    return false;
  }

 private:
  const std::vector<std::string>& lines_of(const std::string& file) {
    auto [found, fresh] = files_.try_emplace(file);
    if (fresh) found->second = read(file);
    return found->second;
  }
  static std::vector<std::string> read(const std::string& file) {
    std::ifstream in(file);
    const size_t own = file.rfind("/warpwright/");
    if (!in && own != std::string::npos) {
      if (const auto folder = jit::header_folder()) in.open(*folder + file.substr(own));
    }
    std::vector<std::string> lines;
    for (std::string text; std::getline(in, text);) lines.push_back(std::move(text));
    return lines;
  }
  std::map<std::string, std::vector<std::string>> files_;
};

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first);
}

// The way from the folder of headers, as reports name a header; a user's file by its name.
std::string short_name(const std::string& file) {
  const size_t own = file.rfind("/warpwright/");
  return own == std::string::npos ? fs::path(file).filename().string() : file.substr(own + 12);
}

bool turns(const Example& example, const Case& size) {
  simulator::Options options;
  options.check = false;
  options.max_seconds = 5;
  options.hang_seconds = 1;
  const auto run = example.simulate(example.workload(size, reference::Data::integers, 1), options, 0).sim;
  Coverage coverage(*example.plan, {});
  coverage.add(run.barriers);
  return run.ok() && coverage.unturned().empty();
}

}  // namespace

void forget(CallSites sites) {
  for (CallSite* s = sites.first; s != sites.last; ++s) s->reached = 0;
}

Coverage::Coverage(const BlockPlan& plan, CallSites sites) : sites_(sites) {
  for (int i = 0; i < plan.barrier_count; ++i) {
    for (int stage = 0; stage < plan.barriers[i].stages; ++stage) {
      uses_.push_back({plan.barriers[i].name, stage, 0});
      once_.push_back(plan.barriers[i].once);
    }
  }
  for (int i = 0; i < plan.named_count; ++i) {
    uses_.push_back({plan.named[i].name, 0, 0});
    once_.push_back(plan.named[i].once);
  }
}

void Coverage::add(const std::vector<simulator::BarrierUse>& run) {
  // A launch with nothing to do has no barriers.
  for (size_t i = 0; i < std::min(uses_.size(), run.size()); ++i)
    uses_[i].phases = std::max(uses_[i].phases, run[i].phases);
}

std::vector<std::string> Coverage::unturned() const {
  struct Least {
    int64_t phases = kPhases;
    int stages = 0, of = 0;
  };
  std::vector<std::pair<std::string, Least>> barriers;
  for (size_t i = 0; i < uses_.size(); ++i) {
    if (barriers.empty() || barriers.back().first != uses_[i].name) barriers.emplace_back(uses_[i].name, Least());
    Least& least = barriers.back().second;
    ++least.of;
    if (uses_[i].phases >= (once_[i] ? 1 : kPhases)) continue;
    least.phases = std::min(least.phases, uses_[i].phases);
    ++least.stages;
  }
  std::vector<std::string> sentences;
  for (const auto& [name, least] : barriers) {
    if (least.stages == 0) continue;
    sentences.push_back(fmt::format("{}: {} of {} stages went through fewer than {} phases, one of them through {}{}",
                                    name, least.stages, least.of, kPhases, least.phases,
                                    least.phases == 1 && least.stages == least.of
                                        ? "; if a block never uses it twice, the plan says so: used_once"
                                        : ""));
  }
  return sentences;
}

std::vector<std::string> Coverage::unreached(const std::string& kernel) const {
  // The optimizer makes several places of one: one of them is enough.
  std::map<std::pair<std::string, uint32_t>, bool> places;
  for (const CallSite* s = sites_.first; s != sites_.last; ++s) {
    bool& reached = places[{s->file, s->line}];
    reached = reached || s->reached != 0;
  }
  Sources sources;
  std::vector<std::string> lines;
  for (const auto& [place, reached] : places) {
    if (reached) continue;
    if (sources.is_excused(place.first, place.second, kernel)) continue;
    lines.push_back(fmt::format("{}:{}: {}", short_name(place.first), place.second,
                                trimmed(sources.line(place.first, place.second))));
  }
  return lines;
}

std::optional<Case> turning_size(const Example& example, const std::vector<Case>& sizes) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(10);
  std::vector<Case> candidates = example.cases;
  for (const Case& c : sizes) {
    for (const int64_t times : {2, 4, 8, 16}) {
      candidates.push_back({c.m, c.n, c.k * times});
      candidates.push_back({c.m, c.n * times, c.k});
      candidates.push_back({c.m * times, c.n, c.k});
      candidates.push_back({c.m * times, c.n, c.k * times});
    }
  }
  for (const Case& c : candidates) {
    if (Clock::now() > end) break;
    if (c.m * c.n * std::max<int64_t>(c.k, 1) < (int64_t(1) << 30) && example.takes(c) && turns(example, c)) return c;
  }
  return std::nullopt;
}

}  // namespace warpwright::simulate
