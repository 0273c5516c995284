// Running one compiled instance of the grouped and blockwise Hopper kernels on a GPU and judging what it stores.
#pragma once
#include <gtest/gtest.h>

#include "device/launch_grouped_sm90.h"
#include "gpu/needs_gpu.h"
#include "runtime/gpu_memory.h"
#include "runtime/grouped_sm90_workload.h"

namespace warpwright::runtime {

// The status word, 0 without groups.
template <class Args, class Config, class Launch>
uint32_t expect_right(const Config& config, const GroupedProduct& product, Data data, Launch launch) {
  const Workload w = grouped_product_workload(product, data, 5);
  const GuardedArrays arrays(w);
  const Stream stream;
  const GroupedProductOperands operands = grouped_operands(product, w, arrays.pointers());
  Args args;
  require(fill(args, config, operands, EncodeForGpu{}));
  require(launch(args, stream.get()));
  stream.synchronize();
  const Verdict verdict = judge(w, arrays.output());
  EXPECT_TRUE(verdict.ok) << product.shape.m << "x" << product.shape.n << "x" << product.shape.k << ": "
                          << verdict.wrong << " wrong, " << verdict.unwritten << " unwritten, error "
                          << verdict.max_rel_error;
  EXPECT_EQ(arrays.stray_bytes(w), 0u);
  uint32_t status = 0;
  if (operands.groups.status != nullptr) {
    require(cudaMemcpy(&status, operands.groups.status, sizeof status, cudaMemcpyDeviceToHost), "the copy");
  }
  return status;
}

inline uint32_t run_grouped(int index, const GroupedProduct& product, Data data) {
  const GroupedGemmConfig& config = device::kGroupedGemmSm90[index];
  SCOPED_TRACE("instance " + std::to_string(index));
  return expect_right<GroupedGemmArgs>(config, product, data, [&](const GroupedGemmArgs& args, void* stream) {
    return device::launch_grouped_gemm_sm90(index, args, stream);
  });
}

// Whether an instance has the tests of grouped_modes_sm90_test.cpp.
inline bool has_modes(const GroupedGemmConfig& c) { return c.any_rows || c.by_depth() || c.bias; }

}  // namespace warpwright::runtime
