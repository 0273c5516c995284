// Which problems the architectures take, and in which words they are spoken of. Hopper's rules: api.validate.
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "problem/lower.h"
#include "problem/validate.h"
#include "problem/words.h"

namespace warpwright::problem {
namespace {

GemmProblem served() { return {.m = 100, .n = 72, .k = 48}; }
GemmProblem of_types(DType operands, DType result) {
  GemmProblem p = served();
  p.a.type = p.b.type = operands;
  p.d.type = result;
  return p;
}

// The sentence must name the argument, its value and the rule.
template <class P>
void expect_refused(const P& p, Arch arch, const std::string& argument_and_value, const std::string& rule) {
  const Status s = validate(p, arch);
  ASSERT_EQ(s.code(), Code::invalid_argument) << argument_and_value;
  EXPECT_EQ(s.message().rfind(argument_and_value, 0), 0u) << s.message();
  EXPECT_NE(s.message().find(rule), std::string::npos) << s.message();
  EXPECT_EQ(s.message().back(), '.');
}

TEST(Problem, EveryTypeOfOperandsHasItsUsualResult) {
  const std::pair<DType, DType> types[] = {
      {DType::bf16, DType::bf16}, {DType::fp16, DType::fp16}, {DType::tf32, DType::fp32}, {DType::e4m3, DType::bf16}};
  for (const auto& [operands, result] : types) {
    EXPECT_EQ(usual_result(operands), result);
    EXPECT_TRUE(validate(of_types(operands, result), Arch::sm100)) << name(operands);
    EXPECT_TRUE(validate(of_types(operands, DType::fp32), Arch::sm100)) << name(operands);
  }
  EXPECT_EQ(usual_result(DType::s8), DType::fp32);
  EXPECT_EQ(usual_result(DType::e2m1), DType::bf16);
}

TEST(Problem, TheKernelsForSm80TakeRowsOfAnyLengthAndWholeNumbers) {
  GemmProblem p = of_types(DType::s8, DType::fp32);
  p.n = 13;
  p.k = 7;
  EXPECT_TRUE(validate(p, Arch::sm80));
  p = served();
  p.n = 13;
  p.k = 7;
  EXPECT_TRUE(validate(p, Arch::sm80));
  expect_refused(p, Arch::sm100, "k = 7:", "multiple of 8 for bf16");
  expect_refused(of_types(DType::tf32, DType::fp32), Arch::sm80, "a.type = tf32:", "for sm80");
  expect_refused(of_types(DType::s8, DType::fp32), Arch::sm100, "a.type = s8:", "bf16, fp16, tf32 or e4m3");
  p = served();
  p.batch = 2;
  EXPECT_TRUE(validate(p, Arch::sm80));
  EXPECT_TRUE(validate(p, Arch::sm100));
}

TEST(Problem, TheKernelsForSm80TakeBatchesAndEveryLayoutOf16Bits) {
  GemmProblem p = served();
  p.batch = 70000;
  expect_refused(p, Arch::sm80, "batch = 70000:", "at most 65535");
  p.batch = 2;
  p.d.batch_stride = 5;
  expect_refused(p, Arch::sm80, "d.batch_stride = 5:", "overlap");
  expect_refused(p, Arch::sm100, "d.batch_stride = 5:", "overlap");
  for (const Major a : {Major::K, Major::MN}) {
    for (const Major b : {Major::K, Major::MN}) {
      p = served();
      p.a.major = a;
      p.b.major = b;
      EXPECT_TRUE(validate(p, Arch::sm80));
      p.a.type = p.b.type = DType::s8;
      p.d.type = DType::fp32;
      if (a == Major::K && b == Major::K) {
        EXPECT_TRUE(validate(p, Arch::sm80));
      } else {
        expect_refused(p, Arch::sm80, a == Major::MN ? "a.major = MN:" : "b.major = MN:", "s8 operands");
      }
    }
  }
  p = served();
  p.a.stride = int64_t(1) << 22;
  expect_refused(p, Arch::sm80, "a.stride = 4194304:", "less than 8388608 bytes apart");
  p.a.major = Major::MN;
  EXPECT_TRUE(validate(p, Arch::sm80));
  p = served();
  p.alignment = 1;
  expect_refused(p, Arch::sm80, "alignment = 1:", "elements of 2 bytes");
  p.alignment = 6;
  expect_refused(p, Arch::sm80, "alignment = 6:", "power of two");
}

TEST(Problem, ExtentsOfZeroAreTakenEverywhere) {
  for (const Arch arch : {Arch::sm80, Arch::sm90, Arch::sm100, Arch::gfx942, Arch::gfx950}) {
    GemmProblem p = served();
    p.m = 0;
    EXPECT_TRUE(validate(p, arch)) << warpwright::name(arch);
    p = served();
    p.n = 0;
    EXPECT_TRUE(validate(p, arch)) << warpwright::name(arch);
    p = served();
    p.k = 0;
    EXPECT_TRUE(validate(p, arch)) << warpwright::name(arch);
  }
  GemmProblem p = served();
  p.batch = 0;
  for (const Arch arch : {Arch::sm80, Arch::sm90, Arch::sm100}) EXPECT_TRUE(validate(p, arch));
}

TEST(Problem, CdnaTakesWhateverItsTypesAre) {
  EXPECT_TRUE(validate(served(), Arch::gfx942));
  EXPECT_TRUE(validate(of_types(DType::e4m3, DType::bf16), Arch::gfx950));
  expect_refused(of_types(DType::e4m3, DType::bf16), Arch::gfx942, "a.type = e4m3:", "FNUZ");
  expect_refused(of_types(DType::e5m2, DType::bf16), Arch::gfx950, "a.type = e5m2:", "bf16, fp16 or e4m3");
  expect_refused(of_types(DType::bf16, DType::s8), Arch::gfx942, "d.type = s8:", "e4m3 or e5m2");
  EXPECT_TRUE(validate(of_types(DType::fp16, DType::e4m3), Arch::gfx942));
  // Any nodes, batch, layout, extent and address.
  GemmProblem p = of_types(DType::bf16, DType::fp16);
  p.k = 77;
  p.alignment = 2;
  p.batch = 5;
  p.a.major = Major::MN;
  p.beta = 1;
  p.epilogue.activation = Activation::relu;
  p.epilogue.bias = Bias::per_row;
  p.epilogue.residual = p.epilogue.quantize = true;
  EXPECT_TRUE(validate(p, Arch::gfx950)) << validate(p, Arch::gfx950).message();
  p = served();
  p.epilogue.activation = Activation::swiglu;
  p.n = 256;
  expect_refused(p, Arch::gfx950, "epilogue.activation = swiglu:", "gfx950 does not have it");
  p = served();
  p.epilogue.formula = "x + 1";
  expect_refused(p, Arch::gfx942, "epilogue = x + 1:", "nothing is compiled");
  p = served();
  p.c.stride = int64_t(1) << 23;
  EXPECT_TRUE(validate(p, Arch::gfx950)) << "nobody reads C";
  p.beta = 1;
  expect_refused(p, Arch::gfx950, "c.stride = 8388608:", "less than 8388608 bytes apart");
  p = served();
  p.sm_limit = 8;
  expect_refused(p, Arch::gfx942, "sm_limit = 8:", "it must be 0");
  p = served();
  p.k = int64_t(1) << 23;
  expect_refused(p, Arch::gfx950, "k = 8388608:", "8 MiB");
}

TEST(Problem, WhatNoneOfThemHasIsRefused) {
  for (const Arch arch : {Arch::sm80, Arch::sm100, Arch::gfx942, Arch::gfx950}) {
    SCOPED_TRACE(warpwright::name(arch));
    EXPECT_TRUE(validate(served(), arch));
    GemmProblem p = served();
    p.m = -1;
    expect_refused(p, arch, "m = -1:", "at least 0");
    p = served();
    p.n = -8;
    expect_refused(p, arch, "n = -8:", "at least 0");
    p = served();
    p.k = -1;
    expect_refused(p, arch, "k = -1:", "at least 0");
    p = served();
    p.k = (int64_t(1) << 30) + 8;
    expect_refused(p, arch, "k = 1073741832:", "at most 1073741824");
    p = served();
    p.m = p.n = int64_t(1) << 30;
    expect_refused(p, arch, "m = 1073741824, n = 1073741824, batch = 1:", "tiles");
    p = served();
    p.a.major = p.b.major = Major::MN;
    if (arch == Arch::sm100) expect_refused(p, arch, "layout = tn:", "nt");
    p = served();
    p.scaling = Scaling::tensor;
    expect_refused(p, arch, "scaling = tensor:", "factors");
    p = served();
    p.alpha = std::numeric_limits<float>::infinity();
    expect_refused(p, arch, "alpha = inf:", "finite");
    p = served();
    p.d.stride = 71;
    expect_refused(p, arch, "d.stride = 71:", "72 elements");
  }
}

TEST(Problem, BlockScalingIsOfBlackwellAndHasElementsOfItsOwn) {
  GemmProblem p = of_types(DType::e2m1, DType::bf16);
  p.k = 64;
  p.block_scaling = BlockScaling::nvfp4;
  EXPECT_TRUE(validate(p, Arch::sm100));
  for (const Arch arch : {Arch::sm80, Arch::gfx950}) EXPECT_FALSE(validate(p, arch));
  expect_refused(p, Arch::sm90, "block_scaling = nvfp4:", "Hopper");
  p.block_scaling = BlockScaling::mxfp8;
  expect_refused(p, Arch::sm100, "a.type = e2m1:", "e4m3 or e5m2");
  p.a.type = DType::e4m3;
  p.block_scaling = BlockScaling::w4a8;
  expect_refused(p, Arch::sm100, "k = 64:", "multiple of 128");
  p.k = 128;
  EXPECT_TRUE(validate(p, Arch::sm100));
  p.b.type = DType::e4m3;
  expect_refused(p, Arch::sm100, "b.type = e4m3:", "e2m1");
}

TEST(Problem, GroupsOnBlackwell) {
  GroupedProblem p{.groups = Groups::contiguous, .m = 100, .n = 64, .k = 128, .group_count = 3};
  EXPECT_TRUE(validate(p, Arch::sm100));
  expect_refused(p, Arch::sm80, "target = sm80:", "sm90 and sm100");
  p.scaling = BlockScaling::mxfp8;
  EXPECT_TRUE(validate(p, Arch::sm100));
  expect_refused(p, Arch::sm90, "scaling = mxfp8:", "Hopper");
  p.activation = Activation::swiglu;
  expect_refused(p, Arch::sm100, "out_scaling = none:", "swiglu");
  p.out_scaling = BlockScaling::mxfp8;
  expect_refused(p, Arch::sm100, "out = bf16:", "e4m3");
  p.out = DType::e4m3;
  EXPECT_TRUE(validate(p, Arch::sm100));
  p.n = 96;
  expect_refused(p, Arch::sm100, "n = 96:", "multiple of 64");
  GroupedProblem one{.m = 10, .n = 64, .k = 128};
  expect_refused(one, Arch::sm100, "m = 10:", "multiple of 4");
  one.m = 12;
  EXPECT_TRUE(validate(one, Arch::sm100));
}

TEST(Problem, GroupsAlongKOfBlackwell) {
  GroupedProblem p{.groups = Groups::by_depth, .m = 10, .n = 24, .k = 256, .group_count = 3};
  p.type = DType::bf16;
  p.out = DType::fp32;
  EXPECT_TRUE(validate(p, Arch::sm100));
  p.accumulate = true;
  EXPECT_TRUE(validate(p, Arch::sm100));
  p.out = DType::bf16;
  expect_refused(p, Arch::sm100, "out = bf16:", "added to");
  p.out = DType::fp32;
  p.b_major = Major::MN;
  expect_refused(p, Arch::sm100, "b_major = MN:", "a_major must be MN too");
  p.a_major = Major::MN;
  expect_refused(p, Arch::sm100, "m = 10:", "multiple of 8");
  p.m = 16;
  p.k = 201;
  EXPECT_TRUE(validate(p, Arch::sm100)) << "rows of A and B lie along m and n";
  p.k = 256;
  p.type = DType::e4m3;
  expect_refused(p, Arch::sm100, "b_scale_rows = 128:", "must be 1");
  p.b_scale_rows = 1;
  expect_refused(p, Arch::sm100, "a_major = MN:", "e4m3");
  p.a_major = p.b_major = Major::K;
  EXPECT_TRUE(validate(p, Arch::sm100));
  p.b_scales = {2, 24};
  EXPECT_TRUE(validate(p, Arch::sm100));
  p.b_scales = {24, 2};
  expect_refused(p, Arch::sm100, "b_scales = 24 x 2:", "rounded up to 4");
  p.b_scales = {};
  p.k = 200;
  expect_refused(p, Arch::sm100, "k = 200:", "multiple of 128");
  p.k = 256;
  p.matrix_count = 2;
  expect_refused(p, Arch::sm100, "matrix_count = 2:", "one B");
  p.matrix_count = 0;
  p.scaling = BlockScaling::mxfp8;
  expect_refused(p, Arch::sm100, "scaling = mxfp8:", "along k");
}

TEST(Problem, SwigluMakesOneColumnOfTwo) {
  GemmProblem p = served();
  p.epilogue.activation = Activation::swiglu;
  p.n = 80;
  EXPECT_TRUE(validate(p, Arch::sm100));
  EXPECT_EQ(lower(p).d.columns, 40);
  EXPECT_EQ(lower(p).d.stride, 40);
  p.n = 72;
  expect_refused(p, Arch::sm100, "n = 72:", "multiple of 16");
}

TEST(Problem, WordsAndValuesCorrespond) {
  for (const Groups groups : {Groups::none, Groups::contiguous, Groups::masked, Groups::by_depth})
    EXPECT_EQ(parse_operation(operation_of(groups)), groups);
  for (const Major a : {Major::K, Major::MN})
    for (const Major b : {Major::K, Major::MN}) EXPECT_EQ(parse_layout(layout_of(a, b)), (std::pair{a, b}));
  EXPECT_STREQ(layout_of(Major::K, Major::K), "nt");
  EXPECT_STREQ(layout_of(Major::MN, Major::K), "tt");
  for (const BlockScaling s : {BlockScaling::none, BlockScaling::mxfp8, BlockScaling::nvfp4, BlockScaling::w4a8})
    EXPECT_EQ(parse_block_scaling(name(s)), s);
  EXPECT_EQ(parse_operation("dense"), std::nullopt);
  EXPECT_EQ(parse_layout("n"), std::nullopt);
  EXPECT_EQ(parse_block_scaling("mxfp5"), std::nullopt);
}

}  // namespace
}  // namespace warpwright::problem
