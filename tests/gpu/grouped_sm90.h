// Running one instance of the grouped and blockwise Hopper kernels on a GPU, through the API, and judging what it
// stores.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "catalog/instance.h"
#include "gpu/instance_names.h"
#include "gpu/needs_gpu.h"
#include "measure/gpu_memory.h"
#include "reference/grouped_sm90_workload.h"
#include "warpwright/grouped.h"

namespace warpwright::grouped_sm90 {

// What the API is asked for.
inline GroupedProblem problem_of(const reference::GroupedProduct& p, const std::string& plan) {
  return {.groups = p.groups,
          .m = p.shape.m,
          .n = p.shape.n,
          .k = p.shape.k,
          .group_count = p.group_count(),
          .matrix_count = p.matrix_count,
          .type = p.type,
          .out = p.out,
          .b_scale_rows = p.b_scale_rows,
          .activation = p.swiglu ? Activation::swiglu : Activation::none,
          .bias = p.bias ? Bias::per_column : Bias::none,
          .bias_type = p.bias_type,
          .shared_bias = p.shared_bias,
          .accumulate = p.accumulate,
          .gathered = p.gathered(),
          .a_rows = p.a_rows,
          .plan = plan,
          .a_major = p.a_major,
          .b_major = p.b_major};
}

// The status word, 0 without groups.
inline uint32_t run_grouped(const std::string& instance, const reference::GroupedProduct& product,
                            reference::Data data) {
  SCOPED_TRACE(instance);
  const auto plan = make_plan(problem_of(product, instance));
  if (!plan) {
    ADD_FAILURE() << plan.status().message();
    return ~0u;
  }
  EXPECT_EQ(plan->instance(), instance);
  const reference::Workload w = reference::grouped_product_workload(product, data, 5);
  const measure::GuardedArrays arrays(w);
  const gpu::Stream stream;
  const GroupedPointers pointers = reference::grouped_pointers(product, w, arrays.pointers());
  gpu::require(plan->run(pointers, stream.get()));
  stream.synchronize();
  const reference::Verdict verdict = reference::judge(w, arrays.output());
  EXPECT_TRUE(verdict.ok) << product.shape.m << "x" << product.shape.n << "x" << product.shape.k << ": "
                          << verdict.wrong << " wrong, " << verdict.unwritten << " unwritten, error "
                          << verdict.max_rel_error;
  EXPECT_EQ(arrays.stray_bytes(w), 0u);
  uint32_t status = 0;
  if (pointers.status != nullptr) gpu::copy_to_host(&status, pointers.status, sizeof status);
  return status;
}

// Whether an instance has the tests of grouped_modes_sm90_test.cpp; those that gather have moe_sm90_test.cpp.
inline bool has_modes(const GroupedGemmConfig& c) {
  return !c.gathered && (c.any_rows || c.by_depth() || c.bias || c.adds);
}

}  // namespace warpwright::grouped_sm90
