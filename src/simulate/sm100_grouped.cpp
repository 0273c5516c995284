// Products on Blackwell with blockwise scales, and of groups of rows, each of which has a matrix of its own. They run
// in the simulator only.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "launch/host_grouped.h"
#include "problem/problem.h"
#include "reference/blockwise_workload.h"
#include "reference/grouped_workload.h"
#include "simulate/families.h"
#include "simulate/run.h"

namespace warpwright::simulate {
namespace {

using launch::GroupedOperands;
using reference::Array;
using reference::Case;
using reference::Data;
using reference::GroupedSpec;
using reference::Workload;
using Pointers = std::vector<void*>;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// m rows in six groups: few rows, none, many, some without a matrix, one row, the rest; two groups share a matrix.
GroupedSpec six_groups(Case s) {
  GroupedSpec g;
  const int m = int(s.m);
  g.tokens = {m / 16, 0, m / 3, m / 8, m > 8 ? 1 : 0};
  int rest = m;
  for (int n : g.tokens) rest -= n;
  g.tokens.push_back(rest);
  g.matrices = {2, 0, 3, -1, 2, 1};
  g.matrix_count = 4;
  g.n = int(s.n);
  g.k = int(s.k);
  return g;
}
GroupedSpec spec_of(const GroupedGemmSm100Config& c, Case s) {
  GroupedSpec g = six_groups(s);
  g.scaling = c.scaling;
  g.type = c.type;
  g.out_type = c.out_type;
  g.out_scaling = c.out_scaling;
  g.clamped_swiglu = c.clamped_swiglu;
  return g;
}
GroupedSpec spec_of(const BlockwiseFp8Sm100Config& c, Case s) {
  GroupedSpec g = six_groups(s);
  g.scaling = BlockScaling::none;
  g.out_type = c.out_type;
  return g;
}

template <class T>
std::vector<T> words_of(const Array& a) {
  std::vector<T> list(size_t(a.columns));
  std::memcpy(list.data(), a.bytes.data(), a.bytes.size());
  return list;
}
// The table of a workload, whoever made it.
GroupedSpec table_in(GroupedSpec g, const Workload& w) {
  bool has_matrices = false;
  for (const Array& a : w.arrays) {
    if (a.name == "matrix_alpha") g.matrix_count = int(a.columns);
    if (a.name == "matrices") {
      g.matrices = words_of<int32_t>(a);
      has_matrices = true;
    }
    if (a.name != "offsets" && a.name != "counts") continue;
    const auto list = words_of<uint32_t>(a);
    g.slot_rows = a.name == "counts" ? int(w.shape.m / int64_t(list.size())) : 0;
    g.tokens.clear();
    for (size_t i = g.slot_rows > 0 ? 0 : 1; i < list.size(); ++i) {
      g.tokens.push_back(int(list[i] - (g.slot_rows > 0 ? 0 : list[i - 1])));
    }
  }
  if (!has_matrices) g.matrices.clear();
  return g;
}

std::optional<std::string> refuse_extents(const DenseGemmSm100Config& c, Case s) {
  if (s.m < 1 || s.n < 1 || s.k < 0) return "m and n: at least 1; k: at least 0.";
  return problem::refuse(c, int(s.m), int(s.n), int(s.k), nullptr, nullptr);
}

// ---- groups by pointers

// The same product for a kernel whose groups have matrices of their own: every group is a product of one group, through
// addresses inside the arrays that the groups have in common.
class ByPointers {
 public:
  ByPointers(const GroupedGemmSm100Config& c, const GroupedSpec& s, const Workload& w, Arrays& arrays)
      : config_(c), spec_(s), arrays_(arrays) {
    const Pointers& p = arrays.pointers();
    all_ = reference::grouped_operands(s, w, p);
    for (const Array& a : w.arrays) {
      if (a.name == "matrix_alpha") alpha_ = words_of<float>(a);
    }
  }

  GroupedGemmSm100Args arguments() {
    const std::vector<uint32_t> starts = spec_.starts();
    const size_t count = spec_.tokens.size();
    auto* const problems = static_cast<GroupProblem*>(
        arrays_.add("problems", count * sizeof(GroupProblem), simulator::Buffer::Use::input, true));
    auto* const extents =
        static_cast<int32_t*>(arrays_.add("extents", count * 16, simulator::Buffer::Use::input, true));
    GroupedGemmSm100Args args{};
    args.problems = problems;
    args.groups = {.extents = extents,
                   .status = all_.table.status,
                   .groups = int(count),
                   .matrix_count = int(count),
                   .columns = spec_.n,
                   .depth = spec_.k};
    int64_t block = 0;  // of the factors, of which each group begins a new one
    for (size_t g = 0; g < count; ++g) {
      const int matrix = spec_.matrices.empty() ? int(g) : spec_.matrices[g];
      const int rows = matrix < 0 ? 0 : spec_.tokens[g];
      if (rows > 0) problems[g] = problem(starts[g], rows, block, matrix);
      const int32_t extent[4] = {rows, spec_.n, spec_.k, 0};
      std::memcpy(extents + 4 * g, extent, sizeof extent);
      args.groups.rows = std::max(args.groups.rows, rows);
      block += ceil_div(int64_t(starts[g + 1]) - starts[g], kScaleTileRows);
    }
    return args;
  }

