#include "system/cache_folder.h"

#include <cstdlib>
#include <cstring>

namespace warpwright::system {
namespace {

const char* environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == 0 ? nullptr : value;
}

}  // namespace

std::string cache_folder() {
  if (const char* given = environment("WARPWRIGHT_CACHE_DIR")) return std::strcmp(given, "off") == 0 ? "" : given;
  if (const char* xdg = environment("XDG_CACHE_HOME")) return std::string(xdg) + "/warpwright";
  if (const char* home = environment("HOME")) return std::string(home) + "/.cache/warpwright";
  return "";
}

}  // namespace warpwright::system
