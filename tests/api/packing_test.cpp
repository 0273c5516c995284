// Operands that are copied before the kernel runs: which, when, and how much workspace the copies take. Only
// arithmetic, so no GPU is asked.
#include "launch/packing.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "choice/choose.h"

namespace warpwright::launch {
namespace {

using choice::Decision;
using choice::Packing;
using choice::packing_of;
using problem::lower;
using problem::Lowered;

const choice::Chip kChip{"NVIDIA H200", 132};

Result<Decision> decided(const GemmProblem& p) { return choice::choose(p, kChip); }
Packing copies(const GemmProblem& p) { return packing_of(p, lower(p)); }

TEST(Packing, CopiesWhatTheTmaCannotAddressAndNothingElse) {
  EXPECT_FALSE(copies({.m = 256, .n = 256, .k = 256}).any());
  GemmProblem p{.m = 256, .n = 256, .k = 257};
  EXPECT_TRUE(copies(p).a);
  EXPECT_TRUE(copies(p).b);
  p.a.stride = 264;
  EXPECT_FALSE(copies(p).a) << "its rows start at multiples of 16 bytes";
  EXPECT_TRUE(copies(p).b);
  p = {.m = 1, .n = 256, .k = 257};
  EXPECT_FALSE(copies(p).a) << "one row starts where the matrix does";
  p.alignment = 2;
  EXPECT_TRUE(copies(p).a) << "which may be anywhere";
  p = {.m = 100, .n = 256, .k = 64};
  p.a.major = Major::MN;
  p.a.stride = 101;
  EXPECT_TRUE(copies(p).a);
  EXPECT_FALSE(copies(p).b);
  p = {.m = 64, .n = 64, .k = 0};
  p.alignment = 2;
  EXPECT_FALSE(copies(p).any()) << "without depth nothing is read";
}

TEST(Packing, RowsOfACopyStartAtMultiplesOfSixteenBytes) {
  for (const DType type : {DType::bf16, DType::e4m3}) {
    for (const int64_t k : {1, 7, 9, 17, 257, 4097}) {
      GemmProblem p{.m = 33, .n = 65, .k = k, .batch = 3};
      p.a.type = p.b.type = type;
      p.b.batch_stride = 0;
      const Lowered low = lower(p);
      const Packing packing = packing_of(p, low);
      const Lowered seen = with_copies(low, packing);
      EXPECT_TRUE(seen.a.rows_fit_tma() && seen.b.rows_fit_tma());
      EXPECT_EQ(seen.shape.load, Mover::tma);
      const int64_t size = bits(type) / 8, row = (k * size + 15) / 16 * 16;
      EXPECT_EQ(packing.a_bytes(), (3 * 33 * row + 127) / 128 * 128);
      EXPECT_EQ(packing.b_bytes(), (65 * row + 127) / 128 * 128) << "a matrix that a batch shares is copied once";
      EXPECT_EQ(packing.bytes(), packing.a_bytes() + packing.b_bytes());
      EXPECT_GE(packing.a_bytes(), seen.a.bytes());
    }
  }
}

TEST(Packing, TheResultIsStoredByTheTmaWhereItCanBe) {
  GemmProblem p{.m = 64, .n = 64, .k = 65};
  EXPECT_EQ(lower(p).shape.store, Mover::threads) << "where threads load, threads store";
  EXPECT_EQ(with_copies(lower(p), copies(p)).shape.store, Mover::tma);
  p.n = 65;
  EXPECT_EQ(with_copies(lower(p), copies(p)).shape.store, Mover::threads);
  p.n = 64;
  p.alignment = 2;
  EXPECT_EQ(with_copies(lower(p), copies(p)).shape.store, Mover::threads) << "D may be anywhere too";
}

TEST(Packing, IsChosenWhereTheCopyIsSoonRepaid) {
  const auto large = decided({.m = 4096, .n = 4096, .k = 4097});
  ASSERT_TRUE(large) << large.status().message();
  EXPECT_TRUE(large->packing.a && large->packing.b);
  EXPECT_TRUE(large->name().ends_with("-packed")) << large->name();
  EXPECT_NE(large->choice.reason.find("A and B are first copied"), std::string::npos) << large->choice.reason;
  ASSERT_NE(large->choice.instance.as<DenseGemmConfig>(), nullptr);
  EXPECT_EQ(large->choice.instance.as<DenseGemmConfig>()->load, Mover::tma);
  const auto tiny = decided({.m = 16, .n = 16, .k = 17});
  ASSERT_TRUE(tiny) << tiny.status().message();
  EXPECT_FALSE(tiny->packing.any()) << "the threads are done before a second kernel would have started";
  ASSERT_NE(tiny->choice.instance.as<DenseGemmConfig>(), nullptr);
  EXPECT_EQ(tiny->choice.instance.as<DenseGemmConfig>()->load, Mover::threads);
  const auto aligned = decided({.m = 4096, .n = 4096, .k = 4096});
  ASSERT_TRUE(aligned);
  EXPECT_FALSE(aligned->packing.any());
}

TEST(Packing, OfFewRowsTheOtherOperandIsReadOnceAndNotCopied) {
  for (const GemmProblem& p : {GemmProblem{.m = 5, .n = 2512, .k = 5399}, GemmProblem{.m = 48, .n = 9910, .k = 6437},
                               GemmProblem{.m = 1, .n = 389, .k = 6789}}) {
    const auto few = decided(p);
    ASSERT_TRUE(few) << few.status().message();
    EXPECT_FALSE(few->packing.any()) << few->name();
    const auto* const c = few->choice.instance.as<DenseGemmConfig>();
    ASSERT_NE(c, nullptr);
    EXPECT_TRUE(c->load == Mover::threads && c->raw_slots() > 0 && c->swapped) << few->name();
    EXPECT_TRUE(catalog::is_ahead(few->choice.instance)) << few->name();
  }
}

TEST(Packing, ANamedPlanSaysWhetherThereIsOne) {
  GemmProblem p{.m = 512, .n = 512, .k = 513};
  p.plan = "dense-128x128-c1-s6-packed";
  const auto packed = decided(p);
  ASSERT_TRUE(packed) << packed.status().message();
  EXPECT_TRUE(packed->packing.any());
  EXPECT_EQ(packed->name(), p.plan);
  p.plan = "dense-128x128-c1-s4";
  const auto threads = decided(p);
  ASSERT_TRUE(threads) << threads.status().message();
  EXPECT_FALSE(threads->packing.any());
  ASSERT_NE(threads->choice.instance.as<DenseGemmConfig>(), nullptr);
  EXPECT_EQ(threads->choice.instance.as<DenseGemmConfig>()->load, Mover::threads);
  p.k = 512;
  p.plan = "dense-128x128-c1-s6-packed";
  const auto nothing = decided(p);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.status().code(), Code::unsupported);
  EXPECT_NE(nothing.status().message().find("nothing to copy"), std::string::npos) << nothing.status().message();
}

TEST(Packing, TheKernelReadsTheCopies) {
  GemmProblem p{.m = 8, .n = 16, .k = 9};
  p.a.stride = 11;
  const Lowered low = lower(p);
  const Packing packing = packing_of(p, low);
  auto* const a = reinterpret_cast<void*>(uintptr_t(0x1002));
  auto* const b = reinterpret_cast<void*>(uintptr_t(0x2004));
  auto* const workspace = reinterpret_cast<uint8_t*>(uintptr_t(0x10000));
  const GemmPointers given{.a = a, .b = b};
  const GemmPointers seen = packed_pointers(packing, given, workspace);
  EXPECT_EQ(seen.a, workspace);
  EXPECT_EQ(seen.b, workspace + packing.a_bytes());
  const PackRowsArgs args = pack_arguments(low, packing, given, workspace);
  EXPECT_EQ(args.list[0].from, a);
  EXPECT_EQ(args.list[0].to, seen.a);
  EXPECT_EQ(args.list[0].from_stride, 11);
  EXPECT_EQ(args.list[0].to_row_bytes, 32);
  EXPECT_EQ(args.list[0].rows, 8);
  EXPECT_EQ(args.list[0].columns, 9);
  EXPECT_EQ(args.list[1].from, b);
  EXPECT_EQ(args.list[1].rows, 16);
  EXPECT_EQ(args.list[1].to, seen.b);
}

}  // namespace
}  // namespace warpwright::launch