 private:
  static void* at(void* first, int64_t bytes) {
    return first == nullptr ? nullptr : static_cast<uint8_t*>(first) + bytes;
  }
  GroupProblem problem(int64_t first_row, int rows, int64_t block, int64_t matrix) const {
    const int64_t n = spec_.n, k = spec_.k;
    const int64_t along_k = ceil_div(k, scale_block(spec_.scaling) * kScaleTileColumns) * kScaleTileBytes;
    GroupedOperands one = all_;
    one.a = at(all_.a, first_row * k * bits(spec_.type) / 8);
    one.b = at(all_.b, matrix * n * k * bits(b_dtype(spec_.scaling, spec_.type)) / 8);
    one.a_scales = at(all_.a_scales, block * along_k);
    one.b_scales = at(all_.b_scales, matrix * ceil_div(n, kScaleTileRows) * along_k);
    one.a_scale_tiles = ceil_div(rows, kScaleTileRows);
    one.table.rows = rows;
    one.table.groups = one.table.matrix_count = 1;
    GroupedGemmSm100Config config = config_;
    config.pointers = false;
    GroupedGemmSm100Args args;
    if (const auto why = launch::fill(args, config, one, EncodeMaps{map_encoder()})) throw std::runtime_error(*why);
    return {args.a,
            args.b,
            args.a_scales,
            args.b_scales,
            at(all_.d, first_row * n * bits(spec_.out_type) / 8),
            0,
            alpha_[size_t(matrix)]};
  }

