// The names of the Blackwell kernels.
#include <optional>
#include <string>
#include <string_view>

#include "catalog/family.h"

namespace warpwright::catalog {
namespace {

Family<DenseGemmSm100Config> dense_sm100() {
  using C = DenseGemmSm100Config;
  Family<C> f{
      "dense", "sm100/dense/dense_gemm.h", "sm100::DenseGemm", "DenseGemmSm100Config", "dense-128x256-c2x1-s6-pair", {},
      {}};
  const C usual;
  add_pair(f.plan, &C::tile_m, &C::tile_n);
  f.plan.rule([](const C& c) { return fmt::format("c{}x{}", c.cluster_m, c.cluster_n); },
              [](C& c, std::string_view word) {
                const auto pair = word.starts_with("c") ? read_pair(word.substr(1)) : std::nullopt;
                if (pair) c.cluster_m = pair->first, c.cluster_n = pair->second;
                return pair.has_value();
              });
  f.plan.number("s", &C::stages).value("pair", &C::cta_group, 2).number("k", &C::k_group, usual.k_group);
  f.plan.number("a", &C::accumulators, usual.accumulators);
  add_table(f.plan, kRasters, &C::raster, usual.raster);
  f.plan.number("r", &C::raster_group, usual.raster_group).value("clc", &C::source, TileSource::clc);
  f.plan.number("q", &C::clc_stages, usual.clc_stages).flag("unthrottled", &C::clc_throttle, false);
  add_split(f.plan);
  f.plan.flag("swap", &C::swap_ab).flag("early", &C::dependent);
  f.plan.number("e", &C::epilogue_warps, usual.epilogue_warps).number("o", &C::store_stages, usual.store_stages);
  f.plan.number("l", &C::epilogue_load_stages, usual.epilogue_load_stages);
  add_types(f.features);
  add_epilogue(f.features);
  add_words(f.features, kBlockScalings, &C::scaling, BlockScaling::none);
  f.features.flag("batched", &C::batched);
  return f;
}

Family<BlockwiseFp8Sm100Config> blockwise_sm100() {
  using C = BlockwiseFp8Sm100Config;
  Family<C> f{"blockwise",
              "sm100/blockwise/blockwise_fp8.h",
              "sm100::BlockwiseFp8",
              "BlockwiseFp8Sm100Config",
              "blockwise-n128-s6-pair",
              {},
              {}};
  const C usual;
  f.plan.number("n", &C::tile_n).required().number("s", &C::stages).value("pair", &C::cta_group, 2);
  f.plan.number("a", &C::accumulators, usual.accumulators).number("r", &C::raster_group, usual.raster_group);
  f.plan.number("e", &C::epilogue_warps, usual.epilogue_warps).number("o", &C::store_stages, usual.store_stages);
  f.plan.number("l", &C::epilogue_load_stages, usual.epilogue_load_stages).flag("early", &C::dependent);
  add_split(f.plan);
  f.features.rule([](const C&) { return std::string("e4m3"); },
                  [](C&, std::string_view word) { return word == "e4m3"; });
  f.features.rule(
      [](const C& c) { return c.out_type == DType::bf16 ? std::string() : std::string("to_") + name(c.out_type); },
      [](C& c, std::string_view word) {
        const auto type = word.starts_with("to_") ? read_dtype(word.substr(3)) : std::nullopt;
        if (type) c.out_type = *type;
        return type.has_value();
      });
  // Unlike the others this kernel usually has no factor.
  f.features.rule([](const C& c) { return std::string(c.epilogue.alpha ? "alpha" : ""); },
                  [](C& c, std::string_view word) { return word == "alpha" && (c.epilogue.alpha = true); });
  add_epilogue_nodes(f.features);
  f.features.flag("grouped", &C::grouped).flag("gathered", &C::gathered).flag("along_k", &C::by_depth);
  return f;
}

Family<GroupedGemmSm100Config> grouped_sm100() {
  using C = GroupedGemmSm100Config;
  Family<C> f{"grouped",
              "sm100/grouped/grouped_gemm.h",
              "sm100::GroupedGemm",
              "GroupedGemmSm100Config",
              "grouped-n128-s6-pair",
              {},
              {}};
  const C usual;
  f.plan.number("n", &C::tile_n).required().number("s", &C::stages).value("pair", &C::cta_group, 2);
  f.plan.number("a", &C::accumulators, usual.accumulators).flag("swap", &C::swap_ab);
  f.plan.number("e", &C::epilogue_warps, usual.epilogue_warps).flag("early", &C::dependent);
  add_types(f.features);
  add_layout(f.features, false);
  add_words(f.features, kBlockScalings, &C::scaling, BlockScaling::none);
  add_epilogue(f.features);
  add_words(f.features, kBlockScalings, &C::out_scaling, BlockScaling::none, "swiglu_to_");
  f.features.flag("clamped", &C::clamped_swiglu).flag("pointers", &C::pointers).flag("gathered", &C::gathered);
  f.features.flag("along_k", &C::by_depth);
  f.begin = [](C& c) { c.scaling = BlockScaling::none; };
  return f;
}

}  // namespace

template <>
const Family<DenseGemmSm100Config>& family() {
  static const Family<DenseGemmSm100Config> f = dense_sm100();
  return f;
}
template <>
const Family<BlockwiseFp8Sm100Config>& family() {
  static const Family<BlockwiseFp8Sm100Config> f = blockwise_sm100();
  return f;
}
template <>
const Family<GroupedGemmSm100Config>& family() {
  static const Family<GroupedGemmSm100Config> f = grouped_sm100();
  return f;
}

}  // namespace warpwright::catalog
