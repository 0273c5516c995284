#include "driver/hip_recorder/world.h"

#include <sstream>
#include <string>

namespace hip_recorder {

World& World::get() {
  static World& world = *new World;
  return world;
}

World::World() {
  const char* const devices = recorder::variable("DEVICES");
  std::stringstream names(devices == nullptr ? "gfx950" : devices);
  for (std::string name; std::getline(names, name, ',');) {
    const auto chip = chip_named(name);
    if (!chip) {
      recorder::stop("WARPWRIGHT_HIP_RECORDER_DEVICES has " + name + ", which is none of the devices in chip.cpp.");
    }
    chips.push_back(*chip);
  }
}

int World::judged(const char* call, const Verdict& verdict) {
  return verdict ? answer({{"call", call}}, verdict, verdict->code) : 0;
}

}  // namespace hip_recorder
