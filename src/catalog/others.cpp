// The names of the kernels for mma.sync and for CDNA, of those that teach, and of the one that packs rows.
#include <optional>
#include <string>
#include <string_view>

#include "catalog/family.h"

namespace warpwright::catalog {
namespace {

constexpr WordTable<RowCopy, 2> kRowCopies{{{RowCopy::bytes4, "words"}, {RowCopy::registers, "registers"}}};

Family<MmaSyncGemmConfig> mma_sync() {
  using C = MmaSyncGemmConfig;
  Family<C> f{"mma", "sm80/dense_gemm.h", "sm80::DenseGemm", "MmaSyncGemmConfig", "mma-128x256-w2x4", {}, {}};
  const C usual;
  add_pair(f.plan, &C::tile_m, &C::tile_n);
  f.plan.rule([](const C& c) { return fmt::format("w{}x{}", c.warps_m, c.warps_n); },
              [](C& c, std::string_view word) {
                const auto pair = word.starts_with("w") ? read_pair(word.substr(1)) : std::nullopt;
                if (pair) c.warps_m = pair->first, c.warps_n = pair->second;
                return pair.has_value();
              });
  f.plan.number("d", &C::depth, usual.depth).number("u", &C::unroll, usual.unroll);
  f.plan.number("p", &C::pieces, usual.pieces).number("ca", &C::copies_a, usual.copies_a);
  f.plan.number("cb", &C::copies_b, usual.copies_b).flag("early", &C::spread, false);
  f.plan.number("l", &C::copy_latency, usual.copy_latency).number("b", &C::blocks_per_sm, usual.blocks_per_sm);
  f.plan.number("r", &C::band, usual.band).value("splitk", &C::split, DepthSplit::split_k);
  const auto set_out = [](C& c, DType type) { c.epilogue.out = type; };
  f.features.rule([](const C& c) { return std::string(name(c.type)); },
                  [=](C& c, std::string_view word) {
                    const auto type = read_dtype(word);
                    if (type) c.type = *type, set_out(c, usual_result(*type));
                    return type.has_value();
                  });
  add_layout(f.features, false);
  add_out<C>(
      f.features, [](const C& c) { return c.epilogue.out; }, set_out);
  add_epilogue(f.features);
  add_table(f.features, kRowCopies, &C::copy, RowCopy::bytes16, "by_");
  return f;
}

Family<CdnaMatmulConfig> cdna() {
  using C = CdnaMatmulConfig;
  Family<C> f{"matmul", "cdna/matmul.h", "cdna::Matmul", "CdnaMatmulConfig", "matmul-pingpong", {}, {}};
  f.plan.rule([](const C& c) { return std::string(name(c.variant)); },
              [](C& c, std::string_view word) {
                for (const CdnaVariant variant : kCdnaVariants)
                  if (word == name(variant)) return c.variant = variant, true;
                return false;
              });
  f.plan.required();
  f.plan.value("splitk", &C::split, DepthSplit::split_k);
  add_types(f.features);
  f.features.flag("general", &C::general).flag("by_elements", &C::by_elements);
  return f;
}

Family<RingCopyConfig> ring_copy() {
  using C = RingCopyConfig;
  Family<C> f{"ring_copy", "demo/ring_copy.h", "sm90::RingCopy", "RingCopyConfig", "ring_copy-32x64-s4", {}, {}};
  add_pair(f.plan, &C::tile_rows, &C::tile_columns);
  f.plan.number("s", &C::stages).number("o", &C::output_stages, C{}.output_stages);
  f.plan.number("w", &C::compute_warps, C{}.compute_warps);
  f.features.rule([](const C& c) { return std::string(name(c.type)); },
                  [](C& c, std::string_view word) {
                    const auto type = read_dtype(word);
                    if (type) c.type = *type;
                    return type.has_value();
                  });
  return f;
}
Family<ClusterRingConfig> cluster_ring() {
  using C = ClusterRingConfig;
  Family<C> f{"cluster_ring",
              "demo/cluster_ring.h",
              "sm90::ClusterRing",
              "ClusterRingConfig",
              "cluster_ring-32x64-c2-s4",
              {},
              {}};
  add_pair(f.plan, &C::tile_rows, &C::tile_columns);
  f.plan.number("c", &C::cluster).number("s", &C::stages).number("w", &C::compute_warps, C{}.compute_warps);
  f.features.rule([](const C&) { return std::string("fp32"); },
                  [](C&, std::string_view word) { return word == "fp32"; });
  return f;
}
Family<TmemLifecycleConfig> tmem_lifecycle() {
  using C = TmemLifecycleConfig;
  Family<C> f{"tmem_lifecycle",
              "demo/tmem_lifecycle.h",
              "sm100::TmemLifecycle",
              "TmemLifecycleConfig",
              "tmem_lifecycle-n128-s4",
              {},
              {}};
  f.plan.number("n", &C::tile_n).required().number("s", &C::stages).number("a", &C::accumulators, C{}.accumulators);
  f.plan.number("r", &C::raster_group, C{}.raster_group);
  add_types(f.features);
  return f;
}
Family<PackRowsConfig> pack_rows() {
  using C = PackRowsConfig;
  Family<C> f{"pack_rows", "sm90/pack_rows.h", "sm90::PackRows", "PackRowsConfig", "pack_rows-w8-b4", {}, {}};
  f.plan.number("w", &C::warps).number("b", &C::blocks_per_sm);
  f.features.number("bytes", &C::element_bytes);
  return f;
}
Family<RouteConfig> route() {
  using C = RouteConfig;
  Family<C> f{"route", "sm90/moe/route.h", "sm90::Route", "RouteConfig", "route-w8-b4", {}, {}};
  f.plan.number("w", &C::warps).number("b", &C::blocks_per_sm);
  f.features.number("ids", &C::id_bytes).flag("shared", &C::shared);
  return f;
}
Family<CombineConfig> combine() {
  using C = CombineConfig;
  Family<C> f{"combine", "sm90/moe/combine.h", "sm90::Combine", "CombineConfig", "combine-w8-b4", {}, {}};
  f.plan.number("w", &C::warps).number("b", &C::blocks_per_sm);
  f.features
      .rule([](const C& c) { return std::string(name(c.type)); },
            [](C& c, std::string_view word) {
              const auto type = read_dtype(word);
              if (type) c.type = *type;
              return type.has_value();
            })
      .flag("shared", &C::shared);
  return f;
}

}  // namespace

template <>
const Family<MmaSyncGemmConfig>& family() {
  static const Family<MmaSyncGemmConfig> f = mma_sync();
  return f;
}
template <>
const Family<CdnaMatmulConfig>& family() {
  static const Family<CdnaMatmulConfig> f = cdna();
  return f;
}
template <>
const Family<RingCopyConfig>& family() {
  static const Family<RingCopyConfig> f = ring_copy();
  return f;
}
template <>
const Family<ClusterRingConfig>& family() {
  static const Family<ClusterRingConfig> f = cluster_ring();
  return f;
}
template <>
const Family<TmemLifecycleConfig>& family() {
  static const Family<TmemLifecycleConfig> f = tmem_lifecycle();
  return f;
}
template <>
const Family<PackRowsConfig>& family() {
  static const Family<PackRowsConfig> f = pack_rows();
  return f;
}
template <>
const Family<RouteConfig>& family() {
  static const Family<RouteConfig> f = route();
  return f;
}
template <>
const Family<CombineConfig>& family() {
  static const Family<CombineConfig> f = combine();
  return f;
}

}  // namespace warpwright::catalog
