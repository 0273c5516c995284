// What a block becomes, for the host and for the GPU: its factor, its elements, where the factor lies. Magnitudes are
// kept as the bits of a float without sign, which are ordered as the numbers are, NaN above all.
#pragma once
#include "warpwright/epilogue/quantize_block.h"
#include "warpwright/quantize.h"
#include "warpwright/tile/convert.h"

namespace warpwright {

struct QuantizeArgs {
  const void* source;
  uint8_t* values;
  void* scales;
  float* tensor_scale;
  int64_t rows, columns, stride;
  DType source_type;
  ScaleLayout layout;
  bool by_vectors;  // 8 elements of a row are aligned in the source and in the result
};

// Whether the pointers may be used for this problem, which is checked too.
Status validate(const QuantizeProblem& problem, const QuantizePointers& pointers);
QuantizeArgs quantize_args(const QuantizeProblem& problem, const QuantizePointers& pointers);

// A matrix of factors, and what its layout adds to it.
struct ScaleExtents {
  int64_t rows, columns, padded_rows, padded_columns;

  WW_HD static constexpr int64_t up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
  WW_HD static constexpr ScaleExtents of(Quantization kind, ScaleLayout layout, int64_t rows, int64_t columns) {
    const int64_t down = up(rows, block_rows(kind)) / block_rows(kind);
    const int64_t across = up(columns, block_columns(kind)) / block_columns(kind);
    if (layout == ScaleLayout::columns) return {down, across, up(down, 4), across};
    if (layout == ScaleLayout::tiles) return {down, across, up(down, kScaleTileRows), up(across, kScaleTileColumns)};
    return {down, across, down, across};
  }
  WW_HD constexpr int64_t count() const { return padded_rows * padded_columns; }
  // The place of one factor, which may be padding.
  WW_HD constexpr int64_t at(ScaleLayout layout, int64_t row, int64_t column) const {
    if (layout == ScaleLayout::columns) return column * padded_rows + row;
    if (layout == ScaleLayout::rows) return row * columns + column;
    // Unsigned, so that divisions are shifts.
    const auto r = uint64_t(row), c = uint64_t(column);
    const uint64_t tile = r / kScaleTileRows * (uint64_t(padded_columns) / kScaleTileColumns) + c / kScaleTileColumns;
    const uint64_t line = r % 32 * 16 + r % kScaleTileRows / 32 * kScaleTileColumns;
    return int64_t(tile * kScaleTileBytes + line + c % kScaleTileColumns);
  }
};

}  // namespace warpwright

