// What `check` runs of an instance: problems that only it serves, at sizes that reach its edges and wrap its rings.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "reference/problem_workload.h"
#include "simulate/families.h"
#include "simulate/product.h"

namespace warpwright::simulate {
namespace {

using reference::Case;
using reference::Data;
using reference::Workload;
using simulate::Outcome;

int64_t round_up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

// ---- dense and skinny

// Rows that begin at multiples of 16 bytes, as the TMA wants.
int64_t aligned_stride(int64_t columns, DType type) {
  return std::max<int64_t>(round_up(columns, 128 / bits(type)), 128 / bits(type));
}
// Rows that begin anywhere.
int64_t odd_stride(int64_t columns) { return columns + (columns % 2 == 0 ? 3 : 2); }

void set_features(GemmProblem& p, const EpilogueConfig& e, Scaling scaling, bool promoted) {
  p.d.type = e.out;
  p.scaling = scaling;
  p.accumulation = promoted ? Accumulation::promoted : Accumulation::fast;
  p.epilogue.bias = e.bias;
  p.epilogue.bias_type = e.bias_type;
  p.epilogue.activation = e.activation;
  p.epilogue.residual = e.residual;
  p.epilogue.residual_layout.type = e.residual_type;
  p.epilogue.quantize = e.quantize;
  const bool plain = e == factor_and_conversion(e.out);
  // Powers of two keep every result exact.
  if (!plain || scaling != Scaling::none) p.alpha = 0.5f;
  if (e.source) {
    p.beta = 2;
    p.c.type = e.source_type;
  }
}

GemmProblem problem_of(const catalog::Instance& instance, Case s) {
  GemmProblem p;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.plan = catalog::name_of(instance);
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
  return p;
}
// Where threads load, matrices begin at an odd element.
int64_t offset_of(const catalog::Instance& instance) {
  const auto* c = instance.as<DenseGemmConfig>();
  return c != nullptr && c->load == Mover::threads ? 1 : 0;
}

std::vector<Case> cases_of(const catalog::Instance& instance) {
  if (const auto* c = instance.as<DenseGemmConfig>()) {
    // Two rows and two columns of tiles, so that each of two clusters has a second one; one stage more than the ring.
    const int64_t m = 2 * c->tile_m * c->cluster_m(), n = 2 * c->tile_n * c->cluster_n();
    const int64_t parts = c->split == DepthSplit::split_k ? 3 : 1;
    const Case full{m, n, parts * c->tile_k() * (c->stages + 1)};
    // Without depth nobody loads, and the kernel whose threads do is not asked.
    if (c->load == Mover::threads) return {full, {133, 77, 75}};
    if (c->store == Mover::threads) return {full, {133, 77, 75}, {9, 9, 0}};
    return {full, {133, 80, 75}, {9, 16, 0}};
  }
  if (const auto* c = instance.as<SkinnyGemmConfig>()) {
    const int64_t deep = int64_t(c->tile_k()) * c->split * (c->stages + 1);
    // The TMA stores whole units of 16 bytes.
    const int64_t unit = 128 / bits(c->out_type());
    return {{c->tokens, 4 * c->rows, deep},
            {std::max(1, c->tokens - 3), round_up(200, unit), 331},
            {1, unit, 8},
            {std::min(3, c->tokens), 64, 0}};
  }
  if (const auto* c = instance.as<GroupedGemmConfig>()) {
    const int64_t deep = int64_t(c->tile_k()) * (c->stages + 1);
    const int64_t n = c->swiglu ? 512 : c->out == DType::e4m3 ? 256 : c->tile_n * c->cluster_n() + 8;
    const int64_t small = c->swiglu ? 256 : c->out == DType::e4m3 ? 128 : 8;
    const int64_t unit = c->by_depth() && c->scaled() ? kScaleBlock : 128 / bits(c->type);
    if (c->by_depth()) return {{140, n, 5 * round_up(deep, unit) / 2 / unit * unit}, {4, small, unit}, {40, small, 0}};
    // A row of tiles and some rows in each of four groups of which one has none.
    const int64_t m = round_up(2 * c->tile_m * c->cluster_m() + 104, 8);
    return {{m, n, deep}, {8, small, unit}, {64, small * 3, 0}};
  }
  const auto& c = *instance.as<SkinnyBlockwiseConfig>();
  const int64_t deep = int64_t(c.skinny().tile_k()) * c.split * (c.stages + 1);
  const int least = c.tokens > 64 ? 65 : 1;
  return {{c.tokens, 4 * c.rows, deep}, {std::max(least, c.tokens - 3), 200, 400}, {least, 8, 16}, {least, 64, 0}};
}

std::string summary_of(const catalog::Instance& instance) {
  if (instance.as<DenseGemmConfig>() != nullptr) return "product of matrices: load warp, MMA warpgroups, store warps";
  if (instance.as<SkinnyGemmConfig>() != nullptr) return "the same for few rows of A: the operands change sides";
  if (instance.as<SkinnyBlockwiseConfig>() != nullptr) return "blockwise scales, few rows of A";
  const auto& c = *instance.as<GroupedGemmConfig>();
  return std::string(c.scaled() ? "blockwise scales" : "without scales") + (c.groups == Groups::none ? ""
                                                                            : c.by_depth() ? ", groups along k"
                                                                                           : ", groups of rows");
}

choice::Chip simulated_chip() { return choice::h200(); }

std::optional<std::string> refuse_dense(const catalog::Instance& instance, Case s) {
  const auto product = dense_product(problem_of(instance, s), simulated_chip(), offset_of(instance));
  if (!product) return product.status().message();
  if (s.m < 1 || s.n < 1) return "m and n: at least 1.";
  return {};
}

// ---- groups

constexpr uint32_t kGroups = 4;

// Uneven groups, one without rows, and rows behind that no group has.
std::vector<uint32_t> table_of(const GroupedGemmConfig& c, Case s) {
  const auto m = uint32_t(s.m);
  if (c.by_depth()) {
    std::vector<uint32_t> ends;
    const auto unit = uint32_t(c.depth_unit()), units = uint32_t(s.k) / unit;
    for (const uint32_t end : {units / 7, units / 7, units / 2, units / 2 + units / 5, units})
      ends.push_back(end * unit);
    return ends;
  }
  if (c.groups == Groups::contiguous) return {0, m / 7, m / 7, m / 2, m - m / 9};
  if (c.groups == Groups::masked) return {m / kGroups, 0, m / kGroups / 3, m / kGroups - (m >= 8 ? 1 : 0)};
  return {};
}

GroupedProblem grouped_problem(const catalog::Instance& instance, Case s) {
  GroupedProblem p;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.plan = catalog::name_of(instance);
  if (const auto* c = instance.as<GroupedGemmConfig>()) {
    p.groups = c->groups;
    p.type = c->type;
    p.out = c->out;
    if (c->scaled()) p.b_scale_rows = c->b_scale_rows;
    p.activation = c->swiglu ? Activation::swiglu : Activation::none;
    p.bias = c->bias ? Bias::per_column : Bias::none;
    p.accumulate = c->by_depth() && c->out == DType::fp32;
    if (c->groups != Groups::none) p.group_count = kGroups;
  } else {
    p.out = instance.as<SkinnyBlockwiseConfig>()->out;
  }
  return p;
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
                                    .accumulate = p.accumulate};
  if (const auto* c = instance.as<GroupedGemmConfig>()) product.rows = table_of(*c, s);
  return product;
}

std::optional<std::string> refuse_grouped(const catalog::Instance& instance, Case s) {
  if (s.m < 1 || s.n < 1) return "m and n: at least 1.";
  const GroupedProblem p = grouped_problem(instance, s);
  if (p.groups == Groups::masked && s.m % kGroups != 0) {
    return fmt::format("m = {}: four groups have equal room, m must be a multiple of 4.", s.m);
  }
  const auto run = grouped_run(p, grouped_product(instance, s), simulated_chip());
  return run ? std::nullopt : std::optional(run.status().message());
}

// Layouts of blocks live as long as the examples that point at them.
const BlockPlan* kept_plan(const catalog::Instance& instance) {
  static std::deque<BlockPlan> plans;
  return &plans.emplace_back(catalog::block_plan(instance));
}

bool is_grouped(const catalog::Instance& instance) {
  return instance.as<GroupedGemmConfig>() != nullptr || instance.as<SkinnyBlockwiseConfig>() != nullptr;
}

void complete_dense(Example& e, const catalog::Instance& instance) {
  e.summary = summary_of(instance);
  e.cases = cases_of(instance);
  e.refuse = [instance](Case s) { return refuse_dense(instance, s); };
  e.workload = [instance](Case s, Data data, uint64_t seed) {
    return reference::workload_of(reference::with_packed_addends(problem_of(instance, s)), offset_of(instance), data,
                                  seed);
  };
  e.simulate = [instance](const Workload& w, const simulator::Options& o, int ctas) {
    return run(*dense_case(instance, w.shape), w, o, ctas);
  };
}
void complete_grouped(Example& e, const catalog::Instance& instance) {
  e.summary = summary_of(instance);
  e.cases = cases_of(instance);
  e.refuse = [instance](Case s) { return refuse_grouped(instance, s); };
  e.workload = [instance](Case s, Data data, uint64_t seed) {
    return grouped_product_workload(grouped_product(instance, s), data, seed);
  };
  e.simulate = [instance](const Workload& w, const simulator::Options& o, int ctas) {
    return run(*grouped_case(instance, w.shape), w, o, ctas);
  };
}

}  // namespace

