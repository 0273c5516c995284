// A mixture of experts on a Hopper or Blackwell GPU, from the choice of each token's experts to the sum of their
// answers:
//
//   out[t] = sum over j of weights[t, j] * w_down[e] * (silu(gate) * up),  [gate; up] = w_gate_up[e] * x[t],  e =
//   ids[t, j]
//
// The experts that every token takes, if there are any, are the last `shared` ones; they are added in the same
// launches.
//
//   warpwright::MoeProblem problem{.tokens = 4096, .hidden = 7168, .intermediate = 2048, .experts = 256, .top_k = 8};
//   if (auto plan = warpwright::make_plan(problem)) {
//     warpwright::Status status = plan->run({.x = x, .w_gate_up = w1, .w_down = w2, .ids = ids, .weights = w, .out =
//     out},
//                                           stream);
//   }
//
// There are four launches, and the host looks at nothing between them: the rows of each expert are counted and numbered
// on the device, the first product gathers its rows while it loads them and ends in swiglu, the second is an ordinary
// product by groups, and the last launch adds up the rows of each token in the order of its experts. The same input
// gives the same bits. Plans, statuses, threads, devices and capture are as in warpwright/gemm.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "warpwright/core/dtype.h"
#include "warpwright/kernel/sm90/moe/config.h"
#include "warpwright/status.h"

namespace warpwright {

// A layer: how many tokens and experts, and the extents of the weights.
struct MoeProblem {
  int64_t tokens = 0;        // how many there is room for; may be 0
  int64_t hidden = 0;        // columns of x and of the result: a multiple of 8, for e4m3 of 128
  int64_t intermediate = 0;  // columns between the products: a multiple of 8, for e4m3 of 128
  int64_t experts = 1;
  int64_t top_k = 1;           // how many experts a token chooses
  DType type = DType::bf16;    // the type of x and the weights: bf16, or e4m3 with blockwise scales. The result is bf16
  int id_bytes = 4;            // bytes of an expert's number: 4 or 8
  int sm_limit = 0;            // SMs a kernel may occupy; 0: all
  std::string gate_up_plan{};  // plans of the two products; empty: the best ones
  std::string down_plan{};
  int64_t shared = 0;  // this many experts, the last ones, are taken by every token in addition to its top_k others
};

// Pointers to device memory, where rows follow each other without gaps.
struct MoePointers {
  const void* x = nullptr;          // [tokens, hidden], 16-byte aligned like the weights and out
  const void* w_gate_up = nullptr;  // [experts][2 * intermediate, hidden]: the gates, then the ups
  const void* w_down = nullptr;     // [experts][hidden, intermediate]
  const void* ids = nullptr;  // [tokens, top_k], signed integers. If there is no such expert, the pair adds nothing
  const float* weights = nullptr;  // [tokens, top_k]. If one is not a number, the pair adds nothing
  void* out = nullptr;             // [tokens, hidden] of bf16
  // One word: how many of the tokens are valid; the other rows of out are not written. Null: all.
  const uint32_t* token_count = nullptr;
  uint32_t* status = nullptr;  // one word, receives the RouteFault bits that a run found; may be null
  // For e4m3: [tokens, hidden / 128], [experts][2 * intermediate / 128, hidden / 128] and [experts][hidden / 128,
  // intermediate / 128].
  const float* x_scales = nullptr;
  const float* w_gate_up_scales = nullptr;
  const float* w_down_scales = nullptr;
  // [tokens, shared]: the weights of the experts that every token takes. Null: all are 1.
  const float* shared_weights = nullptr;
  // workspace_bytes() bytes at a multiple of 128; null: the run allocates memory in the order of the stream.
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

// The sentence names the argument, its value and the rule. Needs no GPU.
Status validate(const MoeProblem& problem);

// A validated problem with its kernels chosen and ready to run.
class MoePlan {
 public:
  MoePlan(MoePlan&&) noexcept;
  MoePlan& operator=(MoePlan&&) noexcept;
  ~MoePlan();

  // Puts the layer on a stream, a cudaStream_t, of the device the plan was made for, which must be current.
  Status run(const MoePointers& pointers, void* stream = nullptr) const;

  size_t workspace_bytes() const;
  // The instances that it launches, in order, one on each line.
  std::string explanation() const;
  int device() const;

 private:
  struct State;
  explicit MoePlan(std::unique_ptr<State> state);
  friend Result<MoePlan> make_plan(const MoeProblem& problem);
  std::unique_ptr<State> state_;
};

// Makes a plan for the current device.
Result<MoePlan> make_plan(const MoeProblem& problem);

// Makes a plan and runs one layer with it.
Status moe(const MoeProblem& problem, const MoePointers& pointers, void* stream = nullptr);

}  // namespace warpwright
