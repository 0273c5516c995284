// What is reported about listed instances that are not Hopper's.
#include <string_view>
#include <vector>

#include "simulate/families.h"

namespace warpwright::simulate {
namespace {

struct Summary {
  std::string_view name;
  const char* text;
};

const std::vector<Summary>& dense_sm100() {
  static const std::vector<Summary> list = {
      {"sm100/dense-128x128-c4x2-s6-pair/bf16",
       "Blackwell GEMM by four pairs of CTAs that send each other slices of A and B (simulator only: never run on "
       "hardware by this project)"},
      {"sm100/dense-128x256-c2x1-s6-pair/bf16",
       "Blackwell GEMM by pairs of CTAs: load, MMA and epilogue warps, sums in tensor memory (simulator only)"},
      {"sm100/dense-128x128-c1x1-s6/bf16", "the same by single CTAs (simulator only)"},
      {"sm100/dense-64x64-c1x1-s8/bf16", "the same on 64x64 tiles (simulator only)"},
      {"sm100/dense-128x128-c1x1-s6/fp16", "the same for fp16 (simulator only)"},
      {"sm100/dense-128x256-c2x1-s6-pair/e4m3", "e4m3 operands and a bf16 result (simulator only)"},
      {"sm100/dense-128x128-c1x1-s6/tf32", "tf32 operands and an fp32 result (simulator only)"},
      {"sm100/dense-128x256-c2x1-s6-pair-clc/bf16",
       "the Blackwell GEMM whose clusters cancel the launch of others and do their tiles (simulator only)"},
      {"sm100/dense-128x128-c1x1-s6-hilbert/bf16-batched",
       "three products at once, tiles along a Hilbert curve (simulator only)"},
      {"sm100/dense-128x128-c1x1-s6-clc-splitk/bf16",
       "the depth of each tile is cut into parts, tiles by CLC (simulator only)"},
      {"sm100/dense-128x256-c2x1-s6-pair-streamk/bf16",
       "every pair of CTAs has the same depth to multiply (simulator only)"},
      {"sm100/dense-128x16-c1x1-s10-splitk-swap-early/bf16",
       "few rows of A: they are the columns of the MMA, the depth is cut into parts (simulator only)"},
      {"sm100/dense-128x256-c2x1-s6-pair-o2/bf16",
       "the Blackwell GEMM whose results leave through a ring in shared memory, by TMA (simulator only)"},
      {"sm100/dense-128x128-c1x1-s4-o2-l1/bf16-c-bias-gelu-residual",
       "gelu(alpha A B^T + beta C + bias) + residual; a warp loads C, bias and residual ahead of the sums (simulator "
       "only)"},
      {"sm100/dense-128x256-c2x1-s6-pair-o2/bf16-swiglu",
       "silu(gate) * up, whose columns alternate in the product (simulator only)"},
      {"sm100/dense-128x256-c2x1-s5-pair-e8-o2/bf16",
       "two warpgroups share the columns of a tile in the epilogue (simulator only)"},
      {"sm100/dense-128x256-c2x1-s6-pair-o2/e4m3-to_e4m3-quantize",
       "e4m3 operands and a scaled e4m3 result, saturated (simulator only)"},
      {"sm100/dense-128x128-c2x1-s6-pair/e4m3-mxfp8",
       "e4m3 operands with a ue8m0 factor for 32 elements along k (simulator only)"},
      {"sm100/dense-128x256-c2x1-s5-pair-a1/e2m1-mxfp4",
       "e2m1 operands with a ue8m0 factor for 32 elements along k (simulator only)"},
      {"sm100/dense-128x128-c2x1-s6-pair/e2m1-nvfp4",
       "e2m1 operands with a ue4m3 factor for 16 elements along k (simulator only)"},
      {"sm100/dense-128x128-c2x1-s6-pair/e4m3-w4a8", "e4m3 times e2m1 operands with ue8m0 factors (simulator only)"},
  };
  return list;
}

const std::vector<Summary>& grouped_sm100() {
  static const std::vector<Summary> list = {
      {"sm100/grouped-n128-s6-pair-swap/e4m3-mxfp8",
       "rows in groups, each with a matrix of its own; a scheduler warp walks the table (simulator only)"},
      {"sm100/grouped-n8-s8-swap/e2m1-nvfp4",
       "the same for few rows in a group: warps of their own bring the factors of the rows (simulator only)"},
      {"sm100/grouped-n32-s8-swap/e4m3-w4a8", "e4m3 rows times e2m1 matrices (simulator only)"},
      {"sm100/grouped-n128-s5/e2m1-mxfp4", "the same on tiles of 128 rows (simulator only)"},
      {"sm100/grouped-n128-s6-pair/e4m3-mxfp8-swiglu_to_mxfp8",
       "silu(gate) * up as mxfp8, elements and factors, for the next product (simulator only)"},
      {"sm100/grouped-n128-s4/e2m1-nvfp4-swiglu_to_nvfp4-clamped",
       "the same as nvfp4, of gates and ups that are kept within bounds (simulator only)"},
      {"sm100/grouped-n128-s6-pair-swap/e4m3-mxfp8-pointers",
       "groups with matrices at addresses of their own (simulator only)"},
      {"sm100/grouped-n16-s8-swap/e4m3-mxfp8-swiglu_to_mxfp8",
       "silu(gate) * up as mxfp8 for few rows in a group (simulator only)"},
      {"sm100/blockwise-n128-s6-pair/e4m3",
       "e4m3 operands with a scale for each block of 128 along k (simulator only)"},
      {"sm100/blockwise-n128-s6/e4m3", "the same by single CTAs (simulator only)"},
      {"sm100/blockwise-n128-s5-pair-e8-o2/e4m3",
       "two warpgroups share the columns of a tile; results leave by TMA (simulator only)"},
      {"sm100/blockwise-n128-s6/e4m3-alpha-grouped",
       "e4m3 rows in groups with a scale for each block of 128 along k (simulator only)"},
  };
  return list;
}

const std::vector<Summary>& dense_sm80() {
  static const std::vector<Summary> list = {
      {"sm80/mma-128x256-w2x4/bf16", "cp.async, ldmatrix and mma.sync in the order of a compiled, proven schedule"},
      {"sm80/mma-64x64-w2x2-d5-p2-l1200-b4/bf16", "the same with four warps on 64x64 tiles"},
      {"sm80/mma-128x128-w2x2-d5-p2-l2400-b2/fp16", "the same for fp16"},
      {"sm80/mma-128x128-w2x2-d5-p2-l2400-b2/s8", "whole numbers: s8 operands, sums in s32, result in fp32"},
      {"sm80/mma-128x128-w2x2-d5-p2-l2400-b2/s8-to_bf16", "s8 operands, result scaled and rounded to bf16"},
      {"sm80/mma-64x64-w2x2-d3-p1-early-l2400-b2/e4m3", "8-bit floating point (from sm_89 on)"},
      {"sm80/mma-64x64-w2x2-d5-p2-l1200-b4/bf16-by_words", "rows at multiples of 4 bytes: cp.async of 4 bytes"},
      {"sm80/mma-64x64-w2x2-d5-p2-l1200-b4/bf16-by_registers", "rows that begin anywhere: copies through registers"},
      {"sm80/mma-128x128-w2x2-d5-p2-l2400-b2/bf16", "the same with four warps on 128x128 tiles"},
      {"sm80/mma-64x64-w2x2-d5-p2-l1200-b4-splitk/bf16",
       "the depth of each tile is cut into parts; two products at once"},
      {"sm80/mma-32x128-w1x4-d6-p1-l1200-b3-splitk/bf16", "few rows of A, the depth of each tile cut into parts"},
      {"sm80/mma-16x128-w1x4-d6-p1-l600-b2-splitk/bf16", "at most 16 rows of A, the depth of each tile cut into parts"},
      {"sm80/mma-16x128-w1x4-d6-p1-l600-b2-splitk/s8", "the same for whole numbers, whose parts are added as such"},
      {"sm80/mma-128x128-w2x2-d5-p2-l2400-b2/bf16-nn",
       "B stored along n: ldmatrix transposes it; two products with one B"},
      {"sm80/mma-128x128-w2x2-d5-p2-l2400-b2/bf16-tn", "A stored along m, B along n"},
      {"sm80/mma-64x64-w2x2-d5-p2-l1200-b4/bf16-tt", "A stored along m"},
      {"sm80/mma-64x64-w2x2-d5-p2-l1200-b4/bf16-c-bias-relu", "D = relu(alpha A B^T + beta C + bias)"},
  };
  return list;
}

const std::vector<Summary>& dense_cdna() {
  static const std::vector<Summary> list = {
      {"gfx950/matmul-pingpong/bf16", "bf16 matmul: LDS DMA, two groups of four waves one barrier apart"},
      {"gfx950/matmul-pingpong/e4m3", "the same with e4m3 operands"},
      {"gfx950/matmul-pingpong/bf16-to_fp32", "the same with an fp32 result"},
      {"gfx950/matmul-blocks/bf16", "bf16 matmul: two groups of four waves in the order of declared blocks"},
      {"gfx950/matmul-blocks/e4m3", "the same with e4m3 operands"},
      {"gfx950/matmul-4wave/bf16", "bf16 matmul: LDS DMA, a SIMD for each of four waves"},
      {"gfx950/matmul-4wave/e4m3", "the same with e4m3 operands"},
      {"gfx950/matmul-default/bf16", "bf16 matmul through registers, one LDS slot"},
      {"gfx950/matmul-default/e4m3", "the same with e4m3 operands"},
      {"gfx950/matmul-pingpong/bf16-general", "the same tile with batches and an epilogue that the launch decides"},
      {"gfx950/matmul-pingpong/fp16-general", "the same with fp16 operands"},
      {"gfx950/matmul-pingpong/e4m3-general", "the same with e4m3 operands"},
      {"gfx950/matmul-4wave-splitk/bf16-general", "the same for few tiles, whose depth workgroups share"},
      {"gfx950/matmul-4wave-splitk/fp16-general", "the same with fp16 operands"},
      {"gfx950/matmul-4wave-splitk/e4m3-general", "the same with e4m3 operands"},
      {"gfx950/matmul-default-splitk/bf16-general-by_elements", "any layout, stride and address, element by element"},
      {"gfx950/matmul-default-splitk/fp16-general-by_elements", "the same with fp16 operands"},
      {"gfx950/matmul-default-splitk/e4m3-general-by_elements", "the same with e4m3 operands"},
      {"gfx942/matmul-default/bf16", "bf16 matmul through registers, one LDS slot"},
      {"gfx942/matmul-default/bf16-to_fp32", "the same with an fp32 result"},
      {"gfx942/matmul-default-splitk/bf16-general", "batches, any epilogue and depth shared, as the launch decides"},
      {"gfx942/matmul-default-splitk/fp16-general", "the same with fp16 operands"},
      {"gfx942/matmul-default-splitk/bf16-general-by_elements", "any layout, stride and address, element by element"},
      {"gfx942/matmul-default-splitk/fp16-general-by_elements", "the same with fp16 operands"},
  };
  return list;
}

}  // namespace

const char* listed_summary(std::string_view name) {
  for (const auto* list : {&dense_sm100(), &grouped_sm100(), &dense_sm80(), &dense_cdna()})
    for (const Summary& one : *list)
      if (name == one.name) return one.text;
  return nullptr;
}

}  // namespace warpwright::simulate
