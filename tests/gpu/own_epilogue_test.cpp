// User-defined epilogues on a GPU: the bits are those of the reference on whole numbers, real numbers are near
// float64, and every function of formulas gives on the device what it gives on the host.
#include <gtest/gtest.h>

#include <string>

#include "gpu/executor.h"
#include "measure/gemm_check.h"

namespace warpwright {
namespace {

using reference::Data;

class GpuOwnEpilogue : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto device = gpu::hopper_device(); !device) GTEST_SKIP() << device.status().message();
  }
};

void expect_right(GemmProblem p, const std::string& formula) {
  SCOPED_TRACE(formula);
  p.epilogue.formula = formula;
  p.epilogue.residual = formula.find("residual") != std::string::npos;
  if (formula.find("bias") != std::string::npos) p.epilogue.bias = Bias::per_column;
  for (const Data data : {Data::integers, Data::normal}) {
    measure::GemmOutcome outcome;
    const Status s = measure::check_gemm(p, {.data = data, .seed = 7}, outcome);
    ASSERT_TRUE(s) << s.message();
    EXPECT_TRUE(outcome.verdict.ok) << outcome.instance << ": " << outcome.verdict.wrong << " wrong of "
                                    << outcome.elements << ", error " << outcome.verdict.max_rel_error;
  }
}

const char* const kFive[] = {"x / (1 + exp(-1.702 * x))", "30 * tanh(x / 30)", "x > 0 ? x * x : 0",
                             "column <= row ? x : -infinity", "x * sigmoid(x) * residual"};

TEST_F(GpuOwnEpilogue, ofManyRows) {
  for (const char* const formula : kFive) expect_right({.m = 300, .n = 520, .k = 200}, formula);
}

TEST_F(GpuOwnEpilogue, ofFewRows) {
  for (const char* const formula : kFive) expect_right({.m = 16, .n = 520, .k = 512}, formula);
}

// Where another warpgroup multiplies meanwhile, and where the depth of a tile is shared.
TEST_F(GpuOwnEpilogue, ofPlansThatAreNamed) {
  for (const char* const plan : {"dense-128x208-c2-s5-g128-pingpong", "dense-64x256-c1-s4-pingpong",
                                 "dense-152x128-c1-s4-swapped", "dense-128x128-c1-s4-splitk3"}) {
    GemmProblem p{.m = 700, .n = 1000, .k = 600};
    p.plan = plan;
    expect_right(p, "30 * tanh((x + bias) / 30) - row + column");
  }
}

// fp32 results, so that a bit that differs is seen.
TEST_F(GpuOwnEpilogue, hasTheBitsOfEveryFunction) {
  for (const char* const formula :
       {"log(abs(x) + 1) + erf(x / 9) * sin(x) - cos(bias)", "sqrt(abs(x)) + rsqrt(abs(x) + 1) + pow(abs(x) + 1, bias)",
        "floor(x / 7) + ceil(x / 3) - trunc(x / 5) + round(x / 2) + fma(x, bias, 0.1)",
        "silu(x / 4) + gelu(x / 8) + gelu_erf(bias) + sigmoid(x / 16) + exp(x / 64)",
        "min(x, bias) + max(x, 0.3 * x) + clamp(x, -1, 1) + select(x < bias, 1, -2.5) + row / (column + 1) % 7"}) {
    GemmProblem p{.m = 128, .n = 128, .k = 64};
    p.d.type = DType::fp32;
    expect_right(p, formula);
  }
}

}  // namespace
}  // namespace warpwright
