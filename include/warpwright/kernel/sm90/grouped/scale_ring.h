// Scales on their way to the MMA warps of the skinny kernel: one warp reads those of tokens and weights, some blocks
// along k at a time, and puts their products beside the stage of each block.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/sm90/tell_by_warp.h"
#include "warpwright/machine/machine.h"
#include "warpwright/tile/convert.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// The scales of four neighbouring blocks along k, as a lane has them: of the tokens lane, lane + 32, ..., and of the
// weights.
template <int Tokens>
struct ScaleGroup {
  static constexpr int kBlocks = 4, kTokens = (Tokens + 31) / 32;
  Vec<float, kBlocks> tokens[kTokens];
  float weights[kBlocks];

  // By the whole warp: the products for one block.
  WW_FN void write(Shared<float> slot, int block) const {
    const int lane = int(machine::lane_index());
    WW_UNROLL
    for (int i = 0; i < kTokens; ++i) {
      if (Tokens % 32 != 0 && 32 * i + lane >= Tokens) continue;
      machine::store(slot + (32 * i + lane), tile::multiply(weights[block], tokens[i][block]));
    }
  }
};

// Where they lie.
struct ScaleSource {
  Global<const float> tokens;   // the scale of the lane's first token
  Global<const float> weights;  // the scales of the tile's weights
  int64_t stride = 0;           // from token to token
  int lane_tokens = 0;          // from the lane's first one to the end of the matrix
  int blocks = 0;               // along k
  bool wide = false;            // the scales of a group of a token are an aligned vector

  WW_FN static bool is_wide(const float* tokens, int64_t stride, int blocks) {
    return blocks % 4 == 0 && stride % 4 == 0 && reinterpret_cast<uint64_t>(tokens) % 16 == 0;
  }

  // From block k on, a multiple of four. Scales past the end of a matrix are zero.
  template <int Tokens>
  WW_FN ScaleGroup<Tokens> read(int k) const {
    using Group = ScaleGroup<Tokens>;
    Group g{};
    WW_UNROLL
    for (int i = 0; i < Group::kTokens; ++i) {
      if (32 * i >= lane_tokens) continue;
      const Global<const float> from = tokens + (32 * i * stride + k);
      if (wide) {
        g.tokens[i] = machine::load(from.template as<const Vec<float, Group::kBlocks>>());
      } else {
        WW_UNROLL
        for (int j = 0; j < Group::kBlocks; ++j) {
          if (k + j < blocks) g.tokens[i][j] = machine::load(from + j);
        }
      }
    }
    WW_UNROLL
    for (int j = 0; j < Group::kBlocks; ++j) {
      if (k + j < blocks) g.weights[j] = machine::load(weights + (k + j));
    }
    return g;
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
