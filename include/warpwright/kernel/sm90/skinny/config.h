// What the Hopper GEMM for few rows is configured with, and what a launch passes to it.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"
#include "warpwright/core/tensor_box.h"
#include "warpwright/epilogue/config.h"
#include "warpwright/kernel/config.h"

namespace warpwright {

// sm90/skinny/skinny_gemm.h: the same product for few rows of A ("tokens"), or few tiles: D[m, n] = epilogue(sum over k
// of X[m, k] * W[n, k]). The rows of W ("weights") are the M side of the MMA, the tokens its N side. A cluster splits
// the depth of a tile.
struct SkinnyGemmConfig {
  DType type = DType::bf16;  // the type of X and W: bf16, fp16, e4m3 or e5m2; sums are fp32
  int rows = 64;             // rows of W in a tile: 64 for each MMA warpgroup
  int tokens = 16;           // rows of X in a tile, a multiple of 8
  int split = 1;             // CTAs of a cluster, each with its part of k
  int stages = 8;
  int output_stages = 2;
  EpilogueConfig epilogue = factor_and_conversion(DType::bf16);
  Scaling scaling = Scaling::none;  // factors of the rows of X and of W
  int promote_k = 0;                // as above

  WW_HD constexpr int tile_k() const { return int(swizzle_bytes(Swizzle::b128)) * 8 / bits(type); }
  WW_HD constexpr DType out_type() const { return epilogue.out; }
  // Rows of W for one column of D: with swiglu two, [gates; ups], in pairs as those of DenseGemmConfig.
  WW_HD constexpr int operands() const { return epilogue.pair() ? 2 : 1; }
  // Columns of D that a warpgroup makes.
  WW_HD constexpr int group_columns() const { return 64 / operands(); }
  WW_HD constexpr bool plain_epilogue() const {
    return epilogue == factor_and_conversion(out_type()) && scaling != Scaling::row_column;
  }
  WW_HD constexpr int64_t tiles(int m, int n) const {
    return int64_t((m + tokens - 1) / tokens) * ((n + rows - 1) / rows);
  }
  WW_HD constexpr int warpgroups() const { return rows / 64; }
  // The CTAs that add the parts of a tile, each for its own tokens, an equal number each: MMA results come in blocks of
  // 8 tokens.
  WW_HD constexpr int owners() const {
    int count = split < tokens / 8 ? split : tokens / 8;
    while (count > 1 && tokens / 8 % count != 0) --count;
    return count;
  }
  WW_HD constexpr int owned_tokens() const { return tokens / owners(); }
  WW_HD constexpr TensorBox w_box() const { return {type, tile_k(), rows, Swizzle::b128}; }
  WW_HD constexpr TensorBox x_box() const { return {type, tile_k(), tokens, Swizzle::b128}; }
  WW_HD constexpr uint32_t stage_bytes() const { return w_box().bytes() + x_box().bytes(); }
  // An owner's tokens by the columns of D that a warpgroup makes: one box, or two for 64 tokens in fp32.
  WW_HD constexpr TensorBox d_box() const {
    const int inner = out_type() == DType::fp32 ? 32 : group_columns(), row = inner * bits(out_type()) / 8;
    return {out_type(), inner, owned_tokens(), row == 128 ? Swizzle::b128 : row == 64 ? Swizzle::b64 : Swizzle::b32};
  }
  WW_HD constexpr uint32_t output_stage_bytes() const {
    return d_box().bytes() * uint32_t(group_columns() / d_box().inner);
  }
  // What the owner receives: from every CTA 4 sums of each thread for each of its blocks of 8 tokens.
  WW_HD constexpr uint32_t partial_bytes() const {
    return split == 1 ? 0 : uint32_t(split * (owned_tokens() / 8) * warpgroups() * 128) * 16;
  }
  WW_HD constexpr uint32_t output_bytes() const {
    return output_stage_bytes() * uint32_t(output_stages * warpgroups());
  }
  bool operator==(const SkinnyGemmConfig&) const = default;
};
// The sentence says what is wrong; nullptr when the configuration can be compiled.
WW_HD constexpr const char* refuse(const SkinnyGemmConfig& c) {
  if (c.type != DType::bf16 && c.type != DType::fp16 && c.type != DType::e4m3 && c.type != DType::e5m2) {
    return "skinny_gemm: operands are bf16, fp16, e4m3 or e5m2";
  }
  if (const char* why = refuse(c.epilogue)) return why;
  if (c.promote_k < 0 || c.promote_k % c.tile_k() != 0) return "skinny_gemm: promote_k is a multiple of tile_k";
  if (c.rows != 64 && c.rows != 128) return "skinny_gemm: one or two MMA warpgroups of 64 rows of W";
  if (c.tokens < 8 || c.tokens % 8 != 0 || c.tokens > 256) return "skinny_gemm: wgmma takes N in eights up to 256";
  if (c.split < 1 || c.split > 8 || c.tokens % c.owners() != 0 || c.owned_tokens() % 8 != 0) {
    return "skinny_gemm: an owner has whole blocks of 8 tokens";
  }
  if (c.stages < 2 || c.output_stages < 2) return "skinny_gemm: two stages of a ring are held at once";
  if (c.stages > stages_that_fit(c.stage_bytes(), c.partial_bytes() + c.output_bytes())) {
    return "skinny_gemm: shared memory is too small";
  }
  return nullptr;
}
struct SkinnyGemmArgs {
  TensorMap w;  // config.w_box() over [n, k]; with k = 0 it is not read
  TensorMap x;  // config.x_box() over [m, k]; with k = 0 it is not read
  TensorMap d;  // config.d_box() over [m, n]
  int32_t m = 0;
  int32_t n = 0;
  int32_t k = 0;
  EpilogueArgs epilogue = {};
  const float* x_scales = nullptr;  // Scaling::tensor: one factor, or null as above; row_column: m
  const float* w_scales = nullptr;  // one factor, or n
  // The weights were not written by the kernels before this one on the stream: they are loaded while one still runs.
  bool weights_are_constant = false;
};

// The configuration with as many input stages as fit.
WW_HD constexpr SkinnyGemmConfig deepest(SkinnyGemmConfig c, int most = 20) {
  return with_at_most(c, stages_that_fit(c.stage_bytes(), c.partial_bytes() + c.output_bytes()), most);
}

}  // namespace warpwright
