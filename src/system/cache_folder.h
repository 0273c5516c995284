// Where files are kept that can be made again.
#pragma once
#include <string>

namespace warpwright::system {

// WARPWRIGHT_CACHE_DIR, or warpwright under XDG_CACHE_HOME, or under .cache of HOME; empty where none of them is set or
// WARPWRIGHT_CACHE_DIR is "off".
std::string cache_folder();

}  // namespace warpwright::system
