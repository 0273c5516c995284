#include "simulate/instance_problem.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "launch/grid.h"
#include "problem/lower.h"
#include "problem/refused.h"
#include "reference/group_tables.h"
#include "simulate/dense_parts.h"
#include "simulate/far_rows.h"
#include "simulate/product.h"

namespace warpwright::simulate {
namespace {

using reference::Case;
using reference::Condition;
using namespace reference::tables;

GroupedProblem blank_grouped(const catalog::Instance& instance, Case s) {
  GroupedProblem p;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.plan = catalog::name_of(instance);
  return p;
}

// ---- dense products

// Under one condition the matrices of a batch share one A.
void share_a(GemmProblem& p, Case s) {
  if (p.batch > 1 && s.condition == Condition::real) p.a.batch_stride = 0;
}

// C and the residual have gaps of their own after their rows.
void space_addends(GemmProblem& p, Case s) {
  if (s.condition == Condition::in_place) return;
  const auto spaced = [&](MatrixLayout& m, int64_t units) {
    m.stride = aligned_stride(problem::result_columns(p), m.type) + units * 128 / bits(m.type);
  };
  if (p.beta != 0) spaced(p.c, 1);
  if (p.epilogue.residual) spaced(p.epilogue.residual_layout, 2);
}

GemmProblem hopper_dense(const catalog::Instance& instance, Case s) {
  GemmProblem p = blank(instance, s);
  bool batched = false, by_threads = false, stored_by_threads = false;
  if (const auto* c = instance.as<DenseGemmConfig>()) {
    p.a.type = c->type;
    p.b.type = c->b_type();
    p.a.major = c->a_major;
    p.b.major = c->b_major;
    set_features(p, c->epilogue, c->scaling, c->promote_k != 0);
    batched = c->batched;
    by_threads = c->load == Mover::threads;
    stored_by_threads = c->store == Mover::threads;
    if (c->split == DepthSplit::split_k && instance.splits == 0) p.plan = catalog::name_of({instance.config, 3});
  } else {
    const auto& c2 = *instance.as<SkinnyGemmConfig>();
    p.a.type = p.b.type = c2.type;
    set_features(p, c2.epilogue, c2.scaling, c2.promote_k != 0);
  }
  const int64_t a_rows = p.a.major == Major::K ? s.m : s.k, a_columns = p.a.major == Major::K ? s.k : s.m;
  const int64_t b_rows = p.b.major == Major::K ? s.n : s.k, b_columns = p.b.major == Major::K ? s.k : s.n;
  p.a.stride = by_threads ? odd_stride(a_columns) : aligned_stride(a_columns, p.a.type);
  p.b.stride = by_threads ? odd_stride(b_columns) : aligned_stride(b_columns, p.b.type);
  p.d.stride = stored_by_threads ? odd_stride(s.n) : aligned_stride(s.n, p.d.type);
  if (by_threads) p.alignment = std::max({bits(p.a.type), bits(p.d.type), 8}) / 8;
  if (batched) {
    // A gap between the matrices; one B for all where it lies along n.
    p.batch = 3;
    const auto step = [&](int64_t rows, int64_t stride, DType type) {
      return by_threads ? rows * stride + 1 : round_up(rows * stride + 1, 128 / bits(type));
    };
    p.a.batch_stride = step(a_rows, p.a.stride, p.a.type);
    p.b.batch_stride = p.b.major == Major::MN ? 0 : step(b_rows, p.b.stride, p.b.type);
    p.d.batch_stride = stored_by_threads ? s.m * p.d.stride + 1 : step(s.m, p.d.stride, p.d.type);
  }
  share_a(p, s);
  return p;
}
// Whether the epilogue does more than multiply by a factor and store.
bool is_fused(const DenseGemmSm100Config& c) {
  EpilogueConfig e = c.epilogue;
  e.out = c.out_type;
  return e != factor_and_conversion(c.out_type) || c.store_stages > 0 || c.epilogue_load_stages > 0;
}

GemmProblem blackwell_dense(const catalog::Instance& instance, const DenseGemmSm100Config& c, Case s) {
  GemmProblem p = blank(instance, s);
  p.a.type = c.type;
  p.b.type = b_dtype(c.scaling, c.type);
  p.block_scaling = c.scaling;
  EpilogueConfig nodes = c.epilogue;
  nodes.out = c.out_type;
  set_features(p, nodes, Scaling::none, false);
  if (c.batched) {  // rows between the matrices that belong to none
    p.batch = 3;
    p.a.batch_stride = (s.m + 1) * s.k;
    p.b.batch_stride = (s.n + 2) * s.k;
    // Where rows begin aligned, those of the next matrix do not.
    p.d.batch_stride = (s.m + 3) * c.result_columns(int(s.n)) + (c.store_stages == 0 ? 1 : 0);
  }
  share_a(p, s);
  if (c.store_stages > 0 || c.batched) return p;
  // Where rows begin aligned, threads store whole vectors, and single elements at the edge of a row: with an even m.
  if (is_fused(c)) {
    p.d.stride = odd_stride(c.result_columns(int(s.n)));
  } else if (s.m % 2 == 0 && c.scaling == BlockScaling::none) {
    p.d.stride = aligned_stride(s.n, c.out_type);
  }
  return p;
}

// The operands are aligned as the copies of the instance need, and no better.
GemmProblem mma_sync_dense(const catalog::Instance& instance, const MmaSyncGemmConfig& c, Case s) {
  GemmProblem p = blank(instance, s);
  p.a.type = p.b.type = c.type;
  set_features(p, c.epilogue, Scaling::none, false);
  const auto stride = [&](int64_t columns, DType type) {
    if (c.copy == RowCopy::bytes16) return aligned_stride(columns, type);
    if (c.copy == RowCopy::registers) return odd_stride(columns);
    const int64_t word = 32 / bits(type), unit = 128 / bits(type), words = round_up(columns, word);
    return words % unit == 0 ? words + word : words;
  };
  const auto layout = [&](MatrixLayout& m, Major major, int64_t rows) {
    m.major = major;
    m.stride = stride(major == Major::K ? s.k : rows, c.type);
    return major == Major::K ? rows : s.k;
  };
  const int64_t a_rows = layout(p.a, c.a_major, s.m), b_rows = layout(p.b, c.b_major, s.n);
  p.d.stride = stride(s.n, c.out_type());
  const bool split = c.split == DepthSplit::split_k;
  if (split && instance.splits == 0) p.plan = catalog::name_of({instance.config, 3});
  if (split || c.a_major != Major::K || c.b_major != Major::K || s.m <= 3) {
    // Two products with a row between the matrices that belongs to none; one B for both where it lies along n. With
    // three, not all counters of shared depth lie in the first line of memory.
    p.batch = split && s.condition == Condition::real ? 3 : 2;
    p.a.batch_stride = (a_rows + 1) * p.a.stride;
    p.b.batch_stride = c.b_major == Major::MN ? 0 : (b_rows + 1) * p.b.stride;
    // Where rows begin aligned, those of the next matrix do not.
    p.d.batch_stride = (s.m + 1) * p.d.stride + 1;
  }
  share_a(p, s);
  if (c.copy == RowCopy::bytes4) p.alignment = 4;
  if (c.copy == RowCopy::registers) p.alignment = std::min(bits(c.type), bits(c.out_type())) / 8;
  return p;
}

// ---- groups

bool gathers(const catalog::Instance& instance) {
  const auto* const hopper = instance.as<GroupedGemmConfig>();
  const auto* const blackwell = instance.as<GroupedGemmSm100Config>();
  const auto* const blockwise = instance.as<BlockwiseFp8Sm100Config>();
  return (hopper != nullptr && hopper->gathered) || (blackwell != nullptr && blackwell->gathered) ||
         (blockwise != nullptr && blockwise->gathered);
}

// A kernel that takes either sort of table gets offsets or, varied, counts.
Groups groups_of(const GroupedGemmConfig& c, Case s) {
  return c.any_rows && s.condition == Condition::varied ? Groups::masked : c.groups;
}
// Nothing is given that may be left out.
bool is_bare(Case s) { return s.condition == Condition::alone && s.m <= 8 && s.k > 0 && s.k <= 16; }

// Uneven groups, one of them without rows, and rows at the end that no group has.
std::vector<uint32_t> table_of(const GroupedGemmConfig& c, Case s) {
  const auto m = uint32_t(s.m);
  const Groups groups = groups_of(c, s);
  const auto unit = uint32_t(c.depth_unit());
  if (s.condition == Condition::varied && groups != Groups::none) {
    return groups == Groups::masked ? many_counts(m / kManyGroups)
           : c.by_depth()           ? many_offsets(uint32_t(s.k), unit)
                                    : many_offsets(m, 1);
  }
  if (c.by_depth()) return four_along_k(s, unit, uint32_t(c.tile_k()));
  if (groups != Groups::none && s.k == 0) return one_large_group(groups == Groups::masked, s);
  const auto tall = uint32_t(c.tile_m);
  if (groups != Groups::none && s.condition == Condition::real) {
    const uint32_t room = groups == Groups::masked ? m / kGroups : m;
    std::vector<uint32_t> counts, offsets = {0};
    for (const uint32_t rows : exact_counts(tall)) counts.push_back(std::min(rows, room));
    counts.push_back(room);
    for (const uint32_t rows : counts) offsets.push_back(std::min(offsets.back() + rows, m));
    return groups == Groups::masked ? counts : offsets;
  }
  if (groups == Groups::contiguous) {
    // The third group ends with less than half a tile.
    const uint32_t first = m / 7, rows = m / 2 - first, third = rows > tall ? rows / tall * tall + tall / 3 : rows;
    // Rows before the first group belong to none.
    return {std::min(first, 3u), first, first, first + third, m - m / 9};
  }
  if (groups == Groups::masked) return {m / kGroups, 0, m / kGroups / 3, m / kGroups - (m >= 8 ? 1 : 0)};
  return {};
}

bool has_matrices(const GroupedGemmConfig& c) { return c.groups != Groups::none && !c.by_depth(); }
GroupedProblem hopper_grouped(const catalog::Instance& instance, Case s) {
  GroupedProblem p = blank_grouped(instance, s);
  const bool varied = s.condition == Condition::varied;
  if (const auto* c = instance.as<GroupedGemmConfig>()) {
    p.groups = groups_of(*c, s);
    p.type = c->type;
    p.out = c->out;
    if (c->scaled()) p.b_scale_rows = c->b_scale_rows;
    p.activation = c->swiglu ? Activation::swiglu : Activation::none;
    p.bias = c->bias ? Bias::per_column : Bias::none;
    p.bias_type = varied ? DType::bf16 : DType::fp32;
    // Many groups along k have few rows, which threads store; with Condition::real the TMA has whole boxes too.
    p.accumulate = c->adds_to_result() && !varied && s.condition != Condition::real;
    p.a_major = c->a_major;
    p.b_major = c->b_major;
    if (c->groups != Groups::none) p.group_count = varied ? kManyGroups : kGroups;
    if (has_matrices(*c) && (varied || s.condition == Condition::real)) p.matrix_count = kGroups;
    p.shared_bias = c->bias && s.k == 0;
    // What has nothing else to do than add a bias is not asked for without one.
    if (is_bare(s) && (c->swiglu || c->out == DType::e4m3)) p.bias = Bias::none;
    p.gathered = c->gathered;
    if (c->gathered) p.a_rows = gathered_from(s) * rows_apart(s);
  } else {
    p.out = instance.as<SkinnyBlockwiseConfig>()->out;
  }
  return p;
}
GroupedProblem blackwell_grouped(const catalog::Instance& instance, Case s) {
  GroupedProblem p = blank_grouped(instance, s);
  p.m += rows_ahead(instance, s);
  bool gathered = false;
  if (const auto* c = instance.as<GroupedGemmSm100Config>()) {
    p.groups = Groups::contiguous;
    p.type = c->type;
    p.out = c->out_type;
    p.scaling = c->scaling;
    p.out_scaling = c->out_scaling;
    p.clamped_swiglu = c->clamped_swiglu;
    p.activation = c->epilogue.activation;
    gathered = c->gathered;
    p.a_major = c->a_major;
    p.b_major = c->b_major;
    p.accumulate = c->epilogue.source;
    if (c->by_depth) p.groups = Groups::by_depth;
    if (c->out_scaling != BlockScaling::none) {
      p.activation = Activation::swiglu;
      p.out = c->out_scaling == BlockScaling::mxfp8 ? DType::e4m3 : DType::e2m1;
    }
  } else {
    const auto& blockwise = *instance.as<BlockwiseFp8Sm100Config>();
    p.out = blockwise.out_type;
    if (blockwise.grouped) p.groups = blockwise.by_depth ? Groups::by_depth : Groups::contiguous;
    if (blockwise.by_depth) p.b_scale_rows = 1;
    p.accumulate = blockwise.epilogue.source;
    if (blockwise.split == DepthSplit::split_k && instance.splits == 0) p.plan = catalog::name_of({instance.config, 3});
    p.activation = blockwise.epilogue.activation;
    gathered = blockwise.gathered;
  }
  if (p.groups == Groups::none) return p;
  if (p.groups == Groups::by_depth) {
    p.group_count = s.condition == Condition::varied ? kManyGroups : int64_t(kGroups);
    return p;
  }
  p.gathered = gathered;
  if (gathered) p.a_rows = gathered_from(s) * rows_apart(s);
  p.group_count = s.condition == Condition::varied ? kManyGroups : int64_t(six_matrices().size());
  p.matrix_count = kMatrixCount;
  return p;
}

}  // namespace

namespace {

// The nodes of a dense instance, null for one of AMD.
const EpilogueConfig* epilogue_of(const catalog::Instance& instance) {
  if (const auto* c = instance.as<DenseGemmConfig>()) return &c->epilogue;
  if (const auto* c = instance.as<SkinnyGemmConfig>()) return &c->epilogue;
  if (const auto* c = instance.as<DenseGemmSm100Config>()) return &c->epilogue;
  if (const auto* c = instance.as<MmaSyncGemmConfig>()) return &c->epilogue;
  return nullptr;
}
// Whether operands whose tensors may have factors may have none.
bool may_lack_factors(const catalog::Instance& instance) {
  const auto* const dense = instance.as<DenseGemmConfig>();
  const auto* const skinny = instance.as<SkinnyGemmConfig>();
  return (dense != nullptr && dense->plain_epilogue()) || (skinny != nullptr && skinny->plain_epilogue());
}
// Alpha is a power of two, and 1 or less. Under one condition it is above 1, with the factors of tensors too, or there
// are no such factors; under another it has more bits than a narrow type, or is 1 beside factors.
void vary_factors(const catalog::Instance& instance, GemmProblem& p, Case s) {
  const EpilogueConfig* const nodes = epilogue_of(instance);
  if (p.alpha > 0 && s.condition == Condition::real) {
    if (p.scaling == Scaling::tensor && may_lack_factors(instance)) p.scaling = Scaling::none;
    p.alpha = p.scaling == Scaling::none ? 2 : 16;
  }
  if (s.condition == Condition::behind && nodes != nullptr && nodes->alpha && p.block_scaling == BlockScaling::none)
    p.alpha = p.scaling == Scaling::none ? p.alpha * (1 + 0x1p-8f + 0x1p-11f) : 1;
}

GemmProblem dense_alone(const catalog::Instance& instance, Case s) {
  if (const auto* c = instance.as<DenseGemmSm100Config>()) return blackwell_dense(instance, *c, s);
  if (const auto* c = instance.as<MmaSyncGemmConfig>()) return mma_sync_dense(instance, *c, s);
  if (const auto* c = instance.as<CdnaMatmulConfig>()) return cdna_dense(instance, *c, s);
  return hopper_dense(instance, s);
}

}  // namespace

GemmProblem far_apart(const catalog::Instance& instance, const GemmProblem& p) { return FarRows(instance).of(p); }

GemmProblem dense_problem(const catalog::Instance& instance, Case s) {
  GemmProblem p = dense_alone(instance, s);
  p.b_is_constant = s.condition == Condition::constant;
  vary_factors(instance, p, s);
  space_addends(p, s);
  if (s.condition == Condition::in_place) p.d.stride = p.d.batch_stride = kPacked;
  return p;
}

Status refuse(const catalog::Instance& instance, Condition condition) {
  const auto* const dense = instance.as<DenseGemmConfig>();
  const auto* const blackwell = instance.as<DenseGemmSm100Config>();
  const auto* const mma_sync = instance.as<MmaSyncGemmConfig>();
  const auto* const blockwise = instance.as<BlockwiseFp8Sm100Config>();
  const auto* const cdna = instance.as<CdnaMatmulConfig>();
  switch (condition) {
    case Condition::behind:
      if (!launch::may_start_early(instance)) return problem::refused("it never starts before the launch ahead ends.");
      break;
    case Condition::constant:
      if (!launch::may_start_early(instance) || dense != nullptr || instance.as<GroupedGemmSm100Config>() != nullptr ||
          blockwise != nullptr)
        return problem::refused("it always waits for B.");
      break;
    case Condition::in_place: {
      if (cdna != nullptr && cdna->general) break;
      const EpilogueConfig* const e = epilogue_of(instance);
      if (e == nullptr || !e->source || e->source_type != e->out || e->pair() ||
          offset_of(instance, condition).result != 0)
        return problem::refused("it reads no C that could be D.");
      break;
    }
    case Condition::again:
      if ((dense == nullptr || dense->split == DepthSplit::none) &&
          (blackwell == nullptr || blackwell->split == DepthSplit::none) &&
          (mma_sync == nullptr || mma_sync->split == DepthSplit::none) &&
          (cdna == nullptr || cdna->split == DepthSplit::none) &&
          (blockwise == nullptr || blockwise->split == DepthSplit::none))
        return problem::refused("it has no workspace.");
      break;
    case Condition::varied:
      if (is_dense(instance)) return problem::refused("it has no tables.");
      break;
    case Condition::far:
      if (gathers(instance) || rows_ahead(instance, {9, 64, 64, condition}) != 0) break;
      if (!is_dense(instance) || !FarRows(instance).any(dense_alone(instance, {9, 16, 16, condition})))
        return problem::refused("its threads find no rows by a stride.");
      break;
    case Condition::alone:
    case Condition::real:
      break;
  }
  return {};
}

reference::Offset offset_of(const catalog::Instance& instance, Condition condition) {
  if (condition == Condition::far) return {0, 0};
  // Rows of D that begin anywhere, also after a first one that begins at a vector.
  const int result = condition == Condition::real ? 0 : 1;
  if (const auto* c = instance.as<DenseGemmConfig>())
    return c->load == Mover::threads ? reference::Offset{result, result} : reference::Offset{0, 0};
  if (const auto* c = instance.as<MmaSyncGemmConfig>())
    return c->copy == RowCopy::registers ? reference::Offset{1, result} : reference::Offset{0, 0};
  if (const auto* c = instance.as<CdnaMatmulConfig>())
    return {c->by_elements ? 1 : 0, c->general && condition == Condition::real ? 1 : 0};
  const auto* c = instance.as<DenseGemmSm100Config>();
  if (c == nullptr || c->store_stages > 0 || c->batched) return {0, 0};
  // Rows whose distances would let vectors be stored, after a first one that does not.
  return {0, is_fused(*c) || (condition == Condition::real && c->scaling == BlockScaling::none) ? 1 : 0};
}

int64_t rows_apart(Case s) { return s.condition == Condition::far ? int64_t(1) << 24 : 1; }

GroupedProblem grouped_problem(const catalog::Instance& instance, Case s) {
  return catalog::arch_of(instance) == Arch::sm100 ? blackwell_grouped(instance, s) : hopper_grouped(instance, s);
}
reference::GroupedProduct grouped_product(const catalog::Instance& instance, Case s) {
  const GroupedProblem p = grouped_problem(instance, s);
  reference::GroupedProduct product{.shape = s,
                                    .type = p.type,
                                    .out = p.out,
                                    .groups = p.groups,
                                    .b_scale_rows = p.b_scale_rows,
                                    .swiglu = p.activation == Activation::swiglu,
                                    .bias = p.bias != Bias::none,
                                    .bias_type = p.bias_type,
                                    .accumulate = p.accumulate,
                                    .a_major = p.a_major,
                                    .b_major = p.b_major};
  if (const auto* c = instance.as<GroupedGemmConfig>()) {
    product.rows = table_of(*c, s);
    if (c->gathered) {
      product.index = index_of(s);
      product.a_rows = gathered_from(s);
    }
    if (has_matrices(*c)) {
      if (s.condition == Condition::varied) product.matrices = many_matrices(int(kGroups));
      if (s.condition == Condition::real) product.matrices = {2, 0, 3, -1};
      if (!product.matrices.empty()) product.matrix_count = int(kGroups);
    }
    product.shared_bias = p.shared_bias;
    product.reports = !is_bare(s);
    product.spoiled = s.condition == Condition::varied;
  }
  if (catalog::arch_of(instance) == Arch::sm100 && p.groups == Groups::by_depth) {
    const uint32_t deep = 1024 / uint32_t(bits(p.type)), unit = p.type == DType::e4m3 ? deep : 1;
    product.rows = s.condition == Condition::varied ? many_offsets(uint32_t(s.k), unit) : four_along_k(s, unit, deep);
    product.matrix_alpha = product.scales_by_columns = true;
  } else if (catalog::arch_of(instance) == Arch::sm100 && p.groups != Groups::none) {
    const bool varied = s.condition == Condition::varied;
    product.rows = varied ? forty_groups(s) : six_groups(s);
    product.matrices = varied ? many_matrices(kMatrixCount) : six_matrices();
    product.illegal = varied;
    product.matrix_count = kMatrixCount;
    if (reference::is_of_all(p)) {
      product.matrix_alpha = product.scales_by_columns = true;
      // Tables that are not legal are taken as they are.
      if (varied) product.rows = many_offsets(uint32_t(s.m), 1);
      if (p.gathered) {
        product.index = index_of(s);
        product.a_rows = gathered_from(s);
      }
    }
  }
  return product;
}

}  // namespace warpwright::simulate
