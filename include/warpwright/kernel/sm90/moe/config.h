// Configurations and arguments of the small kernels around the two products of a mixture of experts. World-free, like
// kernel/config.h. A pair is a token and one of the experts it is sent to: pair t * top_k + j. The shared experts,
// which every token takes, are the last ones; their pairs follow a token's others in slots and are listed nowhere else.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/std.h"

namespace warpwright {

// What the kernels found wrong in the routing. A pair whose expert does not exist, or whose weight is not a number,
// adds nothing to its token; of more tokens than there is room for, only the first are taken.
enum RouteFault : uint32_t {
  kExpertOutOfRange = 1,
  kWeightNotANumber = 2,
  kTokensOutOfRange = 4,
};

// sm90/moe/route.h: from the experts of each token to the rows of each expert.
struct RouteConfig {
  int id_bytes = 4;  // bytes of an expert's number: 4 or 8
  int warps = 8;
  int blocks_per_sm = 4;
  bool shared = false;     // some experts are shared
  Arch arch = Arch::sm90;  // or sm100: the same words on another machine
  bool operator==(const RouteConfig&) const = default;
};

struct RouteArgs {
  const void* ids = nullptr;              // [tokens, top_k], signed, of id_bytes each
  const float* weights = nullptr;         // [tokens, top_k]
  const uint32_t* token_count = nullptr;  // one word: how many of the tokens are valid; null: all
  int32_t tokens = 0;                     // how many there is room for
  int32_t top_k = 0;
  int32_t experts = 0;  // all of them, with the shared ones
  // Rows of one expert after the other, each in the order of the pairs.
  uint32_t* offsets = nullptr;  // [experts + 1]: where the rows of an expert begin, and the end
  int32_t* index = nullptr;     // [tokens * (top_k + shared)]: the token of each row
  int32_t* slots = nullptr;     // [tokens, top_k + shared]: the row of each pair; -1: none
  uint32_t* status = nullptr;   // receives the RouteFault bits that were found; may be null
  // With RouteConfig::shared:
  int32_t shared = 0;                     // how many of the experts are shared
  const float* shared_weights = nullptr;  // [tokens, shared]; null: they are all 1
};
WW_HD constexpr const char* refuse(const RouteConfig& c) {
  if (c.id_bytes != 4 && c.id_bytes != 8) return "route: the number of an expert has 4 or 8 bytes";
  if (c.warps < 1 || c.warps > 32) return "route: a block has 1 to 32 warps";
  if (c.arch != Arch::sm90 && c.arch != Arch::sm100) return "route: it is for sm90 and sm100";
  return nullptr;
}

// sm90/moe/combine.h: the sum of each token's rows, times their weights.
struct CombineConfig {
  DType type = DType::bf16;  // the type of rows and sums
  int warps = 8;
  int blocks_per_sm = 4;
  bool shared = false;     // some experts are shared
  Arch arch = Arch::sm90;  // as above
  bool operator==(const CombineConfig&) const = default;
};

struct CombineArgs {
  const void* rows = nullptr;             // [rows of products, columns]
  const int32_t* slots = nullptr;         // [tokens, top_k + shared], those of RouteArgs
  const float* weights = nullptr;         // [tokens, top_k]
  const uint32_t* token_count = nullptr;  // as in RouteArgs
  void* out = nullptr;                    // [tokens, columns]
  int32_t tokens = 0;
  int32_t top_k = 0;
  int32_t columns = 0;  // a multiple of 8
  // As in RouteArgs.
  int32_t shared = 0;
  const float* shared_weights = nullptr;
};
WW_HD constexpr const char* refuse(const CombineConfig& c) {
  if (c.type != DType::bf16) return "combine: rows and sums are bf16";
  if (c.warps < 1 || c.warps > 32) return "combine: a block has 1 to 32 warps";
  if (c.arch != Arch::sm90 && c.arch != Arch::sm100) return "combine: it is for sm90 and sm100";
  return nullptr;
}

// Columns of a token that a warp adds up at a time: a vector of 16 bytes for each lane.
inline constexpr int kCombineColumns = 32 * 8;

}  // namespace warpwright
