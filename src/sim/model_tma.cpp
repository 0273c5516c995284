// Tensor maps and the box walk of the TMA in tile mode.
#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <string>

#include "sim/model.h"
#include "warpwright/core/numeric.h"

namespace warpwright::simulator::model {
namespace {

constexpr uint32_t kChunk = 16;  // what the swizzle keeps together, and the unit of every box

bool is_four_bit(TensorElement type) { return type == TensorElement::b4x16 || type == TensorElement::b4x16_p64; }
bool is_float(TensorElement type) {
  return type == TensorElement::f32 || type == TensorElement::f16 || type == TensorElement::bf16 ||
         type == TensorElement::tf32;
}

// Bytes of one row of the box in global memory.
uint32_t row_bytes(const TensorMapFields& f) { return f.box[0] * uint32_t(element_bits(f.type)) / 8; }
// Data bytes in one 16-byte chunk of shared memory.
uint32_t chunk_data(TensorElement type) { return type == TensorElement::b4x16_p64 ? 8 : kChunk; }
uint32_t shared_row_bytes(const TensorMapFields& f) { return row_bytes(f) / chunk_data(f.type) * kChunk; }

uint32_t box_rows(const TensorMapFields& f) {
  uint32_t rows = 1;
  for (int d = 1; d < f.rank; ++d) rows *= f.box[d];
  return rows;
}

// The part of a row that lies inside the tensor, in bytes from the start of the row: the same for every row of a box.
struct Span {
  uint32_t begin, end;
};
Span inner_span(const TensorMapFields& f, const int32_t* coords) {
  const int64_t first = coords[0];
  const int64_t lo = std::clamp<int64_t>(-first, 0, f.box[0]);
  const int64_t hi = std::clamp<int64_t>(int64_t(f.dims[0]) - first, lo, f.box[0]);
  const int bits = element_bits(f.type);
  return {uint32_t(lo * bits / 8), uint32_t(hi * bits / 8)};
}

// visit(row, first): `first` is where element 0 of the row would lie in global memory (it may be before the tensor), or
// null if the whole row is out of bounds.
template <class Visit>
void walk_rows(const TensorMapFields& f, const int32_t* coords, Visit visit) {
  const uint32_t rows = box_rows(f);
  uint32_t at[5] = {};
  for (uint32_t row = 0; row < rows; ++row) {
    // Unsigned, so that an offset before the base wraps instead of being undefined.
    uint64_t offset = uint64_t(int64_t(coords[0]) * element_bits(f.type) / 8);
    bool inside = true;
    for (int d = 1; d < f.rank; ++d) {
      const int64_t index = int64_t(coords[d]) + at[d];
      inside = inside && index >= 0 && index < int64_t(f.dims[d]);
      offset += uint64_t(index) * f.strides[d];
    }
    visit(row, inside ? reinterpret_cast<uint8_t*>(reinterpret_cast<uint64_t>(f.base) + offset) : nullptr);
    for (int d = 1; d < f.rank && ++at[d] == f.box[d]; ++d) at[d] = 0;
  }
}

struct Chunks {
  uint32_t xors[8];
  Chunks(Swizzle s) {
    for (uint32_t line = 0; line < 8; ++line) xors[line] = swizzle_xor(s, line);
  }
  uint32_t operator()(uint32_t address) const { return address ^ xors[(address >> 7) & 7]; }
};

// Calls piece(shared_address, global or null, bytes) for the runs of a row that lie in one chunk and on one side of the
// tensor's boundary.
template <class Visit>
void walk_pieces(const TensorMapFields& f, const int32_t* coords, uint32_t shared_address, Visit piece) {
  const Span span = inner_span(f, coords);
  const uint32_t bytes = row_bytes(f), pitch = row_pitch(f), data = chunk_data(f.type);
  const Chunks swizzled(f.swizzle);
  walk_rows(f, coords, [&](uint32_t row, uint8_t* first) {
    const uint32_t base = shared_address + row * pitch;
    const Span in = first != nullptr ? span : Span{0, 0};
    if (f.host != nullptr && in.end > in.begin) first = f.host(f.place, first + in.begin) - in.begin;
    for (uint32_t begin = 0; begin < bytes; begin += data) {
      const uint32_t end = std::min(begin + data, bytes);
      const uint32_t chunk = swizzled(base + begin / data * kChunk);
      if (begin >= in.begin && end <= in.end) [[likely]] {
        piece(chunk, first + begin, end - begin);
        continue;
      }
      const uint32_t lo = std::clamp(in.begin, begin, end), hi = std::clamp(in.end, lo, end);
      if (lo > begin) piece(chunk, nullptr, lo - begin);
      if (hi > lo) piece(chunk + (lo - begin), first + lo, hi - lo);
      if (end > hi) piece(chunk + (hi - begin), nullptr, end - hi);
    }
  });
}

// The NaN that fills what is out of bounds: all ones but the sign.
void fill(const TensorMapFields& f, uint8_t* to, uint32_t bytes) {
  if (!f.nan_fill) {
    std::memset(to, 0, bytes);
    return;
  }
  std::memset(to, 0xff, bytes);
  const uint32_t size = uint32_t(element_bytes(f.type));
  for (uint32_t i = size - 1; i < bytes; i += size) to[i] = 0x7f;
}

template <class T>
void add_floats(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i += sizeof(T)) {
    T a, b;
    std::memcpy(&a, to + i, sizeof(T));
    std::memcpy(&b, from + i, sizeof(T));
    const T sum = from_float<T>(to_float(a) + to_float(b));
    std::memcpy(to + i, &sum, sizeof(T));
  }
}

void add_integers(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i += 4) {
    uint32_t a, b;
    std::memcpy(&a, to + i, 4);
    std::memcpy(&b, from + i, 4);
    a += b;
    std::memcpy(to + i, &a, 4);
  }
}

