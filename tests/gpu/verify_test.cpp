// WARPWRIGHT_VERIFY on a GPU: right products pass, and a result that is spoiled after the kernel, or a reference of
// another problem, fails with its element. A program of its own: the variable is set before the first product.
#include "gpu/verify.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "gpu/executor.h"
#include "gpu/memory.h"
#include "launch/verify.h"
#include "measure/guarded_arrays.h"
#include "problem/lower.h"
#include "reference/problem_workload.h"
#include "warpwright/gemm.h"

namespace warpwright {
namespace {

class Verify : public testing::Test {
 protected:
  void SetUp() override {
    setenv("WARPWRIGHT_VERIFY", "1", 1);
    if (const auto device = gpu::this_device(); !device) GTEST_SKIP() << device.status().message();
  }
};

std::vector<GemmProblem> problems() {
  std::vector<GemmProblem> list;
  list.push_back({.m = 300, .n = 520, .k = 200});
  list.push_back({.m = 1024, .n = 1024, .k = 1024});
  GemmProblem p{.m = 256, .n = 384, .k = 512};
  p.a.type = p.b.type = DType::e4m3;
  list.push_back(p);
  p = {.m = 200, .n = 136, .k = 72};
  p.alpha = 0.5f;
  p.beta = 2;
  p.epilogue.bias = Bias::per_column;
  p.epilogue.activation = Activation::gelu_tanh;
  p.epilogue.residual = true;
  list.push_back(p);
  return list;
}

TEST_F(Verify, rightProductsPassAndSpoiledOnesDoNot) {
  for (const GemmProblem& given : problems()) {
    const GemmProblem problem = reference::with_packed_addends(given);
    SCOPED_TRACE(std::to_string(problem.m) + "x" + std::to_string(problem.n) + "x" + std::to_string(problem.k));
    const auto plan = make_plan(problem);
    ASSERT_TRUE(plan) << plan.status().message();
    const auto w = workload_of(problem, 0, reference::Data::normal, 3);
    const measure::GuardedArrays arrays(w);
    const gpu::Stream stream;
    const GemmPointers pointers = reference::pointers_of(problem, 0, w, arrays.pointers());
    const Status right = plan->run(pointers, stream.get());
    EXPECT_TRUE(right) << right.message();
    const auto args = launch::verify_arguments(problem, problem::lower(problem), pointers);
    ASSERT_TRUE(args);
    EXPECT_TRUE(gpu::verify(*args, stream.get()));
    VerifyArgs other = *args;
    other.alpha *= 1.5f;
    EXPECT_FALSE(gpu::verify(other, stream.get()));
    const uint16_t wrong = 0x7f00;  // a large number in bf16
    gpu::copy_to_device(pointers.d, &wrong, sizeof wrong);
    const Status spoiled = gpu::verify(*args, stream.get());
    EXPECT_NE(spoiled.message().find("the first is row 0, column 0 of matrix 0"), std::string::npos)
        << spoiled.message();
  }
}

}  // namespace
}  // namespace warpwright
