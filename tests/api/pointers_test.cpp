// Addresses: what a launch may be given. Only arithmetic, so no GPU is asked.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "launch/dense.h"
#include "problem/lower.h"

namespace warpwright::launch {
namespace {

using problem::lower;

void* at(uintptr_t address) { return reinterpret_cast<void*>(address); }

class Pointers : public testing::Test {
 protected:
  GemmProblem problem{.m = 128, .n = 256, .k = 64};
  GemmPointers pointers{.a = at(0x100000), .b = at(0x200000), .d = at(0x300000)};

  Status check() const {
    const Lowered low = lower(problem);
    const auto kernels = choice::candidates(low.shape);
    if (kernels.empty()) return Status(Code::unsupported, "no kernel");
    return check_pointers(problem, low, kernels.front(), pointers);
  }
  void expect_refused(std::initializer_list<const char*> words) const {
    const Status s = check();
    ASSERT_EQ(s.code(), Code::invalid_argument) << s.message();
    for (const char* word : words) EXPECT_NE(s.message().find(word), std::string::npos) << s.message();
  }
};

TEST_F(Pointers, ThatLieApartAreTaken) { EXPECT_TRUE(check()) << check().message(); }

TEST_F(Pointers, MustBeGiven) {
  for (const void* GemmPointers::*operand : {&GemmPointers::a, &GemmPointers::b}) {
    GemmPointers kept = pointers;
    pointers.*operand = nullptr;
    expect_refused({"= null"});
    pointers = kept;
  }
  pointers.d = nullptr;
  expect_refused({"d = null"});
}

TEST_F(Pointers, ThatAreNotReadMayBeNull) {
  problem.k = 0;
  pointers.a = pointers.b = nullptr;
  EXPECT_TRUE(check()) << check().message();
}

TEST_F(Pointers, MustBeAligned) {
  pointers.a = at(0x100008);
  expect_refused({"a = 0x100008", "16 bytes"});
  pointers.a = at(0x100000);
  pointers.d = at(0x300002);
  expect_refused({"d = 0x300002", "16 bytes"});
}

TEST_F(Pointers, OfTheResultMustNotOverlapWhatIsRead) {
  const uintptr_t bytes = 128 * 64 * 2;
  pointers.d = at(0x100000 + bytes - 16);
  expect_refused({"a = 0x100000", "overlaps the result"});
  pointers.d = at(0x100000 + bytes);
  EXPECT_TRUE(check()) << check().message();
  pointers.b = at(0x100000 + bytes + 128 * 256 * 2 - 16);
  expect_refused({"b = ", "overlaps the result"});
}

TEST(Lower, FindsWhatTheTmaCannotAddress) {
  GemmProblem p{.m = 128, .n = 256, .k = 64};
  EXPECT_EQ(lower(p).shape.load, Mover::tma);
  EXPECT_EQ(lower(p).shape.store, Mover::tma);
  p.k = 63;
  EXPECT_EQ(lower(p).shape.load, Mover::threads);
  p.a.stride = p.b.stride = 64;
  EXPECT_EQ(lower(p).shape.load, Mover::tma) << "rows that start at multiples of 16 bytes may have any length";
  p.d.stride = 257;
  EXPECT_EQ(lower(p).shape.store, Mover::threads);
  EXPECT_EQ(lower(p).shape.load, Mover::tma);
  p = {.m = 128, .n = 255, .k = 64};
  p.d.stride = 256;
  EXPECT_EQ(lower(p).shape.store, Mover::threads) << "rows of D must end at a multiple of 16 bytes";
  p = {.m = 1, .n = 256, .k = 64};
  p.d.stride = 257;
  EXPECT_EQ(lower(p).shape.store, Mover::tma) << "one row has no stride";
  p = {.m = 128, .n = 256, .k = 64, .alignment = 8};
  EXPECT_EQ(lower(p).shape.load, Mover::threads);
  p = {.m = 128, .n = 256, .k = 0, .alignment = 16};
  p.a.stride = 3;
  EXPECT_EQ(lower(p).shape.load, Mover::tma) << "without depth A is not read";
}

TEST(Lower, GivesTheFeaturesAKernelMustHave) {
  GemmProblem p{.m = 8, .n = 16, .k = 32, .batch = 4, .alpha = 2, .beta = 3};
  p.a.type = DType::e4m3;
  p.b.type = DType::e5m2;
  p.c.type = DType::fp32;
  p.d.type = DType::fp16;
  p.b.batch_stride = 0;
  p.accumulation = Accumulation::promoted;
  p.epilogue.bias = Bias::per_column;
  p.epilogue.bias_type = DType::bf16;
  const Lowered low = lower(p);
  EXPECT_TRUE(low.shape.mixed && low.shape.promoted && low.reads_c);
  EXPECT_EQ(low.shape.b_dtype(), DType::e5m2);
  EXPECT_EQ(low.shape.batch, 4);
  EXPECT_EQ(low.shape.epilogue.out, DType::fp16);
  EXPECT_TRUE(low.shape.epilogue.source);
  EXPECT_EQ(low.shape.epilogue.source_type, DType::fp32);
  EXPECT_EQ(low.shape.epilogue.bias_type, DType::bf16);
  EXPECT_EQ(low.a.count, 4);
  EXPECT_EQ(low.b.count, 1);
  EXPECT_EQ(low.a.bytes(), 4 * 8 * 32);
  EXPECT_EQ(low.b.bytes(), 16 * 32);
}

TEST(Lower, StoresTransposedOperandsByTheirOwnRows) {
  GemmProblem p{.m = 8, .n = 24, .k = 40};
  p.a.major = Major::MN;
  const Lowered low = lower(p);
  EXPECT_EQ(low.a.rows, 40);
  EXPECT_EQ(low.a.columns, 8);
  EXPECT_EQ(low.a.stride, 8);
  EXPECT_EQ(low.b.columns, 40);
}

}  // namespace
}  // namespace warpwright::launch