  GroupedGemmSm100Config config_;
  GroupedSpec spec_;
  Arrays& arrays_;
  GroupedOperands all_;
  std::vector<float> alpha_;
};

Outcome run_by_pointers(const catalog::Instance& instance, const GroupedGemmSm100Config& c, const Workload& w,
                        const simulator::Options& o, int ctas) {
  Arrays arrays(w);
  const GroupedGemmSm100Args args = ByPointers(c, table_in(spec_of(c, w.shape), w), w, arrays).arguments();
  return run_arguments(instance, &args, sizeof args, ctas, w, arrays, o);
}

}  // namespace

bool complete(Example& e, const catalog::Instance& instance, const GroupedGemmSm100Config& c) {
  if (c.epilogue != factor_and_conversion(c.epilogue.out)) return false;
  e.refuse = [c](Case s) -> std::optional<std::string> {
    if (const int unit = 2 * scale_block(c.out_scaling); c.out_scaling != BlockScaling::none && s.n % unit != 0) {
      return fmt::format("n = {}: quantized results come in blocks, so n must be a multiple of {}.", s.n, unit);
    }
    return refuse_extents(c.dense(), s);
  };
  e.workload = [c](Case s, Data data, uint64_t seed) { return grouped_workload(spec_of(c, s), data, seed); };
  e.simulate = [instance, c](const Workload& w, const simulator::Options& o, int ctas) {
    const int some = ctas ? ctas : 2 * c.cta_group;
    if (c.pointers) return run_by_pointers(instance, c, w, o, some);
    return run_filled<GroupedGemmSm100Args>(
        instance, w, o, some, [&](GroupedGemmSm100Args& args, const Pointers& p, const EncodeMaps& encode) {
          return launch::fill(args, c, grouped_operands(table_in(spec_of(c, w.shape), w), w, p), encode);
        });
  };
  const Known known[] = {
      {"sm100/grouped-n128-s6-pair-swap/e4m3-mxfp8",
       "rows in groups, each with a matrix of its own; a scheduler warp walks the table (simulator only)",
       {{400, 264, 272}, {9, 8, 16}, {64, 64, 0}}},
      {"sm100/grouped-n8-s8-swap/e2m1-nvfp4",
       "the same for few rows in a group: warps of their own bring the factors of the rows (simulator only)",
       {{48, 136, 544}, {9, 8, 32}}},
      {"sm100/grouped-n32-s8-swap/e4m3-w4a8",
       "e4m3 rows times e2m1 matrices (simulator only)",
       {{100, 136, 256}, {9, 8, 128}}},
      {"sm100/grouped-n128-s5/e2m1-mxfp4",
       "the same on tiles of 128 rows (simulator only)",
       {{400, 136, 544}, {9, 8, 32}}},
      {"sm100/grouped-n128-s6-pair/e4m3-mxfp8-swiglu_to_mxfp8",
       "silu(gate) * up as mxfp8, elements and factors, for the next product (simulator only)",
       {{400, 192, 272}, {9, 64, 16}}},
      {"sm100/grouped-n128-s4/e2m1-nvfp4-swiglu_to_nvfp4-clamped",
       "the same as nvfp4, of gates and ups that are kept within bounds (simulator only)",
       {{400, 96, 544}, {9, 32, 32}}},
      {"sm100/grouped-n128-s6-pair-swap/e4m3-mxfp8-pointers",
       "groups with matrices at addresses of their own (simulator only)",
       {{400, 264, 272}, {9, 8, 16}, {64, 64, 0}}},
      {"sm100/grouped-n16-s8-swap/e4m3-mxfp8-swiglu_to_mxfp8",
       "silu(gate) * up as mxfp8 for few rows in a group (simulator only)",
       {{60, 192, 272}, {9, 64, 16}}},
  };
  const int64_t deep = int64_t(c.dense().tile_k()) * (c.stages + 1);
  describe(e, known, "rows in groups, each with a matrix of its own (simulator only)",
           {{3 * c.tile_tokens() + 16, c.tile_columns() + 64, deep}, {9, 64, c.dense().tile_k()}, {64, 64, 0}});
  return true;
}

bool complete(Example& e, const catalog::Instance& instance, const BlockwiseFp8Sm100Config& c) {
  EpilogueConfig nothing = c.epilogue;
  nothing.alpha = false;
  if (!nothing.trivial()) return false;
  if (c.grouped) {
    e.refuse = [c](Case s) { return refuse_extents(c.dense(), s); };
    e.workload = [c](Case s, Data data, uint64_t seed) {
      return grouped_blockwise_workload(spec_of(c, s), data, seed);
    };
    e.simulate = [instance, c](const Workload& w, const simulator::Options& o, int ctas) {
      return run_filled<BlockwiseFp8Sm100Args>(
          instance, w, o, ctas ? ctas : 2 * c.cta_group,
          [&](BlockwiseFp8Sm100Args& args, const Pointers& p, const EncodeMaps& encode) {
            return launch::fill(args, c, grouped_operands(table_in(spec_of(c, w.shape), w), w, p), encode);
          });
    };
  } else {
    e.refuse = [c](Case s) -> std::optional<std::string> {
      problem::Problem p;
      p.m = s.m;
      p.n = s.n;
      p.k = s.k;
      p.dtype = DType::e4m3;
      p.out_dtype = c.out_type;
      if (auto why = validate(p)) return why;
      if (s.m % 4 == 0) return {};
      return fmt::format(
          "m = {}: the rows of the scales of A must be whole 16-byte units, so m must be a multiple of 4.", s.m);
    };
    e.workload = [c](Case s, Data data, uint64_t seed) {
      return reference::blockwise_workload(s, c.out_type, data, seed);
    };
    e.simulate = [instance, c](const Workload& w, const simulator::Options& o, int ctas) {
      return run_filled<BlockwiseFp8Sm100Args>(
          instance, w, o, ctas ? ctas : 2 * c.cta_group,
          [&](BlockwiseFp8Sm100Args& args, const Pointers& p, const EncodeMaps& encode) {
            return launch::fill(args, c, p[0], p[1], p[2], p[3], p[4], int(w.shape.m), int(w.shape.n), int(w.shape.k),
                                encode);
          });
    };
  }
  const Known known[] = {
      {"sm100/blockwise-n128-s6-pair/e4m3",
       "e4m3 operands with a scale for each block of 128 along k (simulator only)",
       {{264, 264, 400}, {4, 8, 0}}},
      {"sm100/blockwise-n128-s6/e4m3", "the same by single CTAs (simulator only)", {{132, 264, 400}}},
      {"sm100/blockwise-n128-s5-pair-e8-o2/e4m3",
       "two warpgroups share the columns of a tile; results leave by TMA (simulator only)",
       {{264, 264, 400}, {4, 8, 0}}},
      {"sm100/blockwise-n128-s6/e4m3-alpha-grouped",
       "e4m3 rows in groups with a scale for each block of 128 along k (simulator only)",
       {{400, 136, 272}, {9, 8, 16}}},
  };
  const int64_t deep = int64_t(c.block) * (c.stages + 1);
  describe(e, known, "e4m3 operands with a scale for each block of 128 along k (simulator only)",
           {{128 * c.cta_group + 8, c.tile_n + 16, deep}, {4, 16, 16}, {64, 64, 0}});
  return true;
}

}  // namespace warpwright::simulate
