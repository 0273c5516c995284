#include "simulate/locate.h"

#include <fmt/format.h>

#include "system/source_line.h"

namespace warpwright::simulate {

void locate(simulator::Result& result) {
  for (simulator::Finding& f : result.findings) {
    if (f.instruction == nullptr) continue;
    const auto place = system::source_line(f.instruction);
    if (!place) continue;
    f.file = place->file;
    f.line = place->line;
    f.message = fmt::format("{} ({}:{})", f.message, place->file.substr(place->file.rfind('/') + 1), place->line);
  }
}

}  // namespace warpwright::simulate
