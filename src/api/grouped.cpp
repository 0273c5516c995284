#include "warpwright/grouped.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "api/contest.h"
#include "api/refused.h"
#include "choice/choose.h"
#include "choice/measured.h"
#include "gpu/executor.h"
#include "gpu/maker.h"
#include "gpu/memory.h"
#include "gpu/require.h"
#include "gpu/run_memory.h"
#include "gpu/tensor_map.h"
#include "launch/grouped.h"
#include "problem/check_depth_groups.h"
#include "problem/check_formula.h"
#include "problem/validate.h"

namespace warpwright {
namespace {

constexpr int64_t kTmaAlignment = 16;

int64_t blocks_of(int64_t extent) { return (extent + kScaleBlock - 1) / kScaleBlock; }
int64_t columns_of(const GroupedProblem& p) { return p.activation == Activation::swiglu ? p.n / 2 : p.n; }

// The rows of a matrix start and end at multiples of the TMA's 16 bytes.
Status check_row(const char* argument, int64_t value, DType type, const char* matrix) {
  const int64_t unit = kTmaAlignment * 8 / bits(type);
  if (value % unit == 0) return {};
  return refused("{} = {}: it must be a multiple of {}, since the rows of {} are moved in units of 16 bytes.", argument,
                 value, unit, matrix);
}

Status check_scales(const char* argument, const ScaleShape& given, int64_t rows, int64_t columns, const char* of) {
  if (given.rows != -1 && given.rows != rows) {
    return refused("{}.rows = {}: the scales have {} rows, {}.", argument, given.rows, rows, of);
  }
  if (given.columns != -1 && given.columns != columns) {
    return refused("{}.columns = {}: the scales have {} columns, one for each {} elements along k.", argument,
                   given.columns, columns, kScaleBlock);
  }
  return {};
}

Status check_epilogue(const GroupedProblem& p) {
  if (p.activation != Activation::none && p.activation != Activation::swiglu) {
    return refused("activation = {}: these products have swiglu or none.", int(p.activation));
  }
  if (Status s = problem::check_formula(p); !s) return s;
  if (p.bias == Bias::per_row && p.formula.empty()) {
    return refused("bias = per_row: only a formula names a bias of each row; the other has one for each row of B.");
  }
  if (p.bias != Bias::none && p.bias_type != DType::fp32 && p.bias_type != DType::bf16) {
    return refused("bias_type = {}: a bias must be fp32 or bf16.", name(p.bias_type));
  }
  if (p.activation == Activation::swiglu) {
    if (p.out == DType::fp32) return refused("out = fp32: D after swiglu must be bf16 or e4m3.");
    const int64_t unit = p.type == DType::e4m3 && p.b_scale_rows == kScaleBlock ? 2 * kScaleBlock : 2;
    if (p.n % unit != 0) {
      return refused("n = {}: it must be a multiple of {}, since {} of B end there.", p.n, unit,
                     unit == 2 ? "the gates" : "the gates and their blocks of 128 rows with a scale");
    }
  }
  if (p.out == DType::e4m3 && columns_of(p) % kScaleBlock != 0) {
    return refused("n = {}: D has {} columns, which must be a multiple of 128, since a scale covers that many.", p.n,
                   columns_of(p));
  }
  return {};
}

// For one product; groups along k have rules of their own.
Status check_accumulate(const GroupedProblem& p) {
  if (p.groups != Groups::none) {
    return refused("accumulate = true: only D of one product, or of groups along k, is added to.");
  }
  if (p.out != DType::fp32) return refused("out = {}: D must be fp32 to be added to.", name(p.out));
  if (p.activation != Activation::none || p.bias != Bias::none) {
    return refused("accumulate = true: sums with a bias or an activation are not added to D.");
  }
  return {};
}

Status check_gather(const GroupedProblem& p) {
  if (Status s = check_extent("a_rows", p.a_rows); !s) return s;
  if (!p.gathered) {
    if (p.a_rows != 0)
      return refused("a_rows = {}: without gathered rows A has m = {} rows; it must be 0.", p.a_rows, p.m);
    return {};
  }
  if (p.groups != Groups::contiguous) return refused("gathered = true: gathered rows are those of contiguous groups.");
  if (p.out == DType::fp32) return refused("out = fp32: D of gathered rows must be bf16 or e4m3.");
  if (p.m > 0 && p.a_rows == 0) return refused("a_rows = 0: A must have a row that can be gathered.");
  return {};
}

// Operands that are stored along m or n.
Status check_majors(const GroupedProblem& p) {
  const bool by_depth = p.groups == Groups::by_depth;
  if (p.a_major == Major::K && p.b_major == Major::K) return {};
  const char* const argument = p.b_major == Major::MN ? "b_major" : "a_major";
  if (p.type != DType::bf16) {
    return refused("{} = MN: wgmma reads operands of 16 bits that way, and type = {}; A and B must be stored along k.",
                   argument, name(p.type));
  }
  if (!by_depth && p.a_major == Major::MN) return refused("a_major = MN: A of groups of rows must be stored [m, k].");
  if (by_depth) {
    if (Status s = problem::check_depth_majors(p); !s) return s;
  }
  if (p.activation != Activation::none) return refused("b_major = MN: with an activation B must be stored [n, k].");
  if (p.gathered) return refused("b_major = MN: with gathered rows of A B must be stored [n, k].");
  if (by_depth) {
    if (Status s = check_row("m", p.m, p.type, "A"); !s) return s;
  } else if (Status s = check_row("k", p.k, p.type, "A"); !s) {
    return s;
  }
  return check_row("n", p.n, p.type, "B");
}

// A launch that is left out finds nothing wrong, and this says so in place of the kernel.
Status report_nothing(uint32_t* status, void* stream) {
  if (status == nullptr) return {};
  return gpu::status_of(
      gpu::driver().set_words_async(gpu::address(status), 0, 1, static_cast<gpu::abi::Stream>(stream)),
      "setting the status word");
}

}  // namespace

Status validate(const GroupedProblem& p) {
  if (p.scaling != BlockScaling::none || p.out_scaling != BlockScaling::none || p.clamped_swiglu) {
    return refused("{} = {}: Hopper has no block-scaled products and no clamped swiglu.",
                   p.scaling != BlockScaling::none       ? "scaling"
                   : p.out_scaling != BlockScaling::none ? "out_scaling"
                                                         : "clamped_swiglu",
                   p.scaling != BlockScaling::none       ? name(p.scaling)
                   : p.out_scaling != BlockScaling::none ? name(p.out_scaling)
                                                         : "true");
  }
  if (Status s = check_extent("m", p.m); !s) return s;
  if (Status s = check_extent("n", p.n); !s) return s;
  if (Status s = check_extent("k", p.k); !s) return s;
  if (Status s = check_extent("group_count", p.group_count, 65535); !s) return s;
  if (Status s = check_extent("matrix_count", p.matrix_count, 65535); !s) return s;
  if (Status s = check_extent("usual_rows", p.usual_rows); !s) return s;
  if (p.type != DType::e4m3 && p.type != DType::bf16) {
    return refused("type = {}: A and B must be e4m3, with blockwise scales, or bf16.", name(p.type));
  }
  if (p.out != DType::bf16 && p.out != DType::fp32 && p.out != DType::e4m3) {
    return refused("out = {}: D must be bf16, fp32 or e4m3.", name(p.out));
  }
  if (p.b_scale_rows != 1 && p.b_scale_rows != kScaleBlock) {
    return refused("b_scale_rows = {}: 1 or 128 rows of B share a scale.", p.b_scale_rows);
  }
  if (p.groups == Groups::none) {
    if (p.type == DType::bf16) return refused("groups = none: one product of bf16 matrices is made by gemm().");
    if (p.group_count != 1) return refused("group_count = {}: one product has exactly 1 group.", p.group_count);
    if (p.matrix_count > 1) return refused("matrix_count = {}: one product has exactly 1 matrix B.", p.matrix_count);
  }
  if (p.groups == Groups::masked && p.group_count > 0 && p.m % p.group_count != 0) {
    return refused("m = {}: masked groups have equal room, so m must be a multiple of group_count = {}.", p.m,
                   p.group_count);
  }
  if (Status s = check_majors(p); !s) return s;
  if (p.b_major == Major::K) {
    if (Status s = check_row("k", p.k, p.type, "A and B"); !s) return s;
  }
  if (Status s = check_epilogue(p); !s) return s;
  if (p.groups == Groups::by_depth) {
    if (Status s = problem::check_depth_groups(p); !s) return s;
  } else if (p.accumulate) {
    if (Status s = check_accumulate(p); !s) return s;
  }
  const bool halves = p.activation == Activation::swiglu;
  if (Status s = check_row(halves ? "n / 2" : "n", columns_of(p), p.out, "D"); !s) return s;
  if (launch::matrices_of(p) * p.n > INT32_MAX) {
    return refused("n = {}: {} matrices of that many rows have more than {} rows together.", p.n,
                   launch::matrices_of(p), INT32_MAX);
  }
  if (Status s = check_gather(p); !s) return s;
  if (p.type == DType::e4m3) {
    const int64_t a_rows = p.gathered ? p.a_rows : p.m;
    if (Status s = check_scales("a_scales", p.a_scales, a_rows, blocks_of(p.k), "one for each row of A"); !s) return s;
    const bool by_row = p.b_scale_rows == 1;
    if (Status s =
            check_scales("b_scales", p.b_scales, launch::matrices_of(p) * (by_row ? p.n : blocks_of(p.n)),
                         blocks_of(p.k), by_row ? "one for each row of every B" : "one for each 128 rows of every B");
        !s) {
      return s;
    }
  }
  if (p.sm_limit < 0) return refused("sm_limit = {}: it must not be negative.", p.sm_limit);
  return {};
}

struct GroupedPlan::State {
  struct Ready {
    choice::GroupedChoice choice;
    const gpu::LoadedInstance* loaded;
    // Where clusters share the depth of a tile.
    std::unique_ptr<gpu::Workspaces> sums = std::make_unique<gpu::Workspaces>();
  };
  GroupedProblem problem;
  gpu::Device device;
  std::vector<Ready> plans;  // several: the contest says which is run
  std::unique_ptr<const api::Contest> contest;

