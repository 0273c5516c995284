// Rows that begin at any byte, read with aligned vectors.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

using Chunk = Vec<uint32_t, 4>;

// 16 bytes: `low` from byte `excess` on, then the beginning of `high`.
WW_FN Chunk joined(const Chunk& low, const Chunk& high, int excess) {
  uint32_t words[8];
  WW_UNROLL
  for (int i = 0; i < 4; ++i) {
    words[i] = low[i];
    words[4 + i] = high[i];
  }
  // Registers have no addresses: the words move by two, then by one.
  WW_UNROLL
  for (int i = 0; i < 6; ++i) words[i] = excess & 8 ? words[i + 2] : words[i];
  WW_UNROLL
  for (int i = 0; i < 5; ++i) words[i] = excess & 4 ? words[i + 1] : words[i];
  Chunk chunk;
  WW_UNROLL
  for (int i = 0; i < 4; ++i) {
    chunk[i] = uint32_t((uint64_t(words[i + 1]) << 32 | words[i]) >> (8 * (excess % 4)));
  }
  return chunk;
}

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
