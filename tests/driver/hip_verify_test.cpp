// WARPWRIGHT_VERIFY on an AMD device: operands and result are copied, and the rules of launch/verify_rules.h run on the
// host. The device is pretended and runs nothing, so D holds what the test has put there.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "driver/session.h"
#include "gpu/image.h"
#include "gpu/memory.h"
#include "warpwright/core/numeric.h"
#include "warpwright/gemm.h"

namespace warpwright {
namespace {

constexpr int64_t kM = 96, kN = 80, kK = 64, kStride = 88;  // of D, whose rows are apart

class HipVerify : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("WARPWRIGHT_VERIFY", "1", 1);
    recorded::begin_hip("gfx950");
  }
  void SetUp() override {
    if (gpu::embedded_image("gfx950/matmul-4wave/bf16", "gfx950").empty()) {
      GTEST_SKIP() << "this build has no code objects";
    }
    const auto value = [](int64_t i) { return float(i * 7 % 5 - 2); };
    for (int64_t i = 0; i < kM * kK; ++i) a_.push_back(from_float<bf16>(value(i)));
    for (int64_t i = 0; i < kN * kK; ++i) b_.push_back(from_float<bf16>(value(i + 3)));
    d_.assign(size_t(kM * kStride), from_float<bf16>(-1000));
    for (int64_t i = 0; i < kM; ++i) {
      for (int64_t j = 0; j < kN; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < kK; ++k) sum += value(i * kK + k) * value(j * kK + k + 3);
        d_[size_t(i * kStride + j)] = from_float<bf16>(0.5f * sum);
      }
    }
  }
  Status run() const {
    GemmProblem problem{.m = kM, .n = kN, .k = kK, .alpha = 0.5f};
    problem.d.stride = kStride;
    const auto plan = make_plan(problem);
    if (!plan) return plan.status();
    const gpu::DeviceMemory a(a_.size() * 2), b(b_.size() * 2), d(d_.size() * 2);
    gpu::copy_to_device(a.data(), a_.data(), a_.size() * 2);
    gpu::copy_to_device(b.data(), b_.data(), b_.size() * 2);
    gpu::copy_to_device(d.data(), d_.data(), d_.size() * 2);
    const gpu::Stream stream;
    const GemmPointers pointers{.a = a.data(), .b = b.data(), .d = d.data()};
    const Status first = plan->run(pointers, stream.get());
    // Only the first product of a plan is compared.
    EXPECT_TRUE(plan->run(pointers, stream.get()));
    return first;
  }

  std::vector<bf16> a_, b_, d_;
};

TEST_F(HipVerify, aRightResultIsAccepted) {
  const Status status = run();
  EXPECT_TRUE(status) << status.message();
}

TEST_F(HipVerify, aWrongElementIsNamed) {
  d_[size_t(41 * kStride + 17)] = from_float<bf16>(30);
  d_[size_t(90 * kStride + 1)] = from_float<bf16>(3000);
  const Status status = run();
  EXPECT_EQ(status.code(), Code::failed);
  EXPECT_NE(status.message().find("gfx950/matmul-4wave/bf16 on the AMD Instinct MI355X: 2 of 7680 elements of the "
                                  "result that were compared are wrong; the first is row 41, column 17 of matrix 0: "
                                  "30 instead of "),
            std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace warpwright
