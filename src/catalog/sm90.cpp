// The names of the Hopper kernels.
#include <optional>
#include <string>
#include <string_view>

#include "catalog/family.h"

namespace warpwright::catalog {
namespace {

constexpr WordTable<CacheHint, 2> kHints{{{CacheHint::evict_first, "first"}, {CacheHint::evict_last, "last"}}};
constexpr WordTable<Groups, 3> kGroups{
    {{Groups::contiguous, "contiguous"}, {Groups::masked, "masked"}, {Groups::by_depth, "along_k"}}};

// Fields whose word was not there keep this mark.
constexpr int kUnset = 0;

// The type of the operands comes first; D has the type that they usually give unless another is written.
template <class C, class SetOut>
bool read_type(C& c, std::string_view word, SetOut set_out) {
  const auto type = read_dtype(word);
  if (!type) return false;
  c.type = *type;
  set_out(c, usual_result(*type));
  return true;
}

// How many elements the tensor core sums before threads add the sums up, where that is not one stage.
template <class C>
void add_promotion_depth(Words<C>& words) {
  words.rule(
      [](const C& c) {
        return c.promote_k == 0 || c.promote_k == c.tile_k() ? std::string() : fmt::format("p{}", c.promote_k);
      },
      [](C& c, std::string_view word) {
        const auto n = read_number_after("p", word);
        if (n) c.promote_k = *n;
        return n.has_value();
      });
}
template <class C>
void add_promotion(Words<C>& words) {
  words.rule([](const C& c) { return std::string(c.promote_k != 0 ? "promoted" : ""); },
             [](C& c, std::string_view word) { return word == "promoted" && (c.promote_k = c.tile_k(), true); });
}

Family<DenseGemmConfig> dense() {
  using C = DenseGemmConfig;
  Family<C> f{"dense", "sm90/dense/dense_gemm.h", "sm90::DenseGemm", "DenseGemmConfig", "dense-128x256-c2-s4", {}, {}};
  const C usual;
  add_pair(f.plan, &C::tile_m, &C::tile_n);
  add_cluster(f.plan);
  f.plan.number("s", &C::stages).number("o", &C::output_stages, usual.output_stages);
  f.plan.number("g", &C::group_rows, usual.group_rows).value("pingpong", &C::sharing, TileSharing::ping_pong);
  f.plan.value("halves", &C::sharing, TileSharing::halves).flag("swapped", &C::swapped);
  add_table(f.plan, kRasters, &C::raster, usual.raster);
  f.plan.flag("bycolumns", &C::raster_by_columns).number("r", &C::raster_group, usual.raster_group);
  f.plan.flag("serial", &C::overlapped, false).flag("waits", &C::dependent, false);
  add_table(f.plan, kHints, &C::a_hint, CacheHint::normal, "a_");
  add_table(f.plan, kHints, &C::b_hint, CacheHint::normal, "b_");
  add_promotion_depth(f.plan);
  add_split(f.plan);

  const auto set_out = [](C& c, DType type) { c.epilogue.out = type; };
  Words<C>& features = f.features;
  features.rule(
      [](const C& c) {
        return c.mixed ? std::string(name(c.type)) + "x" + name(c.b_type()) : std::string(name(c.type));
      },
      [=](C& c, std::string_view word) {
        const auto parts = split(word, 'x');
        if (parts.empty() || parts.size() > 2 || !read_type(c, parts[0], set_out)) return false;
        c.mixed = parts.size() == 2;
        return !c.mixed || parts[1] == name(c.b_type());
      });
  add_layout(features, true);
  add_out<C>(
      features, [](const C& c) { return c.epilogue.out; }, set_out);
  add_epilogue(features);
  add_words(features, kScalings, &C::scaling, Scaling::none);
  features.rule(
      [](const C& c) {
        return std::string(c.load == Mover::threads    ? "by_threads"
                           : c.store == Mover::threads ? "stored_by_threads"
                                                       : "");
      },
      [](C& c, std::string_view word) {
        if (word == "by_threads") c.load = c.store = Mover::threads;
        if (word == "stored_by_threads") c.store = Mover::threads;
        return word == "by_threads" || word == "stored_by_threads";
      });
  features.flag("batched", &C::batched);
  add_promotion(features);

  f.begin = [](C& c) { c.cluster = 1, c.stages = kUnset; };
  f.finish = [](C& c) {
    if (c.stages == kUnset) c = deepest(c);
  };
  return f;
}

Family<SkinnyGemmConfig> skinny() {
  using C = SkinnyGemmConfig;
  Family<C> f{
      "skinny", "sm90/skinny/skinny_gemm.h", "sm90::SkinnyGemm", "SkinnyGemmConfig", "skinny-64x16-split4-s20", {}, {}};
  add_pair(f.plan, &C::rows, &C::tokens);
  f.plan.number("split", &C::split).number("s", &C::stages).number("o", &C::output_stages, C{}.output_stages);
  const auto set_out = [](C& c, DType type) { c.epilogue.out = type; };
  f.features.rule([](const C& c) { return std::string(name(c.type)); },
                  [=](C& c, std::string_view word) { return read_type(c, word, set_out); });
  f.features.rule([](const C&) { return std::string("nt"); }, [](C&, std::string_view word) { return word == "nt"; });
  add_out<C>(
      f.features, [](const C& c) { return c.epilogue.out; }, set_out);
  add_epilogue(f.features);
  add_words(f.features, kScalings, &C::scaling, Scaling::none);
  add_promotion_depth(f.plan);
  add_promotion(f.features);
  f.begin = [](C& c) { c.split = 1, c.stages = kUnset; };
  f.finish = [](C& c) {
    if (c.stages == kUnset) c = deepest(c);
  };
  return f;
}

// How the results of a grouped kernel usually leave: whole blocks of rows where sums of blocks are added up by threads.
GroupedGemmConfig with_usual_outputs(GroupedGemmConfig c) {
  c.output_boxes = GroupedGemmConfig{}.output_boxes;
  c.output_stages = GroupedGemmConfig{}.output_stages;
  return c.scaled() && c.out != DType::fp32 ? by_blocks(c) : c;
}
int usual_group_rows(const GroupedGemmConfig& c) { return c.tile_m > 128 ? 128 : 64; }

Family<GroupedGemmConfig> grouped() {
  using C = GroupedGemmConfig;
  Family<C> f{
      "grouped", "sm90/grouped/grouped_gemm.h", "sm90::GroupedGemm", "GroupedGemmConfig", "grouped-128x192-c2-s4", {},
      {}};
  add_pair(f.plan, &C::tile_m, &C::tile_n);
  add_cluster(f.plan);
  f.plan.number("s", &C::stages);
  f.plan.rule(
      [](const C& c) {
        const C usual = with_usual_outputs(c);
        if (c.output_stages == usual.output_stages && c.output_boxes == usual.output_boxes) return std::string();
        return fmt::format("o{}x{}", c.output_stages, c.output_boxes);
      },
      [](C& c, std::string_view word) {
        const auto pair = word.starts_with("o") ? read_pair(word.substr(1)) : std::nullopt;
        if (pair) c.output_stages = pair->first, c.output_boxes = pair->second;
        return pair.has_value();
      });
  f.plan.rule(
      [](const C& c) { return c.group_rows == usual_group_rows(c) ? std::string() : fmt::format("g{}", c.group_rows); },
      [](C& c, std::string_view word) {
        const auto n = read_number_after("g", word);
        if (n) c.group_rows = *n;
        return n.has_value();
      });
  f.plan.number("r", &C::raster_group, C{}.raster_group);
  f.features.rule([](const C& c) { return std::string(name(c.type)); },
                  [](C& c, std::string_view word) { return read_type(c, word, [](C& x, DType t) { x.out = t; }); });
  add_layout(f.features, false);
  add_out<C>(
      f.features, [](const C& c) { return c.out; }, [](C& c, DType type) { c.out = type; });
  add_table(f.features, kGroups, &C::groups, Groups::none);
  f.features.flag("any_rows", &C::any_rows).value("row_scales", &C::b_scale_rows, 1);
  f.features.flag("bias", &C::bias).flag("swiglu", &C::swiglu).flag("gathered", &C::gathered);
  f.features.flag("added", &C::adds).flag("row_bias", &C::row_bias);
  add_own<C>(
      f.features, [](auto& c) -> auto& { return c.own; });
  f.begin = [](C& c) { c.cluster = 1, c.stages = c.output_stages = c.group_rows = kUnset; };
  f.finish = [](C& c) {
    if (c.group_rows == kUnset) c.group_rows = usual_group_rows(c);
    if (c.output_stages == kUnset) c = with_usual_outputs(c);
    if (c.stages == kUnset) c = deepest(c);
  };
  return f;
}

Family<SkinnyBlockwiseConfig> blockwise() {
  using C = SkinnyBlockwiseConfig;
  Family<C> f{"blockwise",
              "sm90/skinny/skinny_blockwise.h",
              "sm90::SkinnyBlockwise",
              "SkinnyBlockwiseConfig",
              "blockwise-64x8-split4-s20",
              {},
              {}};
  // From 64 tokens on they are the rows of the MMA, unless a word says otherwise.
  constexpr int first_from = 64;
  f.plan.rule([](const C& c) { return fmt::format("{}x{}", c.rows, c.tokens); },
              [](C& c, std::string_view word) {
                const auto pair = read_pair(word);
                if (!pair) return false;
                c.rows = pair->first;
                c.tokens = pair->second;
                c.tokens_first = c.tokens >= first_from;
                return true;
              });
  f.plan.required();
  f.plan.number("split", &C::split).number("s", &C::stages).number("o", &C::output_stages, C{}.output_stages);
  f.plan.rule(
      [](const C& c) {
        if (c.tokens_first == (c.tokens >= first_from)) return std::string();
        return std::string(c.tokens_first ? "tokens" : "weights");
      },
      [](C& c, std::string_view word) {
        if (word != "tokens" && word != "weights") return false;
        c.tokens_first = word == "tokens";
        return true;
      });
  f.features.rule([](const C&) { return std::string("e4m3"); },
                  [](C&, std::string_view word) { return word == "e4m3"; });
  f.features.rule([](const C& c) { return c.out == DType::bf16 ? std::string() : std::string("to_") + name(c.out); },
                  [](C& c, std::string_view word) {
                    const auto type = word.starts_with("to_") ? read_dtype(word.substr(3)) : std::nullopt;
                    if (type) c.out = *type;
                    return type.has_value();
                  });
  f.begin = [](C& c) { c.split = 1, c.stages = kUnset; };
  f.finish = [](C& c) {
    if (c.stages == kUnset) c = deepest(c);
  };
  return f;
}

}  // namespace

template <>
const Family<DenseGemmConfig>& family() {
  static const Family<DenseGemmConfig> f = dense();
  return f;
}
template <>
const Family<SkinnyGemmConfig>& family() {
  static const Family<SkinnyGemmConfig> f = skinny();
  return f;
}
template <>
const Family<GroupedGemmConfig>& family() {
  static const Family<GroupedGemmConfig> f = grouped();
  return f;
}
template <>
const Family<SkinnyBlockwiseConfig>& family() {
  static const Family<SkinnyBlockwiseConfig> f = blockwise();
  return f;
}

}  // namespace warpwright::catalog
