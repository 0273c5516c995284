// What a choice rests on apart from the model: the tuned table, and the sentence that explains it.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "choice/dense.h"
#include "choice/tuned_text.h"

namespace warpwright::choice {

// One measured answer of `warpwright tune`.
struct TunedRow {
  DType dtype = DType::bf16, b_dtype = DType::bf16, out = DType::bf16;
  Major a_major = Major::K, b_major = Major::K;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  std::string plan;
  double us = 0;        // the time of that plan
  double model_us = 0;  // the time of what the model would have chosen, measured pairwise with it
};
struct TunedTable : TunedHead {
  std::vector<TunedRow> rows;
};
// Text in the form of tuned_text.h.
std::string write_table(const TunedTable& table);
Result<TunedTable> read_table(const std::string& text);

// The row for a shape, as far as the table's columns describe it.
bool describes(const TunedRow& row, const GemmShape& shape);
TunedRow row_of(const GemmShape& shape);

// The row in the tables of this build, or of the file that WARPWRIGHT_TUNED names, for exactly this device and shape;
// nothing: the model decides.
std::optional<TunedRow> tuned_row(const GemmShape& shape, const Chip& chip);

// `next`: the second best, where the model chose.
std::string reason_for(const Choice& choice, const GemmShape& shape, const Chip& chip, const Instance* next = nullptr,
                       double next_us = 0);

}  // namespace warpwright::choice
