#include "sim/buffers/buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace warpwright::simulator {

const Buffer* buffer_of(const std::vector<Buffer>& buffers, const void* p, uint64_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(p);
  for (const Buffer& b : buffers) {
    const auto begin = reinterpret_cast<uintptr_t>(b.data);
    if (at >= begin && at - begin <= b.bytes && bytes <= b.bytes - (at - begin)) return &b;
  }
  return nullptr;
}

uint8_t* host_of(const std::vector<Buffer>& buffers, const void* p) {
  auto* const at = static_cast<uint8_t*>(const_cast<void*>(p));
  const Buffer* b = buffer_of(buffers, p, 1);
  if (b == nullptr || b->host == nullptr) return at;
  return static_cast<uint8_t*>(b->host) + (at - static_cast<uint8_t*>(b->data));
}

namespace {

struct Nearest {
  const Buffer* buffer = nullptr;
  int64_t from = 0;  // in bytes: negative before its first one, positive after its last one; 0: inside
};

Nearest nearest_to(const std::vector<Buffer>& buffers, const void* p) {
  const auto at = int64_t(reinterpret_cast<uintptr_t>(p));
  Nearest nearest;
  for (const Buffer& b : buffers) {
    const auto begin = int64_t(reinterpret_cast<uintptr_t>(b.data)), end = begin + int64_t(b.bytes);
    const int64_t d = at < begin ? at - begin : at >= end ? at - end + 1 : 0;
    if (nearest.buffer == nullptr || std::abs(d) < std::abs(nearest.from)) nearest = {&b, d};
  }
  return nearest;
}

}  // namespace

const Buffer* buffer_near(const std::vector<Buffer>& buffers, const void* p) {
  const auto [buffer, from] = nearest_to(buffers, p);
  return buffer != nullptr && std::abs(from) < int64_t(std::max(kAddressMargin, buffer->bytes)) ? buffer : nullptr;
}

std::string name_of_global(const std::vector<Buffer>& buffers, const void* p, uint64_t bytes) {
  const auto [nearest, from] = nearest_to(buffers, p);
  if (nearest == nullptr) return "no buffers were given";
  const std::string& name = nearest->name;
  if (from < 0) return fmt::format("{} bytes before {}, which has {} bytes", -from, name, nearest->bytes);
  if (from == 1) return fmt::format("the end of {}, which has {} bytes", name, nearest->bytes);
  if (from > 1) return fmt::format("{} bytes past the end of {}, which has {} bytes", from - 1, name, nearest->bytes);
  const auto offset = reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(nearest->data);
  if (offset + bytes <= nearest->bytes) return fmt::format("{}+{}", name, offset);
  return fmt::format("{}+{}, which has {} bytes", name, offset, nearest->bytes);
}

}  // namespace warpwright::simulator
