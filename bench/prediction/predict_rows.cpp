// Predicts the time of launches: each argument, or line of the input without arguments, is "plan m n k", the plan one
// of a bf16 product on Hopper, or the name of an instance; or "op dtype groups m n k counts plan", a row of a table of
// `tune`. Writes one JSON object a line, for Blackwell with the time that the choice reckons with.
// tools/compare_prediction.py compares them with what was measured, bench/choice/sm100_split.py the simulator with the
// choice. With --model in front only the choice's time is written, of lines of the first kind.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>

#include "catalog/instance.h"
#include "choice/choose.h"
#include "measure/draw.h"
#include "problem/lower.h"
#include "problem/words.h"
#include "simulate/predict.h"

namespace warpwright::prediction {
namespace {

Result<catalog::Instance> instance_of(const std::string& plan) {
  if (plan.find('/') != std::string::npos) return catalog::parse_instance(plan);
  return catalog::parse_plan(plan, catalog::Instance{DenseGemmConfig{}});
}

// By choice/sm100_model.h, of a plain product.
double model_us(const catalog::Instance& instance, int64_t m, int64_t n, int64_t k) {
  const auto* c = instance.as<DenseGemmSm100Config>();
  if (c == nullptr) return 0;
  GemmProblem p{.m = m, .n = n, .k = k};
  p.a.type = p.b.type = c->type;
  p.d.type = c->out_type;
  p.plan = catalog::name_of(instance);
  const auto decision = choice::choose(p, choice::simulated_chip(Arch::sm100));
  return decision ? decision->choice.estimate.us : 0;
}

std::string written(const std::string& line, const simulator::Prediction& p, double model) {
  return fmt::format(R"({{"launch": "{}", "cycles": {}, "us": {:.3f}, "early_us": {:.3f}, "single_us": {:.3f}, )"
                     R"("tensor_busy": {:.3f}, )",
                     line, p.cycles, p.us, p.early_us, p.single_us, p.tensor_busy) +
         fmt::format(R"("memory_busy": {:.3f}, )", p.memory_busy) +
         (model > 0 ? fmt::format(R"("model_us": {:.3f}, )", model) : std::string()) +
         fmt::format(R"("wall_s": {:.2f}}})", p.result.stats.wall_s);
}

// A row of a table of `tune`, without its device and its time.
Result<simulator::Prediction> predict_row(const std::string& line) {
  std::istringstream words(line);
  std::string op, dtype, counts, plan;
  int64_t groups = 0, m = 0, n = 0, k = 0;
  DType type;
  words >> op >> dtype >> groups >> m >> n >> k >> counts >> plan;
  const auto of = problem::parse_operation(op);
  const bool skewed = counts == measure::name(measure::Counts::skewed);
  if (!words || !parse_dtype(dtype.c_str(), type) || (!of && op != "dense") ||
      (!skewed && counts != measure::name(measure::Counts::even)))
    return Status(Code::invalid_argument, fmt::format("not \"op dtype groups m n k counts plan\": {}", line));
  if (!of) {
    GemmProblem problem = problem::plain_product(m, n, k, type);
    problem.plan = plan;
    return simulate::predict(problem);
  }
  measure::GroupedCase shape;
  shape.op = *of;
  shape.type = type;
  shape.groups = groups;
  shape.rows = m;
  shape.n = n;
  shape.k = k;
  shape.counts = skewed ? measure::Counts::skewed : measure::Counts::even;
  if (std::min({groups, m, n, k}) < 1)
    return Status(Code::invalid_argument, fmt::format("groups, m, n and k must be at least 1: {}", line));
  measure::GroupedTable table = measure::table_for(shape);
  table.problem.plan = plan;
  // tune rotates A, B and D alone.
  return simulate::predict(table.problem, table.rows, {}, simulate::Scales::warm);
}

// "plan m n k"
struct PlanLine {
  catalog::Instance instance;
  int64_t m = 0, n = 0, k = 0;
};
Result<PlanLine> read_plan_line(const std::string& line) {
  std::istringstream words(line);
  std::string plan, more;
  int64_t m = 0, n = 0, k = 0;
  if (!(words >> plan >> m >> n >> k) || words >> more)
    return Status(Code::invalid_argument, fmt::format("neither \"plan m n k\" nor a row of a table: {}", line));
  const auto instance = instance_of(plan);
  if (!instance) return instance.status();
  return PlanLine{*instance, m, n, k};
}

Result<std::string> predict_line(const std::string& line, bool model_only) {
  constexpr int kCellsOfRow = 8;
  std::istringstream words(line);
  const auto cells = std::distance(std::istream_iterator<std::string>(words), {});
  if (cells == kCellsOfRow && !model_only) {
    const auto p = predict_row(line);
    return p ? Result<std::string>(written(line, *p, 0)) : p.status();
  }
  const auto read = read_plan_line(line);
  if (!read) return read.status();
  const auto& [instance, m, n, k] = *read;
  const double model = model_us(instance, m, n, k);
  if (model_only) return fmt::format(R"({{"launch": "{}", "model_us": {:.3f}}})", line, model);
  const auto p = simulate::predict(instance, m, n, k);
  return p ? Result<std::string>(written(line, *p, model)) : p.status();
}

bool print_line(const std::string& line, bool model_only) {
  const auto text = predict_line(line, model_only);
  if (text) {
    std::cout << *text << std::endl;
  } else {
    std::cerr << text.status().message() << "\n";
  }
  return text.ok();
}

// Whether a line with this plan can be predicted, without compiling anything.
bool can_predict(const std::string& plan) {
  const auto instance = instance_of(plan);
  return instance && catalog::refuse(*instance) &&
         (instance->as<DenseGemmConfig>() != nullptr || instance->as<SkinnyGemmConfig>() != nullptr ||
          instance->as<DenseGemmSm100Config>() != nullptr);
}

}  // namespace
}  // namespace warpwright::prediction

int main(int count, char** arguments) {
  using namespace warpwright::prediction;
  bool ok = true;
  if (count > 1 && std::string(arguments[1]) == "--known") {
    // Those of the following plans that can be predicted.
    for (int i = 2; i < count; ++i) {
      if (can_predict(arguments[i])) std::cout << arguments[i] << "\n";
    }
    return 0;
  }
  const bool model_only = count > 1 && std::string(arguments[1]) == "--model";
  for (int i = 1 + int(model_only); i < count; ++i) ok = print_line(arguments[i], model_only) && ok;
  if (count > 1 + int(model_only)) return ok ? 0 : 1;
  for (std::string line; std::getline(std::cin, line);) ok = print_line(line, model_only) && ok;
  return ok ? 0 : 1;
}
