// Operands that the TMA cannot address: either threads load them, or they are first copied to where it can.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "choice/dense.h"
#include "problem/lower.h"

namespace warpwright::choice {

using problem::Lowered;
using problem::StoredMatrix;

// Copies of A and B in a workspace, from a multiple of kAlignment bytes on, A first. Their rows start at multiples of
// 16 bytes.
struct Packing {
  static constexpr int64_t kAlignment = 128;
  bool a = false, b = false;  // which of them are copied
  StoredMatrix a_copy, b_copy;

  bool any() const { return a || b; }
  int64_t a_bytes() const;  // multiples of kAlignment
  int64_t b_bytes() const;
  int64_t bytes() const { return a_bytes() + b_bytes(); }
};

// The copies without which threads would have to load; none where the TMA can.
Packing packing_of(const GemmProblem& problem, const Lowered& low);
// The problem as the kernel sees it when the copies are made.
Lowered with_copies(Lowered low, const Packing& packing);
// What the copies cost, by the model.
double packing_us(const Lowered& low, const Packing& packing);

struct Decision {
  Choice choice;
  Packing packing;
  Lowered kernel;  // the problem as the kernel sees it

  // What GemmProblem::plan takes: the kernel's name, with "-packed" where operands are copied first.
  std::string name() const;
};
// Which kernel serves a problem on the SMs of a chip that it may occupy, and whether operands are copied first: both by
// the model where the problem names no plan.
Result<Decision> decide(const GemmProblem& problem, const Lowered& low, const Chip& whole,
                        OnDemand on_demand = OnDemand::allowed);

// The best by the model, with copies of operands and without, the best first.
std::vector<Decision> best_by_model(const GemmProblem& problem, const Lowered& low, const Chip& whole, size_t count,
                                    OnDemand on_demand);

}  // namespace warpwright::choice
