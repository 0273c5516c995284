#include "measure/grouped_check.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "gpu/devices.h"
#include "gpu/memory.h"
#include "gpu/require.h"
#include "measure/guarded_arrays.h"
#include "measure/timed_launches.h"

namespace warpwright::measure {

reference::GroupedProduct sample_product(const GroupedProblem& p, uint64_t seed) {
  reference::GroupedProduct product{.shape = {p.m, p.n, p.k},
                                    .type = p.type,
                                    .out = p.out,
                                    .groups = p.groups,
                                    .b_scale_rows = p.b_scale_rows,
                                    .swiglu = p.activation == Activation::swiglu,
                                    .bias = p.bias == Bias::per_column,
                                    .bias_type = p.bias_type,
                                    .shared_bias = p.shared_bias,
                                    .formula = p.formula,
                                    .row_bias = p.bias == Bias::per_row,
                                    .beta = p.beta,
                                    .accumulate = p.accumulate,
                                    .a_major = p.a_major,
                                    .b_major = p.b_major};
  std::mt19937_64 random(seed);
  const auto up_to = [&](int64_t most) { return uint32_t(random() % uint64_t(most + 1)); };
  if (p.groups == Groups::contiguous || p.groups == Groups::by_depth) {
    const bool along_k = p.groups == Groups::by_depth;
    const auto all = uint32_t(along_k ? p.k : p.m), unit = uint32_t(along_k && p.type == DType::e4m3 ? kScaleBlock : 1);
    product.rows.resize(size_t(p.group_count) + 1);
    for (uint32_t& end : product.rows) end = up_to(all / unit) * unit;
    std::sort(product.rows.begin(), product.rows.end());
    product.rows.front() = 0;
    product.rows.back() = all;
  } else if (p.groups == Groups::masked) {
    const int64_t room = p.group_count > 0 ? p.m / p.group_count : 0;
    for (int64_t g = 0; g < p.group_count; ++g) product.rows.push_back(up_to(room));
  }
  product.a_rows = p.a_rows;
  for (int64_t r = 0; p.gathered && r < p.m; ++r) product.index.push_back(int32_t(up_to(p.a_rows - 1)));
  return product;
}

namespace {

Status run(const GroupedPlan& plan, const reference::GroupedProduct& product, const GemmTrial& trial,
           GemmOutcome& outcome) {
  const reference::Workload w = reference::grouped_product_workload(product, trial.data, trial.seed);
  const gpu::Stream stream;
  const GuardedArrays arrays(w);
  const GroupedPointers pointers = reference::grouped_pointers(product, w, arrays.pointers());
  if (Status s = plan.run(pointers, stream.get()); !s) return s;
  stream.synchronize();
  outcome.output = arrays.output();
  outcome.verdict = reference::judge(w, outcome.output);
  outcome.elements = w.expected.size();
  outcome.stray_bytes = arrays.stray_bytes(w);
  if (outcome.stray_bytes != 0) outcome.verdict.ok = false;
  if (!trial.timed) return {};
  const gpu::Event start, stop;
  std::vector<double> us;
  for (int i = 0; i < kTimedLaunches; ++i) {
    std::this_thread::sleep_for(kIdle);
    start.record(stream);
    if (Status s = plan.run(pointers, stream.get()); !s) return s;
    stop.record(stream);
    stop.synchronize();
    us.push_back(stop.us_since(start));
  }
  std::nth_element(us.begin(), us.begin() + kTimedLaunches / 2, us.end());
  outcome.measured_us = us[kTimedLaunches / 2];
  return {};
}

}  // namespace

Status check_grouped(const GroupedProblem& problem, const reference::GroupedProduct& product, const GemmTrial& trial,
                     GemmOutcome& outcome) {
  outcome = {};
  auto plan = make_plan(problem);
  if (!plan) return plan.status();
  outcome.plan = plan->name();
  outcome.instance = plan->instance();
  outcome.explanation = plan->explanation();
  outcome.device_number = plan->device();
  outcome.device = gpu::list_gpus()[size_t(outcome.device_number)].name;
  try {
    return run(*plan, product, trial, outcome);
  } catch (const gpu::Failure& failure) {
    return Status(Code::failed, failure.what());
  }
}

}  // namespace warpwright::measure
