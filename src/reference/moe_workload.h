// Operands and reference of a mixture of experts, and of the small kernels around its two products.
#pragma once
#include <cstdint>
#include <vector>

#include "reference/workload.h"
#include "warpwright/moe.h"

namespace warpwright::reference {

// Which token goes where: the experts of each token, and their weights.
struct Routing {
  int64_t tokens = 0, top_k = 1, experts = 1;  // with the experts that every token takes
  std::vector<int64_t> ids;                    // [tokens, top_k]
  std::vector<float> weights;                  // the same
  int64_t token_count = -1;                    // the value of the word in device memory; -1: there is none
  int64_t shared = 0;                          // every token takes this many experts, the last ones
  std::vector<float> shared_weights = {};      // [tokens, shared]; empty: 1

  int64_t each() const { return top_k + shared; }  // pairs of a token
  // Tokens that are there.
  int64_t live() const { return token_count < 0 || token_count > tokens ? tokens : token_count; }
};
// How a routing is drawn.
enum class Draw : uint8_t {
  uniform,  // every expert is as likely as any other
  skewed,   // most tokens go to the first experts, and every fifth expert has none
  one,      // all go to one expert
  bad,      // uniform, with experts that do not exist, weights that are not numbers, and more tokens than room
};
// Weights are positive and those of a token have the sum 1; with whole numbers they are powers of two.
Routing drawn_routing(int64_t tokens, int64_t top_k, int64_t experts, Draw draw, Data data, uint64_t seed);
// The same for the experts that tokens choose, and so many that every token takes behind them; a bad one has weights of
// theirs that are not numbers, too.
Routing with_shared(Routing routing, int64_t shared, bool weights, Data data, uint64_t seed);

// The tables that belong to such a routing: the rule that the kernel follows.
struct RoutingTables {
  std::vector<uint32_t> offsets;  // [experts + 1]
  std::vector<int32_t> index;     // the token of each row; as many as there are rows
  std::vector<int32_t> slots;     // the slot of each pair
  uint32_t status = 0;
};
RoutingTables tables_of(const Routing& routing);

// m tokens, n experts, k pairs of a token. Arrays: ids, weights, shared_weights and token_count if they are there,
// index, slots, status, offsets.
Workload route_workload(Routing routing, int id_bytes, uint64_t seed);
// m tokens of n columns and k pairs. Arrays: rows, slots, weights, shared_weights and token_count if they are there,
// out.
Workload combine_workload(const Routing& routing, int64_t columns, Data data, uint64_t seed);

// The matrices of a layer; the scales are those of e4m3.
struct MoeOperands {
  Array x, w_gate_up, w_down;
  Array x_scales, w_gate_up_scales, w_down_scales;
};
MoeOperands moe_operands(const MoeProblem& problem, Data data, uint64_t seed);
// Arrays: x, w_gate_up, w_down, for e4m3 their scales, ids, weights, shared_weights and token_count if they are there,
// status, out. Tokens and experts that nobody asks for are NaN.
Workload moe_workload(const MoeProblem& problem, const Routing& routing, MoeOperands operands);
MoePointers moe_pointers(const Workload& w, const std::vector<void*>& arrays);

}  // namespace warpwright::reference
