#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formula/formula.h"
#include "formula/tokens.h"
#include "formula/vocabulary.h"
#include "warpwright/epilogue/config.h"

namespace warpwright::formula {
namespace {

constexpr size_t kLongestText = 16384, kMostNodes = 2000;
constexpr int kDeepest = 100;
constexpr int kLargestPower = 32;

struct Binary {
  std::string_view sign;
  Op op;
  int precedence;  // as in C++; larger ones bind closer
};
constexpr Binary kBinaries[] = {
    {"||", Op::or_, 1},         {"&&", Op::and_, 2},       {"|", Op::bit_or, 3},         {"^", Op::bit_xor, 4},
    {"&", Op::bit_and, 5},      {"==", Op::equal, 6},      {"!=", Op::not_equal, 6},     {"<", Op::less, 7},
    {">", Op::greater, 7},      {"<=", Op::less_equal, 7}, {">=", Op::greater_equal, 7}, {"<<", Op::shift_left, 8},
    {">>", Op::shift_right, 8}, {"+", Op::add, 9},         {"-", Op::subtract, 9},       {"*", Op::multiply, 10},
    {"/", Op::divide, 10},      {"%", Op::remainder, 10}};

const Binary* binary_of(const Token& token) {
  if (token.sort != Token::Sort::sign) return nullptr;
  for (const Binary& b : kBinaries)
    if (b.sign == token.text) return &b;
  return nullptr;
}
bool compares(Op op) { return op >= Op::less && op <= Op::not_equal; }
bool joins(Op op) { return op == Op::and_ || op == Op::or_; }
bool needs_whole(Op op) { return op >= Op::remainder && op <= Op::bit_or; }

bool is_type(const Token& token) {
  return token.is("float") || token.is("int") || token.is("bool") || token.is("auto");
}

std::string shown(const Token& token) {
  return token.sort == Token::Sort::end ? std::string("the end of the text") : fmt::format("'{}'", token.text);
}

const char* kind_text(Kind kind) {
  return kind == Kind::real ? "an fp32 number" : kind == Kind::whole ? "a whole number" : "a condition";
}

}  // namespace

class Parser {
 public:
  explicit Parser(Formula& to, std::string_view text) : to_(to), tokens_(tokens_of(text)) {}

  void run() {
    if (now().sort == Token::Sort::end) throw Mistake{now().place, "there is no expression"};
    bool is_block = false;
    while (now().is("const") || (is_type(now()) && !ahead(1).is("("))) {
      declare();
      is_block = true;
    }
    if (now().is("return")) {
      is_block = true;
      take();
    } else if (is_block) {
      throw Mistake{now().place, fmt::format("after the declarations comes 'return', not {}", shown(now()))};
    }
    to_.result_ = converted(expression(), Kind::real);
    if (is_block) expect(";", "a statement ends with ';'");
    if (now().sort != Token::Sort::end) {
      if (now().is(";")) throw Mistake{now().place, "an expression alone ends without ';'"};
      refuse_behind(now());
    }
  }

 private:
  const Token& now() const { return tokens_[at_]; }
  const Token& ahead(size_t count) const { return tokens_[std::min(at_ + count, tokens_.size() - 1)]; }
  Token take() {
    const Token token = now();
    if (token.sort != Token::Sort::end) ++at_;
    return token;
  }
  void expect(std::string_view sign, std::string_view why) {
    if (!now().is(sign)) throw Mistake{now().place, fmt::format("{}, and here is {}", why, shown(now()))};
    take();
  }
  [[noreturn]] static void refuse_behind(const Token& token) {
    if (token.sort == Token::Sort::word) {
      if (const char* why = refused_word(token.text)) throw Mistake{token.place, why};
    }
    if (token.is("=")) throw Mistake{token.place, "'=' assigns; to compare write '=='"};
    if (token.is("**")) throw Mistake{token.place, "there is no '**'; write pow(a, b)"};
    if (token.is("::")) throw Mistake{token.place, "functions are named without '::'"};
    if (token.is(")")) throw Mistake{token.place, "this ')' closes nothing"};
    if (token.is("[")) throw Mistake{token.place, "there are no arrays; names stand for the values of one element"};
    if (token.is("<=>")) throw Mistake{token.place, "there is no '<=>'"};
    throw Mistake{token.place, fmt::format("the expression ends before {}", shown(token))};
  }

