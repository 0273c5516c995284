// A formula as C++: the functor that the source of an instance is compiled with, for a GPU and for the simulator.
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <string>

#include "formula/formula.h"

namespace warpwright::formula {
namespace {

const char* sign_of(Op op) {
  switch (op) {
    case Op::less:
      return "<";
    case Op::greater:
      return ">";
    case Op::less_equal:
      return "<=";
    case Op::greater_equal:
      return ">=";
    case Op::equal:
      return "==";
    case Op::not_equal:
      return "!=";
    case Op::and_:
      return "&&";
    case Op::or_:
      return "||";
    case Op::bit_and:
      return "&";
    case Op::bit_xor:
      return "^";
    case Op::bit_or:
      return "|";
    default:
      return nullptr;
  }
}
// Operations that are functions of epilogue/math.h: one rounding each, whatever the compiler would like to join.
const char* operation_of(Op op) {
  switch (op) {
    case Op::add:
      return "add";
    case Op::subtract:
      return "subtract";
    case Op::multiply:
      return "multiply";
    case Op::divide:
      return "divide";
    case Op::remainder:
      return "remainder";
    case Op::shift_left:
      return "shift_left";
    case Op::shift_right:
      return "shift_right";
    default:
      return nullptr;
  }
}
const char* word_of(Function function) {
#define WW_CASE(name)  \
  case Function::name: \
    return #name;
  switch (function) {
    WW_FORMULA_REAL_1(WW_CASE)
    WW_FORMULA_REAL_2(WW_CASE)
    WW_FORMULA_REAL_3(WW_CASE)
    WW_FORMULA_ANY_1(WW_CASE)
    WW_FORMULA_ANY_2(WW_CASE)
    WW_FORMULA_ANY_3(WW_CASE)
  }
#undef WW_CASE
  return "";
}

const char* type_of(Kind kind) { return kind == Kind::real ? "float" : kind == Kind::whole ? "int" : "bool"; }

std::string number(const Node& node) {
  if (node.kind == Kind::boolean) return node.whole != 0 ? "true" : "false";
  if (node.kind == Kind::whole) return fmt::format("{}", node.whole);
  if (std::isinf(node.real)) return "math::kInfinity";
  std::string digits = fmt::format("{:.9g}", node.real);  // enough for every fp32
  if (digits.find_first_of(".e") == std::string::npos) digits += ".";
  return digits + "f";
}

// The text as a comment: what could end one is not in it.
std::string comment(const std::string& text) {
  std::string out = "// ";
  for (const char c : text) {
    if (c == '\n') {
      out += "\n// ";
    } else {
      out += c >= 0x20 && c < 0x7f && c != '\\' ? c : ' ';
    }
  }
  return out;
}

}  // namespace

class Writer {
 public:
  explicit Writer(const Formula& formula) : formula_(formula) {}

  std::string functor() const {
    std::string body;
    for (size_t i = 0; i < formula_.locals_.size(); ++i) {
      const int node = formula_.locals_[i].node;
      body += fmt::format("    const {} local_{} = {};\n", type_of(formula_.nodes_[size_t(node)].kind), i, of(node));
    }
    return fmt::format(
        "{}\ntemplate <>\nstruct warpwright::epilogue::Own<{}ull> {{\n"
        "  WW_FN float operator()(const OwnValues& v) const {{\n    namespace math = ::warpwright::epilogue::math;\n{}"
        "    return {};\n  }}\n}};\n",
        comment(formula_.text_), formula_.id(), body, of(formula_.result_));
  }

 private:
  std::string of(int index) const {
    const Node& node = formula_.nodes_[size_t(index)];
    const auto operand = [&](int i) { return of(node.operands[i]); };
    if (const char* sign = sign_of(node.op)) return fmt::format("({} {} {})", operand(0), sign, operand(1));
    if (const char* name = operation_of(node.op)) return fmt::format("math::{}({}, {})", name, operand(0), operand(1));
    switch (node.op) {
      case Op::number:
        return number(node);
      case Op::name:
        return fmt::format("v.{}", Name(node.whole) == Name::row_bias ? "bias" : word(Name(node.whole)));
      case Op::local:
        return fmt::format("local_{}", node.whole);
      case Op::to_boolean:
        return fmt::format("({} != 0)", operand(0));
      case Op::to_whole:
        return formula_.nodes_[size_t(node.operands[0])].kind == Kind::real
                   ? fmt::format("math::to_int({})", operand(0))
                   : fmt::format("int({})", operand(0));
      case Op::to_real:
        return fmt::format("float({})", operand(0));
      case Op::negate:
        return node.kind == Kind::real ? fmt::format("(-{})", operand(0))
                                       : fmt::format("math::subtract(0, {})", operand(0));
      case Op::complement:
        return fmt::format("(~{})", operand(0));
      case Op::not_:
        return fmt::format("(!{})", operand(0));
      case Op::choose:
        return fmt::format("({} ? {} : {})", operand(0), operand(1), operand(2));
      case Op::power:
        return fmt::format("math::power<{}>({})", node.whole, operand(0));
      default:
        break;
    }
    std::string arguments;
    for (int i = 0; i < node.count; ++i) arguments += (i == 0 ? "" : ", ") + operand(i);
    return fmt::format("math::{}({})", word_of(Function(node.whole)), arguments);
  }

  const Formula& formula_;
};

std::string Formula::source() const { return Writer(*this).functor(); }

}  // namespace warpwright::formula
