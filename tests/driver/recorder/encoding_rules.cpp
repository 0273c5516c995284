#include <cstdint>
#include <string>
#include <utility>

#include "driver/recorder/rules.h"

namespace recorder {
namespace {

Verdict refused(std::string rule) { return Refusal{kInvalidValue, std::move(rule)}; }

// CUtensorMapDataType
constexpr int kTypes = 16;
constexpr int kFourBits = 13, kFourBitsPadded = 14, kSixBitsPadded = 15;
constexpr int kSizes[kTypes] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};  // in bits

bool is_floating(int type) { return type >= 6 && type <= 12; }
bool is_padded(int type) { return type == kFourBitsPadded || type == kSixBitsPadded; }

enum Interleave { none, bytes16, bytes32, kInterleaves };

// CUtensorMapSwizzle; the last three differ in what they permute within 128 bytes.
constexpr int kSwizzles = 7;
constexpr int kNoSwizzle = 0, kSwizzle32 = 1, kSwizzle128 = 3, kSwizzle128By32 = 4, kSwizzle128By64 = 6;
constexpr unsigned kSpans[kSwizzles] = {0, 32, 64, 128, 128, 128, 128};

unsigned alignment_of(const Encoding& e) { return e.interleave == bytes32 || is_padded(e.type) ? 32 : 16; }
bool is_multiple(const void* p, unsigned of) { return reinterpret_cast<uintptr_t>(p) % of == 0; }

Verdict judge_enums(const Encoding& e) {
  if (e.type < 0 || e.type >= kTypes) return refused("the data type is none of CUtensorMapDataType");
  if (e.interleave < 0 || e.interleave >= kInterleaves) return refused("the interleave is none of its type");
  if (e.swizzle < 0 || e.swizzle >= kSwizzles) return refused("the swizzle is none of CUtensorMapSwizzle");
  if (e.l2_promotion < 0 || e.l2_promotion > 3) return refused("the L2 promotion is none of its type");
  if (e.fill < 0 || e.fill > 1) return refused("the fill is none of its type");
  if (e.fill == 1 && !is_floating(e.type)) return refused("only floating-point elements are filled with NaN");
  return {};
}

Verdict judge_extents(const Encoding& e) {
  for (uint32_t i = 0; i < e.rank; ++i) {
    if (e.dims[i] < 1 || e.dims[i] > uint64_t(1) << 32) return refused("an extent is not 1 to 2^32");
    if (e.box[i] < 1 || e.box[i] > 256) return refused("an extent of the box is not 1 to 256");
    if (e.element_strides[i] < 1 || e.element_strides[i] > 8) {
      return refused("a step of elements is not 1 to 8");
    }
  }
  for (uint32_t i = 0; i + 1 < e.rank; ++i) {
    if (e.strides[i] % alignment_of(e) != 0 || e.strides[i] >= uint64_t(1) << 40) {
      return refused("a stride is not a multiple of 16 (32 where packed or interleaved so) below 2^40");
    }
  }
  return {};
}

Verdict judge_packed(const Encoding& e) {
  if (e.type == kFourBits && e.dims[0] % 2 != 0) return refused("elements of four bits come in pairs");
  if (!is_padded(e.type)) return {};
  if (e.dims[0] % 128 != 0) return refused("padded elements come in rows of multiples of 128");
  if (e.box[0] != 128) return refused("a box of padded elements is 128 wide");
  const bool known = e.swizzle == kNoSwizzle || e.swizzle == kSwizzle128 || e.swizzle == kSwizzle128By32 ||
                     (e.type == kSixBitsPadded && e.swizzle == kSwizzle128By64);
  if (!known) return refused("padded elements have no such swizzle");
  if (e.type == kSixBitsPadded && e.interleave != none) return refused("elements of six bits are not interleaved");
  return {};
}

}  // namespace

Verdict judge(const Encoding& e) {
  if (e.map == nullptr) return refused("there is no place for the map");
  if (e.rank < 1 || e.rank > 5) return refused("the rank is not 1 to 5");
  if (Verdict v = judge_enums(e)) return v;
  if (e.interleave != none && e.rank < 3) return refused("an interleaved tensor has at least three dimensions");
  if (e.address == nullptr || !is_multiple(e.address, alignment_of(e))) {
    return refused("the address is not a multiple of 16 (32 where packed or interleaved so)");
  }
  if (Verdict v = judge_extents(e)) return v;
  if (Verdict v = judge_packed(e)) return v;
  const uint64_t inner_bits = uint64_t(e.box[0]) * uint64_t(kSizes[e.type]);
  // Padded elements take 16 bytes for sixteen in shared memory, whatever they are wide.
  const uint64_t inner = is_padded(e.type) ? e.box[0] : inner_bits / 8;
  if (e.interleave == none) {
    if (!is_padded(e.type) && inner_bits % 128 != 0)
      return refused("the box's inner extent is not a multiple of 16 bytes");
    if (e.swizzle != kNoSwizzle && inner > kSpans[e.swizzle]) return refused("the box is wider than its swizzle");
  }
  if (e.interleave == bytes32 && e.swizzle != kSwizzle32 && e.swizzle != kNoSwizzle) {
    return refused("32 interleaved bytes have a swizzle of 32 or none");
  }
  return {};
}

Verdict judge_address(const Encoding& e, const void* map, const void* address) {
  if (map == nullptr || !is_multiple(map, 64)) return refused("the map does not lie at a multiple of 64 bytes");
  if (address == nullptr || !is_multiple(address, alignment_of(e))) {
    return refused("the address is not a multiple of 16 (32 where packed or interleaved so)");
  }
  return {};
}

}  // namespace recorder
