// Instances of the Hopper GEMMs beside the plain ones, each with a name by which examples and tables refer to it.
#pragma once
#include "warpwright/kernel/config.h"

namespace warpwright::device {

namespace variant {

inline constexpr EpilogueConfig kFused{.out = DType::bf16,
                                       .alpha = true,
                                       .source = true,
                                       .source_type = DType::bf16,
                                       .bias = Bias::per_column,
                                       .bias_type = DType::fp32,
                                       .activation = Activation::gelu_tanh};
inline constexpr EpilogueConfig kQuantized{.out = DType::e4m3,
                                           .alpha = true,
                                           .bias = Bias::per_row,
                                           .bias_type = DType::bf16,
                                           .activation = Activation::relu,
                                           .residual = true,
                                           .residual_type = DType::bf16,
                                           .quantize = true};
inline constexpr EpilogueConfig kToFp16 = factor_and_conversion(DType::fp16);
inline constexpr EpilogueConfig kToFp32 = factor_and_conversion(DType::fp32);

// Types and epilogues.
inline constexpr DenseGemmConfig kFp32Out = deepest({.tile_m = 128, .tile_n = 128, .epilogue = kToFp32});
inline constexpr DenseGemmConfig kFusedBf16 = deepest({.tile_m = 128, .tile_n = 128, .epilogue = kFused});
inline constexpr DenseGemmConfig kQuantizedOut =
    deepest({.tile_m = 128, .tile_n = 128, .cluster = 1, .epilogue = kQuantized});
inline constexpr DenseGemmConfig kE4m3 =
    deepest({.type = DType::e4m3, .tile_m = 128, .tile_n = 256, .scaling = Scaling::tensor});
inline constexpr DenseGemmConfig kE4m3Promoted =
    deepest({.type = DType::e4m3, .tile_m = 128, .tile_n = 128, .promote_k = 128, .scaling = Scaling::row_column});
inline constexpr DenseGemmConfig kE5m2Mixed = deepest({.type = DType::e5m2,
                                                       .tile_m = 64,
                                                       .tile_n = 128,
                                                       .cluster = 1,
                                                       .mixed = true,
                                                       .epilogue = kToFp32,
                                                       .promote_k = 256,
                                                       .scaling = Scaling::tensor});

// Layouts.
inline constexpr DenseGemmConfig kNn = deepest({.tile_m = 128, .tile_n = 256, .b_major = Major::MN});
inline constexpr DenseGemmConfig kTn =
    deepest({.tile_m = 128, .tile_n = 128, .axis = ClusterAxis::n, .a_major = Major::MN, .b_major = Major::MN});
inline constexpr DenseGemmConfig kTt =
    deepest({.type = DType::fp16, .tile_m = 128, .tile_n = 192, .epilogue = kToFp16, .a_major = Major::MN});
inline constexpr DenseGemmConfig kBatched = deepest({.tile_m = 128, .tile_n = 128, .batched = true});
inline constexpr DenseGemmConfig kBatchedTn = deepest({.tile_m = 128,
                                                       .tile_n = 128,
                                                       .cluster = 1,
                                                       .epilogue = kFused,
                                                       .a_major = Major::MN,
                                                       .b_major = Major::MN,
                                                       .batched = true});

// Matrices that the TMA cannot address.
inline constexpr DenseGemmConfig kOddRows =
    deepest({.tile_m = 128, .tile_n = 128, .cluster = 1, .load = Mover::threads, .store = Mover::threads}, 4);
inline constexpr DenseGemmConfig kOddRowsTn = deepest({.type = DType::fp16,
                                                       .tile_m = 64,
                                                       .tile_n = 64,
                                                       .cluster = 1,
                                                       .epilogue = kToFp16,
                                                       .a_major = Major::MN,
                                                       .b_major = Major::MN,
                                                       .batched = true,
                                                       .load = Mover::threads,
                                                       .store = Mover::threads},
                                                      4);
inline constexpr DenseGemmConfig kOddRowsE4m3 = deepest({.type = DType::e4m3,
                                                         .tile_m = 128,
                                                         .tile_n = 128,
                                                         .cluster = 1,
                                                         .scaling = Scaling::row_column,
                                                         .load = Mover::threads,
                                                         .store = Mover::threads},
                                                        4);
inline constexpr DenseGemmConfig kOddOutput = deepest({.tile_m = 128, .tile_n = 256, .store = Mover::threads});

// Schedules.
inline constexpr DenseGemmConfig kTall = deepest({.tile_m = 256, .tile_n = 128, .group_rows = 128});
inline constexpr DenseGemmConfig kPingPong =
    deepest({.tile_m = 128, .tile_n = 128, .group_rows = 128, .schedule = Schedule::ping_pong});
inline constexpr DenseGemmConfig kPingPongSmall =
    deepest({.tile_m = 64, .tile_n = 256, .cluster = 1, .schedule = Schedule::ping_pong});
inline constexpr DenseGemmConfig kSplitK =
    deepest({.tile_m = 128, .tile_n = 128, .cluster = 1, .split = DepthSplit::split_k});
inline constexpr DenseGemmConfig kSplitKSmall =
    deepest({.tile_m = 64, .tile_n = 64, .cluster = 1, .split = DepthSplit::split_k}, 12);
inline constexpr DenseGemmConfig kStreamK = deepest({.tile_m = 128, .tile_n = 256, .split = DepthSplit::stream_k});
inline constexpr DenseGemmConfig kDependent = deepest({.tile_m = 128,
                                                       .tile_n = 128,
                                                       .dependent = true,
                                                       .raster = TileOrder::hilbert,
                                                       .a_hint = CacheHint::evict_last,
                                                       .b_hint = CacheHint::evict_first});
inline constexpr DenseGemmConfig kByColumns =
    deepest({.tile_m = 64, .tile_n = 128, .raster_group = 2, .raster_by_columns = true});

// Products of e4m3, with one factor for each operand or none; kE4m3 is the first of them.
inline constexpr DenseGemmConfig kE4m3Rings{
    .type = DType::e4m3, .tile_m = 128, .tile_n = 256, .stages = 3, .output_stages = 4, .scaling = Scaling::tensor};
inline constexpr DenseGemmConfig kE4m3PingPong = deepest({.type = DType::e4m3,
                                                          .tile_m = 128,
                                                          .tile_n = 192,
                                                          .group_rows = 128,
                                                          .schedule = Schedule::ping_pong,
                                                          .scaling = Scaling::tensor});
inline constexpr DenseGemmConfig kE4m3Tall = deepest({.type = DType::e4m3,
                                                      .tile_m = 256,
                                                      .tile_n = 128,
                                                      .axis = ClusterAxis::n,
                                                      .group_rows = 128,
                                                      .scaling = Scaling::tensor});
inline constexpr DenseGemmConfig kE4m3Square =
    deepest({.type = DType::e4m3, .tile_m = 128, .tile_n = 128, .scaling = Scaling::tensor});
inline constexpr DenseGemmConfig kE4m3Narrow =
    deepest({.type = DType::e4m3, .tile_m = 128, .tile_n = 64, .axis = ClusterAxis::n, .scaling = Scaling::tensor});
inline constexpr DenseGemmConfig kE4m3Alone =
    deepest({.type = DType::e4m3, .tile_m = 64, .tile_n = 128, .cluster = 1, .scaling = Scaling::tensor});

// Few rows of A.
inline constexpr SkinnyGemmConfig kSkinnyFp32 = deepest({.rows = 64, .tokens = 16, .split = 2, .epilogue = kToFp32});
inline constexpr SkinnyGemmConfig kSkinnyFused = deepest({.rows = 128, .tokens = 32, .split = 1, .epilogue = kFused});
inline constexpr SkinnyGemmConfig kSkinnyE4m3 = deepest(
    {.type = DType::e4m3, .rows = 64, .tokens = 16, .split = 4, .scaling = Scaling::row_column, .promote_k = 128});
// The same product for few rows, or few tiles.
inline constexpr SkinnyGemmConfig kSkinnyTensorE4m3 =
    deepest({.type = DType::e4m3, .rows = 64, .tokens = 16, .split = 1, .scaling = Scaling::tensor});
inline constexpr SkinnyGemmConfig kSkinnyTensorE4m3Split =
    deepest({.type = DType::e4m3, .rows = 64, .tokens = 16, .split = 4, .scaling = Scaling::tensor});
inline constexpr SkinnyGemmConfig kSkinnyTensorE4m3Wide =
    deepest({.type = DType::e4m3, .rows = 64, .tokens = 64, .split = 2, .scaling = Scaling::tensor});
inline constexpr SkinnyGemmConfig kSkinnyTensorE4m3Tiles =
    deepest({.type = DType::e4m3, .rows = 128, .tokens = 128, .split = 2, .scaling = Scaling::tensor});
inline constexpr SkinnyGemmConfig kSkinnyQuantized = deepest(
    {.type = DType::e4m3, .rows = 64, .tokens = 64, .split = 2, .epilogue = kQuantized, .scaling = Scaling::tensor});

}  // namespace variant

// An entry's position names its instance, so new ones go to the end.
inline constexpr DenseGemmConfig kDenseVariantsSm90[] = {
    variant::kFp32Out,      variant::kFusedBf16,     variant::kQuantizedOut, variant::kE4m3,
    variant::kE4m3Promoted, variant::kE5m2Mixed,     variant::kNn,           variant::kTn,
    variant::kTt,           variant::kBatched,       variant::kBatchedTn,    variant::kOddRows,
    variant::kOddRowsTn,    variant::kOddRowsE4m3,   variant::kOddOutput,    variant::kTall,
    variant::kPingPong,     variant::kPingPongSmall, variant::kSplitK,       variant::kStreamK,
    variant::kDependent,    variant::kByColumns,     variant::kE4m3Rings,    variant::kE4m3PingPong,
    variant::kE4m3Tall,     variant::kE4m3Square,    variant::kE4m3Narrow,   variant::kE4m3Alone,
    variant::kSplitKSmall,
};

inline constexpr SkinnyGemmConfig kSkinnyVariantsSm90[] = {
    variant::kSkinnyFp32,           variant::kSkinnyFused,           variant::kSkinnyE4m3,
    variant::kSkinnyQuantized,      variant::kSkinnyTensorE4m3,      variant::kSkinnyTensorE4m3Split,
    variant::kSkinnyTensorE4m3Wide, variant::kSkinnyTensorE4m3Tiles,
};

}  // namespace warpwright::device