  bool nothing_to_do() const { return problem.m == 0 || problem.n == 0 || problem.group_count == 0; }
  const choice::GroupedChoice& current() const { return plans[contest->current()].choice; }
  Status launch(const Ready& plan, const GroupedPointers& pointers, void* stream) const;
};

GroupedPlan::GroupedPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}
GroupedPlan::GroupedPlan(GroupedPlan&&) noexcept = default;
GroupedPlan& GroupedPlan::operator=(GroupedPlan&&) noexcept = default;
GroupedPlan::~GroupedPlan() = default;

int GroupedPlan::device() const { return state_->device.number; }
std::string GroupedPlan::name() const { return catalog::plan_name(state_->current().instance); }
std::string GroupedPlan::instance() const { return catalog::name_of(state_->current().instance); }
std::string GroupedPlan::origin() const {
  return state_->contest->origin(state_->current().by, state_->current().measured_us);
}
std::string GroupedPlan::explanation() const {
  return fmt::format("{}: {}", name(), state_->contest->reason(state_->current().reason));
}

Result<GroupedPlan> make_plan(const GroupedProblem& problem) try {
  auto device = gpu::this_device();
  // A wrong problem is refused without a GPU as well.
  if (Status s = problem::validate(problem, device ? device->arch : Arch::sm90); !s) return s;
  if (Status s = choice::check_tuning(); !s) return s;
  if (!device) return device.status();
  const choice::Chip chip{device->name, device->multiprocessors, device->arch, device->driver};
  auto choice = choice::choose(problem, chip);
  if (!choice) return choice.status();
  const auto loaded = gpu::ready(choice->instance, device->number);
  if (!loaded) return loaded.status();
  auto state = std::make_unique<GroupedPlan::State>();
  state->problem = problem;
  state->device = *device;
  state->plans.push_back({*choice, *loaded});
  const bool measures = problem.plan.empty() && choice::asks_to_measure(problem.tuning) &&
                        choice->by != choice::ChosenBy::measured && !state->nothing_to_do();
  if (measures) {
    for (const choice::GroupedChoice& other : choice::finalists(*choice, problem, chip)) {
      // One that cannot be had here does not compete.
      if (const auto found = gpu::ready(other.instance, device->number)) state->plans.push_back({other, *found});
    }
  }
  // A capture may forbid to make the pool of the memory for sums.
  for (const auto& plan : state->plans) {
    if (plan.choice.instance.splits > 1) (void)gpu::RunMemory::prepare(device->number);
  }
  std::vector<std::string> names;
  for (const auto& plan : state->plans) names.push_back(catalog::plan_name(plan.choice.instance));
  state->contest = std::make_unique<const api::Contest>(measures ? choice::measured_key(problem) : "", chip, names);
  return GroupedPlan(std::move(state));
} catch (const std::bad_alloc&) {
  return Status(Code::missing, "the host has no memory left for a plan.");
}