  int add(Op op, Kind kind, std::initializer_list<int> operands = {}, int32_t whole = 0, float real = 0) {
    if (to_.nodes_.size() >= kMostNodes)
      throw Mistake{now().place, fmt::format("it has more than {} operations", kMostNodes)};
    Node node;
    node.op = op;
    node.kind = kind;
    node.whole = whole;
    node.real = real;
    for (const int operand : operands) node.operands[node.count++] = operand;
    to_.nodes_.push_back(node);
    return int(to_.nodes_.size()) - 1;
  }
  Kind kind(int node) const { return to_.nodes_[size_t(node)].kind; }
  int converted(int node, Kind to) {
    if (kind(node) == to) return node;
    Node& n = to_.nodes_[size_t(node)];
    if (n.op == Op::number && n.kind == Kind::whole && to == Kind::real) {
      n.kind = Kind::real;
      n.real = float(n.whole);
      return node;
    }
    return add(to == Kind::boolean ? Op::to_boolean : to == Kind::whole ? Op::to_whole : Op::to_real, to, {node});
  }
  // The kind in which two values meet; conditions count as whole numbers.
  Kind common(int a, int b) const { return kind(a) == Kind::real || kind(b) == Kind::real ? Kind::real : Kind::whole; }

  void declare() {
    if (now().is("const")) take();
    const Token type = take();
    if (!is_type(type))
      throw Mistake{type.place, fmt::format("a declaration begins with float, int, bool or auto, not {}", shown(type))};
    if (now().is("*") || now().is("&"))
      throw Mistake{now().place, "there are neither pointers nor references, only values"};
    const Token name = take();
    if (name.sort != Token::Sort::word)
      throw Mistake{name.place, fmt::format("after {} comes a name, not {}", type.text, shown(name))};
    if (is_known(name.text)) throw Mistake{name.place, fmt::format("'{}' has a meaning already", name.text)};
    if (refused_word(name.text) != nullptr || is_type(name) || name.text == "const" || name.text == "return")
      throw Mistake{name.place, fmt::format("'{}' cannot be the name of a value", name.text)};
    expect("=", "a declared value is set by '='");
    int node = expression();
    if (now().is(",")) throw Mistake{now().place, "one value is declared at a time"};
    expect(";", "a statement ends with ';'");
    if (type.text == "float") node = converted(node, Kind::real);
    if (type.text == "int") node = converted(node, Kind::whole);
    if (type.text == "bool") node = converted(node, Kind::boolean);
    to_.locals_.push_back({std::string(name.text), node});
  }

  int expression() {
    if (++depth_ > kDeepest) throw Mistake{now().place, fmt::format("more than {} levels of brackets", kDeepest)};
    const int condition = binary(1);
    int node = condition;
    if (now().is("?")) {
      take();
      int yes = expression();
      expect(":", "'?' needs ':' and a second value");
      int no = expression();
      const Kind meet = kind(yes) == kind(no) ? kind(yes) : common(yes, no);
      const int test = converted(condition, Kind::boolean);
      yes = converted(yes, meet);
      no = converted(no, meet);
      node = add(Op::choose, meet, {test, yes, no});
    }
    --depth_;
    return node;
  }

  int binary(int least) {
    int left = unary();
    for (const Binary* b = binary_of(now()); b != nullptr && b->precedence >= least; b = binary_of(now())) {
      const Token sign = take();
      const int right = binary(b->precedence + 1);
      left = joined(*b, sign.place, left, right);
    }
    return left;
  }
  int joined(const Binary& b, Place place, int left, int right) {
    if (joins(b.op)) return add(b.op, Kind::boolean, {converted(left, Kind::boolean), converted(right, Kind::boolean)});
    if (needs_whole(b.op)) {
      const bool first = kind(left) == Kind::real;
      if (first || kind(right) == Kind::real) {
        const char* const instead = b.op == Op::remainder ? "; write a - floor(a / b) * b"
                                    : b.op == Op::bit_xor ? "; a power is pow(a, b)"
                                                          : "";
        throw Mistake{place, fmt::format("'{}' takes whole numbers, and its {} side is {}{}", b.sign,
                                         first ? "left" : "right", kind_text(Kind::real), instead)};
      }
      return add(b.op, Kind::whole, {converted(left, Kind::whole), converted(right, Kind::whole)});
    }
    if (b.op == Op::divide) check_division(place, left, right);
    const Kind meet = common(left, right);
    left = converted(left, meet);
    right = converted(right, meet);
    if (is_number(left, Kind::real) && is_number(right, Kind::real) && b.op <= Op::divide)
      return folded(b.op, left, right);
    return add(b.op, compares(b.op) ? Kind::boolean : meet, {left, right});
  }
  bool is_number(int node, Kind kind) const {
    const Node& n = to_.nodes_[size_t(node)];
    return n.op == Op::number && n.kind == kind;
  }
  // 1.0 / 30 is computed once, here, with the rounding of the kernels.
  int folded(Op op, int left, int right) {
    const float a = to_.nodes_[size_t(left)].real, b = to_.nodes_[size_t(right)].real;
    const float value = op == Op::add ? a + b : op == Op::subtract ? a - b : op == Op::multiply ? a * b : a / b;
    to_.nodes_.resize(to_.nodes_.size() - 2);  // both were added last
    return add(Op::number, Kind::real, {}, 0, value);
  }
  // 1 / 2 is 0 in C++, which is never what is meant.
  void check_division(Place place, int left, int right) const {
    const Node &a = to_.nodes_[size_t(left)], &b = to_.nodes_[size_t(right)];
    if (!is_number(left, Kind::whole) || !is_number(right, Kind::whole)) return;
    if (b.whole == 0) throw Mistake{place, "a division by 0"};
    if (a.whole % b.whole != 0) {
      throw Mistake{place, fmt::format("{0} / {1} divides whole numbers and is {2}; write {0}.0 / {1}", a.whole,
                                       b.whole, a.whole / b.whole)};
    }
  }

