// Predicts the time of launches: each argument, or line of the input without arguments, is "plan m n k", the plan one
// of a bf16 product on Hopper, or the name of an instance. Writes one JSON object a line. tools/compare_prediction.py
// compares them with what was measured.
#include <fmt/format.h>

#include <iostream>
#include <sstream>
#include <string>

#include "catalog/instance.h"
#include "simulate/predict.h"

namespace warpwright::prediction {
namespace {

Result<catalog::Instance> instance_of(const std::string& plan) {
  if (plan.find('/') != std::string::npos) return catalog::parse_instance(plan);
  return catalog::parse_plan(plan, catalog::Instance{DenseGemmConfig{}});
}

bool predict_line(const std::string& line) {
  std::istringstream words(line);
  std::string plan;
  int64_t m = 0, n = 0, k = 0;
  if (!(words >> plan >> m >> n >> k)) {
    std::cerr << "not \"plan m n k\": " << line << "\n";
    return false;
  }
  const auto instance = instance_of(plan);
  if (!instance) {
    std::cerr << instance.status().message() << "\n";
    return false;
  }
  const auto p = simulate::predict(*instance, m, n, k);
  if (!p) {
    std::cerr << p.status().message() << "\n";
    return false;
  }
  std::cout << fmt::format(R"({{"plan": "{}", "m": {}, "n": {}, "k": {}, "cycles": {}, "us": {:.3f}, )", plan, m, n, k,
                           p->cycles, p->us)
            << fmt::format(R"("single_us": {:.3f}, "tensor_busy": {:.3f}, "memory_busy": {:.3f}, "wall_s": {:.2f}}})",
                           p->single_us, p->tensor_busy, p->memory_busy, p->result.stats.wall_s)
            << std::endl;
  return true;
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
    // Of the plans that follow, those that can be predicted.
    for (int i = 2; i < count; ++i) {
      if (can_predict(arguments[i])) std::cout << arguments[i] << "\n";
    }
    return 0;
  }
  for (int i = 1; i < count; ++i) ok = predict_line(arguments[i]) && ok;
  if (count > 1) return ok ? 0 : 1;
  for (std::string line; std::getline(std::cin, line);) ok = predict_line(line) && ok;
  return ok ? 0 : 1;
}
