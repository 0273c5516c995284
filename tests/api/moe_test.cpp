// What a mixture of experts refuses, and the sentence it says; in C++ and in C.
#include "warpwright/moe.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>

#include "warpwright/c_api.h"

namespace warpwright {
namespace {

MoeProblem good() { return {.tokens = 64, .hidden = 256, .intermediate = 128, .experts = 8, .top_k = 2}; }

std::string sentence(const std::function<void(MoeProblem&)>& change) {
  MoeProblem p = good();
  change(p);
  return validate(p).message();
}

TEST(MoeApi, NamesTheArgumentItsValueAndTheRule) {
  using P = MoeProblem;
  EXPECT_EQ(sentence([](P&) {}), "");
  EXPECT_EQ(sentence([](P& p) { p.tokens = 0; }), "");
  EXPECT_EQ(sentence([](P& p) { p.tokens = 32768, p.top_k = 8, p.experts = 256; }), "");
  EXPECT_EQ(sentence([](P& p) { p.tokens = -1; }), "tokens = -1: it must not be negative.");
  EXPECT_EQ(sentence([](P& p) { p.experts = 0; }), "experts = 0: it must be from 1 to 65535.");
  EXPECT_EQ(sentence([](P& p) { p.top_k = 0; }), "top_k = 0: it must be from 1 to 1024.");
  EXPECT_EQ(sentence([](P& p) { p.hidden = 12; }), "hidden = 12: it must be a positive multiple of 8.");
  EXPECT_EQ(sentence([](P& p) { p.intermediate = 0; }), "intermediate = 0: it must be a positive multiple of 8.");
  EXPECT_EQ(sentence([](P& p) { p.type = DType::e4m3, p.hidden = 200; }),
            "hidden = 200: it must be a positive multiple of 128, since a scale covers that many.");
  EXPECT_EQ(sentence([](P& p) { p.type = DType::fp16; }),
            "type = fp16: x and the weights must be bf16, or e4m3 with blockwise scales.");
  EXPECT_EQ(sentence([](P& p) { p.id_bytes = 2; }), "id_bytes = 2: the number of an expert has 4 or 8 bytes.");
  EXPECT_EQ(sentence([](P& p) { p.tokens = 1 << 28; }),
            "tokens = 268435456: with 2 experts each there are more than 268435456 rows.");
  EXPECT_EQ(sentence([](P& p) { p.tokens = 1 << 26, p.shared = 3; }),
            "tokens = 67108864: with 5 experts each there are more than 268435456 rows.");
  EXPECT_EQ(sentence([](P& p) { p.shared = 7; }), "");
  EXPECT_EQ(sentence([](P& p) { p.shared = 8; }),
            "shared = 8: of 8 experts it must be from 0 to 7, so that one is left to choose.");
  EXPECT_EQ(sentence([](P& p) { p.shared = -1; }),
            "shared = -1: of 8 experts it must be from 0 to 7, so that one is left to choose.");
  EXPECT_EQ(sentence([](P& p) { p.sm_limit = -1; }), "sm_limit = -1: it must not be negative.");
}

TEST(MoeApi, OfC) {
  ww_moe_problem p;
  ww_moe_problem_init(&p);
  EXPECT_EQ(p.id_bytes, 4);
  p.tokens = 64;
  p.hidden = 256;
  p.intermediate = 128;
  EXPECT_EQ(ww_moe_validate(&p), WW_OK) << ww_last_error();
  p.hidden = 4;
  EXPECT_EQ(ww_moe_validate(&p), WW_INVALID_ARGUMENT);
  EXPECT_STREQ(ww_last_error(), "hidden = 4: it must be a positive multiple of 8.");
  p.hidden = 256;
  p.shared = 1;
  EXPECT_EQ(ww_moe_validate(&p), WW_INVALID_ARGUMENT);
  EXPECT_STREQ(ww_last_error(), "shared = 1: of 1 experts it must be from 0 to 0, so that one is left to choose.");
  p.size = offsetof(ww_moe_problem, shared);  // an older caller's: there are none
  EXPECT_EQ(ww_moe_validate(&p), WW_OK) << ww_last_error();
  p.size = sizeof p;
  p.shared = 0;
  p.type = 99;
  EXPECT_EQ(ww_moe_validate(&p), WW_INVALID_ARGUMENT);
  p.size = offsetof(ww_moe_problem, type);  // an older caller's: the type is not read
  EXPECT_EQ(ww_moe_validate(&p), WW_OK) << ww_last_error();
  p.size = sizeof p + 8;
  EXPECT_EQ(ww_moe_validate(&p), WW_INVALID_ARGUMENT);
  EXPECT_EQ(ww_moe_validate(nullptr), WW_INVALID_ARGUMENT);
  EXPECT_EQ(ww_moe_plan_create(&p, nullptr), WW_INVALID_ARGUMENT);
  EXPECT_EQ(ww_moe_plan_run(nullptr, nullptr, nullptr), WW_INVALID_ARGUMENT);
  EXPECT_EQ(ww_moe_plan_workspace_bytes(nullptr), 0u);
  EXPECT_STREQ(ww_moe_plan_explanation(nullptr), "");
  ww_moe_plan_destroy(nullptr);
}

}  // namespace
}  // namespace warpwright
