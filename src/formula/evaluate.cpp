#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "formula/formula.h"
#include "warpwright/epilogue/math.h"

namespace warpwright::formula {
namespace {

// The functions of epilogue/math.h in float64.
struct Exact {
  static double exp(double x) { return std::exp(x); }
  static double log(double x) { return std::log(x); }
  static double tanh(double x) { return std::tanh(x); }
  static double erf(double x) { return std::erf(x); }
  static double sqrt(double x) { return std::sqrt(x); }
  static double rsqrt(double x) { return 1 / std::sqrt(x); }
  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
  // Beyond this a kernel gives NaN.
  static bool is_near(double x) { return std::abs(x) <= 100000; }
  static double sin(double x) { return is_near(x) ? std::sin(x) : std::numeric_limits<double>::quiet_NaN(); }
  static double cos(double x) { return is_near(x) ? std::cos(x) : std::numeric_limits<double>::quiet_NaN(); }
  static double floor(double x) { return std::floor(x); }
  static double ceil(double x) { return std::ceil(x); }
  static double trunc(double x) { return std::trunc(x); }
  static double round(double x) { return std::round(x); }
  static double relu(double x) { return x < 0 ? 0 : x; }
  static double silu(double x) { return x * sigmoid(x); }
  static double gelu(double x) {
    const double root = 0.7978845608028654;  // sqrt(2 / pi)
    return 0.5 * x * (1 + std::tanh(root * (x + 0.044715 * x * x * x)));
  }
  static double gelu_erf(double x) { return 0.5 * x * std::erfc(-x * 0.7071067811865476); }
  static double pow(double x, double y) { return std::pow(x, y); }
  static double fma(double a, double b, double c) { return a * b + c; }
  static double abs(double x) { return std::abs(x); }
  static double min(double a, double b) { return std::isnan(b) || b < a ? b : a; }
  static double max(double a, double b) { return std::isnan(b) || a < b ? b : a; }
  static double clamp(double x, double low, double high) { return min(max(x, low), high); }
  static double add(double a, double b) { return a + b; }
  static double subtract(double a, double b) { return a - b; }
  static double multiply(double a, double b) { return a * b; }
  static double divide(double a, double b) { return a / b; }
};

// The functions of the kernels.
struct Rounded {
#define WW_ROUNDED_1(name) \
  static float name(float x) { return epilogue::math::name(x); }
#define WW_ROUNDED_2(name) \
  static float name(float a, float b) { return epilogue::math::name(a, b); }
#define WW_ROUNDED_3(name) \
  static float name(float a, float b, float c) { return epilogue::math::name(a, b, c); }
  WW_FORMULA_REAL_1(WW_ROUNDED_1)
  WW_FORMULA_REAL_2(WW_ROUNDED_2)
  WW_FORMULA_REAL_3(WW_ROUNDED_3)
  WW_FORMULA_ANY_1(WW_ROUNDED_1)
  WW_FORMULA_ANY_2(WW_ROUNDED_2)
  WW_FORMULA_ANY_3(WW_ROUNDED_3)
  WW_ROUNDED_2(add)
  WW_ROUNDED_2(subtract)
  WW_ROUNDED_2(multiply)
  WW_ROUNDED_2(divide)
#undef WW_ROUNDED_1
#undef WW_ROUNDED_2
#undef WW_ROUNDED_3
};

}  // namespace

template <class Real>
class Evaluation {
  using Functions = std::conditional_t<std::is_same_v<Real, float>, Rounded, Exact>;
  // A value of any kind; the fields of the other kinds are 0.
  struct V {
    Real real = 0;
    int32_t whole = 0;
  };

 public:
  Evaluation(const Formula& formula, const Values<Real>& values) : formula_(formula), values_(values) {}

  Real run() {
    for (const Formula::Local& local : formula_.locals_) locals_.push_back(of(local.node));
    return of(formula_.result_).real;
  }

 private:
  V of(int index) const {
    const Node& node = formula_.nodes_[size_t(index)];
    switch (node.op) {
      case Op::number:
        return {Real(node.real), node.whole};
      case Op::name:
        return named(Name(node.whole));
      case Op::local:
        return locals_[size_t(node.whole)];
      case Op::choose:
        return of(node.operands[of(node.operands[0]).whole != 0 ? 1 : 2]);
      case Op::and_:
        return truth(of(node.operands[0]).whole != 0 && of(node.operands[1]).whole != 0);
      case Op::or_:
        return truth(of(node.operands[0]).whole != 0 || of(node.operands[1]).whole != 0);
      default:
        break;
    }
    V v[3];
    for (int i = 0; i < node.count; ++i) v[i] = of(node.operands[i]);
    const bool real = node.count > 0 && formula_.nodes_[size_t(node.operands[0])].kind == Kind::real;
    return real ? of_reals(node, v) : of_wholes(node, v);
  }

  static V truth(bool is) { return {0, is ? 1 : 0}; }
  static V of_real(Real value) { return {value, 0}; }
  static V of_whole(int32_t value) { return {0, value}; }

