#include "warpwright/sim/addresses.h"

#include <sys/mman.h>

#include <algorithm>

#include "sim/buffers/buffers.h"

namespace warpwright::simulator {

Addresses::Addresses(uint64_t bytes) {
  constexpr uint64_t kPage = 4096, kAlignment = 256;
  const uint64_t room = (std::max(bytes, kAddressMargin) + kPage - 1) / kPage * kPage;
  length_ = 3 * room + kPage;
  void* const at = ::mmap(nullptr, length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return;
  mapped_ = at;
  // Not at the start of a page: nothing may rely on more alignment than an allocation gives.
  begin_ = static_cast<char*>(at) + room + kAlignment;
}

Addresses::~Addresses() {
  if (mapped_ != nullptr) ::munmap(mapped_, length_);
}

}  // namespace warpwright::simulator
