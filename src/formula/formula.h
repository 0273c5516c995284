// A formula: the text of a user-defined epilogue, an expression of C++ over the values of one element.
//
//   30 * tanh(x / 30)
//   float t = x + bias; return t > 0 ? t * t : 0;
//
// It is read here and nowhere else, so that a mistake has the same sentence, line and column with every compiler and
// with none. What comes out is a tree of operations on values: there is no memory it could reach and no loop that might
// not end. It is computed in fp32 with the functions of epilogue/math.h, or in float64 as the reference, and written as
// the functor that a kernel is compiled with.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warpwright/status.h"

namespace warpwright::formula {

// What a text may name. Numbers of fp32, then whole ones.
enum class Name : uint8_t { x, c, bias, row_bias, residual, beta, row, column, batch };
inline constexpr Name kNames[] = {Name::x,    Name::c,   Name::bias,   Name::row_bias, Name::residual,
                                  Name::beta, Name::row, Name::column, Name::batch};
const char* word(Name name);

template <class Real>
struct Values {
  Real x = 0, c = 0, bias = 0, row_bias = 0, residual = 0, beta = 0;
  int32_t row = 0, column = 0, batch = 0;
};

// The kind of a result. Conditions are numbers where a number is wanted, and the other way round, as in C++.
enum class Kind : uint8_t { boolean, whole, real };

// clang-format off
enum class Op : uint8_t {
  number, name, local,                                      // leaves
  to_boolean, to_whole, to_real,                            // conversions
  negate, complement, not_,                                 // with one operand
  add, subtract, multiply, divide, remainder, shift_left, shift_right, bit_and, bit_xor, bit_or,
  less, greater, less_equal, greater_equal, equal, not_equal, and_, or_,
  choose,                                                   // condition, value, value
  call,                                                     // a function of epilogue/math.h
  power,                                                    // by a whole number that is written down
};
// Functions by the kind of their arguments: fp32, or whole numbers where all are.
#define WW_FORMULA_REAL_1(X) X(exp) X(log) X(tanh) X(erf) X(sqrt) X(rsqrt) X(sigmoid) X(sin) X(cos) \
  X(floor) X(ceil) X(trunc) X(round) X(relu) X(silu) X(gelu) X(gelu_erf)
#define WW_FORMULA_REAL_2(X) X(pow)
#define WW_FORMULA_REAL_3(X) X(fma)
#define WW_FORMULA_ANY_1(X) X(abs)
#define WW_FORMULA_ANY_2(X) X(min) X(max)
#define WW_FORMULA_ANY_3(X) X(clamp)
// cost.cpp has what they cost on a GPU in place of one operation.
#define WW_FORMULA_FUNCTION(name) name,
enum class Function : uint8_t {
  WW_FORMULA_REAL_1(WW_FORMULA_FUNCTION) WW_FORMULA_REAL_2(WW_FORMULA_FUNCTION) WW_FORMULA_REAL_3(WW_FORMULA_FUNCTION)
  WW_FORMULA_ANY_1(WW_FORMULA_FUNCTION) WW_FORMULA_ANY_2(WW_FORMULA_FUNCTION) WW_FORMULA_ANY_3(WW_FORMULA_FUNCTION)
};
#undef WW_FORMULA_FUNCTION
// clang-format on

struct Node {
  Op op = Op::number;
  Kind kind = Kind::real;
  uint8_t count = 0;  // how many operands it has
  int operands[3] = {};
  float real = 0;     // Op::number
  int32_t whole = 0;  // Op::number of whole numbers; which name, local or function; the power
};

class Formula {
 public:
  const std::string& text() const { return text_; }
  // The number by which configurations, names and caches know it (epilogue/config.h).
  uint64_t id() const;
  bool uses(Name name) const { return (used_ >> unsigned(name) & 1u) != 0; }
  // Roughly how many instructions of a GPU it takes for one element: what the choice of a kernel has to know about it.
  int operations() const;
  // "x bias": in the order of kNames.
  std::string names() const;

  // With the bits of the kernels, or in float64.
  float value(const Values<float>& values) const;
  double value(const Values<double>& values) const;
  // The functor for a kernel: a specialization of epilogue::Own.
  std::string source() const;

 private:
  friend class Parser;
  friend Result<Formula> parse(std::string_view text);
  template <class Real>
  friend class Evaluation;
  friend class Writer;
  struct Local {
    std::string name;
    int node = 0;
  };
  std::string text_;
  std::vector<Node> nodes_;    // operands before what uses them
  std::vector<Local> locals_;  // in their order
  int result_ = 0;
  uint32_t used_ = 0;
};

// invalid_argument: a sentence with line and column, the line, and a mark below the place.
Result<Formula> parse(std::string_view text);

}  // namespace warpwright::formula
