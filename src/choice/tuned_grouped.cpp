#include "choice/tuned_grouped.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "choice/measured.h"
#include "choice/sm100_grouped.h"
#include "problem/words.h"

namespace warpwright::choice {
namespace {

constexpr TunedFormat kGroupedFormat = {"# warpwright tuned table of grouped products, format 1",
                                        "op\tdtype\tout\tgroups\tm\tn\tk\tplan\tus\tmodel_us"};
constexpr double kSameRows = 1.5;

// Tables of version 0.1 call the kernel for few rows "skinny-64x8-k4-s20", the name of another family.
std::string renamed(const std::string& plan) {
  const size_t split = plan.find("-k");
  if (!plan.starts_with("skinny-") || split == std::string::npos) return plan;
  return "blockwise-" + plan.substr(7, split - 7) + "-split" + plan.substr(split + 2);
}

bool read_row(const std::vector<std::string>& cells, GroupedTunedRow& row) {
  if (cells.size() != 10) return false;
  const auto op = problem::parse_operation(cells[0]);
  GroupedShape& s = row.shape;
  if (!op || !parse_dtype(cells[1].c_str(), s.type) || !parse_dtype(cells[2].c_str(), s.out)) {
    return false;
  }
  s.op = *op;
  row.plan = renamed(cells[7]);
  return read_number(cells[3], s.groups) && read_number(cells[4], s.rows) && read_number(cells[5], s.n) &&
         read_number(cells[6], s.k) && !row.plan.empty() && read_number(cells[8], row.us) &&
         read_number(cells[9], row.model_us);
}

// Rows of B that share a scale, unless somebody asks for something else.
int scale_rows(const GroupedProblem& p) {
  return p.groups == Groups::by_depth && p.type == DType::e4m3 ? 1 : GroupedProblem{}.b_scale_rows;
}

// What the device's table of groups decides from launch to launch.
int64_t GroupedShape::*varying(Groups op) {
  if (op == Groups::contiguous || op == Groups::masked) return &GroupedShape::rows;
  return op == Groups::by_depth ? &GroupedShape::k : nullptr;
}

// Read once; a text that is not a table of these products is left out.
const std::vector<GroupedTunedTable>& grouped_tables() {
  static const std::vector<GroupedTunedTable> list = [] {
    std::vector<GroupedTunedTable> read;
    for (const std::string& text : tuned_texts("WARPWRIGHT_TUNED_GROUPED")) {
      if (auto table = read_grouped_table(text)) read.push_back(std::move(*table));
    }
    return read;
  }();
  return list;
}

}  // namespace

std::string GroupedShape::text() const {
  return fmt::format("{} {} {} x {}x{}x{}", problem::operation_of(op), name(type), groups, rows, n, k);
}

GroupedProblem problem_of(const GroupedShape& s) {
  GroupedProblem p;
  p.groups = s.op;
  p.group_count = s.groups;
  p.m = p.groups == Groups::by_depth ? s.rows : s.rows * s.groups;
  p.n = s.n;
  p.k = p.groups == Groups::by_depth ? s.k * s.groups : s.k;
  if (p.groups != Groups::none && p.groups != Groups::by_depth) p.usual_rows = s.rows;
  p.type = s.type;
  p.out = s.out;
  p.b_scale_rows = scale_rows(p);
  p.accumulate = p.groups == Groups::by_depth && p.out == DType::fp32;
  return p;
}

std::optional<GroupedShape> shape_of(const GroupedProblem& p) {
  const bool along_k = p.a_major == Major::K && p.b_major == Major::K;
  if (p.activation != Activation::none || p.bias != Bias::none || p.group_count < 1 || !along_k ||
      (p.accumulate && p.groups == Groups::none) || (p.type == DType::e4m3 && p.b_scale_rows != scale_rows(p))) {
    return {};
  }
  GroupedShape s;
  s.op = p.groups;
  s.type = p.type;
  s.out = p.out;
  s.groups = p.group_count;
  const bool rows_in_groups = p.groups == Groups::contiguous || p.groups == Groups::masked;
  s.rows = !rows_in_groups ? p.m : p.usual_rows > 0 ? p.usual_rows : p.m / p.group_count;
  s.n = p.n;
  s.k = p.groups == Groups::by_depth ? p.k / p.group_count : p.k;
  return s;
}

std::string write_table(const GroupedTunedTable& table) {
  std::string text = write_head(kGroupedFormat, table);
  for (const GroupedTunedRow& r : table.rows) {
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.3f}\t{:.3f}\n", problem::operation_of(r.shape.op),
                        name(r.shape.type), name(r.shape.out), r.shape.groups, r.shape.rows, r.shape.n, r.shape.k,
                        r.plan, r.us, r.model_us);
  }
  return text;
}

