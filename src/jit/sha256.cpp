#include "jit/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace warpwright::jit {
namespace {

// FIPS 180-4, section 4.2.2.
constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void big_endian(uint64_t value, uint8_t* to, int bytes) {
  for (int i = 0; i < bytes; ++i) to[i] = uint8_t(value >> (8 * (bytes - 1 - i)));
}

}  // namespace

void Sha256::block(const uint8_t* data) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) {
    w[i] = uint32_t(data[4 * i]) << 24 | uint32_t(data[4 * i + 1]) << 16 | uint32_t(data[4 * i + 2]) << 8 |
           uint32_t(data[4 * i + 3]);
  }
  for (int i = 16; i < 64; ++i) {
    const uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  uint32_t s[8];
  std::copy(std::begin(state_), std::end(state_), s);
  for (int i = 0; i < 64; ++i) {
    const uint32_t e = s[4], a = s[0];
    const uint32_t t1 =
        s[7] + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + kRound[i] + w[i];
    const uint32_t t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    std::copy_backward(s, s + 7, s + 8);
    s[4] += t1;
    s[0] = t1 + t2;
  }
  for (int i = 0; i < 8; ++i) state_[i] += s[i];
}

Sha256& Sha256::bytes(const void* data, size_t size) {
  const auto* from = static_cast<const uint8_t*>(data);
  while (size > 0) {
    const size_t have = size_ % 64, take = std::min(size, 64 - have);
    std::memcpy(pending_ + have, from, take);
    size_ += take;
    from += take;
    size -= take;
    if (size_ % 64 == 0) block(pending_);
  }
  return *this;
}

Sha256& Sha256::text(std::string_view text) {
  uint8_t length[8];
  big_endian(text.size(), length, 8);
  bytes(length, sizeof length);
  return bytes(text.data(), text.size());
}

Digest Sha256::digest() {
  const uint64_t bits = size_ * 8;
  const uint8_t one = 0x80, zero = 0;
  bytes(&one, 1);
  while (size_ % 64 != 56) bytes(&zero, 1);
  uint8_t length[8];
  big_endian(bits, length, 8);
  bytes(length, sizeof length);
  Digest digest;
  for (size_t i = 0; i < 8; ++i) big_endian(state_[i], digest.data() + 4 * i, 4);
  return digest;
}

std::string hex(const Digest& digest) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace warpwright::jit
