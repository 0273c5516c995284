// What `check` runs for an instance: problems that only it serves, at sizes that reach its edges and wrap its rings.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "problem/lower.h"
#include "problem/refused.h"
#include "reference/problem_workload.h"
#include "simulate/executor.h"
#include "simulate/families.h"
#include "simulate/far_rows.h"
#include "simulate/instance_cases.h"
#include "simulate/instance_problem.h"
#include "simulate/product.h"

namespace warpwright::simulate {
namespace {

using reference::Array;
using reference::Case;
using reference::Condition;
using reference::Data;
using reference::Workload;
using simulate::Outcome;

std::string summary_of(const catalog::Instance& instance) {
  switch (catalog::arch_of(instance)) {
    case Arch::sm80:
      return "cp.async, ldmatrix and mma.sync in the order of a compiled, proven schedule";
    case Arch::sm100:
      if (is_dense(instance)) return "Blackwell GEMM (simulator only)";
      return instance.as<BlockwiseFp8Sm100Config>() != nullptr
                 ? "e4m3 operands with a scale for each block of 128 along k (simulator only)"
             : instance.as<GroupedGemmSm100Config>()->by_depth
                 ? "columns of A and B in groups, each with a result of its own (simulator only)"
                 : "rows in groups, each with a matrix of its own (simulator only)";
    case Arch::gfx942:
    case Arch::gfx950:
      return "matmul for CDNA";
    case Arch::sm90:
      break;
  }
  if (instance.as<DenseGemmConfig>() != nullptr) return "product of matrices: load warp, MMA warpgroups, store warps";
  if (instance.as<SkinnyGemmConfig>() != nullptr) return "the same for few rows of A: the operands change sides";
  if (instance.as<SkinnyBlockwiseConfig>() != nullptr) return "blockwise scales, few rows of A";
  const auto& c = *instance.as<GroupedGemmConfig>();
  return std::string(c.scaled() ? "blockwise scales" : "without scales") + (c.groups == Groups::none ? ""
                                                                            : c.by_depth() ? ", groups along k"
                                                                                           : ", groups of rows");
}

choice::Chip chip_of(const catalog::Instance& instance) { return choice::simulated_chip(catalog::arch_of(instance)); }

// Packed, except for the strides between matrices.
GemmProblem addends_as_given(const GemmProblem& problem) {
  GemmProblem p = reference::with_packed_addends(problem);
  p.c = problem.c;
  p.epilogue.residual_layout = problem.epilogue.residual_layout;
  return p;
}

// The rows of these matrices, or the matrices of a batch, lie in memory as the other problem has them.
void spread_rows(Workload& w, const GemmProblem& compact, const GemmProblem& far) {
  const problem::Lowered here = problem::lower(compact), there = problem::lower(far);
  const std::pair<const char*, const problem::StoredMatrix problem::Lowered::*> matrices[] = {
      {"A", &problem::Lowered::a},
      {"B", &problem::Lowered::b},
      {"C", &problem::Lowered::c},
      {"residual", &problem::Lowered::residual},
      {"D", &problem::Lowered::d}};
  for (const auto& [name, matrix] : matrices) {
    for (Array& array : w.arrays) {
      const problem::StoredMatrix &near = here.*matrix, &away = there.*matrix;
      const bool whole = near.stride == away.stride;  // matrices of a batch lie apart, not the rows of one
      if (array.name != name || (whole && near.batch_stride == away.batch_stride)) continue;
      array.row_bytes = uint64_t((whole ? near.batch_stride : near.stride) * bits(array.type) / 8);
      array.distance = uint64_t((whole ? away.batch_stride : away.stride) * bits(array.type) / 8);
    }
  }
  for (Array& array : w.arrays) {
    if (array.name != "bias" || far.epilogue.bias_batch_stride == compact.epilogue.bias_batch_stride) continue;
    array.row_bytes = uint64_t(compact.epilogue.bias_batch_stride * bits(array.type) / 8);
    array.distance = uint64_t(far.epilogue.bias_batch_stride * bits(array.type) / 8);
  }
}

// Each row that a table names lies `apart` times as far from the first one as it did.
void spread_gathered(Workload& w, int64_t apart) {
  for (Array& array : w.arrays) {
    if (array.name == "A" || array.name == "a_scales") {
      array.row_bytes = uint64_t(array.columns * bits(array.type) / 8);
      array.distance = array.row_bytes * uint64_t(apart);
    }
    if (array.name != "index") continue;
    for (size_t at = 0; at < array.bytes.size(); at += sizeof(int32_t)) {
      int32_t row = 0;
      std::memcpy(&row, array.bytes.data() + at, sizeof row);
      row = int32_t(row * apart);
      std::memcpy(array.bytes.data() + at, &row, sizeof row);
    }
  }
}

// As rows_ahead() says; scales of rows lie by columns.
void begin_far(Workload& w, int64_t ahead) {
  const auto padded = [](int64_t rows) { return uint64_t((rows + 3) / 4 * 4) * sizeof(float); };
  for (Array& array : w.arrays) {
    if (array.name == "A" || array.name == "D") array.ahead = uint64_t(ahead * array.columns * bits(array.type) / 8);
    if (array.name == "a_scales" && array.type == DType::fp32) {
      array.row_bytes = padded(w.shape.m);
      array.distance = padded(w.shape.m + ahead);
      array.ahead = uint64_t(ahead) * sizeof(float);
    }
    if (array.name != "rows" && array.name != "offsets") continue;
    for (size_t at = 0; at < array.bytes.size(); at += sizeof(uint32_t)) {
      uint32_t row = 0;
      std::memcpy(&row, array.bytes.data() + at, sizeof row);
      row += uint32_t(ahead);
      std::memcpy(array.bytes.data() + at, &row, sizeof row);
    }
  }
}

// Arrays of which the API asks nothing more begin at any element, not at a vector; nothing lies ahead of them.
void begin_anywhere(Workload& w, const catalog::Instance& instance, bool pairs) {
  if (catalog::arch_of(instance) == Arch::sm100) return;  // the TMA moves some of these
  const auto* const dense = instance.as<DenseGemmConfig>();
  for (Array& array : w.arrays) {
    const auto is = [&](const char* name) { return array.name == name; };
    if (dense != nullptr && dense->load == Mover::threads && (is("A") || is("B")))
      array.behind_aligned = uint32_t(bits(array.type) / 8);
    if (is("a_scales") || is("b_scales") || is("d_scales") || is("rows") || is("matrices") || is("index"))
      array.behind_aligned = 4;
    if (is("bias")) array.behind_aligned = uint32_t(bits(array.type) / 8 * (pairs ? 2 : 1));
  }
}

// The last element of A is NaN, and so is whatever its row makes.
void spoil_an_element(Workload& w) {
  Array& a = w.arrays.front();
  if (a.type == DType::s8 || a.bytes.empty()) return;
  std::fill_n(a.bytes.end() - std::ptrdiff_t(bits(a.type) / 8), size_t(bits(a.type)) / 8, uint8_t(0xff));
}

Status takes_dense(const catalog::Instance& instance, Case s) {
  if (Status why = refuse(instance, s.condition); !why) return why;
  const auto product = dense_case(instance, s);
  if (!product) return product.status();
  if (s.m < 1 || s.n < 1) return problem::refused("m and n: at least 1.");
  return {};
}

Status takes_grouped(const catalog::Instance& instance, Case s) {
  if (Status why = refuse(instance, s.condition); !why) return why;
  if (s.m < 1 || s.n < 1) return problem::refused("m and n: at least 1.");
  const GroupedProblem p = grouped_problem(instance, s);
  if (p.groups == Groups::masked && s.m % p.group_count != 0) {
    return problem::refused(
        fmt::format("m = {}: {} groups have equal room, so m must be a multiple of that.", s.m, p.group_count));
  }
  return grouped_run(p, grouped_product(instance, s), chip_of(instance)).status();
}

// Layouts of blocks live as long as the examples that point at them.
const BlockPlan* kept_plan(const catalog::Instance& instance) {
  static std::deque<BlockPlan> plans;
  return &plans.emplace_back(catalog::block_plan(instance));
}

bool is_grouped(const catalog::Instance& instance) {
  if (const auto* c = instance.as<GroupedGemmSm100Config>()) return !c->pointers;
  return instance.as<GroupedGemmConfig>() != nullptr || instance.as<SkinnyBlockwiseConfig>() != nullptr ||
         instance.as<BlockwiseFp8Sm100Config>() != nullptr;
}

// The sizes listed for it, and those made from its configuration that it accepts.
void describe(Example& e, const catalog::Instance& instance) {
  const char* const own = listed_summary(catalog::name_of(instance));
  e.summary = own != nullptr ? own : summary_of(instance);
  for (const Case& c : cases_of(instance))
    if (e.takes(c)) e.cases.push_back(c);
}

void complete_dense(Example& e, const catalog::Instance& instance) {
  e.takes = [instance](Case s) { return takes_dense(instance, s); };
  e.workload = [instance](Case s, Data data, uint64_t seed) {
    const GemmProblem p = addends_as_given(dense_problem(instance, s));
    const reference::Offset offset = offset_of(instance, s.condition);
    Workload w = reference::workload_of(p, offset, data, seed);
    if (s.condition == Condition::real && p.block_scaling == BlockScaling::none) {
      spoil_an_element(w);
      reference::expect_again(p, offset, w);
    }
    if (s.condition == Condition::real) begin_anywhere(w, instance, false);
    if (s.condition == Condition::far) spread_rows(w, p, far_apart(instance, p));
    w.shape = s;
    return w;
  };
  e.simulate = [instance](const Workload& w, const simulator::Options& o, int ctas) {
    return run(*dense_case(instance, w.shape), w, o, ctas);
  };
  if (catalog::arch_of(instance) == Arch::sm80) {
    e.launch = [instance](const Workload& w, const std::vector<void*>& arrays, void* stream) {
      return launch_on_gpu(*dense_case(instance, w.shape), w, arrays, stream);
    };
  }
}
void complete_grouped(Example& e, const catalog::Instance& instance) {
  e.takes = [instance](Case s) { return takes_grouped(instance, s); };
  e.workload = [instance](Case s, Data data, uint64_t seed) {
    Workload w =
        workload_of(grouped_problem(instance, s), grouped_product(instance, s), catalog::arch_of(instance), data, seed);
    if (s.condition == Condition::real) begin_anywhere(w, instance, true);
    w.shape = s;
    if (const int64_t ahead = rows_ahead(instance, s); ahead != 0) {
      begin_far(w, ahead);
    } else if (s.condition == Condition::far) {
      spread_gathered(w, rows_apart(s));
    }
    return w;
  };
  e.simulate = [instance](const Workload& w, const simulator::Options& o, int ctas) {
    return run(*grouped_case(instance, w.shape), w, o, ctas);
  };
}

// Rows of D that begin anywhere, at an odd element.
GemmProblem any_columns_problem(const catalog::Instance& instance, Case s) {
  GemmProblem p = dense_problem(instance, s);
  p.d.stride = s.n + 1 + s.n % 2;
  return p;
}

}  // namespace

bool is_dense(const catalog::Instance& instance) {
  return instance.as<DenseGemmConfig>() != nullptr || instance.as<SkinnyGemmConfig>() != nullptr ||
         instance.as<DenseGemmSm100Config>() != nullptr || instance.as<MmaSyncGemmConfig>() != nullptr ||
         instance.as<CdnaMatmulConfig>() != nullptr;
}
bool behind_api(const catalog::Instance& instance) {
  // The API's 8-bit codes are not those of gfx942.
  return has_example(instance) && (is_dense(instance) || is_grouped(instance));
}
Result<DenseProduct> dense_case(const catalog::Instance& instance, Case shape) {
  const GemmProblem p = addends_as_given(dense_problem(instance, shape));
  return spaced_product(shape.condition == Condition::far ? far_apart(instance, p) : p, chip_of(instance),
                        offset_of(instance, shape.condition));
}
Result<GroupedRun> grouped_case(const catalog::Instance& instance, Case shape) {
  return grouped_run(grouped_problem(instance, shape), grouped_product(instance, shape), chip_of(instance));
}

void complete_any_columns(Example& e, const catalog::Instance& instance) {
  const reference::Offset odd{0, 1};
  const auto product = [instance, odd](Case s) {
    return dense_product(any_columns_problem(instance, s), chip_of(instance), odd);
  };
  e.name += ":any_columns";
  e.summary = "any number of columns, rows of D that begin anywhere (simulator only)";
  e.takes = [product](Case s) { return product(s).status(); };
  e.workload = [instance, odd](Case s, Data data, uint64_t seed) {
    return reference::workload_of(any_columns_problem(instance, s), odd, data, seed);
  };
  e.simulate = [product](const Workload& w, const simulator::Options& o, int ctas) {
    return run(*product(w.shape), w, o, ctas);
  };
  e.cases = {{770, 263, 840}, {1, 1, 8}, {40, 17, 0}};
}

bool has_example(const catalog::Instance& instance) {
  // The 8-bit codes of gfx942 are not those of the reference.
  if (instance.as<CdnaMatmulConfig>() != nullptr && instance.as<CdnaMatmulConfig>()->arch == Arch::gfx942) {
    return instance.as<CdnaMatmulConfig>()->type != DType::e4m3;
  }
  return instance.as<PackRowsConfig>() == nullptr;
}

Result<Example> example_of(const catalog::Instance& instance) {
  if (Status s = catalog::refuse(instance); !s) return s;
  if (Status s = catalog::check_formula(instance); !s) return s;
  Example e;
  e.name = e.instance = catalog::name_of(instance);
  e.plan_name = catalog::plan_name(instance);
  e.tile = tile_of(instance);
  e.arch = catalog::arch_of(instance);
  bool known = true;
  if (is_dense(instance)) {
    complete_dense(e, instance);
  } else if (is_grouped(instance)) {
    complete_grouped(e, instance);
  } else {
    known = std::visit(
        [&](const auto& c) {
          if constexpr (requires { complete(e, instance, c); }) return complete(e, instance, c);
          return false;
        },
        instance.config);
  }
  if (known && e.summary.empty()) describe(e, instance);
  if (!known || e.cases.empty()) {
    return Status(Code::unsupported, fmt::format("{}: the checker has no problem for it.", catalog::name_of(instance)));
  }
  e.plan = kept_plan(instance);
  e.sites = [instance] {
    const auto compiled = ready(instance);
    return compiled ? (*compiled)->sites : CallSites();
  };
  return e;
}

}  // namespace warpwright::simulate
