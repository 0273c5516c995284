#include "simulate/locate.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "system/source_line.h"

namespace warpwright::simulate {

namespace {

// Rings and handles hand the kernel's line on, which is the one that a finding has.
void add_called(simulator::Finding& f) {
  for (const system::SourceLine& place : system::source_lines(f.call)) {
    if (place.file.find("/machine/sim/") != std::string::npos) continue;  // the word itself
    const auto name = [](const std::string& file) { return file.substr(file.rfind('/') + 1); };
    if (place.line == f.line && name(place.file) == name(f.file)) return;
    f.called_file = place.file;
    f.called_line = place.line;
    return;
  }
}

}  // namespace

void locate(simulator::Result& result) {
  for (simulator::Finding& f : result.findings) {
    if (f.call != nullptr) add_called(f);
    if (f.instruction == nullptr) continue;
    const auto place = system::source_line(f.instruction);
    if (!place) continue;
    // As the compiler was given it, where that was from here.
    const std::string here = std::filesystem::current_path().string() + "/";
    f.file = place->file.starts_with(here) ? place->file.substr(here.size()) : place->file;
    f.line = place->line;
    f.message = fmt::format("{} ({}:{})", f.message, place->file.substr(place->file.rfind('/') + 1), place->line);
  }
}

}  // namespace warpwright::simulate