  V named(Name name) const {
    switch (name) {
      case Name::x:
        return of_real(values_.x);
      case Name::c:
        return of_real(values_.c);
      case Name::bias:
        return of_real(values_.bias);
      case Name::row_bias:
        return of_real(values_.row_bias);
      case Name::residual:
        return of_real(values_.residual);
      case Name::beta:
        return of_real(values_.beta);
      case Name::row:
        return of_whole(values_.row);
      case Name::column:
        return of_whole(values_.column);
      case Name::batch:
        return of_whole(values_.batch);
    }
    return {};
  }

  static V of_reals(const Node& node, const V* v) {
    const Real a = v[0].real, b = v[1].real;
    switch (node.op) {
      case Op::to_boolean:
        return truth(a != 0);
      case Op::to_whole:
        return of_whole(epilogue::math::to_int(float(a)));
      case Op::negate:
        return of_real(-a);
      case Op::add:
        return of_real(Functions::add(a, b));
      case Op::subtract:
        return of_real(Functions::subtract(a, b));
      case Op::multiply:
        return of_real(Functions::multiply(a, b));
      case Op::divide:
        return of_real(Functions::divide(a, b));
      case Op::less:
        return truth(a < b);
      case Op::greater:
        return truth(a > b);
      case Op::less_equal:
        return truth(a <= b);
      case Op::greater_equal:
        return truth(a >= b);
      case Op::equal:
        return truth(a == b);
      case Op::not_equal:
        return truth(a != b);
      case Op::power:
        return of_real(power(a, node.whole));
      default:
        return of_real(called(Function(node.whole), a, b, v[2].real));
    }
  }
  static Real power(Real x, int n) {
    if (n == 0) return 1;
    if (n == 1) return x;
    const Real half = power(x, n / 2), square = Functions::multiply(half, half);
    return n % 2 == 0 ? square : Functions::multiply(square, x);
  }
  static Real called(Function function, Real a, Real b, Real c) {
#define WW_CASE_1(name) \
  case Function::name:  \
    return Functions::name(a);
#define WW_CASE_2(name) \
  case Function::name:  \
    return Functions::name(a, b);
#define WW_CASE_3(name) \
  case Function::name:  \
    return Functions::name(a, b, c);
    switch (function) {
      WW_FORMULA_REAL_1(WW_CASE_1)
      WW_FORMULA_REAL_2(WW_CASE_2)
      WW_FORMULA_REAL_3(WW_CASE_3)
      WW_FORMULA_ANY_1(WW_CASE_1)
      WW_FORMULA_ANY_2(WW_CASE_2)
      WW_FORMULA_ANY_3(WW_CASE_3)
    }
#undef WW_CASE_1
#undef WW_CASE_2
#undef WW_CASE_3
    return 0;
  }

  static V of_wholes(const Node& node, const V* v) {
    namespace math = epilogue::math;
    const int32_t a = v[0].whole, b = v[1].whole;
    switch (node.op) {
      case Op::to_boolean:
        return truth(a != 0);
      case Op::to_whole:
        return of_whole(a);
      case Op::to_real:
        return of_real(Real(float(a)));
      case Op::negate:
        return of_whole(math::subtract(0, a));
      case Op::complement:
        return of_whole(~a);
      case Op::not_:
        return truth(a == 0);
      case Op::add:
        return of_whole(math::add(a, b));
      case Op::subtract:
        return of_whole(math::subtract(a, b));
      case Op::multiply:
        return of_whole(math::multiply(a, b));
      case Op::divide:
        return of_whole(math::divide(a, b));
      case Op::remainder:
        return of_whole(math::remainder(a, b));
      case Op::shift_left:
        return of_whole(math::shift_left(a, b));
      case Op::shift_right:
        return of_whole(math::shift_right(a, b));
      case Op::bit_and:
        return of_whole(a & b);
      case Op::bit_xor:
        return of_whole(a ^ b);
      case Op::bit_or:
        return of_whole(a | b);
      case Op::less:
        return truth(a < b);
      case Op::greater:
        return truth(a > b);
      case Op::less_equal:
        return truth(a <= b);
      case Op::greater_equal:
        return truth(a >= b);
      case Op::equal:
        return truth(a == b);
      case Op::not_equal:
        return truth(a != b);
      default:
        break;
    }
    switch (Function(node.whole)) {
      case Function::abs:
        return of_whole(math::abs(a));
      case Function::min:
        return of_whole(math::min(a, b));
      case Function::max:
        return of_whole(math::max(a, b));
      default:
        return of_whole(math::clamp(a, b, v[2].whole));
    }
  }

  const Formula& formula_;
  const Values<Real>& values_;
  std::vector<V> locals_;
};

float Formula::value(const Values<float>& values) const { return Evaluation<float>(*this, values).run(); }
double Formula::value(const Values<double>& values) const { return Evaluation<double>(*this, values).run(); }

}  // namespace warpwright::formula
