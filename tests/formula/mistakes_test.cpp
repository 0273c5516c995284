// Texts that are refused: the whole message, with line, column and the mark below the place.
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <string>

#include "formula/formula.h"

namespace warpwright::formula {
namespace {

struct Case {
  std::string text, said;
};

const Case kCases[] = {
    {"",
     "epilogue, line 1, column 1: there is no expression.\n"
     "  \n"
     "  ^"},
    {"   ",
     "epilogue, line 1, column 4: there is no expression.\n"
     "     \n"
     "     ^"},
    {"x *",
     "epilogue, line 1, column 4: a value is missing at the end of the text.\n"
     "  x *\n"
     "     ^"},
    {"x * sigmod(x)",
     "epilogue, line 1, column 5: 'sigmod' is not known; did you mean 'sigmoid'?\n"
     "  x * sigmod(x)\n"
     "      ^"},
    {"x + y",
     "epilogue, line 1, column 5: 'y' is not known; the values are x, c, bias, row_bias, residual, beta, row, column, "
     "batch.\n"
     "  x + y\n"
     "      ^"},
    {"(x + 1",
     "epilogue, line 1, column 7: the '(' of line 1, column 1 is closed by ')', and here is the end of the text.\n"
     "  (x + 1\n"
     "        ^"},
    {"x + 1)",
     "epilogue, line 1, column 6: this ')' closes nothing.\n"
     "  x + 1)\n"
     "       ^"},
    {"x ** 2",
     "epilogue, line 1, column 3: there is no '**'; write pow(a, b).\n"
     "  x ** 2\n"
     "    ^"},
    {"x % 2",
     "epilogue, line 1, column 3: '%' takes whole numbers, and its left side is an fp32 number; write a - floor(a / b) "
     "* b.\n"
     "  x % 2\n"
     "    ^"},
    {"x ^ 2",
     "epilogue, line 1, column 3: '^' takes whole numbers, and its left side is an fp32 number; a power is pow(a, b).\n"
     "  x ^ 2\n"
     "    ^"},
    {"1 / 2 * x",
     "epilogue, line 1, column 3: 1 / 2 divides whole numbers and is 0; write 1.0 / 2.\n"
     "  1 / 2 * x\n"
     "    ^"},
    {"x;",
     "epilogue, line 1, column 2: an expression alone ends without ';'.\n"
     "  x;\n"
     "   ^"},
    {"x = 2",
     "epilogue, line 1, column 3: '=' assigns; to compare write '=='.\n"
     "  x = 2\n"
     "    ^"},
    {"pow(x)",
     "epilogue, line 1, column 1: 'pow' has 2 arguments, not 1.\n"
     "  pow(x)\n"
     "  ^"},
    {"exp x",
     "epilogue, line 1, column 1: 'exp' is a function; its arguments go in brackets.\n"
     "  exp x\n"
     "  ^"},
    {"bias(x)",
     "epilogue, line 1, column 1: 'bias' is not a function.\n"
     "  bias(x)\n"
     "  ^"},
    {"std::exp(x)",
     "epilogue, line 1, column 1: functions are named without a namespace: exp(x), not std::exp(x).\n"
     "  std::exp(x)\n"
     "  ^"},
    {"x[row]",
     "epilogue, line 1, column 2: there are no arrays; names stand for the values of one element.\n"
     "  x[row]\n"
     "   ^"},
    {"*(float*)4096",
     "epilogue, line 1, column 1: '*' needs a value on its left; there are no pointers.\n"
     "  *(float*)4096\n"
     "  ^"},
    {"(float)row",
     "epilogue, line 1, column 2: a conversion is written float(...).\n"
     "  (float)row\n"
     "   ^"},
    {"asm volatile(\"trap;\")",
     "epilogue, line 1, column 14: an epilogue has no texts.\n"
     "  asm volatile(\"trap;\")\n"
     "               ^"},
    {"#include <stdio.h>",
     "epilogue, line 1, column 1: an epilogue has no preprocessor lines.\n"
     "  #include <stdio.h>\n"
     "  ^"},
    {"x if x > 0 else 0",
     "epilogue, line 1, column 3: 'if' is not an expression; write condition ? a : b.\n"
     "  x if x > 0 else 0\n"
     "    ^"},
    {"lambda x: x",
     "epilogue, line 1, column 1: write the expression alone, without 'lambda'.\n"
     "  lambda x: x\n"
     "  ^"},
    {"for (;;) x",
     "epilogue, line 1, column 1: there are no loops.\n"
     "  for (;;) x\n"
     "  ^"},
    {"double t = x; return t;",
     "epilogue, line 1, column 1: all numbers are fp32; write float.\n"
     "  double t = x; return t;\n"
     "  ^"},
    {"float t = x;\nt * t",
     "epilogue, line 2, column 1: after the declarations comes 'return', not 't'.\n"
     "  t * t\n"
     "  ^"},
    {"float t = x;\nfloat x = 2; return x;",
     "epilogue, line 2, column 7: 'x' has a meaning already.\n"
     "  float x = 2; return x;\n"
     "        ^"},
    {"float t = x\nreturn t;",
     "epilogue, line 2, column 1: a statement ends with ';', and here is 'return'.\n"
     "  return t;\n"
     "  ^"},
    {"float t = x;\n\treturn t +* 2;",
     "epilogue, line 2, column 12: '*' needs a value on its left; there are no pointers.\n"
     "  \treturn t +* 2;\n"
     "  \t          ^"},
    {"int* p = 0; return x;",
     "epilogue, line 1, column 4: there are neither pointers nor references, only values.\n"
     "  int* p = 0; return x;\n"
     "     ^"},
    {"float a = 1, b = 2; return a;",
     "epilogue, line 1, column 12: one value is declared at a time.\n"
     "  float a = 1, b = 2; return a;\n"
     "             ^"},
    {"x > 0 ? x",
     "epilogue, line 1, column 10: '?' needs ':' and a second value, and here is the end of the text.\n"
     "  x > 0 ? x\n"
     "           ^"},
    {"x /* no end",
     "epilogue, line 1, column 3: this comment has no end.\n"
     "  x /* no end\n"
     "    ^"},
    {"x + 0x10",
     "epilogue, line 1, column 5: numbers are written in decimal digits.\n"
     "  x + 0x10\n"
     "      ^"},
    {"x * 2f",
     "epilogue, line 1, column 6: 2f is not a number in C++; write 2.0f, or 2.\n"
     "  x * 2f\n"
     "       ^"},
    {"x * 1e40",
     "epilogue, line 1, column 5: 1e40 is not within the range of fp32.\n"
     "  x * 1e40\n"
     "      ^"},
    {"x + 3000000000",
     "epilogue, line 1, column 5: 3000000000 is larger than a whole number may be; write 3000000000.0.\n"
     "  x + 3000000000\n"
     "      ^"},
    {"x + 07",
     "epilogue, line 1, column 5: 07: a whole number does not begin with 0.\n"
     "  x + 07\n"
     "      ^"},
    {"x + 1.5g",
     "epilogue, line 1, column 8: 'g' cannot follow the number 1.5.\n"
     "  x + 1.5g\n"
     "         ^"},
    {"alpha * x",
     "epilogue, line 1, column 1: alpha is in x already.\n"
     "  alpha * x\n"
     "  ^"},
    {"expf(x)",
     "epilogue, line 1, column 1: 'expf' is not known; did you mean 'exp'?\n"
     "  expf(x)\n"
     "  ^"},
    {"x, c",
     "epilogue, line 1, column 2: the expression ends before ','.\n"
     "  x, c\n"
     "   ^"},
    {"[&] { return x; }()",
     "epilogue, line 1, column 1: there are neither arrays nor lambdas.\n"
     "  [&] { return x; }()\n"
     "  ^"},
    {"x \xc3\xb7 2",
     "epilogue, line 1, column 3: '\xc3\xb7' is not a character of an epilogue.\n"
     "  x \xc3\xb7 2\n"
     "    ^"},
    {"/* \xc3\xb7 */ x ? ",
     "epilogue, line 1, column 13: a value is missing at the end of the text.\n"
     "  /* \xc3\xb7 */ x ? \n"
     "              ^"},
    {"x + '1'",
     "epilogue, line 1, column 5: an epilogue has no texts.\n"
     "  x + '1'\n"
     "      ^"},
    {"x \\ 2",
     "epilogue, line 1, column 3: '\\' is not a character of an epilogue.\n"
     "  x \\ 2\n"
     "    ^"},
    {"x + ++x",
     "epilogue, line 1, column 5: '++' changes a value, and values do not change here.\n"
     "  x + ++x\n"
     "      ^"},
    {"~x",
     "epilogue, line 1, column 1: '~' takes a whole number, and this is an fp32 number.\n"
     "  ~x\n"
     "  ^"},
    {"10 / 0 + x",
     "epilogue, line 1, column 4: a division by 0.\n"
     "  10 / 0 + x\n"
     "     ^"},
};

TEST(Mistakes, AreSaidWithTheirPlace) {
  for (const Case& c : kCases) {
    const auto formula = parse(c.text);
    ASSERT_FALSE(formula) << c.text;
    EXPECT_EQ(formula.status().code(), Code::invalid_argument);
    EXPECT_EQ(formula.status().message(), c.said) << c.text;
  }
}

TEST(Mistakes, OfSizeHaveABound) {
  const auto said = [](const std::string& text) { return parse(text).status().message(); };
  EXPECT_TRUE(said(std::string(16385, ' ')).starts_with("epilogue: the text has 16385 characters; it may have up to"));
  EXPECT_NE(said(std::string(5000, '(')).find("more than 100 levels of brackets"), std::string::npos);
  EXPECT_NE(said(std::string(5000, '!') + "x").find("more than 100 levels of brackets"), std::string::npos);
  std::string many = "x";
  for (int i = 0; i < 1500; ++i) many += "+x";
  EXPECT_NE(said(many).find("it has more than 2000 operations"), std::string::npos);
  EXPECT_NE(said(std::string("x /*\0*/", 7)).find("the character with the code 0"), std::string::npos);
}

// Nothing that is typed does more than be refused or read.
TEST(Mistakes, OfEveryKindEndInASentence) {
  const std::string parts[] = {"x", "c", "row",    "1",  "2.5", "(", ")", "+",  "-",  "*",     "/",      "%",
                               "?", ":", "<",      "&",  "&&",  "!", "~", ",",  ";",  "float", "return", "=",
                               "t", "{", "min(x,", "\n", "//",  "#", ".", "::", "\"", "^"};
  uint64_t state = 1;
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (int j = 0; j < 1 + i % 9; ++j) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += parts[(state >> 33) % std::size(parts)] + " ";
    }
    const auto formula = parse(text);
    if (formula) {
      ++read;
      (void)formula->value(Values<float>{});
      (void)formula->source();
    } else {
      EXPECT_TRUE(formula.status().message().ends_with('^')) << text << "\n" << formula.status().message();
    }
  }
  EXPECT_GT(read, 300);
}

}  // namespace
}  // namespace warpwright::formula
