// Predicts the time of launches: each argument, or line of the input without arguments, is "plan m n k". Writes one
// JSON object a line. tools/compare_prediction.py compares them with what was measured.
#include <fmt/format.h>

#include <iostream>
#include <sstream>

#include "prediction/instances.h"

namespace warpwright::prediction {
namespace {

bool predict_line(const std::vector<Instance>& instances, const std::string& line) {
  std::istringstream words(line);
  std::string plan;
  int m = 0, n = 0, k = 0;
  if (!(words >> plan >> m >> n >> k)) {
    std::cerr << "not \"plan m n k\": " << line << "\n";
    return false;
  }
  for (const Instance& instance : instances) {
    if (instance.plan != plan) continue;
    const simulator::Prediction p = instance.predict(m, n, k);
    std::cout << fmt::format(R"({{"plan": "{}", "m": {}, "n": {}, "k": {}, "cycles": {}, "us": {:.3f}, )", plan, m, n,
                             k, p.cycles, p.us)
              << fmt::format(R"("single_us": {:.3f}, "tensor_busy": {:.3f}, "memory_busy": {:.3f}, "wall_s": {:.2f}}})",
                             p.single_us, p.tensor_busy, p.memory_busy, p.result.stats.wall_s)
              << std::endl;
    return true;
  }
  std::cerr << "no instance of the plan " << plan << "\n";
  return false;
}

}  // namespace
}  // namespace warpwright::prediction

int main(int count, char** arguments) {
  using namespace warpwright::prediction;
  std::vector<Instance> instances;
  add_dense_large(instances);
  add_dense_middle(instances);
  add_dense_small(instances);
  add_skinny_few_tokens(instances);
  add_skinny_many_tokens(instances);
  bool ok = true;
  if (count > 1) {
    for (int i = 1; i < count; ++i) {
      if (std::string(arguments[i]) == "--plans") {
        for (const Instance& instance : instances) std::cout << instance.plan << "\n";
      } else {
        ok = predict_line(instances, arguments[i]) && ok;
      }
    }
    return ok ? 0 : 1;
  }
  for (std::string line; std::getline(std::cin, line);) ok = predict_line(instances, line) && ok;
  return ok ? 0 : 1;
}