namespace warpwright::inline WW_WORLD::quantizing {

inline constexpr int kElements = 8;  // that are converted at once
inline constexpr uint32_t kInfinity = 0x7f80'0000;
inline constexpr float kSmallest = 0x1p-126f;

WW_FN uint32_t magnitude(float x) { return stdx::bit_cast<uint32_t>(x) & 0x7fff'ffff; }

// The factor of a tensor whose largest finite magnitude is this one: with it, the block that contains that magnitude
// gets the largest ue4m3. Division keeps the order, so the largest of many such factors is that of the largest element.
WW_FN float tensor_scale_of(uint32_t largest) {
  const float scale = tile::divide(stdx::bit_cast<float>(largest), 448.f * 6);
  return scale > kSmallest ? scale : kSmallest;
}

// A block's factor: its code, the bits of an fp32 one, and what elements are multiplied by.
struct Scale {
  uint32_t code;
  float by;
};
template <Quantization Q, DType T>
WW_FN Scale scale_of(uint32_t largest, [[maybe_unused]] float inverse_tensor_scale) {
  const float x = stdx::bit_cast<float>(largest);
  if constexpr (Q == Quantization::nvfp4) {
    const auto f = epilogue::BlockScale<BlockScaling::nvfp4>::of(x, inverse_tensor_scale);
    return {f.code, f.by};
  } else if constexpr (Q == Quantization::mx) {
    // The largest e5m2 is 2^7 times the largest e4m3.
    constexpr BlockScaling scaling = T == DType::e2m1 ? BlockScaling::mxfp4 : BlockScaling::mxfp8;
    const auto f = epilogue::BlockScale<scaling>::of(T == DType::e5m2 ? tile::multiply(x, 0x1p-7f) : x, 1.f);
    return {f.code, f.by};
  } else {
    if (largest > kInfinity) return {0x7fc0'0000, stdx::bit_cast<float>(0x7fc0'0000)};
    if (largest == 0) return {stdx::bit_cast<uint32_t>(1.f), 1.f};
    // The rule of kernels that quantize their results, too (kernel/sm90/grouped/grouped_epilogue.h).
    const float exact = tile::multiply(x, T == DType::e4m3 ? 1.f / 448 : 1.f / 57344);
    const float scale = exact > kSmallest ? exact : kSmallest;
    return {stdx::bit_cast<uint32_t>(scale), tile::reciprocal(scale)};
  }
}

// from_float<e2m1> of a magnitude in a few instructions, for GPUs that have none for it. The code is twice the number
// below 2, the number and 2 below 4, half of it and 4 below 6: always the smallest of the three. A sum with 2^23 rounds
// to whole numbers, once, since the products are exact; its bits are those of 2^23 and the code. NaN is larger than
// all.
inline constexpr uint32_t kCodeBase = 0x4b00'0000;
WW_FN uint32_t code_e2m1(float x) {
  constexpr float base = 0x1p23f;
  const float size = stdx::bit_cast<float>(magnitude(x));
  const uint32_t low = stdx::bit_cast<uint32_t>(size * 2 + base);
  const uint32_t middle = stdx::bit_cast<uint32_t>(size + (base + 2));
  const uint32_t high = stdx::bit_cast<uint32_t>(size * 0.5f + (base + 4));
  const uint32_t lower = low < middle ? low : middle, upper = high < kCodeBase + 7 ? high : kCodeBase + 7;
  return lower < upper ? lower : upper;
}

// Eight elements, the first in the lowest bits. Where `by` is NaN, e2m1 are all 6.
template <DType T>
inline constexpr int kWords = kElements* bits(T) / 32;
template <DType T>
WW_FN void convert(const float (&x)[kElements], float by, uint32_t (&words)[kWords<T>]) {
  if constexpr (T == DType::e2m1) {
    uint32_t codes = 0, signs = 0;
    WW_UNROLL
    for (int i = kElements - 1; i >= 0; --i) {
      codes = codes * 16 + code_e2m1(tile::multiply(x[i], by));
      signs |= stdx::bit_cast<uint32_t>(x[i]) >> (28 - 4 * i) & 8u << (4 * i);
    }
    // The bases of the last two codes are still there.
    words[0] = (codes - kCodeBase * 17) | (by == by ? signs : 0);
  } else {
    WW_UNROLL
    for (int i = 0; i < 2; ++i) {
      words[i] = tile::pack4<T>(tile::multiply(x[4 * i], by), tile::multiply(x[4 * i + 1], by),
                                tile::multiply(x[4 * i + 2], by), tile::multiply(x[4 * i + 3], by));
    }
  }
}

// Calls call.template operator()<Q, T>() for the kind and the type of a legal problem.
template <class Call>
inline auto with_kind(Quantization kind, DType type, Call&& call) {
  const auto of_type = [&]<Quantization Q>() {
    return type == DType::e4m3 ? call.template operator()<Q, DType::e4m3>()
                               : call.template operator()<Q, DType::e5m2>();
  };
  switch (kind) {
    case Quantization::token:
      return of_type.template operator()<Quantization::token>();
    case Quantization::block:
      return of_type.template operator()<Quantization::block>();
    case Quantization::mx:
      if (type == DType::e2m1) return call.template operator()<Quantization::mx, DType::e2m1>();
      return of_type.template operator()<Quantization::mx>();
    default:
      return call.template operator()<Quantization::nvfp4, DType::e2m1>();
  }
}

}  // namespace warpwright::inline WW_WORLD::quantizing
