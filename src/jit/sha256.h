// SHA-256: names of cache entries, and the proof that what was read is what was written.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace warpwright::jit {

using Digest = std::array<uint8_t, 32>;

class Sha256 {
 public:
  // Text is preceded by its length, so that "ab" + "c" and "a" + "bc" differ.
  Sha256& text(std::string_view text);
  Sha256& bytes(const void* data, size_t size);
  Digest digest();

 private:
  void block(const uint8_t* data);

  uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t pending_[64] = {};
  uint64_t size_ = 0;
};

std::string hex(const Digest& digest);

}  // namespace warpwright::jit
