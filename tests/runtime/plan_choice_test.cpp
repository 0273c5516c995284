// The choice among compiled Hopper kernels: always one that can serve the problem, and the one with the least modelled
// time.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "catalog/instance.h"
#include "choice/dense.h"
#include "warpwright/core/block_plan.h"

namespace warpwright::choice {
namespace {

constexpr int kSms = 132;

// An instance of those compiled ahead.
Instance chosen(const GemmShape& shape) {
  const auto choice = choose(shape, {"", kSms}, "", OnDemand::refused);
  EXPECT_TRUE(choice) << choice.status().message();
  return choice ? choice->instance : Instance{};
}
const DenseGemmConfig* dense(const Instance& instance) { return instance.as<DenseGemmConfig>(); }
const SkinnyGemmConfig* skinny(const Instance& instance) { return instance.as<SkinnyGemmConfig>(); }

// The catalogue's instances for dense products.
std::vector<Instance> compiled_ahead() {
  std::vector<Instance> list;
  for (const Instance& instance : catalog::ahead())
    if (dense(instance) != nullptr || skinny(instance) != nullptr) list.push_back(instance);
  return list;
}

TEST(PlanChoice, IsTheLeastEstimateAmongThosePlansThatCanServe) {
  for (int64_t m : {1, 7, 64, 100, 129, 512, 4096})
    for (int64_t n : {8, 576, 4096, 24576})
      for (int64_t k : {64, 512, 7168}) {
        const GemmShape shape{m, n, k};
        const Instance best = chosen(shape);
        ASSERT_TRUE(catalog::is_ahead(best) && can_serve(best, shape)) << plan_text(best);
        for (const Instance& other : candidates(shape, OnDemand::refused))
          // Only the best by waves and bytes are compared in all detail.
          EXPECT_LE(estimate(best, shape, kSms).us, 1.03 * estimate(other, shape, kSms).us)
              << plan_text(other) << " beats " << plan_text(best);
      }
}

TEST(PlanChoice, TakesTheSkinnyKernelForOneRowAndALargeTileForSquares) {
  EXPECT_NE(skinny(chosen({1, 4096, 7168})), nullptr);
  const Instance big = chosen({8192, 8192, 8192});
  ASSERT_NE(dense(big), nullptr);
  EXPECT_GE(dense(big)->tile_n, 192);
}

TEST(PlanChoice, ServesNoTypeThatNoKernelHas) {
  const auto choice = choose({128, 128, 128, DType::s8}, h200());
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.status().code(), Code::unsupported);
  EXPECT_NE(choice.status().message().find("s8"), std::string::npos);
}

// The shape an instance was compiled for.
GemmShape shape_for(const Instance& kernel) {
  GemmShape s{8, 1000, 256};
  if (const DenseGemmConfig* c = dense(kernel)) {
    s.dtype = c->type;
    s.mixed = c->mixed;
    s.epilogue = c->epilogue;
    s.a_major = c->a_major;
    s.b_major = c->b_major;
    s.scaling = c->scaling;
    s.promoted = c->promote_k > 0;
    s.batch = c->batched ? 3 : 1;
    s.load = c->load;
    s.store = c->store;
  } else {
    s.dtype = skinny(kernel)->type;
    s.epilogue = skinny(kernel)->epilogue;
    s.scaling = skinny(kernel)->scaling;
    s.promoted = skinny(kernel)->promote_k > 0;
  }
  return s;
}

TEST(PlanChoice, CoversEveryTileOfD) {
  for (const Instance& kernel : compiled_ahead()) {
    const GemmShape shape = shape_for(kernel);
    const PlanEstimate e = estimate(kernel, shape, kSms);
    EXPECT_GE(e.tiles * int64_t(e.tile_m) * e.tile_n * catalog::block_plan(kernel).cluster, shape.m * shape.n)
        << plan_text(kernel);
    EXPECT_GT(e.waves, 0) << plan_text(kernel);
    EXPECT_GT(e.us, 0) << plan_text(kernel);
    EXPECT_TRUE(e.fill > 0 && e.fill <= 1) << plan_text(kernel) << " " << e.fill;
  }
}

TEST(PlanChoice, NoEstimateIsBelowTheFloor) {
  for (const GemmShape& shape :
       {GemmShape{1, 7168, 16384}, {4096, 4096, 4096}, {8192, 8192, 8192}, {128, 24576, 1536}}) {
    const Instance best = chosen(shape);
    EXPECT_GE(estimate(best, shape, kSms).us, floor_of(shape).us() * 0.99) << plan_text(best);
  }
}

TEST(PlanChoice, EveryInstanceCompiledAheadServesWhatItWasMadeForAndIsFoundByItsName) {
  for (const Instance& kernel : compiled_ahead()) {
    const GemmShape shape = shape_for(kernel);
    ASSERT_TRUE(can_serve(kernel, shape)) << plan_text(kernel) << " for " << shape.text();
    for (const std::string& name : {catalog::plan_name(kernel), catalog::name_of(kernel)}) {
      const auto named = parse_plan(name, shape);
      ASSERT_TRUE(named) << named.status().message();
      EXPECT_EQ(named->config, kernel.config) << name;
    }
  }
}

TEST(PlanChoice, APlanThatIsNamedIsTakenOrRefusedWithASentence) {
  const GemmShape shape{4096, 4096, 4096};
  const auto choice = choose(shape, h200(), "dense-128x208-c2-s5");
  ASSERT_TRUE(choice) << choice.status().message();
  EXPECT_EQ(choice->by, ChosenBy::name);
  EXPECT_FALSE(catalog::is_ahead(choice->instance));
  EXPECT_EQ(catalog::plan_name(choice->instance), "dense-128x208-c2-s5");
  // As many stages as there is room for.
  EXPECT_EQ(catalog::plan_name(choose(shape, h200(), "dense-128x256-c2-s99")->instance), "dense-128x256-c2-s4");
  EXPECT_EQ(catalog::plan_name(choose(shape, h200(), "dense-128x256-c2")->instance), "dense-128x256-c2-s4");
  const auto refused = [&](const char* plan, Code code, const char* word) {
    const auto result = choose(shape, h200(), plan);
    ASSERT_FALSE(result) << plan;
    EXPECT_EQ(result.status().code(), code) << result.status().message();
    EXPECT_NE(result.status().message().find(word), std::string::npos) << result.status().message();
  };
  refused("9999", Code::invalid_argument, "'9999'");
  refused("dense-128x256-c2-s4x", Code::invalid_argument, "nearest are dense-128x256-c2-s4,");
  refused("dense", Code::invalid_argument, "dense-128x256-c2-s4");
  refused("dense-128x", Code::invalid_argument, "'128x'");
  refused("dense-128x256-frob", Code::invalid_argument, "'frob'");
  refused("dense-256x256-g128", Code::unsupported, "registers");
  refused("dense-100x256", Code::unsupported, "rows of a tile");
  refused("skinny-64x16-split1", Code::unsupported, "cannot serve");
}

TEST(PlanChoice, CompilesOnlyWhatIsClearlyFaster) {
  const auto plain = choose({4096, 4096, 4096}, h200());
  ASSERT_TRUE(plain);
  EXPECT_TRUE(catalog::is_ahead(plain->instance));
  // With factors of rows and columns and fp32 sums, only a tile of 128 x 128 is compiled ahead for this many rows.
  GemmShape few_rows{100, 4096, 7168, DType::e4m3};
  few_rows.scaling = Scaling::row_column;
  few_rows.promoted = true;
  const auto compiled = choose(few_rows, h200());
  ASSERT_TRUE(compiled) << compiled.status().message();
  EXPECT_FALSE(catalog::is_ahead(compiled->instance));
  EXPECT_NE(compiled->reason.find("NVRTC"), std::string::npos);
  const auto ahead = choose(few_rows, h200(), "", OnDemand::refused);
  ASSERT_TRUE(ahead) << ahead.status().message();
  EXPECT_TRUE(catalog::is_ahead(ahead->instance));
}

// A long user-defined epilogue goes to a plan in which another warpgroup multiplies meanwhile, a short one does
// not; and what was measured without one says nothing of a long one.
TEST(PlanChoice, HidesALongEpilogueOfTheUsersOwn) {
  GemmShape shape{8192, 8192, 8192};
  shape.epilogue.own = 1;
  shape.own_operations = 3;
  const auto with = [&] {
    const auto choice = choose(shape, h200());
    EXPECT_TRUE(choice) << choice.status().message();
    return *choice;
  };
  const Choice few = with();
  EXPECT_NE(dense(few.instance)->sharing, TileSharing::ping_pong) << plan_text(few.instance);
  shape.own_operations = 60;
  const Choice many = with();
  EXPECT_EQ(dense(many.instance)->sharing, TileSharing::ping_pong) << plan_text(many.instance);
  EXPECT_EQ(many.by, ChosenBy::model);
  EXPECT_EQ(dense(many.instance)->epilogue.own, 1u);
  const auto plain = catalog::parse_instance("sm90/dense-128x256-c2-s4/bf16-nt-own0000000000000001");
  ASSERT_TRUE(plain);
  EXPECT_GT(estimate(*plain, shape, kSms).us, 1.1 * many.estimate.us);
}

TEST(PlanChoice, OneInstanceServesOperandsOf8BitsWithAndWithoutFactors) {
  for (const GemmShape& plain : {GemmShape{4096, 4096, 4096, DType::e4m3}, {16, 4096, 4096, DType::e4m3}}) {
    GemmShape scaled = plain;
    scaled.scaling = Scaling::tensor;
    const auto one = choose(plain, h200()), other = choose(scaled, h200());
    ASSERT_TRUE(one && other);
    EXPECT_TRUE(catalog::is_ahead(one->instance)) << one->reason;
    EXPECT_EQ(one->instance.config, other->instance.config);
    // What is not plain reads its factors, so they must be there.
    GemmShape batch = plain;
    batch.batch = 3;
    EXPECT_FALSE(can_serve(one->instance, batch));
  }
}

TEST(PlanChoice, WideTilesOfTheSkinnyKernelServeMoreRowsThanTheyHave) {
  const GemmShape shape{1000, 1000, 1024};
  const auto wide = parse_plan("skinny-64x128-split1", shape);
  ASSERT_TRUE(wide) << wide.status().message();
  EXPECT_EQ(estimate(*wide, shape, kSms).tiles, 8 * 16);
  const auto narrow = parse_plan("skinny-64x16-split1", shape);
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.status().code(), Code::unsupported);
}

