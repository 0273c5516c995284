// Every synchronization that the variants of the Blackwell GEMM perform, dropped or altered: each mutant is reported,
// except for those that change nothing, which are listed with the reason.
#include <algorithm>
#include <string>
#include <vector>

#include "gemm_sm100.h"
#include "sim/generated.h"

namespace warpwright::gemm_sm100 {

template <Config C>
struct Subject {
  Case shape;
  typename Product<C>::Extra extra = {};
  typename Product<C>::Adapt adapt = {};
  bool behind_a_primary = false;
  std::vector<std::string> equivalent = {};
};

// Reported in one of the modes; a wrong result without a report is a failure in any.
template <Config C>
bool is_reported(const Subject<C>& subject, const Fault& fault, const BlockPlan& plan) {
  bool reported = false;
  const auto run = [&](Options o) {
    if (reported) return;
    o.primary_pending = subject.behind_a_primary;
    o.faults = {fault};
    Product<C> product(subject.shape, subject.extra);
    reported = !product.launch(o, subject.adapt).ok();
    EXPECT_TRUE(reported || product.wrong().empty()) << "a silent wrong result: " << generated::describe(fault);
  };
  in_every_mode(plan, 2, run);
  return reported;
}

template <Config C>
void expect_all_reported(const Subject<C>& subject, size_t at_least) {
  constexpr const BlockPlan& plan = kernel::sm100::DenseGemm<C>::plan;
  Options list;
  list.list_fault_sites = true;
  list.primary_pending = subject.behind_a_primary;
  Product<C> clean(subject.shape, subject.extra);
  const simulator::Result r = clean.launch(list, subject.adapt);
  ASSERT_TRUE(r.ok()) << r.findings[0].text();
  std::vector<Fault> mutants = generated::mutants_of(plan, r.fault_sites);
  for (const Fault& site : r.fault_sites) {
    if (site.word != "atomic_add") continue;
    for (Fault::Action action : {Fault::Action::drop, Fault::Action::alter}) {  // altered: without its release
      mutants.push_back(site);
      mutants.back().action = action;
    }
  }
  EXPECT_GE(mutants.size(), at_least);
  for (const Fault& f : mutants) {
    const std::string name = generated::describe(f);
    const bool excused = std::count(subject.equivalent.begin(), subject.equivalent.end(), name) > 0;
    EXPECT_NE(is_reported(subject, f, plan), excused)
        << name << (excused ? " is reported, and listed as equivalent" : " is not reported");
  }
}

TEST(GemmSm100Mutants, WithClusterLaunchControl) {
  expect_all_reported(
      Subject<Config{.tile_n = 16, .stages = 2, .source = TileSource::clc}>{
          .shape = {512, 48, 192},
          .equivalent =
              {// The answer goes to rank 0 only, and there is no other.
               "alter clc_try_cancel clc.response by scheduler",
               // The throttle hands the reads of the load role to the scheduler, which fences before it asks.
               "drop fence_proxy_async by load"}},
      50);
}
TEST(GemmSm100Mutants, WithClusterLaunchControlInPairs) {
  expect_all_reported(
      Subject<Config{.tile_n = 16, .stages = 2, .cta_group = 2, .cluster_m = 2, .source = TileSource::clc}>{
          .shape = {1024, 48, 192}},
      50);
}
TEST(GemmSm100Mutants, OfABatchInAClusterWithSharedLoads) {
  expect_all_reported(
      Subject<Config{.tile_n = 16, .stages = 2, .cluster_m = 2, .cluster_n = 2, .batched = true}>{
          .shape = {256, 64, 192}, .extra = {.batches = 2, .clusters = 1}},
      30);
}
TEST(GemmSm100Mutants, WithASplitDepth) {
  expect_all_reported(
      Subject<Config{.tile_n = 16, .stages = 2, .split = DepthSplit::split_k}>{.shape = {128, 64, 448},
                                                                               .extra = {.splits = 3, .clusters = 2}},
      30);
}
TEST(GemmSm100Mutants, WithAStreamedDepthInPairs) {
  expect_all_reported(
      Subject<Config{.tile_n = 32, .stages = 2, .cta_group = 2, .cluster_m = 2, .split = DepthSplit::stream_k}>{
          .shape = {256, 160, 448}, .extra = {.clusters = 2}},
      30);
}
TEST(GemmSm100Mutants, WithExchangedOperandsBehindAPrimary) {
  using S = Subject<Config{.tile_n = 16, .stages = 2, .swap_ab = true, .dependent = true}>;
  expect_all_reported(S{.shape = {48, 256, 448},
                        .extra = {.clusters = 1},
                        .adapt =
                            [](DenseGemmSm100Args& args, std::vector<Buffer>& buffers) {
                              args.weights_are_constant = true;
                              for (Buffer& b : buffers) b.from_primary = b.name != "B";
                            },
                        .behind_a_primary = true,
                        // It writes only after the loads of a role that has waited.
                        .equivalent = {"drop grid_dependency_wait by epilogue"}},
                      30);
}

}  // namespace warpwright::gemm_sm100
