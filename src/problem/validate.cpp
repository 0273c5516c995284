#include "problem/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <tuple>
#include <utility>

#include "problem/check_depth_groups.h"
#include "problem/check_formula.h"
#include "problem/check_layout.h"
#include "problem/lower.h"
#include "problem/words.h"
#include "warpwright/kernel/cdna/config.h"

namespace warpwright::problem {
namespace {

// Coordinates are 32-bit and rounded up to whole clusters of tiles; the smallest tile is 64 x 64.
constexpr int64_t kLargestExtent = int64_t(1) << 30;
constexpr int64_t kSmallestTile = 64;
constexpr int64_t kMostTiles = INT32_MAX;
// Copies of the mma.sync kernels count the bytes of a row in 23 bits, and those of the rows of a tile in 32.
constexpr int64_t kLongestRowSm80 = int64_t(1) << 22;
constexpr int64_t kFarthestRowSm80 = int64_t(1) << 23;
constexpr int kRowUnitBits = 128;  // bits of what a TMA or a 16-byte load moves

template <class... Values>
Status refused(fmt::format_string<Values...> text, Values&&... values) {
  return Status(Code::invalid_argument, fmt::format(text, std::forward<Values>(values)...));
}

bool one_of(DType type, std::initializer_list<DType> list) {
  for (const DType other : list)
    if (type == other) return true;
  return false;
}
bool wide(DType t) { return one_of(t, {DType::fp32, DType::bf16, DType::fp16}); }

Status check_extent(const char* argument, int64_t value, int64_t least, int64_t most = kLargestExtent) {
  if (value < least) return refused("{} = {}: it must be at least {}.", argument, value, least);
  if (value > most) return refused("{} = {}: it must be at most {}.", argument, value, most);
  return {};
}
Status check_extents(int64_t m, int64_t n, int64_t k, int64_t batch = 1) {
  if (Status s = check_extent("m", m, 0); !s) return s;
  if (Status s = check_extent("n", n, 0); !s) return s;
  if (Status s = check_extent("k", k, 0); !s) return s;
  if (Status s = check_extent("batch", batch, 0, kLargestBatch); !s) return s;
  const auto tiles = [](int64_t extent) { return (extent + kSmallestTile - 1) / kSmallestTile; };
  if (tiles(m) * tiles(n) > kMostTiles / std::max<int64_t>(batch, 1)) {
    return refused("m = {}, n = {}, batch = {}: the result has more than {} tiles of {} x {}.", m, n, batch, kMostTiles,
                   kSmallestTile, kSmallestTile);
  }
  return {};
}
Status check_row(const char* argument, int64_t value, const char* matrix, DType type) {
  const int unit = kRowUnitBits / bits(type);
  if (value % unit == 0) return {};
  return refused("{} = {}: the rows of {} must be whole 16-byte units, so {} must be a multiple of {} for {}.",
                 argument, value, matrix, argument, unit, warpwright::name(type));
}

// What none of these architectures has.
Status check_common(const GemmProblem& p, Arch arch) {
  const char* const target = warpwright::name(arch);
  if (Status s = check_extents(p.m, p.n, p.k, p.batch); !s) return s;
  if (Status s = check_formula(p); !s) return s;
  const bool along_k = p.a.major == Major::K && p.b.major == Major::K;
  if (!along_k && arch == Arch::sm80 && bits(p.a.type) != 16) {
    return refused("{}.major = MN: {} operands must be stored along k.", p.a.major != Major::K ? "a" : "b",
                   name(p.a.type));
  }
  if (!along_k && arch != Arch::sm80 && !is_cdna(arch)) {
    return refused("layout = {}: for {} A and B must both be stored along k, which is nt.",
                   layout_of(p.a.major, p.b.major), target);
  }
  if (p.c.major != Major::K || p.d.major != Major::K) {
    return refused("{}.major = MN: C and D are stored [m, n].", p.c.major != Major::K ? "c" : "d");
  }
  if (p.scaling != Scaling::none) {
    return refused("scaling = {}: {} has no kernel with factors of rows or tensors.",
                   p.scaling == Scaling::tensor ? "tensor" : "row_column", target);
  }
  if (p.accumulation != Accumulation::fast) return refused("accumulation = promoted: {} does not have it.", target);
  if (!std::isfinite(p.alpha)) return refused("alpha = {}: it must be finite.", p.alpha);
  if (!std::isfinite(p.beta)) return refused("beta = {}: it must be finite.", p.beta);
  if (p.sm_limit < 0) return refused("sm_limit = {}: it must not be negative.", p.sm_limit);
  const Epilogue& e = p.epilogue;
  if (reads_c(p) && !wide(p.c.type)) return refused("c.type = {}: C must be fp32, bf16 or fp16.", name(p.c.type));
  if (e.bias != Bias::none && !wide(e.bias_type)) {
    return refused("epilogue.bias_type = {}: the bias must be fp32, bf16 or fp16.", name(e.bias_type));
  }
  if (e.residual && !wide(e.residual_layout.type)) {
    return refused("epilogue.residual_layout.type = {}: the residual must be fp32, bf16 or fp16.",
                   name(e.residual_layout.type));
  }
  if (Status s = check_layouts(p); !s) return s;
  return check_alignment(p);
}

Status check_same_types(const GemmProblem& p) {
  if (p.a.type == p.b.type) return {};
  return refused("b.type = {}: A is {}, and B must have its type.", name(p.b.type), name(p.a.type));
}
Status check_no_block_scaling(const GemmProblem& p, Arch arch) {
  if (p.block_scaling == BlockScaling::none) return {};
  return refused("block_scaling = {}: {} has no block-scaled products, so it must be none.", name(p.block_scaling),
                 warpwright::name(arch));
}

Status check_no_pairs(const GemmProblem& p, Arch arch) {
  if (p.epilogue.activation != Activation::swiglu) return {};
  return refused("epilogue.activation = swiglu: {} does not have it.", warpwright::name(arch));
}

Status validate_sm80(const GemmProblem& p) {
  if (!one_of(p.a.type, {DType::bf16, DType::fp16, DType::s8, DType::e4m3, DType::e5m2})) {
    return refused("a.type = {}: for sm80 A and B must be bf16, fp16, s8, e4m3 or e5m2.", name(p.a.type));
  }
  if (Status s = check_same_types(p); !s) return s;
  if (Status s = check_no_block_scaling(p, Arch::sm80); !s) return s;
  if (!wide(p.d.type) && p.d.type != DType::e4m3 && p.d.type != DType::e5m2) {
    return refused("d.type = {}: for sm80 D must be fp32, bf16, fp16, e4m3 or e5m2.", name(p.d.type));
  }
  if (Status s = check_no_pairs(p, Arch::sm80); !s) return s;
  const Lowered low = lower(p);
  for (const auto& [argument, major, m] : {std::tuple{"a", p.a.major, &low.a}, {"b", p.b.major, &low.b}}) {
    if (major != Major::K || m->rows <= 1 || m->stride * bits(m->type) / 8 < kFarthestRowSm80) continue;
    return refused("{}.stride = {}: for sm80 rows along k begin less than {} bytes apart.", argument, m->stride,
                   kFarthestRowSm80);
  }
  return check_extent("k", p.k, 0, kLongestRowSm80);
}

Status validate_cdna(const GemmProblem& p, Arch arch) {
  const char* const target = warpwright::name(arch);
  if (p.a.type == DType::e4m3 && arch == Arch::gfx942) {
    return refused(
        "a.type = e4m3: gfx942 reads fp8 codes as FNUZ and these operands are OCP e4m3; use gfx950 or bf16.");
  }
  if (!one_of(p.a.type, {DType::bf16, DType::fp16, DType::e4m3})) {
    return refused("a.type = {}: for {} A and B must be bf16, fp16 or e4m3.", name(p.a.type), target);
  }
  if (Status s = check_same_types(p); !s) return s;
  if (Status s = check_no_block_scaling(p, arch); !s) return s;
  if (!wide(p.d.type) && !one_of(p.d.type, {DType::e4m3, DType::e5m2})) {
    return refused("d.type = {}: for {} D must be fp32, bf16, fp16, e4m3 or e5m2.", name(p.d.type), target);
  }
  if (Status s = check_no_pairs(p, arch); !s) return s;
  if (!p.epilogue.formula.empty()) {
    return refused("epilogue = {}: a formula is compiled when it is used, and for {} nothing is compiled then.",
                   p.epilogue.formula, target);
  }
  if (p.sm_limit > 0) {
    return refused("sm_limit = {}: for {} a workgroup computes one tile and ends, on any compute unit; it must be 0.",
                   p.sm_limit, target);
  }
  // Offsets in a tile have 31 bits.
  const Lowered low = lower(p);
  if (p.k * bits(p.a.type) / 8 > kCdnaMaxRowBytes && (p.a.major == Major::K || p.b.major == Major::K)) {
    return refused("k = {}: for {} rows along k are shorter than 8 MiB.", p.k, target);
  }
  const std::tuple<const char*, const StoredMatrix*, bool> matrices[] = {
      {"a", &low.a, p.k > 0},
      {"b", &low.b, p.k > 0},
      {"c", &low.c, low.reads_c},
      {"d", &low.d, true},
      {"epilogue.residual_layout", &low.residual, p.epilogue.residual}};
  for (const auto& [argument, m, is_used] : matrices) {
    if (!is_used || m->rows <= 1 || m->stride * bits(m->type) / 8 <= kCdnaMaxRowBytes) continue;
    return refused("{}.stride = {}: for {} rows begin less than {} bytes apart.", argument, m->stride, target,
                   kCdnaMaxRowBytes + 1);
  }
  return {};
}

Status validate_sm100(const GemmProblem& p) {
  const DType a = p.a.type;
  if (p.block_scaling == BlockScaling::none) {
    if (!one_of(a, {DType::bf16, DType::fp16, DType::tf32, DType::e4m3})) {
      return refused("a.type = {}: for sm100 A and B must be bf16, fp16, tf32 or e4m3.", name(a));
    }
  } else if (const char* why = refuse(p.block_scaling, a)) {
    return refused("a.type = {}: {}.", name(a), why);
  }
  if (const DType b = b_dtype(p.block_scaling, a); p.b.type != b) {
    return refused("b.type = {}: A is {}, and B must be {}.", name(p.b.type), name(a), name(b));
  }
  if (!wide(p.d.type) && !one_of(p.d.type, {DType::e4m3, DType::e5m2})) {
    return refused("d.type = {}: for sm100 D must be fp32, bf16, fp16, e4m3 or e5m2.", name(p.d.type));
  }
  if (p.block_scaling != BlockScaling::none && p.batch != 1) {
    return refused("batch = {}: block-scaled products are single ones, so it must be 1.", p.batch);
  }
  const Lowered low = lower(p);
  if (p.block_scaling != BlockScaling::none && low.shape.epilogue != factor_and_conversion(p.d.type)) {
    return refused("epilogue: block-scaled products have alpha, and no C, bias or activation.");
  }
  if (Status s = check_pairs(p); !s) return s;
  if (Status s = check_row("k", p.k, "A", a); !s) return s;
  if (Status s = check_row("k", p.k, "B", p.b.type); !s) return s;
  for (const auto& [argument, m] : {std::pair{"a", &low.a}, {"b", &low.b}}) {
    if (p.k == 0 || m->rows <= 1 || m->stride == p.k) continue;
    return refused("{}.stride = {}: for sm100 rows of A and B follow each other without a gap.", argument, m->stride);
  }
  for (const auto& [argument, m] : {std::pair{"a", &low.a}, {"b", &low.b}}) {
    if (m->count <= 1 || m->batch_stride * bits(m->type) % kRowUnitBits == 0) continue;
    return refused("{}.batch_stride = {}: matrices begin at multiples of 16 bytes.", argument, m->batch_stride);
  }
  if (p.block_scaling == BlockScaling::w4a8 && p.k % 128 != 0) {
    return refused("k = {}: the TMA spreads rows of 128 e2m1 elements, so k must be a multiple of 128.", p.k);
  }
  if (p.k > 0 && p.alignment < 16) {
    return refused("alignment = {}: the TMA moves A and B, which begin at multiples of 16 bytes.", p.alignment);
  }
  return {};
}

// Hopper takes the scales of A by rows, and those of B where each of its rows has some: a caller who gives their
// extents is told that the order is different here.
Status check_scales_by_columns(const char* of, const ScaleShape& given, int64_t rows, int64_t k) {
  const int64_t blocks = (k + 127) / 128, padded = (rows + 3) / 4 * 4;
  if ((given.rows == -1 || given.rows == blocks) && (given.columns == -1 || given.columns == padded)) return {};
  const char* const matrix = *of == 'a' ? "A" : "B";
  return refused(
      "{}_scales = {} x {}: for sm100 the scales of {} lie by columns, {} rows, one for each 128 elements along k, of "
      "{} numbers, one for each row of {}, rounded up to 4.",
      of, given.rows, given.columns, matrix, blocks, padded, matrix);
}

// The scales of gathered rows are stored by rows, as everywhere.
Status check_scales_of_rows(const GroupedProblem& p) {
  const int64_t blocks = (p.k + 127) / 128;
  if ((p.a_scales.rows == -1 || p.a_scales.rows == p.a_rows) &&
      (p.a_scales.columns == -1 || p.a_scales.columns == blocks)) {
    return {};
  }
  return refused("a_scales = {} x {}: those of gathered rows are {} x {}, one for each row of A and 128 elements.",
                 p.a_scales.rows, p.a_scales.columns, p.a_rows, blocks);
}

// Gates and ups of operands without block scales: B is [gates; ups].
Status check_swiglu_sm100(const GroupedProblem& p) {
  if (p.out_scaling != BlockScaling::none) {
    return refused("out_scaling = {}: D of {} operands without block scales has none.", name(p.out_scaling),
                   name(p.type));
  }
  if (p.type == DType::e4m3 && p.activation == Activation::swiglu) {
    if (p.groups == Groups::none) return refused("activation = swiglu: one blockwise product has none.");
    if (p.n % 256 != 0) {
      return refused("n = {}: gates and ups have a scale for 128 rows each, so n must be a multiple of 256.", p.n);
    }
    if (p.out == DType::e4m3) return {};
  } else if (p.activation == Activation::swiglu && p.n % 2 != 0) {
    return refused("n = {}: with swiglu B is [gates; ups], so n must be even.", p.n);
  }
  if (!wide(p.out)) return refused("out = {}: D must be bf16, fp32 or fp16.", name(p.out));
  return {};
}

Status check_gather_sm100(const GroupedProblem& p) {
  if (Status s = check_extent("a_rows", p.a_rows, 0); !s) return s;
  if (!p.gathered) {
    if (p.a_rows == 0) return {};
    return refused("a_rows = {}: without gathered rows A has m = {} rows; it must be 0.", p.a_rows, p.m);
  }
  if (p.groups != Groups::contiguous) return refused("gathered = true: gathered rows are those of contiguous groups.");
  if (p.scaling != BlockScaling::none) {
    return refused("gathered = true: rows with {} scales are not gathered.", name(p.scaling));
  }
  if (p.m > 0 && p.a_rows == 0) return refused("a_rows = 0: A must have a row that can be gathered.");
  return {};
}

// Groups along k.
Status check_depth_sm100(const GroupedProblem& p) {
  if (p.scaling != BlockScaling::none) {
    return refused("scaling = {}: groups along k have no block scales.", name(p.scaling));
  }
  if (Status s = check_depth_groups(p); !s) return s;
  if (Status s = check_depth_majors(p); !s) return s;
  if (p.a_major == Major::K) return {};
  if (p.type != DType::bf16) {
    return refused("a_major = MN: type = {}, and operands that are stored along m and n are bf16.", name(p.type));
  }
  if (Status s = check_row("m", p.m, "A", p.type); !s) return s;
  return check_row("n", p.n, "B", p.type);
}

Status validate_sm100(const GroupedProblem& p) {
  if (Status s = check_extents(p.m, p.n, p.k); !s) return s;
  const bool by_depth = p.groups == Groups::by_depth;
  if (Status s = check_extent("groups", p.group_count, 1, 65535); !s) return s;
  if (Status s = check_extent("matrix_count", p.matrix_count, 0, 65535); !s) return s;
  const bool grouped = p.groups != Groups::none, quantized = p.out_scaling != BlockScaling::none;
  if (!grouped && p.group_count != 1) {
    return refused("groups = {}: one product has exactly 1 group.", p.group_count);
  }
  if (p.groups == Groups::masked && p.m % p.group_count != 0) {
    return refused("m = {}: masked groups have equal room, so m must be a multiple of groups = {}.", p.m,
                   p.group_count);
  }
  if (Status s = check_formula(p); !s) return s;
  if (p.bias != Bias::none && p.formula.empty()) {
    return refused("bias: on sm100 these products have one only where a formula names it.");
  }
  if (p.bias != Bias::none && p.bias_type != DType::fp32 && p.bias_type != DType::bf16) {
    return refused("bias_type = {}: a bias must be fp32 or bf16.", name(p.bias_type));
  }
  if (p.accumulate && !by_depth) return refused("accumulate = true: only D of groups along k is added to.");
  if (by_depth) {
    if (Status s = check_depth_sm100(p); !s) return s;
  } else if (p.a_major != Major::K || p.b_major != Major::K) {
    return refused("{} = MN: for sm100 A and B of these products must be stored along k.",
                   p.b_major != Major::K ? "b_major" : "a_major");
  }
  const bool plain = p.scaling == BlockScaling::none && p.type == DType::bf16;
  if (Status s = check_gather_sm100(p); !s) return s;
  if (plain) {
    if (!grouped) return refused("groups = none: one product of bf16 matrices is made by gemm().");
  } else if (p.scaling == BlockScaling::none) {
    if (p.type != DType::e4m3) {
      return refused("type = {}: elements without block scales are bf16, or e4m3 with blockwise scales.", name(p.type));
    }
    if (!by_depth && p.b_scale_rows != 128)
      return refused("b_scale_rows = {}: for sm100 128 rows of B share a scale.", p.b_scale_rows);
    if (Status s = p.gathered ? check_scales_of_rows(p) : check_scales_by_columns("a", p.a_scales, p.m, p.k); !s)
      return s;
    if (by_depth) {
      if (Status s = check_scales_by_columns("b", p.b_scales, p.n, p.k); !s) return s;
    }
    if (!grouped && p.m % 4 != 0) {
      return refused("m = {}: the rows of the scales of A must be whole 16-byte units, so m must be a multiple of 4.",
                     p.m);
    }
  } else {
    if (!grouped) {
      return refused("scaling = {}: one product has blockwise scales; gemm() has the others.", name(p.scaling));
    }
    if (refuse(p.scaling, p.type) != nullptr) {
      const bool bytes = p.scaling == BlockScaling::mxfp8 || p.scaling == BlockScaling::w4a8;
      return refused("type = {}: elements with {} scales are {}.", name(p.type), name(p.scaling),
                     bytes ? "e4m3 or e5m2" : "e2m1");
    }
  }
  if (p.activation != Activation::none && p.activation != Activation::swiglu) {
    return refused("activation = {}: these products have swiglu or none.", int(p.activation));
  }
  if (p.scaling == BlockScaling::none) {
    if (Status s = check_swiglu_sm100(p); !s) return s;
  } else if (quantized != (p.activation == Activation::swiglu)) {
    return refused("out_scaling = {}: D is quantized after swiglu, and only then.", name(p.out_scaling));
  }
  if (p.out_scaling == BlockScaling::w4a8) return refused("out_scaling = w4a8: D is mxfp8, mxfp4 or nvfp4.");
  if (quantized) {
    const int unit = 2 * scale_block(p.out_scaling);
    if (p.n % unit != 0) {
      return refused(
          "n = {}: quantized results come in blocks of {}, each of two columns, so n must be a multiple of {}.", p.n,
          unit / 2, unit);
    }
    const DType elements = p.out_scaling == BlockScaling::mxfp8 ? DType::e4m3 : DType::e2m1;
    if (p.out != elements)
      return refused("out = {}: {} results are {}.", name(p.out), name(p.out_scaling), name(elements));
  } else if (p.scaling != BlockScaling::none && !wide(p.out)) {
    return refused("out = {}: D must be bf16, fp32 or fp16.", name(p.out));
  }
  if (p.clamped_swiglu && !quantized) return refused("clamped_swiglu = true: there is no swiglu to clamp.");
  if (p.a_major == Major::K) {
    if (Status s = check_row("k", p.k, "A", p.type); !s) return s;
    if (Status s = check_row("k", p.k, "B", b_dtype(p.scaling, p.type)); !s) return s;
  }
  if (p.scaling == BlockScaling::none && !grouped) {
    if (Status s = check_row("n", p.n, "D", p.out); !s) return s;
  }
  if (p.scaling == BlockScaling::w4a8 && p.k % 128 != 0) {
    return refused("k = {}: the TMA spreads rows of 128 e2m1 elements, so k must be a multiple of 128.", p.k);
  }
  if (p.sm_limit < 0) return refused("sm_limit = {}: it must not be negative.", p.sm_limit);
  return {};
}

}  // namespace

Status check_pairs(const GemmProblem& p) {
  if (p.epilogue.activation != Activation::swiglu) return {};
  if (p.n % kPairedRows != 0) {
    return refused("n = {}: with swiglu B is [gate; up], each in units of 8 rows, so n must be a multiple of {}.", p.n,
                   kPairedRows);
  }
  if (p.b.major != Major::K) return refused("b.major = MN: with swiglu B must be stored [n, k].");
  if (p.beta != 0) {
    return refused("beta = {}: beta * C has no meaning for the pairs of swiglu, so it must be 0.", p.beta);
  }
  return {};
}

Status validate(const GemmProblem& p, Arch arch) {
  if (arch == Arch::sm90) return warpwright::validate(p);
  if (Status s = check_common(p, arch); !s) return s;
  if (arch == Arch::sm100) return validate_sm100(p);
  return is_cdna(arch) ? validate_cdna(p, arch) : validate_sm80(p);
}

Status validate(const GroupedProblem& p, Arch arch) {
  if (arch == Arch::sm90) return warpwright::validate(p);
  if (arch == Arch::sm100) return validate_sm100(p);
  return refused("target = {}: {} has kernels for sm90 and sm100.", warpwright::name(arch), operation_of(p.groups));
}

}  // namespace warpwright::problem
