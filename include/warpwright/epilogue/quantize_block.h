// Results where a few neighbours share a scale factor: the form that a block-scaled product takes for its operands.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/block_scaling.h"
#include "warpwright/core/numeric.h"
#include "warpwright/core/unroll.h"
#include "warpwright/epilogue/activation.h"
#include "warpwright/tile/convert_fp4.h"

namespace warpwright::inline WW_WORLD::epilogue {

// silu(gate) * up. Clamped: gate at most `limit`, |up| at most `limit`, and (up + 1) * gate * sigmoid(slope * gate).
struct Swiglu {
  bool clamped = false;
  float limit = 7.f;
  float slope = 1.702f;

  WW_FN float operator()(float gate, float up) const {
    if (!clamped) return tile::multiply(silu(gate), up);
    const float g = gate > limit ? limit : gate;
    const float u = up > limit ? limit : up < -limit ? -limit : up;
    return tile::multiply(tile::add(u, 1.f), tile::multiply(g, sigmoid(tile::multiply(slope, g))));
  }
};

WW_FN float magnitude(float x) { return stdx::bit_cast<float>(stdx::bit_cast<uint32_t>(x) & 0x7fff'ffffu); }
// The larger of two magnitudes; a NaN stays NaN.
WW_FN float larger(float a, float b) { return b != b || b > a ? b : a; }

// e4m3 with fp32 scales: the scale of a block from its largest magnitude, which becomes 448. A NaN stays NaN.
WW_FN float scale_of_block(float largest) {
  if (largest == 0.f) return 1.f;
  const float scale = tile::multiply(largest, 1.f / 448);
  constexpr float least = 1.17549435e-38f;  // the smallest with a finite reciprocal
  return scale < least ? least : scale;
}

// The factor of a block whose largest magnitude is known: its code, and what elements are multiplied by before they are
// rounded. mxfp8 and mxfp4: the smallest power of two with which nothing overflows. nvfp4: ue4m3(tensor_scale * largest
// / 6); elements are divided by it and multiplied by tensor_scale. A block of zeros has a code of zero bits.
template <BlockScaling S>
struct BlockScale {
  static_assert(S == BlockScaling::mxfp8 || S == BlockScaling::mxfp4 || S == BlockScaling::nvfp4);
  uint8_t code = 0;
  float by = 0;

  WW_FN static BlockScale of(float largest, [[maybe_unused]] float tensor_scale) {
    if constexpr (S == BlockScaling::nvfp4) {
      const float wanted = tile::multiply(tile::multiply(tensor_scale, largest), 1.f / 6);
      const auto code = uint8_t(tile::pack4<DType::e4m3>(wanted, 0.f, 0.f, 0.f));
      const float got = to_float(ue4m3{code});
      return {code, got == 0.f ? 0.f : tile::multiply(tensor_scale, tile::reciprocal(got))};
    } else {
      const uint8_t code = power_of_two(largest);
      return {code, inverse(code)};
    }
  }

 private:
  // 2^(127 - code), the smallest of which is subnormal; the last code is NaN.
  WW_FN static float inverse(uint8_t code) {
    return stdx::bit_cast<float>(code == 0xff ? 0x7fff'ffffu : code == 0xfe ? 0x0040'0000u : (254u - code) << 23);
  }
  // The largest element is 1.75 * 2^8 in e4m3 and 1.5 * 2^2 in e2m1.
  WW_FN static uint8_t power_of_two(float largest) {
    constexpr uint32_t exponent = S == BlockScaling::mxfp8 ? 8 : 2;
    constexpr uint32_t fraction = S == BlockScaling::mxfp8 ? 0x60'0000 : 0x40'0000;
    const uint32_t word = stdx::bit_cast<uint32_t>(largest);
    const uint32_t up = (word >> 23) + ((word & 0x7f'ffff) > fraction ? 1u : 0u);
    if (largest != largest) return 0xff;
    if (word == 0x7f80'0000) return 0xfe;
    return uint8_t(up > exponent ? up - exponent : 0);
  }
};

// A whole block in the registers of one thread.
template <BlockScaling S>
struct QuantizedBlock {
  static constexpr DType kType = S == BlockScaling::mxfp8 ? DType::e4m3 : DType::e2m1;
  static constexpr int kElements = scale_block(S);
  static constexpr int kWords = kElements * bits(kType) / 32;
  static constexpr int kWidth = kWords < 4 ? kWords : 4;  // words of one store
  Vec<uint32_t, kWidth> words[kWords / kWidth];
  uint8_t factor = 0;

  WW_FN static QuantizedBlock of(const float* values, float tensor_scale) {
    float largest = 0;
    WW_UNROLL
    for (int i = 0; i < kElements; ++i) largest = larger(largest, magnitude(values[i]));
    const auto factor = BlockScale<S>::of(largest, tensor_scale);
    QuantizedBlock block;
    block.factor = factor.code;
    float scaled[kElements];
    WW_UNROLL
    for (int i = 0; i < kElements; ++i) scaled[i] = tile::multiply(values[i], factor.by);
    WW_UNROLL
    for (int i = 0; i < kWords; ++i) {
      uint32_t& word = block.words[i / kWidth][i % kWidth];
      if constexpr (kType == DType::e4m3) {
        word = tile::pack4<kType>(scaled[4 * i], scaled[4 * i + 1], scaled[4 * i + 2], scaled[4 * i + 3]);
      } else {
        word = tile::pack8_e2m1(scaled + 8 * i);
      }
    }
    return block;
  }
};

}  // namespace warpwright::inline WW_WORLD::epilogue