// --- the 128 bytes ---
constexpr uint64_t kMagic = 0x5757'544d;  // "WWTM"

uint64_t checksum(const TensorMap& map) {
  uint64_t sum = 0;
  for (int i = 0; i < 15; ++i) sum = (sum ^ map.opaque[i]) * 0x9e37'79b9'7f4a'7c15u + 1;
  return sum;
}

std::string at(const char* what, int i) { return std::string(what) + "[" + std::to_string(i) + "]"; }

std::optional<std::string> broken_rule(const TensorMapFields& f) {
  using std::to_string;
  const bool padded = f.type == TensorElement::b4x16_p64;
  if (f.rank < 1 || f.rank > 5) return "rank must be 1 to 5, it is " + to_string(f.rank);
  const uint64_t address = reinterpret_cast<uint64_t>(f.base), alignment = padded ? 32 : 16;
  if (f.base == nullptr) return "the global address is null";
  if (address % alignment != 0) {
    return "the global address must be a multiple of " + to_string(alignment) + ", it is " +
           to_string(address % alignment) + " past one";
  }
  for (int d = 0; d < f.rank; ++d) {
    if (f.dims[d] < 1 || f.dims[d] > (uint64_t(1) << 32)) {
      return at("dims", d) + " must be 1 to 2^32, it is " + to_string(f.dims[d]);
    }
    if (f.box[d] < 1 || f.box[d] > 256) return at("box", d) + " must be 1 to 256, it is " + to_string(f.box[d]);
  }
  for (int d = 1; d < f.rank; ++d) {
    if (f.strides[d] % alignment != 0) {
      return at("strides", d) + " must be a multiple of " + to_string(alignment) + " bytes, it is " +
             to_string(f.strides[d]);
    }
    if (f.strides[d] >= (uint64_t(1) << 40)) {
      return at("strides", d) + " must be less than 2^40 bytes, it is " + to_string(f.strides[d]);
    }
  }
  if (f.type == TensorElement::b4x16 && f.dims[0] % 2 != 0) {
    return "dims[0] of a 4-bit type must be a multiple of 2, it is " + to_string(f.dims[0]);
  }
  if (padded && f.dims[0] % 128 != 0) {
    return "dims[0] of a padded 4-bit type must be a multiple of 128, it is " + to_string(f.dims[0]);
  }
  if (padded && f.box[0] != 128) return "box[0] of a padded 4-bit type must be 128, it is " + to_string(f.box[0]);
  if (padded && f.swizzle != Swizzle::none && f.swizzle != Swizzle::b128 && f.swizzle != Swizzle::b128_atom32) {
    return std::string("a padded 4-bit type takes no swizzle or a 128-byte one");
  }
  const uint32_t inner_bits = f.box[0] * uint32_t(element_bits(f.type));
  if (inner_bits % (8 * kChunk) != 0) {
    return "the inner box must be a multiple of 16 bytes, it is " + to_string(inner_bits / 8);
  }
  if (f.swizzle != Swizzle::none && shared_row_bytes(f) > swizzle_bytes(f.swizzle)) {
    return "the inner box must not be wider than the swizzle: " + to_string(shared_row_bytes(f)) +
           " bytes, swizzle of " + to_string(swizzle_bytes(f.swizzle));
  }
  if (f.nan_fill && !is_float(f.type)) return std::string("NaN fill needs a floating-point element type");
  return std::nullopt;
}

}  // namespace

int element_bits(TensorElement type) {
  switch (type) {
    case TensorElement::b4x16:
    case TensorElement::b4x16_p64:
      return 4;
    case TensorElement::u8:
      return 8;
    case TensorElement::u16:
    case TensorElement::f16:
    case TensorElement::bf16:
      return 16;
    case TensorElement::u32:
    case TensorElement::f32:
    case TensorElement::tf32:
      break;
  }
  return 32;
}

TensorElement element_of(DType type, bool padded) {
  if (padded) return TensorElement::b4x16_p64;
  switch (type) {
    case DType::bf16:
      return TensorElement::bf16;
    case DType::fp16:
      return TensorElement::f16;
    case DType::fp32:
      return TensorElement::f32;
    case DType::tf32:
      return TensorElement::tf32;
    case DType::e2m1:
      return TensorElement::b4x16;
    default:
      return TensorElement::u8;
  }
}

