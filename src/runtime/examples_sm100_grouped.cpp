// Grouped products on Blackwell: every group of rows has a matrix of its own.
#include <fmt/format.h>

#include <cstring>

#include "device/launch_sm100.h"
#include "runtime/examples_list.h"
#include "runtime/grouped_workload.h"
#include "runtime/simulate.h"
#include "warpwright/kernel/sm100/blockwise_fp8.h"
#include "warpwright/kernel/sm100/grouped_gemm.h"

namespace warpwright::runtime {
namespace {

using device::kBlockwiseFp8Sm100;
using device::kGroupedGemmSm100;

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

// The table of a workload, whoever made it.
GroupedSpec table_in(GroupedSpec g, const Workload& w) {
  const auto numbers = [](const Array& a) {
    std::vector<uint32_t> list(size_t(a.columns));
    std::memcpy(list.data(), a.bytes.data(), a.bytes.size());
    return list;
  };
  for (const Array& a : w.arrays) {
    if (a.name == "matrix_alpha") g.matrix_count = int(a.columns);
    if (a.name != "offsets" && a.name != "counts") continue;
    const std::vector<uint32_t> list = numbers(a);
    g.slot_rows = a.name == "counts" ? int(w.shape.m / int64_t(list.size())) : 0;
    g.tokens.clear();
    for (size_t i = g.slot_rows > 0 ? 0 : 1; i < list.size(); ++i) {
      g.tokens.push_back(int(list[i] - (g.slot_rows > 0 ? 0 : list[i - 1])));
    }
  }
  return g;
}

template <GroupedGemmSm100Config C>
struct Grouped {
  static GroupedSpec spec(Case s) {
    GroupedSpec g = six_groups(s);
    g.scaling = C.scaling;
    g.type = C.type;
    g.out_type = C.out_type;
    g.out_scaling = C.out_scaling;
    return g;
  }
  static std::optional<std::string> refuse(Case s) {
    if (s.m < 1 || s.n < 1 || s.k < 0) return "m and n: at least 1; k: at least 0.";
    if (const int unit = 2 * scale_block(C.out_scaling); C.out_scaling != BlockScaling::none && s.n % unit != 0) {
      return fmt::format("n = {}: quantized results come in blocks, so n must be a multiple of {}.", s.n, unit);
    }
    return runtime::refuse(C.dense(), int(s.m), int(s.n), int(s.k), nullptr, nullptr);
  }
  static Workload workload(Case s, Data data, uint64_t seed) { return grouped_workload(spec(s), data, seed); }
  static Outcome simulate(const Workload& w, const simulator::Options& o, int ctas) {
    return runtime::simulate<kernel::sm100::GroupedGemm<C>>(
        w, o, ctas ? ctas : 2 * C.cta_group, [&](auto& args, const auto& p, const auto& encode) {
          return fill(args, C, grouped_operands(table_in(spec(w.shape), w), w, p), encode);
        });
  }
  static Example make(const char* name, const char* summary, const char* instance, std::vector<Case> cases) {
    return {name,   summary,  instance, Arch::sm100, &kernel::sm100::GroupedGemm<C>::plan, std::move(cases),
            refuse, workload, simulate, nullptr};
  }
};

template <BlockwiseFp8Sm100Config C>
struct GroupedBlockwise {
  static GroupedSpec spec(Case s) {
    GroupedSpec g = six_groups(s);
    g.scaling = BlockScaling::none;
    g.out_type = C.out_type;
    return g;
  }
  static std::optional<std::string> refuse(Case s) {
    if (s.m < 1 || s.n < 1 || s.k < 0) return "m and n: at least 1; k: at least 0.";
    return runtime::refuse(C.dense(), int(s.m), int(s.n), int(s.k), nullptr, nullptr);
  }
  static Workload workload(Case s, Data data, uint64_t seed) { return grouped_blockwise_workload(spec(s), data, seed); }
  static Outcome simulate(const Workload& w, const simulator::Options& o, int ctas) {
    return runtime::simulate<kernel::sm100::BlockwiseFp8<C>>(
        w, o, ctas ? ctas : 2 * C.cta_group, [&](auto& args, const auto& p, const auto& encode) {
          return fill(args, C, grouped_operands(table_in(spec(w.shape), w), w, p), encode);
        });
  }
};

}  // namespace

void add_grouped_sm100_examples(std::vector<Example>& list) {
  list.push_back(Grouped<kGroupedGemmSm100[0]>::make(
      "grouped_sm100_mxfp8",
      "rows in groups, each with a matrix of its own; a scheduler warp walks the table (simulator only)",
      "mxfp8 256 columns x 128 rows x 128 in pairs, 6 stages, 2 accumulators, cluster 2x1",
      {{400, 264, 272}, {9, 8, 16}, {64, 64, 0}}));
  list.push_back(Grouped<kGroupedGemmSm100[1]>::make(
      "grouped_sm100_nvfp4_few_rows",
      "the same for few rows in a group: warps of their own bring the factors of the rows (simulator only)",
      "nvfp4 128 columns x 8 rows x 256, 8 stages, 2 accumulators", {{48, 136, 544}, {9, 8, 32}}));
  list.push_back(Grouped<kGroupedGemmSm100[2]>::make(
      "grouped_sm100_w4a8", "e4m3 rows times e2m1 matrices (simulator only)",
      "w4a8 128 columns x 32 rows x 128, 8 stages, 2 accumulators", {{100, 136, 256}, {9, 8, 128}}));
  list.push_back(Grouped<kGroupedGemmSm100[3]>::make(
      "grouped_sm100_mxfp4", "the same on tiles of 128 rows (simulator only)",
      "mxfp4 128 rows x 128 columns x 256, 5 stages, 2 accumulators", {{400, 136, 544}, {9, 8, 32}}));
  list.push_back(Grouped<kGroupedGemmSm100[4]>::make(
      "grouped_sm100_swiglu", "silu(gate) * up as mxfp8, elements and factors, for the next product (simulator only)",
      "mxfp8 256 rows x 128 columns x 128 in pairs, 6 stages, 2 accumulators, cluster 2x1",
      {{400, 192, 272}, {9, 64, 16}}));
  list.push_back(Grouped<kGroupedGemmSm100[7]>::make(
      "grouped_sm100_swiglu_few_rows", "the same for few rows in a group (simulator only)",
      "mxfp8 128 columns x 16 rows x 128, 8 stages, 2 accumulators", {{60, 192, 272}, {9, 64, 16}}));
  using Blockwise = GroupedBlockwise<kBlockwiseFp8Sm100[3]>;
  list.push_back({"grouped_sm100_blockwise_fp8",
                  "e4m3 rows in groups with a scale for each block of 128 along k (simulator only)",
                  "e4m3 128x128x128, 6 stages, 2 accumulators",
                  Arch::sm100,
                  &kernel::sm100::BlockwiseFp8<kBlockwiseFp8Sm100[3]>::plan,
                  {{400, 136, 272}, {9, 8, 16}},
                  Blockwise::refuse,
                  Blockwise::workload,
                  Blockwise::simulate,
                  nullptr});
}

}  // namespace warpwright::runtime
