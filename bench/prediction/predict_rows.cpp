// Predicts the time of launches: each argument, or line of the input without arguments, is "plan m n k", the plan one
// of a bf16 product on Hopper, or the name of an instance. Writes one JSON object a line, for Blackwell with the time
// that the choice reckons with. tools/compare_prediction.py compares them with what was measured,
// bench/choice/sm100_split.py the simulator with the choice. With --model in front only the choice's time is written.
#include <fmt/format.h>

#include <iostream>
#include <sstream>
#include <string>

#include "catalog/instance.h"
#include "choice/choose.h"
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

bool predict_line(const std::string& line, bool model_only = false) {
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
  const double model = model_us(*instance, m, n, k);
  if (model_only) {
    std::cout << fmt::format(R"({{"plan": "{}", "m": {}, "n": {}, "k": {}, "model_us": {:.3f}}})", plan, m, n, k, model)
              << "\n";
    return true;
  }
  const auto p = simulate::predict(*instance, m, n, k);
  if (!p) {
    std::cerr << p.status().message() << "\n";
    return false;
  }
  std::cout << fmt::format(R"({{"plan": "{}", "m": {}, "n": {}, "k": {}, "cycles": {}, "us": {:.3f}, )", plan, m, n, k,
                           p->cycles, p->us)
            << fmt::format(R"("single_us": {:.3f}, "tensor_busy": {:.3f}, "memory_busy": {:.3f}, )", p->single_us,
                           p->tensor_busy, p->memory_busy)
            << (model > 0 ? fmt::format(R"("model_us": {:.3f}, )", model) : std::string())
            << fmt::format(R"("wall_s": {:.2f}}})", p->result.stats.wall_s) << std::endl;
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
  const bool model_only = count > 1 && std::string(arguments[1]) == "--model";
  for (int i = 1 + int(model_only); i < count; ++i) ok = predict_line(arguments[i], model_only) && ok;
  if (count > 1 + int(model_only)) return ok ? 0 : 1;
  for (std::string line; std::getline(std::cin, line);) ok = predict_line(line, model_only) && ok;
  return ok ? 0 : 1;
}
