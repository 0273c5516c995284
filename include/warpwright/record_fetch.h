// Timestamps of a launch, from device memory to the host, by whatever copies there.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "warpwright/record_file.h"

namespace warpwright::record {

namespace detail {
// A name lies among the constants of the kernel's module, and nothing says how much of them may be read at once.
template <class Copy>
std::string name_at(uint64_t address, Copy&& copy) {
  std::string path;
  for (char c = 0; path.size() < 1024; path += c) {
    const auto error = copy(&c, reinterpret_cast<const void*>(address + path.size()), 1);
    if (error != decltype(error){}) return "?";
    if (c == 0) break;
  }
  return path.substr(path.rfind('/') + 1);
}
}  // namespace detail

// After the launch has ended. copy(to, from, bytes) returns an error code, of which the zero one is success; the first
// other one ends the copy and is returned.
template <class Copy>
auto fetch(const Buffers& buffers, size_t warps, Launch& launch, Copy&& copy) {
  launch = {};
  launch.warps.resize(warps);
  auto error = copy(launch.warps.data(), buffers.warps, warps * sizeof(Warp));
  constexpr decltype(error) success{};
  for (size_t i = 0; i < warps && error == success; ++i) {
    auto& events = launch.events.emplace_back();
    for (uint32_t list = 0; list < uint32_t(kLists) && error == success; ++list) {
      const size_t before = events.size(), here = std::min(launch.warps[i].events[list], buffers.room(list));
      if (here == 0) continue;
      events.resize(before + here);
      error = copy(events.data() + before, buffers.list(i, list), here * sizeof(Event));
    }
    for (const Event& event : events) {
      const uint64_t address = file_of(event.at, launch.warps[i].file);
      if (launch.files.find(address) == launch.files.end()) launch.files[address] = detail::name_at(address, copy);
    }
  }
  return error;
}

}  // namespace warpwright::record
