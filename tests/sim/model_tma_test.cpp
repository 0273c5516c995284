// Contracts of the tensor-map encoder and of the box walk.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/model.h"
#include "warpwright/core/numeric.h"

namespace warpwright::simulator::model {
namespace {

constexpr uint32_t kShared = 64 * 1024;
constexpr Swizzle kSwizzles[] = {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128};

// PTX 5.5.7, written out: the number of the 16-byte chunk is changed by the number of the 128-byte line.
uint32_t swizzled(Swizzle s, uint32_t address) {
  const uint32_t mask = s == Swizzle::none ? 0 : s == Swizzle::b32 ? 1 : s == Swizzle::b64 ? 3 : 7;
  return address ^ (((address >> 7) & mask) << 4);
}

struct Memory {
  explicit Memory(size_t bytes) : storage(bytes + 64) {}
  uint8_t* data() { return storage.data() + (64 - reinterpret_cast<uintptr_t>(storage.data()) % 64) % 64; }
  std::vector<uint8_t> storage;
};

// A tensor of 16-bit elements whose values are all different, with padding between the rows.
struct Tensor {
  Tensor(int rank, Swizzle swizzle, std::vector<uint64_t> dims, std::vector<uint32_t> box) {
    fields = {TensorElement::u16, rank, nullptr, {1, 1, 1, 1, 1}, {2, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, swizzle, false};
    uint64_t stride = 0;
    for (int d = 0; d < rank; ++d) {
      fields.dims[d] = dims[size_t(d)];
      fields.box[d] = box[size_t(d)];
      if (d > 0) fields.strides[d] = stride;
      stride = d == 0 ? (2 * dims[0] + 15) / 16 * 16 + 16 : stride * dims[size_t(d)];
    }
    bytes = size_t(stride);
    memory = std::make_unique<Memory>(bytes);
    fields.base = memory->data();
    for (size_t i = 0; i + 1 < bytes; i += 2) {
      const uint16_t value = uint16_t(i / 2 + 1);
      std::memcpy(memory->data() + i, &value, 2);
    }
  }
  bool inside(const int64_t* at) const {
    for (int d = 0; d < fields.rank; ++d) {
      if (at[d] < 0 || at[d] >= int64_t(fields.dims[d])) return false;
    }
    return true;
  }
  uint8_t* element(const int64_t* at) {
    uint8_t* p = memory->data() + 2 * at[0];
    for (int d = 1; d < fields.rank; ++d) p += at[d] * int64_t(fields.strides[d]);
    return p;
  }
  // visit(element coordinates, linear byte offset in the box)
  template <class F>
  void each(const int32_t* coords, F visit) const {
    uint32_t count = 1;
    for (int d = 0; d < fields.rank; ++d) count *= fields.box[d];
    for (uint32_t i = 0; i < count; ++i) {
      int64_t at[5] = {};
      uint32_t rest = i;
      for (int d = 0; d < fields.rank; ++d) {
        at[d] = coords[d] + int64_t(rest % fields.box[d]);
        rest /= fields.box[d];
      }
      visit(at, 2 * i);
    }
  }

  TensorMapFields fields;
  size_t bytes;
  std::unique_ptr<Memory> memory;
};

struct Case {
  int rank;
  Swizzle swizzle;
  std::vector<int32_t> coords;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (Swizzle s : kSwizzles) {
    for (int32_t x : {0, 8, 3, -5, 61, -100, 100}) {
      all.push_back({1, s, {x}});
      for (int32_t y : {0, 7, -3, 9, -40, 40}) {
        all.push_back({2, s, {x, y}});
        for (int32_t z : {0, -1, 4}) all.push_back({3, s, {x, y, z}});
      }
    }
  }
  return all;
}

Tensor tensor_of(const Case& c) {
  const uint32_t inner = c.swizzle == Swizzle::none ? 40 : swizzle_bytes(c.swizzle) / 2;
  return Tensor(c.rank, c.swizzle, {69, 13, 5}, {inner, 10, 3});
}

TEST(TensorMap, LoadPutsEveryElementAtItsSwizzledAddressAndZeroOutside) {
  for (const Case& c : cases()) {
    Tensor t = tensor_of(c);
    const uint32_t destination = 0x3000'0000 | 2048;  // carries the rank of its CTA
    std::vector<uint8_t> shared(kShared, 0xee);
    load_box(t.fields, c.coords.data(), destination, shared.data());
    std::vector<bool> written(kShared);
    t.each(c.coords.data(), [&](const int64_t* at, uint32_t linear) {
      const uint32_t address = swizzled(c.swizzle, destination + linear) & kSharedOffsetMask;
      uint16_t got, want = 0;
      std::memcpy(&got, &shared[address], 2);
      if (t.inside(at)) std::memcpy(&want, t.element(at), 2);
      ASSERT_EQ(got, want) << "rank " << c.rank << " x " << at[0] << " linear " << linear;
      written[address] = written[address + 1] = true;
    });
    for (uint32_t i = 0; i < kShared; ++i) ASSERT_TRUE(written[i] || shared[i] == 0xee) << "stray write at " << i;
  }
}

TEST(TensorMap, StoreIsTheInverseOfLoadAndLeavesTheOutsideAlone) {
  for (const Case& c : cases()) {
    Tensor t = tensor_of(c);
    const std::vector<uint8_t> before(t.memory->data(), t.memory->data() + t.bytes);
    std::vector<uint8_t> shared(kShared);
    load_box(t.fields, c.coords.data(), 1024, shared.data());
    for (uint8_t& byte : shared) byte ^= 0x55;
    store_box(t.fields, c.coords.data(), 1024, shared.data());
    std::vector<uint8_t> want = before;
    t.each(c.coords.data(), [&](const int64_t* at, uint32_t) {
      if (!t.inside(at)) return;
      const size_t offset = size_t(t.element(at) - t.memory->data());
      want[offset] ^= 0x55;
      want[offset + 1] ^= 0x55;
    });
    ASSERT_EQ(std::memcmp(t.memory->data(), want.data(), t.bytes), 0) << "rank " << c.rank << " x " << c.coords[0];
  }
}

TEST(TensorMap, RowsThatLieElsewhereAreLookedUp) {
  constexpr uintptr_t kAway = 1 << 20;
  for (const Case& c : cases()) {
    const Tensor t = tensor_of(c);
    std::vector<uint8_t> here(kShared, 0xee), away(kShared, 0xee);
    load_box(t.fields, c.coords.data(), 1024, here.data());
    TensorMapFields fields = t.fields;
    fields.base = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(fields.base) + kAway);
    fields.host = [](const void*, const void* address) {
      return reinterpret_cast<uint8_t*>(reinterpret_cast<uintptr_t>(address) - kAway);
    };
    load_box(fields, c.coords.data(), 1024, away.data());
    ASSERT_EQ(away, here) << "rank " << c.rank << " x " << c.coords[0];
  }
}

TEST(TensorMap, PiecesCoverTheBoxOnceAndAgreeWithTheCopy) {
  for (const Case& c : cases()) {
    Tensor t = tensor_of(c);
    std::vector<uint8_t> direct(kShared, 0xee), by_pieces(kShared, 0xee);
    load_box(t.fields, c.coords.data(), 1024, direct.data());
    uint32_t total = 0;
    for_each_piece(t.fields, c.coords.data(), 1024, [&](const BoxPiece& p) {
      ASSERT_GT(p.bytes, 0u);
      ASSERT_LE(p.bytes, 16u);
      ASSERT_EQ(p.shared_address / 16, (p.shared_address + p.bytes - 1) / 16) << "crosses a chunk";
      total += p.bytes;
      for (uint32_t i = 0; i < p.bytes; ++i) {
        ASSERT_EQ(by_pieces[p.shared_address + i], 0xee) << "touched twice";
        by_pieces[p.shared_address + i] = p.global != nullptr ? p.global[i] : 0;
      }
    });
    ASSERT_EQ(total, box_bytes(t.fields));
    ASSERT_EQ(direct, by_pieces);
  }
}

TEST(TensorMap, BoxBytesCountWhatIsOutOfBounds) {
  Tensor t(3, Swizzle::b128, {69, 13, 5}, {64, 10, 3});
  EXPECT_EQ(box_bytes(t.fields), 64u * 10 * 3 * 2);
  EXPECT_EQ(box_footprint(t.fields), box_bytes(t.fields));
}

TEST(TensorMap, NanFillIsANanOfTheElementType) {
  for (TensorElement type : {TensorElement::f32, TensorElement::f16, TensorElement::bf16}) {
    Memory memory(4096);
    TensorMapFields f{type, 2, memory.data(), {5, 3, 1, 1, 1}, {0, 64, 0, 0, 0}, {8, 4, 1, 1, 1}, Swizzle::none, true};
    TensorMap map;
    ASSERT_EQ(encode_tensor_map(f, map), std::nullopt);
    const int32_t coords[] = {-1, -1};
    std::vector<uint8_t> shared(kShared);
    load_box(f, coords, 0, shared.data());
    const uint32_t size = uint32_t(element_bytes(type));
    for (uint32_t y = 0; y < 4; ++y) {
      for (uint32_t x = 0; x < 8; ++x) {
        uint32_t code = 0;
        std::memcpy(&code, &shared[(y * 8 + x) * size], size);
        const bool nan = type == TensorElement::f32   ? is_nan(stdx::bit_cast<float>(code))
                         : type == TensorElement::f16 ? is_nan(fp16{uint16_t(code)})
                                                      : is_nan(bf16{uint16_t(code)});
        EXPECT_EQ(nan, x < 1 || x > 5 || y < 1 || y > 3) << x << "," << y;
      }
    }
  }
}

template <class T>
void check_reduce(TensorElement type) {
  Memory memory(4096);
  T* global = reinterpret_cast<T*>(memory.data());
  const uint32_t row = 128 / sizeof(T);
  TensorMapFields f{type, 2, global, {row - 1, 6, 1, 1, 1}, {0, 128, 0, 0, 0}, {row, 8, 1, 1, 1}, Swizzle::b128, false};
  for (uint32_t i = 0; i < 6 * row; ++i) global[i] = from_float<T>(float(i) * 0.37f);
  const std::vector<T> before(global, global + 6 * row);
  std::vector<uint8_t> shared(kShared);
  for (uint32_t i = 0; i < 8 * row; ++i) {
    const T value = from_float<T>(float(i) - 100.3f);
    std::memcpy(&shared[swizzled(Swizzle::b128, 1024 + i * uint32_t(sizeof(T)))], &value, sizeof(T));
  }
  const int32_t coords[] = {0, -1};
  reduce_add_box(f, coords, 1024, shared.data());
  for (uint32_t y = 0; y < 6; ++y) {
    for (uint32_t x = 0; x < row; ++x) {
      const T old = before[y * row + x];
      const double sum = double(to_float(old)) + double(to_float(from_float<T>(float((y + 1) * row + x) - 100.3f)));
      const T want = x + 1 < row ? from_float<T>(float(sum)) : old;
      ASSERT_EQ(to_float(global[y * row + x]), to_float(want)) << x << "," << y;
    }
  }
}

TEST(TensorMap, ReduceAddRoundsOnceInTheElementType) {
  check_reduce<float>(TensorElement::f32);
  check_reduce<fp16>(TensorElement::f16);
  check_reduce<bf16>(TensorElement::bf16);
  EXPECT_FALSE(can_reduce_add(TensorElement::u8));
}

TEST(TensorMap, PaddedFourBitLeavesEightBytesBetweenGroups) {
  Memory memory(1024);
  for (int i = 0; i < 256; ++i) memory.data()[i] = uint8_t(i);
  TensorMapFields f{TensorElement::b4x16_p64,
                    2,
                    memory.data(),
                    {128, 2, 1, 1, 1},
                    {1, 64, 0, 0, 0},
                    {128, 2, 1, 1, 1},
                    Swizzle::b128,
                    false};
  TensorMap map;
  ASSERT_EQ(encode_tensor_map(f, map), std::nullopt);
  EXPECT_EQ(box_bytes(f), 128u);
  EXPECT_EQ(box_footprint(f), 256u);
  std::vector<uint8_t> shared(kShared, 0xee);
  const int32_t coords[] = {0, 0};
  load_box(f, coords, 1024, shared.data());
  for (uint32_t i = 0; i < 256; ++i) {
    const uint8_t want = i % 16 < 8 ? uint8_t(i / 16 * 8 + i % 16) : 0xee;
    ASSERT_EQ(shared[swizzled(Swizzle::b128, 1024 + i)], want) << i;
  }
}

TEST(TensorMap, NarrowBoxKeepsRowsASwizzleWidthApart) {
  Tensor t(2, Swizzle::b128, {64, 8}, {32, 8});
  EXPECT_EQ(box_bytes(t.fields), 8u * 64);
  EXPECT_EQ(box_footprint(t.fields), 7u * 128 + 64);
}

TEST(TensorMap, DecodeGivesBackWhatWasEncodedAndRefusesOtherBytes) {
  Tensor t(3, Swizzle::b64, {69, 13, 5}, {32, 10, 3});
  TensorMap map;
  ASSERT_EQ(encode_tensor_map(t.fields, map), std::nullopt);
  TensorMapFields back{};
  ASSERT_TRUE(decode_tensor_map(map, back));
  EXPECT_EQ(back.type, t.fields.type);
  EXPECT_EQ(back.rank, 3);
  EXPECT_EQ(back.base, t.fields.base);
  EXPECT_EQ(back.swizzle, Swizzle::b64);
  EXPECT_FALSE(back.nan_fill);
  for (int d = 0; d < 3; ++d) {
    EXPECT_EQ(back.dims[d], t.fields.dims[d]);
    EXPECT_EQ(back.strides[d], t.fields.strides[d]);
    EXPECT_EQ(back.box[d], t.fields.box[d]);
  }
  map.opaque[3] ^= 1;
  EXPECT_FALSE(decode_tensor_map(map, back));
  EXPECT_FALSE(decode_tensor_map(TensorMap{}, back));
}

TEST(TensorMap, TheLargestDimensionIsLegal) {
  Tensor t(2, Swizzle::none, {64, 8}, {64, 8});
  t.fields.dims[1] = uint64_t(1) << 32;
  TensorMap map;
  EXPECT_EQ(encode_tensor_map(t.fields, map), std::nullopt);
}

// The change breaks one rule of a legal map, and the sentence must name it.
void expect_refused(const char* words, void (*change)(TensorMapFields&)) {
  Tensor t(2, Swizzle::b128, {64, 8}, {64, 8});
  t.fields.type = TensorElement::bf16;
  TensorMap map{};
  ASSERT_EQ(encode_tensor_map(t.fields, map), std::nullopt);
  const TensorMap before = map;
  change(t.fields);
  const auto error = encode_tensor_map(t.fields, map);
  ASSERT_TRUE(error.has_value()) << words;
  EXPECT_NE(error->find(words), std::string::npos) << *error;
  EXPECT_EQ(std::memcmp(&before, &map, sizeof(map)), 0) << "a refused map must not be written";
}

TEST(TensorMap, EncodeNamesTheBrokenRule) {
  expect_refused("rank must be 1 to 5, it is 6", [](TensorMapFields& f) { f.rank = 6; });
  expect_refused("rank must be 1 to 5", [](TensorMapFields& f) { f.rank = 0; });
  expect_refused("global address must be a multiple of 16",
                 [](TensorMapFields& f) { f.base = static_cast<uint8_t*>(f.base) + 8; });
  expect_refused("dims[1] must be 1 to 2^32, it is 0", [](TensorMapFields& f) { f.dims[1] = 0; });
  expect_refused("dims[0] must be 1 to 2^32", [](TensorMapFields& f) { f.dims[0] = (uint64_t(1) << 32) + 1; });
  expect_refused("strides[1] must be a multiple of 16", [](TensorMapFields& f) { f.strides[1] += 2; });
  expect_refused("strides[1] must be less than 2^40", [](TensorMapFields& f) { f.strides[1] = uint64_t(1) << 40; });
  expect_refused("box[1] must be 1 to 256, it is 257", [](TensorMapFields& f) { f.box[1] = 257; });
  expect_refused("box[0] must be 1 to 256, it is 0", [](TensorMapFields& f) { f.box[0] = 0; });
  expect_refused("multiple of 16 bytes, it is 14", [](TensorMapFields& f) { f.box[0] = 7; });
  expect_refused("not be wider than the swizzle", [](TensorMapFields& f) { f.box[0] = 72; });
  expect_refused("NaN fill needs a floating-point", [](TensorMapFields& f) {
    f.type = TensorElement::u16;
    f.nan_fill = true;
  });
  expect_refused("dims[0] of a 4-bit type must be a multiple of 2", [](TensorMapFields& f) {
    f.type = TensorElement::b4x16;
    f.dims[0] = 63;
  });
  expect_refused("box[0] of a padded 4-bit type must be 128", [](TensorMapFields& f) {
    f.type = TensorElement::b4x16_p64;
    f.dims[0] = 128;
    f.strides[1] = 160;
  });
}

}  // namespace
}  // namespace warpwright::simulator::model
