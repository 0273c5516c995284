// One wave, one tile: every shape of matrix instruction that the kernels may use. A and B are [rows, k] row-major with
// k along the lanes as the interpreter documents it, D is row-major.
#include "device.h"

template <class T>
__attribute__((always_inline)) static T part_of_row(Global<const char> from, unsigned rows, unsigned row_bytes) {
  const unsigned lane = thread();
  return *(Global<const T>)(from + (lane % rows) * row_bytes + (lane / rows) * unsigned(sizeof(T)));
}

__attribute__((always_inline)) static void store16(Global<float> d, f32x4 v) {
  const unsigned lane = thread();
  for (unsigned r = 0; r < 4; ++r) d[(4 * (lane / 16) + r) * 16 + lane % 16] = v[r];
}
__attribute__((always_inline)) static void store32(Global<float> d, f32x16 v) {
  const unsigned lane = thread();
  for (unsigned r = 0; r < 16; ++r) d[(8 * (r / 4) + 4 * (lane / 32) + r % 4) * 32 + lane % 32] = v[r];
}

KERNEL(64) bf16_16x16x16(Global<const char> a, Global<const char> b, Global<float> d) {
  store16(d, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(part_of_row<s16x4>(a, 16, 32), part_of_row<s16x4>(b, 16, 32),
                                                       f32x4{1, 1, 1, 1}, 0, 0, 0));
}
KERNEL(64) bf16_32x32x8(Global<const char> a, Global<const char> b, Global<float> d) {
  f32x16 c = 1;
  store32(d, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(part_of_row<s16x4>(a, 32, 16), part_of_row<s16x4>(b, 32, 16), c,
                                                      0, 0, 0));
}
KERNEL(64) fp8_16x16x32(Global<const char> a, Global<const char> b, Global<float> d) {
  store16(d, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(part_of_row<long>(a, 16, 32), part_of_row<long>(b, 16, 32),
                                                        f32x4{1, 1, 1, 1}, 0, 0, 0));
}
KERNEL(64) fp8_32x32x16(Global<const char> a, Global<const char> b, Global<float> d) {
  f32x16 c = 1;
  store32(d, __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(part_of_row<long>(a, 32, 16), part_of_row<long>(b, 32, 16), c,
                                                        0, 0, 0));
}
#if defined(__gfx950__)
KERNEL(64) bf16_16x16x32(Global<const char> a, Global<const char> b, Global<float> d) {
  store16(d, __builtin_amdgcn_mfma_f32_16x16x32_bf16(part_of_row<bf16x8>(a, 16, 64), part_of_row<bf16x8>(b, 16, 64),
                                                     f32x4{1, 1, 1, 1}, 0, 0, 0));
}
KERNEL(64) bf16_32x32x16(Global<const char> a, Global<const char> b, Global<float> d) {
  f32x16 c = 1;
  store32(d, __builtin_amdgcn_mfma_f32_32x32x16_bf16(part_of_row<bf16x8>(a, 32, 32), part_of_row<bf16x8>(b, 32, 32), c,
                                                     0, 0, 0));
}
KERNEL(64) fp8_16x16x128(Global<const char> a, Global<const char> b, Global<float> d) {
  store16(d, __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(
                 part_of_row<i32x8>(a, 16, 128), part_of_row<i32x8>(b, 16, 128), f32x4{1, 1, 1, 1}, 0, 0, 0, 0, 0, 0));
}
KERNEL(64) fp8_32x32x64(Global<const char> a, Global<const char> b, Global<float> d) {
  f32x16 c = 1;
  store32(d, __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(part_of_row<i32x8>(a, 32, 64),
                                                             part_of_row<i32x8>(b, 32, 64), c, 0, 0, 0, 0, 0, 0));
}
#endif

// 20 accumulators of 32x32 are 320 registers, more than the VGPRs: some of them live in AGPRs.
KERNEL(64) many_accumulators(Global<const char> a, Global<const char> b, Global<float> d, unsigned steps) {
  f32x16 c[20];
  for (int i = 0; i < 20; ++i) c[i] = float(i);
  for (unsigned s = 0; s < steps; ++s) {
    const s16x4 x = part_of_row<s16x4>(a, 32, 16), y = part_of_row<s16x4>(b, 32, 16);
#pragma unroll
    for (int i = 0; i < 20; ++i) c[i] = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x, y, c[i], 0, 0, 0);
  }
#pragma unroll
  for (int i = 0; i < 20; ++i) store32(d + i * 1024, c[i]);
}
