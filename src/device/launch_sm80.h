// The mma.sync kernels that are compiled ahead, for sm_80 and for the newer chips that run the same instructions.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "device/launch.h"
#include "warpwright/kernel/config_sm80.h"

namespace warpwright::device {

// Several CTAs on an SM hide each other's latency. The fifth slot spares the loop a second barrier.
inline constexpr MmaSyncGemmConfig kSmallMmaSync{.tile_m = 64,
                                                 .tile_n = 64,
                                                 .warps_m = 2,
                                                 .warps_n = 2,
                                                 .depth = 5,
                                                 .pieces = 2,
                                                 .copies_a = 1,
                                                 .copies_b = 1,
                                                 .copy_latency = 1200,
                                                 .blocks_per_sm = 4};
inline constexpr MmaSyncGemmConfig kMiddleMmaSync{.tile_m = 128,
                                                  .tile_n = 128,
                                                  .warps_m = 2,
                                                  .warps_n = 2,
                                                  .depth = 5,
                                                  .pieces = 2,
                                                  .copies_a = 1,
                                                  .copies_b = 1,
                                                  .copy_latency = 2400,
                                                  .blocks_per_sm = 2};
// Hopper multiplies 8-bit floating point by way of fp16, which takes registers: little overlap, warps of 32 x 32.
inline constexpr MmaSyncGemmConfig kNarrowMmaSync{.tile_m = 64,
                                                  .tile_n = 64,
                                                  .warps_m = 2,
                                                  .warps_n = 2,
                                                  .depth = 3,
                                                  .pieces = 1,
                                                  .copies_a = 1,
                                                  .copies_b = 1,
                                                  .spread = false,
                                                  .copy_latency = 2400,
                                                  .blocks_per_sm = 2};

namespace detail {
constexpr MmaSyncGemmConfig with(MmaSyncGemmConfig c, DType type, DType out) {
  c.type = type;
  c.epilogue = factor_and_conversion(out);
  return c;
}
constexpr MmaSyncGemmConfig with(MmaSyncGemmConfig c, RowCopy copy) {
  c.copy = copy;
  return c;
}
constexpr MmaSyncGemmConfig with_source(MmaSyncGemmConfig c) {
  c.epilogue.source = true;
  c.epilogue.bias = Bias::per_column;
  c.epilogue.activation = Activation::relu;
  return c;
}
}  // namespace detail

// An entry's position names its instance, so new ones go to the end.
inline constexpr MmaSyncGemmConfig kMmaSyncGemmSm80[] = {
    {},
    kSmallMmaSync,
    detail::with(kMiddleMmaSync, DType::fp16, DType::fp16),
    detail::with(kMiddleMmaSync, DType::s8, DType::fp32),
    detail::with(kMiddleMmaSync, DType::s8, DType::bf16),
    detail::with(kNarrowMmaSync, DType::e4m3, DType::bf16),
    detail::with(kSmallMmaSync, RowCopy::bytes4),
    detail::with(kSmallMmaSync, RowCopy::registers),
    detail::with_source(kSmallMmaSync),
};

// Nothing, or a sentence that says why no instance takes this shape.
inline Status refuse_mma_sync_gemm(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t largest = int64_t(1) << 30, longest_row = int64_t(1) << 22;
  const auto outside = [](const char* what, int64_t value, int64_t least, int64_t most) -> Status {
    if (value >= least && value <= most) return {};
    return std::string(what) + " = " + std::to_string(value) + ": it must be in " + std::to_string(least) + ".." +
           std::to_string(most) + ".";
  };
  if (auto why = outside("m", m, 1, largest)) return why;
  if (auto why = outside("n", n, 1, largest)) return why;
  return outside("k", k, 0, longest_row);
}
// Whether the rows of A and B begin where the instance's copies can read them, and lie close enough to each other.
inline Status refuse_rows(const MmaSyncGemmConfig& c, const MmaSyncGemmArgs& args) {
  const int size = bits(c.type) / 8;
  const RowCopy a = row_copy(reinterpret_cast<uint64_t>(args.a), args.a_stride * size);
  const RowCopy b = row_copy(reinterpret_cast<uint64_t>(args.b), args.b_stride * size);
  if (a > c.copy || b > c.copy) {
    return "mma_sync_gemm: the rows of A and B must begin at multiples of " +
           std::string(c.copy == RowCopy::bytes16 ? "16" : "4") + " bytes for this instance.";
  }
  if (args.a_stride * size >= int64_t(1) << 23 || args.b_stride * size >= int64_t(1) << 23) {
    return std::string("mma_sync_gemm: rows of A and B must be less than 8388608 bytes apart.");
  }
  return {};
}

// `index` is a position in the table. `max_ctas` limits the persistent grid; 0: as many as fit the device.
Status launch_mma_sync_gemm_sm80(int index, const MmaSyncGemmArgs& args, void* stream, int max_ctas = 0);
template <int Index>
Status launch_mma_sync_gemm_sm80(const MmaSyncGemmArgs& args, void* stream, int max_ctas);

}  // namespace warpwright::device
