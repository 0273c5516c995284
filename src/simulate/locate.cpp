#include "simulate/locate.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "system/source_line.h"

namespace warpwright::simulate {

void locate(simulator::Result& result) {
  for (simulator::Finding& f : result.findings) {
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
