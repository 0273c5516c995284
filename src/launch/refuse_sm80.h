// What the mma.sync kernels cannot take, said before anything is launched.
#pragma once
#include <cstdint>
#include <string>

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
    return problem::refused("mma_sync_gemm: the rows of A and B must begin at multiples of " +
                            std::string(c.copy == RowCopy::bytes16 ? "16" : "4") + " bytes for this instance.");
  }
  return {};
}

}  // namespace warpwright::launch