bool is_dense(const catalog::Instance& instance) {
  return instance.as<DenseGemmConfig>() != nullptr || instance.as<SkinnyGemmConfig>() != nullptr;
}
bool behind_api(const catalog::Instance& instance) { return is_dense(instance) || is_grouped(instance); }
Result<DenseProduct> dense_case(const catalog::Instance& instance, Case shape) {
  return dense_product(problem_of(instance, shape), simulated_chip(), offset_of(instance));
}
Result<GroupedRun> grouped_case(const catalog::Instance& instance, Case shape) {
  return grouped_run(grouped_problem(instance, shape), grouped_product(instance, shape), simulated_chip());
}

bool has_example(const catalog::Instance& instance) { return instance.as<PackRowsConfig>() == nullptr; }

Result<Example> example_of(const catalog::Instance& instance) {
  if (Status s = catalog::refuse(instance); !s) return s;
  Example e;
  e.name = e.instance = catalog::name_of(instance);
  e.plan_name = catalog::plan_name(instance);
  e.arch = catalog::arch_of(instance);
  bool known = behind_api(instance);
  if (is_dense(instance)) {
    complete_dense(e, instance);
  } else if (is_grouped(instance)) {
    complete_grouped(e, instance);
  } else {
    std::visit(
        [&](const auto& c) {
          if constexpr (requires { complete(e, instance, c); }) known = complete(e, instance, c);
        },
        instance.config);
  }
  if (!known) {
    return Status(Code::unsupported, fmt::format("{}: the checker has no problem for it.", catalog::name_of(instance)));
  }
  e.plan = kept_plan(instance);
  return e;
}

}  // namespace warpwright::simulate
