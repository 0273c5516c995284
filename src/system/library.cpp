#include "system/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <initializer_list>

namespace warpwright::system {

bool says_off(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return false;
  std::string text(value);
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text == "off";
}

Result<void*> open_library(const char* what, std::span<const char* const> names, const char* variable) {
  const auto open = [](const char* name, int more = 0) { return dlopen(name, RTLD_NOW | RTLD_LOCAL | more); };
  if (const char* const named = std::getenv(variable); named != nullptr && *named != '\0') {
    if (void* const library = open(named)) return library;
    return Status(Code::missing, fmt::format("{} = {}: the library cannot be opened: {}.", variable, named, dlerror()));
  }
  // Two copies of a runtime in one process do not know each other's memory: that of a framework comes first.
  for (const int more : {RTLD_NOLOAD, 0}) {
    for (const char* const name : names)
      if (void* const library = open(name, more)) return library;
  }
  return Status(Code::missing, fmt::format("the {} was not found.", what));
}

void* find_symbol(void* library, const char* symbol) { return dlsym(library, symbol); }

}  // namespace warpwright::system
