// Which kernels quantize a matrix, and their grids.
#pragma once
#include <array>
#include <span>
#include <string>

#include "launch/quantize_rules.h"

namespace warpwright::launch {

// The entries of gpu/kernels/quantize.cu. The first takes only the address of the tensor's factor, which it sets to the
// least; all others take QuantizeArgs.
std::span<const std::string> quantize_entries();
inline constexpr int kBeginTensorScale = 0;

struct QuantizeStep {
  int entry = 0;  // a position in quantize_entries()
  unsigned across = 1, down = 1;
  unsigned threads = 1;
};
struct QuantizeSteps {
  std::array<QuantizeStep, 3> list;
  int count = 0;
};
// One launch, or two and a word that is set first where the factor of the tensor has to be found. Rows and columns may
// be 0, the rest is a legal problem.
QuantizeSteps quantize_steps(Quantization kind, DType type, bool given_tensor_scale, const QuantizeArgs& args);

}  // namespace warpwright::launch
