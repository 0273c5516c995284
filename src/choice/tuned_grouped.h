// The tuned table of products with blockwise scales and of products by groups: what `warpwright tune --op` measured,
// and the choice that looks into it before it asks the model of plan_grouped.h.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "choice/dense.h"
#include "choice/grouped.h"
#include "choice/tuned_text.h"

namespace warpwright::choice {

// A product as the table, the benchmark and the tuner see it.
struct GroupedShape {
  Groups op = Groups::none;
  DType type = DType::e4m3;
  DType out = DType::bf16;
  int64_t groups = 1;
  int64_t rows = 0;  // rows of a group; with groups along k, all rows
  int64_t n = 0;
  int64_t k = 0;  // depth of a group
  bool operator==(const GroupedShape&) const = default;
  // "grouped_masked e4m3 32 x 192x6144x7168".
  std::string text() const;
};
// The problem of full groups of a shape.
GroupedProblem problem_of(const GroupedShape& shape);
// The shape of a problem; a problem with more than a sum to store, or with other scales, has none.
std::optional<GroupedShape> shape_of(const GroupedProblem& problem);

struct GroupedTunedRow {
  GroupedShape shape;
  std::string plan;
  double us = 0;
  double model_us = 0;  // the time of what the model would have chosen, measured pairwise with it
};
struct GroupedTunedTable : TunedHead {
  std::vector<GroupedTunedRow> rows;
};
std::string write_table(const GroupedTunedTable& table);
Result<GroupedTunedTable> read_grouped_table(const std::string& text);

// The plan of the nearest row. The rows of groups, or their depth along k, vary from launch to launch, so up to a
// factor of 1.5 counts as the same; everything else must be equal. Empty: no row.
std::string nearest_plan(const std::vector<GroupedTunedRow>& rows, const GroupedShape& shape);
// The row of the tables of this build, or of the file that WARPWRIGHT_TUNED_GROUPED names, for exactly this device.
std::optional<GroupedTunedRow> tuned_row(const GroupedProblem& problem, const Chip& chip);

// On every architecture that has such products. On Hopper the plan that the problem names, else the table's, else the
// model's, on those SMs of the chip that the problem may occupy; on Blackwell as in sm100_grouped.h.
Result<GroupedChoice> choose(const GroupedProblem& problem, const Chip& whole);

}  // namespace warpwright::choice
