// Clusters that share the depth of a tile: the product is right, every run gives the same bits, the workspace serves
// the next launch, nobody waits for ever, and no part of the hand-over can be left out.
#include <string>
#include <vector>

#include "gemm_sm100.h"
#include "warpwright/kernel/fixup.h"

namespace warpwright::gemm_sm100 {

constexpr auto kSplit = DepthSplit::split_k, kStream = DepthSplit::stream_k;
constexpr Config kSplitSingle{.tile_n = 16, .stages = 2, .split = kSplit};
constexpr Config kStreamSingle{.tile_n = 16, .stages = 2, .split = kStream};
constexpr Config kSplitPair{.tile_n = 32, .stages = 2, .cta_group = 2, .cluster_m = 2, .split = kSplit};
constexpr Config kStreamPair{.tile_n = 32, .stages = 2, .cta_group = 2, .cluster_m = 2, .split = kStream};

TEST(GemmSm100SplitK, IsExactWithAnyNumberOfParts) {
  for (int splits : {1, 2, 3, 7}) expect_right_in_every_mode<kSplitSingle>({.splits = splits, .clusters = 3});
  expect_right_in_every_mode<Config{.tile_n = 16, .stages = 1, .k_group = 2, .accumulators = 1, .split = kSplit}>(
      {.splits = 2});
}
TEST(GemmSm100SplitK, IsExactInPairsAndClustersAndBatches) {
  expect_right_in_every_mode<kSplitPair>({.splits = 2});
  expect_right_in_every_mode<Config{.tile_n = 16, .stages = 2, .cluster_n = 2, .split = kSplit, .batched = true}>(
      {.batches = 2, .splits = 3});
}
TEST(GemmSm100SplitK, IsExactWithCancelledLaunches) {
  constexpr Config C{.tile_n = 16, .stages = 2, .source = TileSource::clc, .split = kSplit};
  expect_right_in_every_mode<C>({.splits = 3});
  expect_right_in_every_mode<Config{
      .tile_n = 16, .stages = 2, .source = TileSource::clc, .clc_stages = 0, .split = kSplit}>({.splits = 2});
}
TEST(GemmSm100StreamK, IsExactWithAnyNumberOfClusters) {
  for (int clusters : {1, 2, 3, 5, 9}) expect_right_in_every_mode<kStreamSingle>({.clusters = clusters});
}
TEST(GemmSm100StreamK, IsExactInPairsAndClustersAndBatches) {
  expect_right_in_every_mode<kStreamPair>({.clusters = 3});
  expect_right_in_every_mode<Config{.tile_n = 16, .stages = 2, .cluster_n = 2, .split = kStream, .batched = true}>(
      {.batches = 2, .clusters = 3});
}
// Halves of a tile's columns side by side in tensor memory.
TEST(GemmSm100StreamK, IsExactWithSixtyFourRowsInAPair) {
  expect_right<Config{.tile_m = 64, .tile_n = 32, .cta_group = 2, .cluster_m = 2, .split = kStream}>(
      {300, 72, 400}, {.clusters = 3}, {});
}

// Work with lower numbers starts first and waits for none that comes later.
TEST(GemmSm100StreamK, NeedsNoMoreThanOneResidentCluster) {
  Options o;
  o.resident_clusters = 1;
  expect_right<kStreamSingle>({256, 40, 504}, {.clusters = 7}, o);
}
TEST(GemmSm100SplitK, NeedsNoMoreThanOneResidentClusterWithCancelledLaunches) {
  Options o;
  o.resident_clusters = 1;
  expect_right<Config{.tile_n = 16, .stages = 2, .source = TileSource::clc, .split = kSplit}>({256, 40, 504},
                                                                                              {.splits = 3}, o);
}
// The whole of a persistent grid must be resident: the report names who waits and for what.
TEST(GemmSm100SplitK, OfAPersistentGridThatIsNotResidentIsReported) {
  Options o;
  o.resident_clusters = 1;
  Product<kSplitSingle> product({128, 40, 504}, {.splits = 2, .clusters = 3});
  const simulator::Result r = product.launch(o);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.findings[0].rule, "deadlock") << r.findings[0].text();
  EXPECT_NE(r.findings[0].text().find("workspace"), std::string::npos) << r.findings[0].text();
}

template <Config C>
void expect_same_bits(const typename Product<C>::Extra& extra) {
  std::vector<uint8_t> first;
  in_every_mode(kernel::sm100::DenseGemm<C>::plan, 2, [&](const Options& o) {
    typename Product<C>::Extra same = extra;
    same.data = reference::Data::normal;
    Product<C> product({136, 40, 600}, same);
    const auto r = product.launch(o);
    ASSERT_TRUE(r.ok()) << r.findings[0].text();
    ASSERT_EQ(product.wrong(), "");
    if (first.empty()) first = product.result();
    ASSERT_EQ(product.result(), first);
  });
}
TEST(GemmSm100SplitK, GivesTheSameBitsInEveryRun) {
  expect_same_bits<Config{.out_type = DType::fp32, .tile_n = 16, .stages = 2, .split = kSplit}>(
      {.splits = 4, .clusters = 5});
}
TEST(GemmSm100StreamK, GivesTheSameBitsInEveryRun) {
  expect_same_bits<Config{.out_type = DType::fp32, .tile_n = 16, .stages = 2, .split = kStream}>({.clusters = 5});
}

