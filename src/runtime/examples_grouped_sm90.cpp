#include <cstring>

#include "device/launch_grouped_sm90.h"
#include "runtime/examples_list.h"
#include "runtime/grouped_sm90_workload.h"
#include "runtime/simulate.h"
#include "warpwright/kernel/sm90/grouped_gemm.h"
#include "warpwright/kernel/sm90/skinny_blockwise.h"

namespace warpwright::runtime {
namespace {

constexpr GroupedGemmConfig kBlockwise = deepest(by_blocks({.tile_m = 128, .tile_n = 128, .cluster = 2}));
constexpr SkinnyBlockwiseConfig kSkinny = deepest(SkinnyBlockwiseConfig{.rows = 64, .tokens = 8, .split = 4});
constexpr GroupedGemmConfig kContiguous =
    deepest(by_blocks({.tile_m = 128, .tile_n = 192, .cluster = 2, .groups = Groups::contiguous}));
constexpr GroupedGemmConfig kMasked = deepest(by_blocks({.tile_m = 64, .tile_n = 128, .groups = Groups::masked}));
constexpr GroupedGemmConfig kMaskedBf16 =
    deepest(GroupedGemmConfig{.type = DType::bf16, .tile_m = 64, .tile_n = 128, .groups = Groups::masked});

constexpr GroupedGemmConfig kContiguousBf16 = deepest(
    GroupedGemmConfig{.type = DType::bf16, .tile_m = 128, .tile_n = 256, .cluster = 2, .groups = Groups::contiguous});

constexpr GroupedGemmConfig kRowScales = deepest(by_blocks({.tile_m = 128,
                                                            .tile_n = 128,
                                                            .cluster = 2,
                                                            .axis = ClusterAxis::n,
                                                            .groups = Groups::contiguous,
                                                            .any_rows = true,
                                                            .b_scale_rows = 1}));
constexpr GroupedGemmConfig kDepth = deepest(GroupedGemmConfig{
    .out = DType::fp32, .tile_m = 128, .tile_n = 192, .cluster = 2, .groups = Groups::by_depth, .b_scale_rows = 1});
constexpr GroupedGemmConfig kDepthBf16 = deepest(GroupedGemmConfig{
    .type = DType::bf16, .out = DType::fp32, .tile_m = 128, .tile_n = 256, .cluster = 2, .groups = Groups::by_depth});
constexpr GroupedGemmConfig kSwiglu = deepest(by_blocks({.out = DType::e4m3,
                                                         .tile_m = 128,
                                                         .tile_n = 256,
                                                         .cluster = 2,
                                                         .axis = ClusterAxis::n,
                                                         .groups = Groups::contiguous,
                                                         .any_rows = true,
                                                         .swiglu = true,
                                                         .bias = true}));

constexpr int kGroups = 4;  // of an example

// The rows of the example's groups: uneven, one group without any, and rows behind that no group has.
template <GroupedGemmConfig C>
GroupedProduct product_of(Case s) {
  GroupedProduct p{.shape = s,
                   .type = C.type,
                   .out = C.out,
                   .groups = C.groups,
                   .b_scale_rows = C.b_scale_rows,
                   .swiglu = C.swiglu,
                   .bias = C.bias,
                   .accumulate = C.by_depth() && C.out == DType::fp32};
  const auto m = uint32_t(s.m);
  if (C.by_depth()) {
    constexpr auto unit = uint32_t(C.depth_unit());
    const uint32_t units = uint32_t(s.k) / unit;
    for (uint32_t end : {units / 7, units / 7, units / 2, units / 2 + units / 5, units}) p.rows.push_back(end * unit);
  }
  if (C.groups == Groups::contiguous) p.rows = {0, m / 7, m / 7, m / 2, m - m / 9};
  if (C.groups == Groups::masked) p.rows = {m / kGroups, 0, m / kGroups / 3, m / kGroups - (m >= 8 ? 1 : 0)};
  return p;
}
template <SkinnyBlockwiseConfig C>
GroupedProduct product_of(Case s) {
  return {.shape = s, .out = C.out};
}

// That of a workload, whoever made it.
template <auto C>
GroupedProduct product_in(const Workload& w) {
  GroupedProduct p = product_of<C>(w.shape);
  for (const Array& a : w.arrays) {
    if (a.name != "rows") continue;
    p.rows.resize(size_t(a.columns));
    std::memcpy(p.rows.data(), a.bytes.data(), a.bytes.size());
  }
  return p;
}

template <auto C>
struct Subject;
template <GroupedGemmConfig C>
struct Subject<C> {
  using Kernel = kernel::sm90::GroupedGemm<C>;
  static constexpr DType type = C.type;
  static std::optional<std::string> refuse(Case s) {
    if (C.groups == Groups::masked && s.m % kGroups != 0) {
      return "m = " + std::to_string(s.m) + ": the example has 4 groups with equal room, m must be a multiple of 4.";
    }
    if (C.by_depth() && s.k % C.depth_unit() != 0) {
      return "k = " + std::to_string(s.k) + ": groups along k have whole blocks of 128 elements.";
    }
    if (C.swiglu && s.n % (2 * kScaleBlock) != 0) {
      return "n = " + std::to_string(s.n) + ": the gates and the ups of B are whole blocks of 128 rows.";
    }
    return {};
  }
#if WW_HAVE_CUDA
  static std::optional<std::string> launch(const GroupedGemmArgs& args, void* stream) {
    constexpr int instance = device::find_config(device::kGroupedGemmSm90, C);
    static_assert(instance >= 0, "the example is not compiled for the GPU");
    return device::launch_grouped_gemm_sm90(instance, args, stream);
  }
#endif
};
template <SkinnyBlockwiseConfig C>
struct Subject<C> {
  using Kernel = kernel::sm90::SkinnyBlockwise<C>;
  static constexpr DType type = DType::e4m3;
  static std::optional<std::string> refuse(Case s) {
    if (s.m > C.tokens) {
      return "m = " + std::to_string(s.m) + ": this kernel takes at most " + std::to_string(C.tokens) + " rows of A.";
    }
    return {};
  }
#if WW_HAVE_CUDA
  static std::optional<std::string> launch(const SkinnyBlockwiseArgs& args, void* stream) {
    constexpr int instance = device::find_config(device::kSkinnyBlockwiseSm90, C);
    static_assert(instance >= 0, "the example is not compiled for the GPU");
    return device::launch_skinny_blockwise_sm90(instance, args, stream);
  }
#endif
};

template <auto C>
struct GroupedExample {
  using S = Subject<C>;
  using Kernel = typename S::Kernel;
  static std::optional<std::string> refuse(Case s) {
    constexpr int k_unit = 128 / bits(S::type), n_unit = 128 / bits(C.out);
    if (s.m < 1 || s.n < 1 || s.k < 0) return "m and n: at least 1; k: at least 0.";
    if (s.k % k_unit != 0 || s.n % n_unit != 0) {
      return "n = " + std::to_string(s.n) + ", k = " + std::to_string(s.k) +
             ": the TMA moves rows of whole 16-byte units.";
    }
    return S::refuse(s);
  }
  static Workload workload(Case s, Data data, uint64_t seed) {
    return grouped_product_workload(product_of<C>(s), data, seed);
  }
  static Outcome simulate(const Workload& w, const simulator::Options& o, int ctas) {
    return runtime::simulate<Kernel>(w, o, ctas ? ctas : 2 * Kernel::plan.cluster,
                                     [&](auto& args, const auto& p, const auto& encode) {
                                       return fill(args, C, grouped_operands(product_in<C>(w), w, p), encode);
                                     });
  }
#if WW_HAVE_CUDA
  static std::optional<std::string> launch(const Workload& w, const std::vector<void*>& p, void* stream) {
    typename Kernel::Args args;
    if (auto why = fill(args, C, grouped_operands(product_in<C>(w), w, p), EncodeForGpu{})) return why;
    return S::launch(args, stream);
  }
#else
  static constexpr std::nullptr_t launch = nullptr;
#endif
  static Example make(const char* name, const char* summary, const char* instance, std::vector<Case> cases) {
    return {name,     summary, instance, Kernel::plan.arch, &Kernel::plan, std::move(cases), refuse, workload,
            simulate, launch,  {}};
  }
};

}  // namespace

void add_grouped_sm90_examples(std::vector<Example>& list) {
  list.push_back(GroupedExample<kBlockwise>::make(
      "blockwise_gemm", "e4m3 with a scale for each 1x128 of A and 128x128 of B; sums of a block are added in fp32",
      "e4m3 128x128, 5 stages, cluster 2", {{256, 256, 640}, {4, 8, 16}, {140, 264, 400}, {40, 24, 0}}));
  list.push_back(GroupedExample<kSkinny>::make(
      "blockwise_skinny", "the same for at most 8 rows of A: the operands change sides, four CTAs split k",
      "e4m3 64 weights x 8 tokens, 20 stages, split 4", {{8, 256, 1152}, {1, 8, 16}, {5, 200, 400}, {3, 64, 0}}));
  list.push_back(GroupedExample<kContiguous>::make(
      "grouped_contiguous", "groups of rows of any length, one behind the other, with a B each; blockwise scales",
      "e4m3 128x192, 4 stages, cluster 2", {{310, 200, 400}, {9, 8, 16}, {64, 72, 0}}));
  list.push_back(GroupedExample<kMasked>::make("grouped_masked",
                                               "groups with room for more rows than they have; blockwise scales",
                                               "e4m3 64x128, 8 stages", {{360, 136, 272}, {8, 8, 16}, {64, 72, 0}}));
  list.push_back(GroupedExample<kContiguousBf16>::make(
      "grouped_contiguous_bf16", "contiguous groups of bf16, without scales", "bf16 128x256, 4 stages, cluster 2",
      {{310, 264, 200}, {9, 8, 8}, {64, 72, 0}}));
  list.push_back(GroupedExample<kMaskedBf16>::make("grouped_masked_bf16", "masked groups of bf16, without scales",
                                                   "bf16 64x128, 8 stages", {{360, 136, 136}, {8, 8, 8}, {64, 72, 0}}));
  list.push_back(GroupedExample<kRowScales>::make(
      "grouped_rows", "contiguous groups of e4m3 with a scale for each 1x128 of A and of B",
      "e4m3 128x128, 5 stages, cluster 2", {{200, 136, 400}, {9, 8, 16}, {64, 72, 0}}));
  list.push_back(GroupedExample<kDepth>::make(
      "grouped_k", "groups along k with a D each, to which is added; a scale for each 1x128 of A and of B",
      "e4m3 128x192, 4 stages, cluster 2", {{140, 136, 768}, {4, 8, 128}, {40, 24, 0}}));
  list.push_back(
      GroupedExample<kDepthBf16>::make("grouped_k_bf16", "groups along k of bf16, which begin and end anywhere",
                                       "bf16 128x256, 4 stages, cluster 2", {{140, 264, 320}, {4, 8, 8}, {40, 24, 0}}));
  list.push_back(GroupedExample<kSwiglu>::make(
      "grouped_swiglu", "contiguous groups of e4m3; bias, silu(gate) * up, and e4m3 with a scale for each 1x128",
      "e4m3 128x256, 3 stages, cluster 2", {{200, 512, 400}, {9, 256, 16}, {64, 256, 0}}));
}

}  // namespace warpwright::runtime
