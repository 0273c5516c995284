#include "timeline/meaning.h"

#include <fmt/format.h>

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

namespace warpwright::timeline {
namespace {

// Operations of a CDNA schedule are letters and digits: VM0, BAR, LA01.
std::string of_operation(const TimelineBar& bar, const std::string& name) {
  size_t letters = 0;
  while (letters < name.size() && std::isupper(static_cast<unsigned char>(name[letters])) != 0) ++letters;
  const std::string word = name.substr(0, letters), number = name.substr(letters);
  if (number.find_first_not_of("0123456789") != std::string::npos) return {};
  const auto in_flight = [&](const char* what) {
    return number == "0" ? fmt::format("until all {} of the wave are complete", what)
                         : fmt::format("until at most {} {} of the wave are under way", number, what);
  };
  if (word == "VM") return "s_waitcnt vmcnt(" + number + "): waits " + in_flight("loads from memory");
  if (word == "LG") return "s_waitcnt lgkmcnt(" + number + "): waits " + in_flight("accesses to LDS");
  if (word == "BAR") return "s_barrier: waits until every wave of the workgroup is here";
  if (word == "PR") return "s_setprio " + number + ": the wave's priority on its SIMD";
  if (word == "MMA") return "MFMA instructions of a quadrant of the wave's tile (its row and column)";
  if (word.size() != 2 || (word[1] != 'A' && word[1] != 'B')) return {};
  const bool engine = bar.kind == BarKind::engine;
  if (word[0] == 'L') {
    return fmt::format("{} a part of {} from memory into LDS (its stage and part)",
                       engine ? "on its way:" : "asks for the copy of", word[1]);
  }
  if (word[0] == 'F')
    return fmt::format("reads fragments of {} from LDS into registers (their stage and part)", word[1]);
  if (word[0] == 'S') return fmt::format("writes a part of {} from registers to LDS", word[1]);
  return {};
}

}  // namespace

std::string meaning_of(const TimelineBar& bar) {
  const std::string object = object_of(bar);
  const bool waits = bar.kind == BarKind::wait;
  if (object.ends_with(".full")) {
    const std::string_view ring(object.data(), object.size() - std::string_view(".full").size());
    return waits ? fmt::format("waits until the stage of {} is filled", ring)
                 : fmt::format("a stage of {} is filled", ring);
  }
  if (object.ends_with(".empty")) {
    const std::string_view ring(object.data(), object.size() - std::string_view(".empty").size());
    return waits ? fmt::format("waits until those who read the stage of {} have handed it back", ring)
                 : fmt::format("a stage of {} is handed back", ring);
  }
  if (waits && object == "its wgmma groups") return "waits until the tensor core has done what the warpgroup issued";
  if (waits && object == "its bulk groups") return "waits until the TMA has read, or written, what the warp issued";
  return of_operation(bar, object);
}

}  // namespace warpwright::timeline