template <Config C>
void expect_second_launch_works(const typename Product<C>::Extra& extra) {
  Product<C> product({264, 72, 504}, extra);
  for (int i = 0; i < 3; ++i) {
    Options o;
    o.landing = i == 0 ? Landing::late : Landing::seeded;
    const auto r = product.launch(o);
    ASSERT_TRUE(r.ok()) << r.findings[0].text();
    ASSERT_EQ(product.wrong(), "") << "launch " << i;
  }
}
TEST(GemmSm100SplitK, LeavesTheWorkspaceReadyForTheNextLaunch) {
  expect_second_launch_works<kSplitSingle>({.splits = 3});
  expect_second_launch_works<kSplitPair>({.splits = 2});
}
TEST(GemmSm100StreamK, LeavesTheWorkspaceReadyForTheNextLaunch) {
  expect_second_launch_works<kStreamSingle>({.clusters = 5});
  expect_second_launch_works<kStreamPair>({.clusters = 3});
}

TEST(GemmSm100SplitK, IsExactByASingleCluster) {
  expect_right<kSplitSingle>({256, 40, 504}, {.splits = 3, .clusters = 1}, {});
}
// The host launches a cluster for each job that the kernel will hand out.
TEST(GemmSm100Jobs, AreCountedByTheHostAsByTheKernel) {
  for (int k : {0, 8, 64, 72, 640, 1000})
    for (int splits : {1, 2, 3, 20}) {
      const tile::SplitK split{int(kSplitSingle.tiles(300, 40)), kSplitSingle.steps(k), splits, 1};
      EXPECT_EQ(kSplitSingle.jobs(300, 40, k, 1, splits), split.count()) << k << " in " << splits;
    }
  EXPECT_EQ((Config{.tile_n = 16, .batched = true}.jobs(300, 40, 640, 5)), 3 * 3 * 5);
  EXPECT_EQ((Config{.tile_n = 16, .swap_ab = true}.jobs(40, 300, 640)), 3 * 3);
  EXPECT_EQ(kStreamSingle.jobs(300, 40, 640), 3 * 3 * 10);
}

TEST(GemmSm100Workspace, HasASlotForEachPartButTheLast) {
  constexpr int64_t slot = 128 * 16 * 4, line = 128;  // threads, sums of each, bytes
  EXPECT_EQ(kSplitSingle.workspace_bytes(256, 32, 1, 3, 5), line + 4 * 2 * slot);
  EXPECT_EQ(kStreamSingle.workspace_bytes(256, 32, 1, 3, 5), line + 5 * slot);
  EXPECT_EQ(kSplitPair.workspace_bytes(256, 32, 1, 2, 5), line + 2 * 2 * slot);
  EXPECT_EQ((Config{}.workspace_bytes(256, 32, 1, 2, 5)), 0);
}

// The counters: not counted, counted without what was written before, not waited for, waited for without acquiring, and
// the lanes that do not speak.
std::vector<Mutant> fixup_mutants(int parts) {
  using enum Fault::Action;
  return {{"atomic_add", "workspace", "epilogue"},        {"atomic_add", "workspace", "epilogue", drop, 0, 1},
          {"atomic_add", "workspace", "epilogue", alter}, {"load_acquire", "workspace", "epilogue", alter, parts - 1},
          {"load_acquire", "workspace", "epilogue"},      {"sync_warp", "", "epilogue"}};
}
TEST(GemmSm100SplitK, NoFaultInTheHandOverPassesUnseen) {
  for (const Mutant& m : fixup_mutants(3)) expect_reported<kSplitSingle>(m, {256, 40, 504}, {.splits = 3});
  for (const Mutant& m : fixup_mutants(2)) expect_reported<kSplitPair>(m, {256, 40, 504}, {.splits = 2});
}
TEST(GemmSm100StreamK, NoFaultInTheHandOverPassesUnseen) {
  for (const Mutant& m : fixup_mutants(2)) expect_reported<kStreamSingle>(m, {256, 40, 504}, {.clusters = 5});
  for (const Mutant& m : fixup_mutants(2)) expect_reported<kStreamPair>(m, {512, 40, 504}, {.clusters = 3});
}
TEST(GemmSm100SplitK, NamesWhatIsMissing) {
  const auto rules = [](const Mutant& m) { return expect_reported<kSplitSingle>(m, {256, 40, 504}, {.splits = 2}); };
  EXPECT_NE(rules({"atomic_add", "workspace"}).find("deadlock"), std::string::npos);
  EXPECT_NE(rules({"atomic_add", "workspace", "", Fault::Action::alter}).find("race"), std::string::npos);
  EXPECT_NE(rules({"load_acquire", "workspace"}).find("race"), std::string::npos);
}

}  // namespace warpwright::gemm_sm100
