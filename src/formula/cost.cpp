#include "formula/formula.h"

namespace warpwright::formula {
namespace {

// Counted in what nvcc 13.0 makes of epilogue/math.h for sm_90a, except for slow paths that are hardly ever taken.
int cost_of(Function function) {
  switch (function) {
    case Function::exp:
      return 20;
    case Function::log:
      return 30;
    case Function::tanh:
      return 28;
    case Function::erf:
      return 50;
    case Function::sqrt:
      return 10;
    case Function::rsqrt:
      return 20;
    case Function::sigmoid:
      return 26;
    case Function::sin:
    case Function::cos:
      return 24;
    case Function::silu:
      return 27;
    case Function::gelu:
      return 30;
    case Function::gelu_erf:
      return 42;
    case Function::pow:
      return 60;
    case Function::min:
    case Function::max:
      return 3;
    case Function::clamp:
      return 6;
    default:
      return 1;
  }
}

int cost_of(const Node& node) {
  switch (node.op) {
    case Op::number:
    case Op::name:
    case Op::local:
      return 0;
    case Op::divide:
      return node.kind == Kind::real ? 10 : 20;
    case Op::remainder:
      return 20;
    case Op::call:
      return cost_of(Function(node.whole));
    case Op::power: {
      int products = 0;
      for (int n = node.whole; n > 1; n /= 2) products += 1 + n % 2;
      return products;
    }
    default:
      return 1;
  }
}

}  // namespace

int Formula::operations() const {
  int sum = 0;
  for (const Node& node : nodes_) sum += cost_of(node);
  return sum;
}

}  // namespace warpwright::formula
