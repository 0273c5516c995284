// The host refuses what the Blackwell GEMM cannot take, and the sentence names the tensor, its shape and the rule.
#include "problem/refuse_sm100.h"

#include <gtest/gtest.h>

namespace warpwright::problem {

using Config = DenseGemmSm100Config;

struct alignas(128) Bytes {
  uint8_t byte[256];
};
Bytes memory;

std::string why(const Config& c, int m, int n, int k, const GemmBatch& batch = {}, int offset = 0) {
  return refuse(c, m, n, k, memory.byte + offset, memory.byte, batch).message();
}
void expect_names(const std::string& sentence, std::initializer_list<const char*> texts) {
  for (const char* text : texts) EXPECT_NE(sentence.find(text), std::string::npos) << sentence;
  EXPECT_EQ(sentence.empty() ? ' ' : sentence.back(), '.');
}

TEST(RefuseSm100, TakesWhatIsLegal) {
  EXPECT_EQ(why({}, 300, 200, 176), "");
  EXPECT_EQ(why({}, 1, 8, 0), "");
  EXPECT_EQ(why({.batched = true}, 5, 8, 16, {3, 5 * 16, 0, 40}), "");
}
TEST(RefuseSm100, NamesTheOperandWhoseRowsAreNoWholeUnits) {
  expect_names(why({}, 300, 200, 12), {"A is [300, 12] of bf16", "whole 16-byte units", "multiple of 8"});
  expect_names(why({.type = DType::e4m3}, 300, 200, 24), {"A is [300, 24] of e4m3", "multiple of 16"});
  expect_names(why({.type = DType::tf32}, 300, 200, 6), {"A is [300, 6] of tf32", "multiple of 4"});
}
TEST(RefuseSm100, NamesTheOperandThatBeginsInTheMiddleOfAUnit) {
  expect_names(why({}, 300, 200, 16, {}, 8), {"A is [300, 16]", "multiple of 16 bytes"});
}
TEST(RefuseSm100, NamesTheStrideOfABatch) {
  expect_names(why({.batched = true}, 5, 8, 16, {3, 84, 128, 40}), {"A is 3 x [5, 16]", "84", "multiple of 8"});
  expect_names(why({.batched = true}, 5, 8, 16, {3, 80, 129, 40}), {"B is 3 x [8, 16]", "129"});
  expect_names(why({.batched = true}, 5, 8, 16, {0, 80, 128, 40}), {"batches = 0", "at least one"});
}
TEST(RefuseSm100, NamesANegativeExtent) { expect_names(why({}, -1, 8, 16), {"m = -1", "negative"}); }

TEST(RefuseSm100, NamesWhatTheWorkspaceLacks) {
  const Config split{.tile_n = 16, .split = DepthSplit::split_k};
  DenseGemmSm100Args args;
  args.m = 128;
  args.n = 16;
  args.k = 640;
  args.splits = 3;
  const int64_t need = split.workspace_bytes(128, 16, 1, 3, 4);
  const auto sentence = [&](int64_t bytes) { return refuse_workspace(split, args, bytes, 4).message(); };
  expect_names(sentence(need), {"workspace is missing", std::to_string(need).c_str()});
  args.workspace = memory.byte;
  EXPECT_EQ(sentence(need), "");
  expect_names(sentence(need - 1), {"workspace has", std::to_string(need).c_str()});
  args.workspace = memory.byte + 64;
  expect_names(sentence(need), {"workspace at address", "128 bytes"});
  args.splits = 0;
  expect_names(sentence(need), {"splits = 0", "at least 1"});
  EXPECT_TRUE(refuse_workspace(Config{}, args, 0, 4)) << "tiles of one part need none";
}

}  // namespace warpwright::problem
