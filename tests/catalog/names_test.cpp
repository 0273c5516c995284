// A name is a configuration: every configuration has one name, which is read back as that configuration.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "catalog/instance.h"

namespace warpwright::catalog {
namespace {

TEST(Names, OfTheCatalogueAreUniqueAndReadBack) {
  std::set<std::string> seen;
  ASSERT_GT(ahead_names().size(), 180u);
  for (const std::string& name : ahead_names()) {
    EXPECT_TRUE(seen.insert(name).second) << name << " stands twice";
    const auto instance = parse_instance(name);
    ASSERT_TRUE(instance) << instance.status().message();
    EXPECT_EQ(name_of(*instance), name);
    EXPECT_TRUE(refuse(*instance)) << refuse(*instance).message();
    EXPECT_TRUE(is_ahead(*instance)) << name;
    EXPECT_NE(source_of(*instance).find(name), std::string::npos);
  }
  // Two instances are two configurations.
  for (size_t i = 0; i < ahead().size(); ++i)
    for (size_t j = i + 1; j < ahead().size(); ++j) EXPECT_NE(ahead()[i], ahead()[j]) << ahead_names()[i];
}

template <class T>
T one_of(std::mt19937& draw, std::initializer_list<T> values) {
  return values.begin()[draw() % values.size()];
}

EpilogueConfig draw_epilogue(std::mt19937& draw) {
  EpilogueConfig e = factor_and_conversion(one_of(draw, {DType::bf16, DType::fp16, DType::fp32, DType::e4m3}));
  const auto type = [&] { return one_of(draw, {DType::bf16, DType::fp16, DType::fp32}); };
  if (draw() % 4 == 0) e.source = true, e.source_type = type();
  if (draw() % 3 == 0) e.bias = one_of(draw, {Bias::per_row, Bias::per_column}), e.bias_type = type();
  if (draw() % 2 == 0) {
    e.activation = one_of(draw, {Activation::relu, Activation::gelu_tanh, Activation::gelu_erf, Activation::silu});
  }
  if (draw() % 4 == 0) e.residual = true, e.residual_type = type();
  e.quantize = draw() % 5 == 0;
  e.alpha = draw() % 8 != 0;
  return e;
}

void expect_read_back(const Instance& instance) {
  const std::string name = name_of(instance);
  const auto read = parse_instance(name);
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(*read, instance) << name << " was read as " << name_of(*read);
}

TEST(Names, OfAnyConfigurationAreReadBack) {
  std::mt19937 draw(7);
  for (int i = 0; i < 2000; ++i) {
    DenseGemmConfig d;
    d.type = one_of(draw, {DType::bf16, DType::fp16, DType::e4m3, DType::e5m2});
    d.mixed = bits(d.type) == 8 && draw() % 3 == 0;
    d.tile_m = one_of(draw, {64, 128, 192, 256});
    d.tile_n = 16 * int(1 + draw() % 16);
    d.stages = int(2 + draw() % 12);
    d.output_stages = int(2 + draw() % 4);
    d.cluster = int(1 + draw() % 8);
    d.axis = d.cluster > 1 ? one_of(draw, {ClusterAxis::m, ClusterAxis::n}) : ClusterAxis::m;
    if (d.axis == ClusterAxis::m && d.cluster % 2 == 0 && d.cluster > 2) d.across = one_of(draw, {1, 2});
    d.raster_group = one_of(draw, {1, 2, 8, 16});
    d.overlapped = draw() % 4 != 0;
    d.epilogue = draw_epilogue(draw);
    d.group_rows = one_of(draw, {64, 128, 192});
    d.sharing = one_of(draw, {TileSharing::cooperative, TileSharing::ping_pong, TileSharing::halves});
    d.swapped = draw() % 2 == 0;
    d.a_major = one_of(draw, {Major::K, Major::MN});
    d.b_major = one_of(draw, {Major::K, Major::MN});
    d.promote_k = one_of(draw, {0, d.tile_k(), 2 * d.tile_k()});
    d.scaling = one_of(draw, {Scaling::none, Scaling::tensor, Scaling::row_column});
    d.batched = draw() % 2 == 0;
    d.load = one_of(draw, {Mover::tma, Mover::threads});
    d.store = d.load == Mover::threads ? Mover::threads : one_of(draw, {Mover::tma, Mover::threads});
    d.dependent = draw() % 4 != 0;
    d.raster = one_of(draw, {TileOrder::serpentine, TileOrder::hilbert, TileOrder::row_major, TileOrder::grouped});
    d.raster_by_columns = draw() % 3 == 0;
    d.a_hint = one_of(draw, {CacheHint::normal, CacheHint::evict_first, CacheHint::evict_last});
    d.b_hint = one_of(draw, {CacheHint::normal, CacheHint::evict_first, CacheHint::evict_last});
    d.split = one_of(draw, {DepthSplit::none, DepthSplit::split_k, DepthSplit::stream_k});
    expect_read_back({d, d.split == DepthSplit::split_k ? int(draw() % 5) : 0});

    GroupedGemmConfig g;
    g.type = one_of(draw, {DType::e4m3, DType::bf16});
    g.out = one_of(draw, {DType::bf16, DType::fp32, DType::e4m3});
    g.tile_m = one_of(draw, {64, 128, 256});
    g.tile_n = 16 * int(1 + draw() % 16);
    g.group_rows = one_of(draw, {64, 128});
    g.cluster = one_of(draw, {1, 2, 4});
    g.axis = g.cluster > 1 ? one_of(draw, {ClusterAxis::m, ClusterAxis::n}) : ClusterAxis::m;
    g.groups = one_of(draw, {Groups::none, Groups::contiguous, Groups::masked, Groups::by_depth});
    g.any_rows = draw() % 2 == 0;
    g.b_scale_rows = one_of(draw, {1, 128});
    g.swiglu = draw() % 2 == 0;
    g.bias = draw() % 2 == 0;
    g.output_boxes = one_of(draw, {1, 2, 3});
    g.output_stages = one_of(draw, {1, 2, 4});
    expect_read_back({g});

    SkinnyBlockwiseConfig b;
    b.rows = one_of(draw, {64, 128});
    b.tokens = one_of(draw, {8, 16, 64, 128});
    b.split = int(1 + draw() % 8);
    b.stages = int(2 + draw() % 18);
    b.tokens_first = draw() % 2 == 0;
    b.out = one_of(draw, {DType::bf16, DType::fp32});
    expect_read_back({b});
  }
}

TEST(Names, ThatCannotBeReadSayWhichWordIsWrong) {
  const auto sentence = [](const char* name) {
    const auto read = parse_instance(name);
    return read ? std::string("it was read") : read.status().message();
  };
  EXPECT_EQ(sentence("sm90/dense-128x256-frob/bf16-nt"),
            "plan = sm90/dense-128x256-frob/bf16-nt: 'frob' is not a word of a dense plan; one is written like "
            "dense-128x256-c2-s4.");
  EXPECT_NE(sentence("sm90/dense-128x256-c2-s4/bf16-nt-foo").find("'foo'"), std::string::npos);
  EXPECT_NE(sentence("sm90/dense-128x256-c2-c2/bf16-nt").find("'c2'"), std::string::npos);  // twice
  EXPECT_NE(sentence("sm90/dense-0128x256-c2-s4/bf16-nt").find("'0128x256'"), std::string::npos);
  EXPECT_NE(sentence("sm90/frob-128x256/bf16-nt").find("'frob'"), std::string::npos);
  EXPECT_NE(sentence("sm91/dense-128x256-c2-s4/bf16-nt").find("is written like"), std::string::npos);
  EXPECT_NE(sentence("dense").find("is written like"), std::string::npos);
  EXPECT_NE(sentence("").find("is written like"), std::string::npos);
}

TEST(Names, ANearMissIsAnsweredWithTheNearest) {
  EXPECT_EQ(nearest_names("dense-128x256-c2-s5").front(), "dense-128x256-c2-s4");
  EXPECT_EQ(nearest_names("sm90/dense-128x256-c2-s4/bf16-mt").front(), "sm90/dense-128x256-c2-s4/bf16-nt");
  EXPECT_EQ(nearest_names("sm90/skinny-64x8-k4-s20/bf16-nt", 5).size(), 5u);
}

TEST(Names, ThePartsOfATileAreNoPartOfTheImage) {
  const auto instance = parse_instance("sm90/dense-128x128-c1-s6-splitk4/bf16-nt");
  ASSERT_TRUE(instance);
  EXPECT_EQ(instance->splits, 4);
  EXPECT_EQ(plan_name(*instance), "dense-128x128-c1-s6-splitk4");
  EXPECT_EQ(image_name(*instance), "sm90/dense-128x128-c1-s6-splitk/bf16-nt");
  EXPECT_TRUE(is_ahead(*instance));
}

}  // namespace
}  // namespace warpwright::catalog