  int unary() {
    if (++depth_ > kDeepest) throw Mistake{now().place, fmt::format("more than {} levels of brackets", kDeepest)};
    const int node = unary_alone();
    --depth_;
    return node;
  }
  int unary_alone() {
    const Token sign = now();
    if (sign.is("-") || sign.is("+")) {
      take();
      int node = unary();
      if (kind(node) == Kind::boolean) node = converted(node, Kind::whole);
      return sign.is("+") ? node : add(Op::negate, kind(node), {node});
    }
    if (sign.is("!")) {
      take();
      return add(Op::not_, Kind::boolean, {converted(unary(), Kind::boolean)});
    }
    if (sign.is("~")) {
      take();
      const int node = unary();
      if (kind(node) == Kind::real) throw Mistake{sign.place, "'~' takes a whole number, and this is an fp32 number"};
      return add(Op::complement, Kind::whole, {converted(node, Kind::whole)});
    }
    return primary();
  }

  int primary() {
    const Token token = take();
    switch (token.sort) {
      case Token::Sort::whole:
        return add(Op::number, Kind::whole, {}, token.whole, token.real);
      case Token::Sort::real:
        return add(Op::number, Kind::real, {}, 0, token.real);
      case Token::Sort::word:
        return now().is("(") ? call(token) : named(token);
      case Token::Sort::sign:
        if (token.is("(")) {
          if (is_type(now())) throw Mistake{now().place, fmt::format("a conversion is written {}(...)", now().text)};
          const int node = expression();
          if (now().is(",")) throw Mistake{now().place, "',' only separates the arguments of a function"};
          if (!now().is(")") && now().sort != Token::Sort::end) refuse_behind(now());
          expect(")",
                 fmt::format("the '(' of line {}, column {} is closed by ')'", token.place.line, token.place.column));
          return node;
        }
        if (token.is("*") || token.is("&"))
          throw Mistake{token.place, fmt::format("'{}' needs a value on its left; there are no pointers", token.text)};
        if (token.is("++") || token.is("--"))
          throw Mistake{token.place, fmt::format("'{}' changes a value, and values do not change here", token.text)};
        if (token.is("{")) throw Mistake{token.place, "there are no blocks; statements follow each other"};
        if (token.is("[")) throw Mistake{token.place, "there are neither arrays nor lambdas"};
        if (token.is("::")) throw Mistake{token.place, "functions are named without '::'"};
        throw Mistake{token.place, fmt::format("a value is missing before {}", shown(token))};
      case Token::Sort::end:
        break;
    }
    throw Mistake{token.place, "a value is missing at the end of the text"};
  }

  // Whether a word means something.
  bool is_known(std::string_view text) const {
    for (const Name name : kNames)
      if (text == word(name)) return true;
    for (const Formula::Local& local : to_.locals_)
      if (text == local.name) return true;
    return function_of(text) != nullptr || text == "true" || text == "false" || text == kInfinityWord ||
           text == kSelectWord;
  }
  int named(const Token& token) {
    for (const Name name : kNames) {
      if (token.text != word(name)) continue;
      to_.used_ |= 1u << unsigned(name);
      return add(Op::name, name >= Name::row ? Kind::whole : Kind::real, {}, int32_t(name));
    }
    for (size_t i = 0; i < to_.locals_.size(); ++i) {
      if (token.text == to_.locals_[i].name) return add(Op::local, kind(to_.locals_[i].node), {}, int32_t(i));
    }
    if (token.text == "true" || token.text == "false")
      return add(Op::number, Kind::boolean, {}, token.text == "true" ? 1 : 0);
    if (token.text == kInfinityWord) return add(Op::number, Kind::real, {}, 0, std::numeric_limits<float>::infinity());
    if (function_of(token.text) != nullptr || token.text == kSelectWord)
      throw Mistake{token.place, fmt::format("'{}' is a function; its arguments go in brackets", token.text)};
    if (is_type(token)) throw Mistake{token.place, "a declaration comes before the expression and ends with ';'"};
    refuse_word(token);
  }
  [[noreturn]] void refuse_word(const Token& token) const {
    if (const char* why = refused_word(token.text)) throw Mistake{token.place, why};
    if (now().is("::")) throw Mistake{token.place, "functions are named without a namespace: exp(x), not std::exp(x)"};
    std::vector<std::string_view> locals;
    for (const Formula::Local& local : to_.locals_) locals.emplace_back(local.name);
    throw Mistake{token.place, unknown_word(token.text, locals)};
  }

