// What the mma.sync kernels cannot take, said before anything is launched.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "warpwright/kernel/sm80/config.h"

namespace warpwright::launch {

// Nothing, or a sentence that says why no instance takes this shape.
inline std::optional<std::string> refuse_mma_sync_gemm(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t largest = int64_t(1) << 30, longest_row = int64_t(1) << 22;
  const auto outside = [](const char* what, int64_t value, int64_t least, int64_t most) -> std::optional<std::string> {
    if (value >= least && value <= most) return {};
    return std::string(what) + " = " + std::to_string(value) + ": it must be in " + std::to_string(least) + ".." +
           std::to_string(most) + ".";
  };
  if (auto why = outside("m", m, 1, largest)) return why;
  if (auto why = outside("n", n, 1, largest)) return why;
  return outside("k", k, 0, longest_row);
}
// Whether the rows of A and B begin where the instance's copies can read them, and lie close enough to each other.
inline std::optional<std::string> refuse_rows(const MmaSyncGemmConfig& c, const MmaSyncGemmArgs& args) {
  const int size = bits(c.type) / 8;
  const RowCopy a = row_copy(reinterpret_cast<uint64_t>(args.a), args.a_stride * size);
  const RowCopy b = row_copy(reinterpret_cast<uint64_t>(args.b), args.b_stride * size);
  if (a > c.copy || b > c.copy) {
    return "mma_sync_gemm: the rows of A and B must begin at multiples of " +
           std::string(c.copy == RowCopy::bytes16 ? "16" : "4") + " bytes for this instance.";
  }
  if (args.a_stride * size >= int64_t(1) << 23 || args.b_stride * size >= int64_t(1) << 23) {
    return "mma_sync_gemm: rows of A and B must be less than 8388608 bytes apart.";
  }
  return {};
}

}  // namespace warpwright::launch
