// What the mma.sync kernels cannot take, refused before anything is launched.
#pragma once
#include <fmt/format.h>

#include <cstdint>

#include "problem/refused.h"
#include "warpwright/kernel/sm80/config.h"
#include "warpwright/status.h"

namespace warpwright::launch {

// Whether the rows of A and B, and the matrices of a batch, begin where the instance's copies can read them.
inline Status refuse_rows(const MmaSyncGemmConfig& c, const MmaSyncGemmArgs& args) {
  const int size = bits(c.type) / 8;
  const RowCopy a = row_copy(reinterpret_cast<uint64_t>(args.a), (args.a_stride | args.a_batch_stride) * size);
  const RowCopy b = row_copy(reinterpret_cast<uint64_t>(args.b), (args.b_stride | args.b_batch_stride) * size);
  if (a > c.copy || b > c.copy) {
    return problem::refused(
        fmt::format("mma_sync_gemm: the rows of A and B must begin at multiples of {} bytes for this instance.",
                    c.copy == RowCopy::bytes16 ? 16 : 4));
  }
  return {};
}

}  // namespace warpwright::launch