  int call(const Token& token) {
    const FunctionRow* const row = function_of(token.text);
    const bool selects = token.text == kSelectWord, converts = token.is("float") || token.is("int");
    if (row == nullptr && !selects && !converts) {
      if (is_known(token.text)) throw Mistake{token.place, fmt::format("'{}' is not a function", token.text)};
      refuse_word(token);
    }
    take();
    std::vector<int> arguments;
    if (!now().is(")")) {
      arguments.push_back(expression());
      while (now().is(",")) {
        take();
        arguments.push_back(expression());
      }
    }
    if (!now().is(")") && now().sort != Token::Sort::end) refuse_behind(now());
    expect(")", fmt::format("the arguments of '{}' end with ')'", token.text));
    const int wanted = row != nullptr ? row->arguments : selects ? 3 : 1;
    if (int(arguments.size()) != wanted) {
      throw Mistake{token.place, fmt::format("'{}' has {} argument{}, not {}", token.text, wanted,
                                             wanted == 1 ? "" : "s", arguments.size())};
    }
    if (converts) return converted(arguments[0], token.is("int") ? Kind::whole : Kind::real);
    if (selects) {
      const Kind meet =
          kind(arguments[1]) == kind(arguments[2]) ? kind(arguments[1]) : common(arguments[1], arguments[2]);
      const int test = converted(arguments[0], Kind::boolean);
      const int yes = converted(arguments[1], meet), no = converted(arguments[2], meet);
      return add(Op::choose, meet, {test, yes, no});
    }
    return called(*row, arguments);
  }
  int called(const FunctionRow& row, std::vector<int> arguments) {
    if (row.function == Function::pow) {
      const Node exponent = to_.nodes_[size_t(arguments[1])];
      const bool written = exponent.op == Op::number && exponent.kind == Kind::whole;
      if (written && exponent.whole <= kLargestPower)
        return add(Op::power, Kind::real, {converted(arguments[0], Kind::real)}, exponent.whole);
    }
    bool whole = !row.real;
    for (const int argument : arguments) whole = whole && kind(argument) != Kind::real;
    const Kind meet = whole ? Kind::whole : Kind::real;
    for (int& argument : arguments) argument = converted(argument, meet);
    const int node = add(Op::call, meet, {}, int32_t(row.function));
    for (const int argument : arguments) to_.nodes_[size_t(node)].operands[to_.nodes_[size_t(node)].count++] = argument;
    return node;
  }

  Formula& to_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

namespace {

// The line of a place and a mark below it; tabs stay tabs, so that the mark stands where it should.
std::string picture(std::string_view text, Place place) {
  for (int line = 1; line < place.line; ++line) text.remove_prefix(text.find('\n') + 1);
  std::string_view row = text.substr(0, text.find('\n'));
  if (row.ends_with('\r')) row.remove_suffix(1);
  std::string shown, mark;
  int column = 1;
  for (const char c : row) {
    const auto code = static_cast<unsigned char>(c);
    shown += code < 0x20 && c != '\t' ? '?' : c;
    if ((code & 0xc0u) == 0x80u) continue;
    if (column++ < place.column) mark += c == '\t' ? '\t' : ' ';
  }
  return fmt::format("\n  {}\n  {}^", shown, mark);
}

}  // namespace

uint64_t Formula::id() const { return own_id(text_.c_str()); }

std::string Formula::names() const {
  std::vector<std::string_view> list;
  for (const Name name : kNames)
    if (uses(name)) list.emplace_back(word(name));
  return fmt::format("{}", fmt::join(list, " "));
}

Result<Formula> parse(std::string_view text) {
  const auto refused = [&](Place place, const std::string& sentence) {
    return Status(Code::invalid_argument,
                  fmt::format("epilogue, line {}, column {}: {}{}{}", place.line, place.column, sentence,
                              sentence.ends_with('?') ? "" : ".", picture(text, place)));
  };
  if (text.size() > kLongestText) {
    return Status(Code::invalid_argument, fmt::format("epilogue: the text has {} characters; it may have up to {}.",
                                                      text.size(), kLongestText));
  }
  Formula formula;
  formula.text_ = text;
  try {
    Parser(formula, formula.text_).run();
  } catch (const Mistake& mistake) {
    return refused(mistake.place, mistake.sentence);
  }
  return formula;
}

}  // namespace warpwright::formula
