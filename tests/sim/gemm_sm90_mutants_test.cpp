// Every synchronization that the variants of the Hopper GEMMs perform, dropped or altered: each mutant is reported,
// except for those that change nothing, which are listed with the reason.
#include <string>
#include <vector>

#include "sim/dense_variant.h"
#include "sim/reported.h"

namespace warpwright {

using reference::Case;
using reference::Workload;
using simulate::Outcome;
using simulator::Fault;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;
using Config = DenseGemmConfig;

template <class S>
struct Subject {
  Case shape;
  int ctas = 1;
  std::vector<std::string> equivalent = {};

  // After a kernel that still writes what this one reads.
  Outcome run(const Workload& w, Options o) const {
    o.primary_pending = true;
    return simulate::simulate<typename S::Kernel>(
        w, o, ctas, [&](auto& args, const auto& p, const auto& encode) { return S::fill(args, w, p, encode); });
  }
};

template <class S>
void expect_all_reported(const Subject<S>& subject, size_t at_least) {
  constexpr const BlockPlan& plan = S::Kernel::plan;
  const Workload w = reference::gemm_workload(S::spec(subject.shape), reference::Data::integers, 3);
  Options list;
  list.list_fault_sites = true;
  const Outcome clean = subject.run(w, list);
  ASSERT_TRUE(clean.sim.ok()) << clean.sim.findings[0].text();
  std::vector<Fault> mutants = generated::mutants_of(plan, clean.sim.fault_sites);
  for (const Fault& site : clean.sim.fault_sites) {
    if (site.word != "atomic_add") continue;
    for (Fault::Action action : {Fault::Action::drop, Fault::Action::alter}) {  // altered: without its release
      mutants.push_back(site);
      mutants.back().action = action;
    }
  }
  // Not synchronization: a store that is left out is missing in the result, where everybody sees it.
  std::erase_if(mutants, [](const Fault& f) { return f.word == "tma_store"; });
  EXPECT_GE(mutants.size(), at_least);
  expect_reported(plan, mutants, subject.equivalent, [&](const Options& o) { return subject.run(w, o); });
}

// Before the barrier at the start lanes of a warp converge, which those of the simulator do by themselves; threads that
// have exited count as arrived at the cluster's barrier at the end, and an idle warp does nothing after it.
std::vector<std::string> with(std::vector<std::string> more, std::initializer_list<const char*> converging) {
  for (const char* role : converging) more.push_back(std::string("drop sync_warp by ") + role);
  return more;
}

template <Config C>
using Dense = Subject<dense_variant::DenseVariant<C>>;
template <SkinnyGemmConfig C>
using Skinny = Subject<dense_variant::SkinnyVariant<C>>;

TEST(GemmSm90Mutants, WithAClusterAndAnEpilogue) {
  expect_all_reported(
      Dense<Config{.tile_m = 64, .tile_n = 32, .stages = 2, .epilogue = dense_variant::kFused}>{
          .shape = {256, 64, 320},
          .ctas = 2,
          .equivalent = with({"drop cluster_sync by idle"}, {"load", "mma", "store", "idle"})},
      25);
}
TEST(GemmSm90Mutants, InARectangle) {
  expect_all_reported(
      Dense<Config{.tile_m = 64, .tile_n = 16, .stages = 2, .cluster = 4, .across = 2}>{
          .shape = {256, 64, 320},
          .ctas = 4,
          .equivalent = with({"drop cluster_sync by idle", "drop grid_dependency_wait by mma"},
                             {"load", "mma", "store", "idle"})},
      20);
}
TEST(GemmSm90Mutants, SwappedHalvedAndInUnequalParts) {
  expect_all_reported(
      Dense<Config{.tile_m = 48,
                   .tile_n = 64,
                   .stages = 2,
                   .cluster = 4,
                   .axis = ClusterAxis::n,
                   .swapped = true,
                   .sharing = TileSharing::halves}>{
          .shape = {90, 320, 320},
          .ctas = 4,
          .equivalent =
              with({"drop cluster_sync by idle", "drop grid_dependency_wait by mma", "drop registers_increase by mma"},
                   {"load", "mma", "store", "idle"})},
      20);
}
TEST(GemmSm90Mutants, InPingPong) {
  expect_all_reported(
      Dense<Config{.tile_m = 64, .tile_n = 16, .stages = 3, .cluster = 1, .sharing = TileSharing::ping_pong}>{
          .shape = {128, 48, 320},
          .ctas = 1,
          // The simulator does not count registers; the MMA warps of a plain product read nothing.
          .equivalent = with({"drop registers_increase by mma", "drop grid_dependency_wait by mma"},
                             {"load", "mma", "store", "idle"})},
      20);
}
TEST(GemmSm90Mutants, WithLoadsAndStoresByThreads) {
  expect_all_reported(
      Dense<Config{
          .tile_m = 64, .tile_n = 32, .stages = 2, .cluster = 1, .load = Mover::threads, .store = Mover::threads}>{
          .shape = {65, 33, 300},
          .ctas = 1,
          // No asynchronous copy completes on a barrier; alpha comes with the launch.
          .equivalent = {"drop fence_mbarrier_init by load", "drop grid_dependency_wait by mma"}},
      12);
}
TEST(GemmSm90Mutants, WithASplitDepthAndTotals) {
  expect_all_reported(
      Dense<Config{.type = DType::e4m3,
                   .tile_m = 64,
                   .tile_n = 32,
                   .stages = 2,
                   .cluster = 1,
                   .promote_k = 128,
                   .split = DepthSplit::split_k}>{
          .shape = {128, 64, 800}, .ctas = 3, .equivalent = with({}, {"load", "store", "idle"})},
      25);
}
TEST(GemmSm90Mutants, WithAStreamedDepth) {
  expect_all_reported(
      Dense<Config{.tile_m = 64, .tile_n = 32, .stages = 2, .split = DepthSplit::stream_k}>{
          .shape = {640, 96, 192},
          .ctas = 4,
          .equivalent = with({"drop cluster_sync by idle"}, {"load", "store", "idle"})},
      25);
}
TEST(GemmSm90Mutants, OfTheSkinnyKernel) {
  expect_all_reported(
      Skinny<SkinnyGemmConfig{
          .tokens = 16, .split = 2, .stages = 2, .epilogue = factor_and_conversion(DType::fp32), .promote_k = 64}>{
          .shape = {13, 192, 640},
          .ctas = 2,
          .equivalent = with({"drop grid_dependency_wait by mma"}, {"load", "store"})},
      25);
}

}  // namespace warpwright
