// The room of the GPU on a machine that has none: nothing crashes, and every answer is a sentence.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>

#include "gpu/devices.h"
#include "gpu/driver.h"
#include "gpu/graph.h"
#include "gpu/memory.h"
#include "gpu/require.h"
#include "gpu/run_memory.h"
#include "gpu/tensor_map.h"
#include "hip/driver.h"

namespace warpwright::gpu {
namespace {

void expect_missing(const Status& s) {
  EXPECT_EQ(s.code(), Code::missing) << s.message();
  EXPECT_EQ(s.message().back(), '.');
}
template <class Make>
std::string thrown(Make make) {
  try {
    make();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

class GpuAbsent : public testing::Test {
 protected:
  void SetUp() override {
    if (!list_gpus().empty() || !hip::list_gpus().empty()) GTEST_SKIP() << "this machine has a GPU";
  }
};

TEST_F(GpuAbsent, OwnersThrowTheSentenceOfTheDevice) {
  const std::string why = current_device().status().message();
  EXPECT_TRUE(why.starts_with("no GPU can be used: ")) << why;
  EXPECT_EQ(thrown([] { DeviceMemory memory(16); }), why);
  EXPECT_EQ(thrown([] { Stream stream; }), why);
  EXPECT_EQ(thrown([] { Event event; }), why);
  uint32_t word = 0;
  EXPECT_EQ(thrown([&] { copy_to_device(&word, &word, 4); }), why);
  EXPECT_EQ(thrown([&] { copy_to_host(&word, &word, 4); }), why);
  EXPECT_EQ(thrown([&] { set_bytes(&word, 0, 4); }), why);
  EXPECT_EQ(thrown([] { synchronize("nothing"); }), why);
}

TEST_F(GpuAbsent, MemoryOfARunIsMissing) {
  expect_missing(RunMemory::prepare(0));
  RunMemory memory;
  expect_missing(memory.take(0, nullptr, 16).status());
  expect_missing(warm([](void*) { return Status(); }));
  if (driver_status()) GTEST_SKIP() << "a driver, and no device: only plans get further";
  Workspaces workspaces;
  expect_missing(workspaces.get(0, nullptr, 16, memory).status());
}

TEST_F(GpuAbsent, ThreadsMayAskAtOnce) {
  std::thread other([] { EXPECT_FALSE(current_device()); });
  EXPECT_FALSE(current_device());
  other.join();
}

TEST(TensorMapRules, ABrokenRuleIsNamedWithoutADriver) {
  alignas(64) static char base[64];
  TensorMapSpec good;
  good.base = base;
  good.dims = {256, 256};
  good.strides = {0, 512};
  good.box = {64, 64};
  const auto why = [](const TensorMapSpec& spec) {
    TensorMap map;
    const Status s = encode_tensor_map(spec, map);
    return s.message();
  };
  TensorMapSpec spec = good;
  spec.rank = 6;
  EXPECT_EQ(why(spec), "a tensor map has 1 to 5 dimensions, not 6.");
  spec = good;
  spec.base = nullptr;
  EXPECT_EQ(why(spec), "a tensor map needs a base address.");
  spec = good;
  spec.strides[1] = 500;
  EXPECT_EQ(why(spec), "stride 1 of a bf16 tensor map is 500 bytes; it must be a multiple of 16 below 2^40.");
  spec = good;
  spec.box[0] = 128;
  EXPECT_EQ(why(spec), "the inner box dimension of 256 bytes exceeds the 128 bytes of its swizzle.");
}

}  // namespace
}  // namespace warpwright::gpu
