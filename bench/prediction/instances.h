// The kernels whose time predict_rows predicts, by the names of their plans. One file for each few of them: they take
// long to compile.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "runtime/predict.h"
#include "runtime/tuned.h"

namespace warpwright::prediction {

struct Instance {
  std::string plan;
  std::function<simulator::Prediction(int m, int n, int k)> predict;
};

template <DenseGemmConfig C>
Instance dense() {
  runtime::Kernel kernel;
  kernel.config = C;
  return {runtime::plan_name(kernel), runtime::predict_dense<C>};
}
template <SkinnyGemmConfig C>
Instance skinny() {
  runtime::Kernel kernel;
  kernel.config = C;
  return {runtime::plan_name(kernel), runtime::predict_skinny<C>};
}

void add_dense_large(std::vector<Instance>&);
void add_dense_middle(std::vector<Instance>&);
void add_dense_small(std::vector<Instance>&);
void add_skinny_few_tokens(std::vector<Instance>&);
void add_skinny_many_tokens(std::vector<Instance>&);

}  // namespace warpwright::prediction
