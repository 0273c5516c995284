// Products that are planned and run for the first time while a stream is captured: nothing is called that the capture
// forbids, on this thread or on another one, so that it ends in a graph.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <thread>

#include "driver/session.h"
#include "gpu/driver.h"
#include "gpu/image.h"
#include "gpu/memory.h"
#include "gpu/require.h"
#include "warpwright/gemm.h"

namespace warpwright {
namespace {

constexpr int kGlobal = 0;  // the strictest of the driver's modes, and the one that torch takes

class Captured : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    recorded::begin("sm_90");
    recorded::set_device(0);
    images_ = !gpu::embedded_image("sm90/dense-64x64-c1-s4/bf16-nt", "sm_90a").empty();
  }
  void SetUp() override {
    if (!images_) GTEST_SKIP() << "this build has no device code";
  }
  // What the driver answers at the end of the capture.
  static int end(const gpu::Stream& stream) {
    gpu::abi::Graph graph = nullptr;
    const int answer = gpu::driver().end_capture(stream.get(), &graph);
    if (graph != nullptr) (void)gpu::driver().graph_destroy(graph);
    return answer;
  }
  static void begin(const gpu::Stream& stream) {
    gpu::require(gpu::driver().begin_capture(stream.get(), kGlobal), "the begin of a capture");
  }
  static GemmProblem product(int64_t depth, const char* plan) {
    GemmProblem p{.m = 256, .n = 256, .k = depth};
    p.plan = plan;
    return p;
  }
  struct Memory {
    explicit Memory(int64_t side)
        : a(size_t(side * side * 2)), b(size_t(side * side * 2)), d(size_t(side * side * 2)) {}
    GemmPointers pointers() const { return {.a = a.data(), .b = b.data(), .d = d.data()}; }
    gpu::DeviceMemory a, b, d;
  };
  static void expect_a_graph(const GemmProblem& p) {
    const Memory memory(p.m);
    const gpu::Stream stream;
    begin(stream);
    const Status made = gemm(p, memory.pointers(), stream.get());
    EXPECT_EQ(end(stream), 0);
    EXPECT_TRUE(made) << made.message();
  }

 private:
  inline static bool images_ = false;
};

TEST_F(Captured, aProductThatNobodyHasPlanned) { expect_a_graph(product(256, "dense-64x64-c1-s4")); }
TEST_F(Captured, aProductWhoseTilesShareTheirDepth) { expect_a_graph(product(256, "dense-128x128-c1-s6-splitk2")); }
TEST_F(Captured, aProductWhoseOperandsAreCopied) { expect_a_graph(product(255, "dense-64x64-c1-s4-packed")); }

TEST_F(Captured, aFirstRunBesideACaptureOfAnotherThread) {
  const GemmProblem p = product(256, "dense-128x128-c1-s6-splitk3");
  const Memory memory(p.m);
  const gpu::Stream captured;
  begin(captured);
  Status made;
  std::thread([&] {
    recorded::set_device(0);
    const gpu::Stream stream;
    made = gemm(p, memory.pointers(), stream.get());
  }).join();
  EXPECT_EQ(end(captured), 0);
  EXPECT_TRUE(made) << made.message();
}

// The test itself: a call that is forbidden is seen.
TEST_F(Captured, takingMemoryEndsTheCapture) {
  const gpu::Stream stream;
  begin(stream);
  EXPECT_THROW(gpu::DeviceMemory(256), gpu::Failure);
  EXPECT_NE(end(stream), 0);
}

}  // namespace
}  // namespace warpwright