TEST(PlanChoice, ReportsTheSlowPathOfWhatTheTmaCannotAddress) {
  GemmShape shape{100, 100, 100};
  shape.load = shape.store = Mover::threads;
  const auto choice = choose(shape, h200());
  ASSERT_TRUE(choice) << choice.status().message();
  EXPECT_EQ(dense(choice->instance)->load, Mover::threads);
  EXPECT_TRUE(catalog::is_ahead(choice->instance));
  EXPECT_NE(choice->reason.find("16 bytes"), std::string::npos) << choice->reason;
}

TEST(Floor, CountsEveryOperandOnceAndTheFasterTypesFaster) {
  const Floor bf16 = floor_of({4096, 4096, 4096}), fp8 = floor_of({4096, 4096, 4096, DType::e4m3});
  EXPECT_DOUBLE_EQ(bf16.bytes, 3 * 2 * 4096.0 * 4096.0);
  EXPECT_DOUBLE_EQ(fp8.bytes, (1 + 1 + 2) * 4096.0 * 4096.0);
  EXPECT_NEAR(bf16.tensor_us / fp8.tensor_us, 2, 1e-9);
  EXPECT_LT(floor_of({4096, 4096, 4096}, Arch::sm100).us(), bf16.us());
}

TEST(PlanChoice, PlansObeyTheirOwnRules) {
  for (const Instance& kernel : compiled_ahead()) {
    const BlockPlan plan = catalog::block_plan(kernel);
    EXPECT_TRUE(plan.arrivals_match_counts() && plan.shared_memory_fits() && plan.registers_fit()) << plan_text(kernel);
  }
}

}  // namespace
}  // namespace warpwright::choice
