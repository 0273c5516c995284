// What a user asks for, and whether the kernels of this version can serve it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"

namespace warpwright::problem {

enum class Operation : uint8_t { dense, blockwise, grouped_contiguous, grouped_masked, grouped_k };
// A then B. n: rows as written, A [m, k] and B [k, n]; t: transposed, so nt is A [m, k] times the transpose of B [n,
// k].
enum class Layout : uint8_t { nt, nn, tn, tt };

const char* name(Operation);
const char* name(Layout);
std::optional<Operation> parse_operation(std::string_view word);
std::optional<Layout> parse_layout(std::string_view word);

// D = alpha * op(A, B) + beta * C.
struct Problem {
  Operation op = Operation::dense;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t groups = 1;
  int64_t batch = 1;
  DType dtype = DType::bf16;      // of A and B
  DType out_dtype = DType::bf16;  // of D
  Layout layout = Layout::nt;
  double alpha = 1;
  double beta = 0;
  std::string epilogue;  // empty: store the product
  std::string scaling;   // empty: no scale factors
};

// What a product of such operands is stored as when nothing else is asked for.
DType usual_result(DType operands);

// Nothing if the kernels of some target can serve it. Otherwise one sentence that names the argument, its value and the
// rule. The kernels for sm80 have their own types, and rows of any length.
std::optional<std::string> validate(const Problem& problem, Arch arch = Arch::sm90);

}  // namespace warpwright::problem