int element_bytes(TensorElement type) { return is_four_bit(type) ? 1 : element_bits(type) / 8; }

std::optional<std::string> encode_tensor_map(const TensorMapFields& f, TensorMap& out) {
  if (auto rule = broken_rule(f)) return rule;
  TensorMap map{};
  map.opaque[0] = reinterpret_cast<uint64_t>(f.base);
  map.opaque[1] =
      kMagic | uint64_t(f.type) << 32 | uint64_t(f.rank) << 40 | uint64_t(f.swizzle) << 48 | uint64_t(f.nan_fill) << 56;
  for (int d = 0; d < f.rank; ++d) {
    map.opaque[2 + d] = f.dims[d];
    if (d > 0) map.opaque[6 + d] = f.strides[d];
    map.opaque[11] |= uint64_t(f.box[d]) << (12 * d);
  }
  map.opaque[15] = checksum(map);
  out = map;
  return std::nullopt;
}

bool decode_tensor_map(const TensorMap& map, TensorMapFields& out) {
  const uint64_t head = map.opaque[1];
  if ((head & 0xffff'ffff) != kMagic || map.opaque[15] != checksum(map)) return false;
  TensorMapFields f{};
  f.base = reinterpret_cast<void*>(map.opaque[0]);
  f.type = TensorElement((head >> 32) & 0xff);
  f.rank = int((head >> 40) & 0xff);
  f.swizzle = Swizzle((head >> 48) & 0xff);
  f.nan_fill = (head >> 56) != 0;
  for (int d = 0; d < 5; ++d) {
    f.dims[d] = d < f.rank ? map.opaque[2 + d] : 1;
    f.strides[d] = d == 0 ? uint64_t(element_bytes(f.type)) : d < f.rank ? map.opaque[6 + d] : 0;
    f.box[d] = d < f.rank ? uint32_t(map.opaque[11] >> (12 * d)) & 0xfff : 1;
  }
  out = f;
  return true;
}

uint32_t row_pitch(const TensorMapFields& f) {
  const uint32_t bytes = shared_row_bytes(f);
  return f.swizzle == Swizzle::none ? bytes : std::max(bytes, swizzle_bytes(f.swizzle));
}

uint32_t box_bytes(const TensorMapFields& f) { return box_rows(f) * row_bytes(f); }

uint32_t box_footprint(const TensorMapFields& f) { return (box_rows(f) - 1) * row_pitch(f) + shared_row_bytes(f); }

void for_each_piece(const TensorMapFields& f, const int32_t* coords, uint32_t shared_address,
                    const std::function<void(const BoxPiece&)>& visit) {
  walk_pieces(f, coords, shared_address, [&](uint32_t shared, uint8_t* global, uint32_t bytes) {
    visit({shared, global, bytes});
  });
}

void load_box(const TensorMapFields& f, const int32_t* coords, uint32_t shared_address, uint8_t* shared) {
  walk_pieces(f, coords, shared_address, [&](uint32_t address, const uint8_t* global, uint32_t bytes) {
    uint8_t* to = shared + (address & kSharedOffsetMask);
    if (global == nullptr) {
      fill(f, to, bytes);
    } else if (bytes == kChunk) {
      std::memcpy(to, global, kChunk);
    } else {
      std::memcpy(to, global, bytes);
    }
  });
}

void store_box(const TensorMapFields& f, const int32_t* coords, uint32_t shared_address, const uint8_t* shared) {
  walk_pieces(f, coords, shared_address, [&](uint32_t address, uint8_t* global, uint32_t bytes) {
    const uint8_t* from = shared + (address & kSharedOffsetMask);
    if (global == nullptr) return;
    if (bytes == kChunk) {
      std::memcpy(global, from, kChunk);
    } else {
      std::memcpy(global, from, bytes);
    }
  });
}

bool can_reduce_add(TensorElement type) {
  return type == TensorElement::u32 || type == TensorElement::f32 || type == TensorElement::f16 ||
         type == TensorElement::bf16;
}

// The sum of two 16-bit floats fits 24 bits well enough that rounding it to fp32 first changes nothing (24 >= 2*11 +
// 2).
void reduce_add_box(const TensorMapFields& f, const int32_t* coords, uint32_t shared_address, const uint8_t* shared) {
  walk_pieces(f, coords, shared_address, [&](uint32_t address, uint8_t* global, uint32_t bytes) {
    if (global == nullptr) return;
    const uint8_t* from = shared + (address & kSharedOffsetMask);
    switch (f.type) {
      case TensorElement::f32:
        return add_floats<float>(global, from, bytes);
      case TensorElement::f16:
        return add_floats<fp16>(global, from, bytes);
      case TensorElement::bf16:
        return add_floats<bf16>(global, from, bytes);
      case TensorElement::u32:
        return add_integers(global, from, bytes);
      default:
        return;
    }
  });
}

}  // namespace warpwright::simulator::model