Status GroupedPlan::State::launch(const Ready& plan, const GroupedPointers& pointers, void* stream) const {
  const catalog::Instance& instance = plan.choice.instance;
  launch::Arguments args;
  if (Status s = launch::fill_arguments(args, instance, problem, pointers, gpu::map_encoder()); !s) return s;
  const auto clusters =
      launch::allowed_clusters(plan.loaded->clusters(), launch::cluster_of(instance), problem.sm_limit);
  gpu::RunMemory sums_of_graph;  // handed back after the kernel
  if (const int64_t bytes = launch::workspace_bytes(instance, args, clusters); bytes > 0) {
    const auto sums = plan.sums->get(device.number, stream, size_t(bytes), sums_of_graph);
    if (!sums) return sums.status();
    launch::set_workspace(args, *sums);
  }
  // Short products start before the launch ahead has ended, and wait for it before they touch what it may write.
  return gpu::launch(*plan.loaded, instance, args, stream, problem.sm_limit, launch::may_start_early(instance));
}

Status GroupedPlan::run(const GroupedPointers& pointers, void* stream) const {
  const State& state = *state_;
  const GroupedProblem& p = state.problem;
  if (state.nothing_to_do()) return p.groups == Groups::none ? Status() : report_nothing(pointers.status, stream);
  if (Status s = launch::check_pointers(p, pointers, state.device.arch); !s) return s;
  const auto current = gpu::current_device();
  if (!current) return current.status();
  if (*current != state.device.number) {
    return refused("device = {}: the plan was made for device {}.", *current, state.device.number);
  }
  size_t winner = state.contest->current();
  if (!state.contest->is_decided()) {
    std::optional<gpu::DeviceMemory> sums;  // for what is added to D, while plans are timed
    GroupedPointers trial = pointers;
    trial.status = nullptr;
    winner = state.contest->pick(stream, false, [&] {
      if (p.accumulate) {
        sums.emplace(size_t(p.group_count * p.m * p.n) * sizeof(float));
        trial.d = sums->data();
      }
      std::vector<gpu::Launch> launches;
      for (const State::Ready& plan : state.plans) {
        launches.push_back([&] { return state.launch(plan, trial, stream); });
      }
      return launches;
    });
  }
  // Clusters add what they find in the table of gathered rows.
  if (p.gathered) {
    if (Status s = report_nothing(pointers.status, stream); !s) return s;
  }
  return state.launch(state.plans[winner], pointers, stream);
}

Status grouped_gemm(const GroupedProblem& problem, const GroupedPointers& pointers, void* stream) {
  auto plan = make_plan(problem);
  return plan ? plan->run(pointers, stream) : plan.status();
}

}  // namespace warpwright