Result<GroupedTunedTable> read_grouped_table(const std::string& text) {
  GroupedTunedTable table;
  const Status s = read_tuned(text, kGroupedFormat, table, [&](const std::vector<std::string>& cells) {
    GroupedTunedRow row;
    if (!read_row(cells, row)) return false;
    table.rows.push_back(std::move(row));
    return true;
  });
  if (!s) return s;
  return table;
}

namespace {
const GroupedTunedRow* nearest_row(const std::vector<GroupedTunedRow>& rows, const GroupedShape& shape) {
  const GroupedTunedRow* nearest = nullptr;
  double least = 0;
  for (const GroupedTunedRow& row : rows) {
    GroupedShape same = shape;
    double far = 0;
    if (int64_t GroupedShape::*const extent = varying(shape.op); extent != nullptr) {
      if (shape.*extent < 1 || row.shape.*extent < 1) continue;
      far = std::fabs(std::log(double(shape.*extent) / double(row.shape.*extent)));
      same.*extent = row.shape.*extent;
    }
    if (same != row.shape || far > std::log(kSameRows) || (nearest != nullptr && far >= least)) continue;
    nearest = &row;
    least = far;
  }
  return nearest;
}
}  // namespace

std::string nearest_plan(const std::vector<GroupedTunedRow>& rows, const GroupedShape& shape) {
  const GroupedTunedRow* row = nearest_row(rows, shape);
  return row == nullptr ? "" : row->plan;
}

std::optional<GroupedTunedRow> tuned_row(const GroupedProblem& problem, const Chip& chip) {
  const auto shape = shape_of(problem);
  if (!shape) return {};
  for (const GroupedTunedTable& table : grouped_tables()) {
    if (table.device != chip.name || table.multiprocessors != chip.multiprocessors) continue;
    if (const GroupedTunedRow* row = nearest_row(table.rows, *shape)) return *row;
  }
  return {};
}

namespace {

Result<GroupedChoice> choose_for(const GroupedProblem& problem, const Chip& whole) {
  Chip chip = whole;
  if (problem.sm_limit > 0) chip.multiprocessors = std::min(chip.multiprocessors, problem.sm_limit);
  if (chip.arch == Arch::sm100) return choice::choose_sm100(problem, chip);
  if (chip.arch != Arch::sm90) {
    return Status(Code::unsupported, fmt::format("target = {}: {} has kernels for sm90 and sm100.", name(chip.arch),
                                                 problem::operation_of(problem.groups)));
  }
  if (problem.plan.empty() && asks_to_measure(problem.tuning)) {
    if (const auto measured = measured_row(measured_key(problem), whole)) {
      GroupedProblem named = problem;
      named.plan = measured->plan;
      if (auto choice = choose(named, chip.multiprocessors)) {
        return GroupedChoice{choice->instance, measured_reason("", *measured, whole), measured->us, ChosenBy::measured};
      }
    }
  }
  // What was measured without a function of the user's own says little about one with it.
  const auto row = problem.plan.empty() && problem.formula.empty() ? tuned_row(problem, chip) : std::nullopt;
  if (!row) return choose(problem, chip.multiprocessors);
  for (const Instance& instance : instances_for(problem)) {
    if (catalog::name_without_stages(catalog::plan_name(instance)) != catalog::name_without_stages(row->plan)) continue;
    const bool same = row->shape == *shape_of(problem);
    return GroupedChoice{instance,
                         fmt::format("measured fastest for {} on {}, {:.1f} us (tuned table)",
                                     same ? "this shape" : row->shape.text(), chip.name, row->us),
                         row->us, ChosenBy::table};
  }
  // A table made by another version may name what this one does not have.
  return choose(problem, chip.multiprocessors);
}

}  // namespace

Result<GroupedChoice> choose(const GroupedProblem& problem, const Chip& chip) {
  auto choice = choose_for(problem, chip);
  // The configuration knows the text of a user's epilogue by its number; the compiler needs the text.
  if (choice) choice->instance.formula = problem.formula;
  return choice;
}

}  // namespace warpwright::choice
