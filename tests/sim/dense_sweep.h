// A configuration of the Hopper GEMM over extents of every kind: exact on integers.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "sim/dense_variant.h"

namespace warpwright::dense_variant {

template <DenseGemmConfig C>
simulate::Outcome run(const reference::Workload& w, const simulator::Options& o, int clusters) {
  return simulate::simulate<kernel::sm90::DenseGemm<C>>(
      w, o, clusters * C.cluster,
      [&](auto& args, const auto& p, const auto& encode) { return DenseVariant<C>::fill(args, w, p, encode); });
}

template <DenseGemmConfig C>
void expect_exact(reference::Case shape, const simulator::Options& o, int clusters) {
  const reference::Workload w =
      reference::gemm_workload(DenseVariant<C>::spec(shape), reference::Data::integers, o.seed);
  const simulate::Outcome out = run<C>(w, o, clusters);
  ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
  ASSERT_TRUE(out.verdict.ok) << shape.m << "x" << shape.n << "x" << shape.k << ": " << out.verdict.wrong << " wrong, "
                              << out.verdict.unwritten << " unwritten";
}

// Whole tiles of the cluster, tails in all directions with more tiles than clusters, one element, no depth.
template <DenseGemmConfig C>
void sweep() {
  const int m = C.tile_m * C.cluster_m(), n = C.tile_n * C.cluster_n(), k = C.tile_k();
  const int whole = C.store == Mover::tma ? 128 / bits(C.out_type()) : 1;
  const int unit = C.operands() == 1 ? whole : std::max(kPairedRows, 2 * whole);
  const reference::Case cases[] = {{m, n, 2 * k}, {m + 9, 2 * n + unit, 3 * k + 3}, {1, unit, 1}, {40, 48, 0}};
  uint64_t seed = 1;
  for (const reference::Case& c : cases) {
    using simulator::Landing, simulator::Scheduling;
    for (Landing landing : {Landing::eager, Landing::late, Landing::seeded}) {
      simulator::Options o;
      o.landing = landing;
      o.scheduling = seed % 2 ? Scheduling::random : Scheduling::pct;
      o.seed = seed++;
      SCOPED_TRACE(testing::Message() << "landing " << int(landing) << ", seed " << o.seed);
      expect_exact<C>(c, o, 1 + int(seed % 3));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace warpwright::dense_variant
