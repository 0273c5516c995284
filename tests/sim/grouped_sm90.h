// Running the grouped Hopper kernels of any configuration in the simulator.
#pragma once
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "launch/grouped_arguments.h"
#include "reference/grouped_sm90_workload.h"
#include "simulate/run_kernel.h"
#include "warpwright/kernel/sm90/grouped/grouped_gemm.h"
#include "warpwright/kernel/sm90/skinny/skinny_blockwise.h"

namespace warpwright::grouped_sm90 {

using reference::Case;
using reference::Data;
using reference::GroupedProduct;
using simulate::Outcome;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;

template <auto C>
struct KernelOf;
template <GroupedGemmConfig C>
struct KernelOf<C> {
  using type = kernel::sm90::GroupedGemm<C>;
};
template <SkinnyBlockwiseConfig C>
struct KernelOf<C> {
  using type = kernel::sm90::SkinnyBlockwise<C>;
};

template <auto C>
Outcome run(const GroupedProduct& spec, const reference::Workload& w, const Options& o, int clusters) {
  using K = typename KernelOf<C>::type;
  return simulate::simulate<K>(w, o, clusters * K::plan.cluster, [&](auto& args, const auto& p, const auto& encode) {
    return launch::fill(args, C, grouped_operands(spec, w, p), encode);
  });
}

inline void expect_right(const Outcome& out, const GroupedProduct& spec) {
  ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
  ASSERT_TRUE(out.verdict.ok) << spec.shape.m << "x" << spec.shape.n << "x" << spec.shape.k << ": " << out.verdict.wrong
                              << " wrong, " << out.verdict.unwritten << " unwritten, error "
                              << out.verdict.max_rel_error;
}

template <auto C>
void expect_exact(const GroupedProduct& spec) {
  const reference::Workload w = reference::grouped_product_workload(spec, Data::integers, 3);
  uint64_t seed = 1;
  for (Landing landing : {Landing::eager, Landing::late, Landing::seeded, Landing::timed}) {
    for (Scheduling scheduling : {Scheduling::fifo, Scheduling::random}) {
      Options o;
      o.landing = landing;
      o.scheduling = scheduling;
      o.seed = seed++;
      expect_right(run<C>(spec, w, o, 1 + int(seed % 2)), spec);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// Random operands, against float64.
template <auto C>
void expect_close(const GroupedProduct& spec) {
  expect_right(run<C>(spec, reference::grouped_product_workload(spec, Data::normal, 5), {}, 2), spec);
}

// A product for a configuration.
template <GroupedGemmConfig C>
GroupedProduct spec(Case shape, std::vector<uint32_t> rows = {}, std::vector<int32_t> matrices = {},
                    int matrix_count = 0) {
  return {.shape = shape,
          .type = C.type,
          .out = C.out,
          .groups = rows.empty() ? Groups::none : C.groups,
          .rows = std::move(rows),
          .matrices = std::move(matrices),
          .matrix_count = matrix_count,
          .b_scale_rows = C.b_scale_rows,
          .swiglu = C.swiglu,
          .a_major = C.a_major,
          .b_major = C.b_major};
}

}  // namespace warpwright::grouped_sm90
