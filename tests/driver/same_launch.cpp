#include "driver/same_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "driver/expected.h"
#include "driver/session.h"
#include "driver/stand_in.h"
#include "gpu/executor.h"
#include "gpu/memory.h"
#include "gpu/require.h"
#include "measure/grouped_check.h"
#include "measure/guarded_arrays.h"
#include "reference/problem_workload.h"
#include "simulate/prepared.h"
#include "simulate/product.h"

namespace warpwright::recorded {
namespace {

using nlohmann::json;
using reference::Workload;

template <class T>
T required(Result<T> result) {
  gpu::require(result.status());
  return std::move(*result);
}

size_t size_of(const launch::Arguments& arguments) {
  return std::visit([](const auto& a) { return sizeof a; }, arguments);
}

// Kernels that wait for the launch ahead before they touch what it writes.
bool may_start_early(const catalog::Instance& instance) {
  if (const auto* c = instance.as<DenseGemmConfig>()) return c->dependent;
  if (const auto* c = instance.as<DenseGemmSm100Config>()) return c->dependent;
  if (const auto* c = instance.as<GroupedGemmSm100Config>()) return c->dependent;
  if (const auto* c = instance.as<BlockwiseFp8Sm100Config>()) return c->dependent;
  return instance.as<SkinnyGemmConfig>() != nullptr || instance.as<SkinnyBlockwiseConfig>() != nullptr;
}

struct Side {
  std::vector<json> launches;
  bool early = false;
};

Side simulated(const catalog::Instance& instance, const simulate::PreparedRun& run, const Workload& w,
               const RememberingEncoder& maps) {
  Places places;
  const auto& buffers = run.arrays.buffers();
  for (size_t i = 0; i < buffers.size(); ++i) {
    places.add(i < w.arrays.size() ? w.arrays[i].name : "", buffers[i].data, buffers[i].bytes);
  }
  Side side;
  if (run.rows) {
    const auto& rows = *run.rows;
    side.launches.push_back(launch_of({rows.config}, rows.ctas, &rows.args, sizeof rows.args, places, maps));
  }
  if (run.ctas > 0) {
    side.launches.push_back(launch_of(instance, run.ctas, launch::bytes_of(run.args), size_of(run.args), places, maps));
  }
  return side;
}

Side recorded(const Workload& w, const measure::GuardedArrays& arrays, const std::vector<json>& log) {
  Places places;
  for (size_t i = 0; i < w.arrays.size(); ++i) {
    places.add(w.arrays[i].name, arrays.pointers()[i], w.arrays[i].bytes.size());
  }
  for (const json& line : log) {
    if (line["call"] != "allocate") continue;
    places.add("", reinterpret_cast<const void*>(line["address"].get<uint64_t>()), line["bytes"]);
  }
  const auto buffers = buffers_in(log);
  Side side;
  for (const json& line : launches(log)) side.launches.push_back(launch_of(line, buffers, places, side.early));
  return side;
}

std::string difference_of(const Side& simulated, const Side& recorded) {
  if (simulated.launches.size() != recorded.launches.size()) {
    return fmt::format("{} launches, not {}", recorded.launches.size(), simulated.launches.size());
  }
  for (size_t i = 0; i < simulated.launches.size(); ++i) {
    const json patch = json::diff(simulated.launches[i], recorded.launches[i]);
    if (!patch.empty())
      return fmt::format("launch {}: {}\nsimulated: {}", i, patch.dump(), simulated.launches[i].dump());
  }
  return {};
}

void provide_images(const catalog::Instance& instance, const simulate::PreparedRun& run, Images images) {
  if (images == Images::compiled) return;
  const gpu::Device device = required(gpu::this_device());
  const auto put = [&](const catalog::Instance& one, size_t bytes) {
    if (!put_image(one, gpu::target_of(one, device), bytes))
      throw gpu::Failure("no image of " + catalog::name_of(one) + " can be kept");
  };
  put(instance, size_of(run.args));
  if (run.rows) put({run.rows->config}, sizeof run.rows->args);
}

int all_sms(const catalog::Instance& instance) { return chip_figures(catalog::arch_of(instance)).multiprocessors; }

// `run_on_gpu` puts it on a stream, with the arrays in device memory.
template <class Product, class Run>
Comparison compare_product(const Product& product, const Workload& w, int sm_limit, Images images,
                           const Run& run_on_gpu) {
  const catalog::Instance& instance = product.instance();
  const RememberingEncoder maps;
  const simulate::PreparedRun run = simulate::prepare(product, w, sm_limit > 0 ? sm_limit : all_sms(instance), maps);
  provide_images(instance, run, images);
  (void)lines();
  const measure::GuardedArrays arrays(w);
  const gpu::Stream stream;
  gpu::require(run_on_gpu(arrays.pointers(), stream.get()));
  stream.synchronize();
  const std::vector<json> log = lines();
  for (const json& line : log) {
    if (line.contains("rule")) return {"the rules refuse a call: " + line.dump(), 0};
  }
  Side of_simulator = simulated(instance, run, w, maps), of_recorder = recorded(w, arrays, log);
  if (of_recorder.early && !may_start_early(instance)) return {"it starts early and does not wait", 0};
  // The copy ahead of a product takes the SMs it may have; in the simulator, which runs it on few or on all, it does
  // not.
  if (run.rows && sm_limit > 0 && !of_recorder.launches.empty()) {
    of_simulator.launches[0]["grid"][0] =
        std::min<int64_t>(sm_limit, launch::work_of(run.rows->config, run.rows->args));
  }
  return {difference_of(of_simulator, of_recorder), int(of_recorder.launches.size())};
}

Status same_name(const std::string& ran, const catalog::Instance& wanted) {
  const std::string name = catalog::name_of(wanted);
  return ran == name ? Status() : Status(Code::failed, ran + " ran instead of " + name + ".");
}

Comparison compare_dense(const simulate::DenseProduct& product, int sm_limit, Images images) {
  const Workload w = workload_of(product.problem, product.offset, reference::Data::integers, 1);
  GemmProblem problem = simulate::problem_of(product, w);
  problem.sm_limit = sm_limit;
  // With its parts of the depth, which a limit would change.
  if (!product.decision.packing.any()) problem.plan = catalog::name_of(product.instance());
  return compare_product(product, w, sm_limit, images, [&](const std::vector<void*>& arrays, void* stream) -> Status {
    const auto plan = make_plan(problem);
    if (!plan) return plan.status();
    if (Status s = same_name(plan->instance(), product.instance()); !s) return s;
    return plan->run(reference::pointers_of(problem, product.offset, w, arrays), stream);
  });
}

Comparison compare_grouped(const simulate::GroupedRun& product, int sm_limit, Images images) {
  const Arch arch = catalog::arch_of(product.instance());
  const Workload w = simulate::workload_of(product.problem, product.product, arch, reference::Data::integers, 1);
  GroupedProblem problem = product.problem;
  problem.sm_limit = sm_limit;
  return compare_product(product, w, sm_limit, images, [&](const std::vector<void*>& arrays, void* stream) -> Status {
    const auto plan = make_plan(problem);
    if (!plan) return plan.status();
    if (Status s = same_name(plan->instance(), product.instance()); !s) return s;
    return plan->run(simulate::pointers_of(product, w, arrays), stream);
  });
}

}  // namespace

Comparison compare(const catalog::Instance& instance, reference::Case shape, int sm_limit, Images images) try {
  if (simulate::is_dense(instance)) {
    return compare_dense(required(simulate::dense_case(instance, shape)), sm_limit, images);
  }
  return compare_grouped(required(simulate::grouped_case(instance, shape)), sm_limit, images);
} catch (const std::runtime_error& failure) {
  return {failure.what(), 0};
}

Comparison compare(const GemmProblem& problem, Arch arch, int sm_limit, Images images) try {
  return compare_dense(required(simulate::dense_product(problem, choice::simulated_chip(arch))), sm_limit, images);
} catch (const std::runtime_error& failure) {
  return {failure.what(), 0};
}

Comparison compare(const GroupedProblem& problem, Arch arch, int sm_limit, Images images) try {
  const auto product = measure::sample_product(problem, 1);
  return compare_grouped(required(simulate::grouped_run(problem, product, choice::simulated_chip(arch))), sm_limit,
                         images);
} catch (const std::runtime_error& failure) {
  return {failure.what(), 0};
}

Comparison compare_packed(const catalog::Instance& instance, reference::Case shape, int sm_limit, Images images) try {
  const auto& config = *instance.as<DenseGemmConfig>();
  GemmProblem problem{.m = shape.m, .n = shape.n, .k = shape.k};
  problem.a.type = problem.b.type = config.type;
  problem.d.type = config.epilogue.out;
  problem.scaling = config.scaling;
  problem.plan = catalog::plan_name(instance) + "-packed";
  constexpr int alignment = 2;  // what D's elements need
  const reference::Offset odd{alignment * 8 / bits(config.type), 0};
  problem.alignment = alignment;
  return compare_dense(required(simulate::dense_product(problem, choice::h200(), odd)), sm_limit, images);
} catch (const std::runtime_error& failure) {
  return {failure.what(), 0};
}

std::string text_of(const std::vector<Found>& found) {
  std::string text;
  for (const Found& f : found) {
    text += fmt::format("{}\t{}\t{}\t{}\t{}\n", f.device, f.instance, f.wrong == 0 && f.runs > 0 ? f.how : "differs",
                        f.runs, f.launches);
  }
  return text;
}

}  // namespace warpwright::recorded
