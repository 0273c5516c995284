#include "warpwright/gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/contest.h"
#include "choice/choose.h"
#include "choice/measured.h"
#include "gpu/door.h"
#include "gpu/executor.h"
#include "gpu/maker.h"
#include "gpu/memory.h"
#include "gpu/require.h"
#include "gpu/run_memory.h"
#include "gpu/tensor_map.h"
#include "gpu/verify.h"
#include "launch/dense.h"
#include "launch/packing.h"
#include "launch/verify.h"
#include "problem/lower.h"
#include "problem/validate.h"

namespace warpwright {
namespace {

// The kernel that copies rows to where the TMA can address them.
catalog::Instance pack_instance(DType type) {
  PackRowsConfig config;
  config.element_bytes = bits(type) / 8;
  return {config};
}

}  // namespace

namespace api {

// One plan of a problem, ready to run.
struct ReadyPlan {
  GemmProblem problem;
  choice::Decision decision;
  std::string name;
  const gpu::LoadedInstance* loaded = nullptr;
  const gpu::LoadedInstance* packer = nullptr;  // where operands are copied first
  launch::Arguments args;
  size_t sums_bytes = 0;  // the part of the workspace that holds sums
  size_t copies_at = 0;   // copies of operands come after the sums, also after those of plans that compete with it
  bool early = false;     // it starts before the launch ahead has ended
  mutable gpu::Workspaces workspaces;

  ReadyPlan(GemmProblem p, choice::Decision d) : problem(std::move(p)), decision(std::move(d)), name(decision.name()) {}

  const catalog::Instance& instance() const { return decision.choice.instance; }
  const choice::Packing& packing() const { return decision.packing; }
  void put_copies_behind(size_t bytes) {
    constexpr auto alignment = size_t(choice::Packing::kAlignment);
    copies_at = (bytes + alignment - 1) / alignment * alignment;
  }
  size_t workspace_bytes() const { return packing().any() ? copies_at + size_t(packing().bytes()) : sums_bytes; }
};

}  // namespace api

using api::ReadyPlan;

struct GemmPlan::State {
  GemmProblem problem;
  problem::Lowered low;
  gpu::Device device;
  std::vector<std::unique_ptr<ReadyPlan>> plans;  // several: the contest says which is run
  std::unique_ptr<const api::Contest> contest;
  size_t workspace_bytes = 0, kept_bytes = 0;  // enough for each
  // Whether the first product was compared, where WARPWRIGHT_VERIFY asks for it.
  mutable std::atomic<bool> verified = false;

  bool nothing_to_do() const { return problem.m == 0 || problem.n == 0 || problem.batch == 0; }
  const ReadyPlan& current() const { return *plans[contest->current()]; }

  State(GemmProblem p, problem::Lowered l, gpu::Device d)
      : problem(std::move(p)), low(std::move(l)), device(std::move(d)) {}
};

GemmPlan::GemmPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}
GemmPlan::GemmPlan(GemmPlan&&) noexcept = default;
GemmPlan& GemmPlan::operator=(GemmPlan&&) noexcept = default;
GemmPlan::~GemmPlan() = default;

size_t GemmPlan::workspace_bytes() const { return state_->workspace_bytes; }
size_t GemmPlan::kept_bytes() const { return state_->kept_bytes; }
int GemmPlan::device() const { return state_->device.number; }
std::string GemmPlan::name() const { return state_->current().name; }
std::string GemmPlan::instance() const { return catalog::name_of(state_->current().instance()); }
std::string GemmPlan::origin() const {
  const choice::Choice& choice = state_->current().decision.choice;
  return state_->contest->origin(choice.by, choice.measured_us);
}
std::string GemmPlan::explanation() const {
  const ReadyPlan& plan = state_->current();
  const catalog::Instance& instance = plan.instance();
  // Only Hopper's plans are described in words.
  const bool words = catalog::arch_of(instance) == Arch::sm90;
  return fmt::format("{}: {}", words ? choice::plan_text(instance) : catalog::plan_name(instance),
                     state_->contest->reason(plan.decision.choice.reason));
}

namespace {
// Where an early start pays. On an H200 it saves 1.3 us a launch, which a long kernel does not show: the CTAs that wait
// for its end, or the power it is bound by, take them back (docs/evidence/hopper-log.md). The skinny kernel gains more
// where it may fetch the weights at once.
bool starts_early(const choice::Choice& choice, bool weights_are_constant) {
  constexpr double short_us = 25;
  if (!launch::may_start_early(choice.instance)) return false;
  if (catalog::arch_of(choice.instance) != Arch::sm90) return true;
  return choice.estimate.us < short_us || (weights_are_constant && choice.instance.as<SkinnyGemmConfig>() != nullptr);
}

// Every NVIDIA device here runs mma.sync: a plan that names such an instance is accepted on all of them.
Arch arch_for(const GemmProblem& problem, const gpu::Device& device) {
  return problem.plan.starts_with("sm80/") && !is_cdna(device.arch) ? Arch::sm80 : device.arch;
}

Result<std::unique_ptr<ReadyPlan>> prepare(const GemmProblem& problem, const problem::Lowered& low,
                                           const gpu::Device& device, const choice::Decision& decision,
                                           const gpu::LoadedInstance& loaded) {
  auto plan = std::make_unique<ReadyPlan>(problem, decision);
  plan->loaded = &loaded;
  const catalog::Instance& instance = plan->instance();
  // A copy of B is what the launch ahead writes.
  plan->problem.b_is_constant = problem.b_is_constant && !decision.packing.b;
  plan->early = problem.dependent && starts_early(decision.choice, plan->problem.b_is_constant);
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return plan;
  if (Status s = launch::prepare_arguments(plan->args, instance, plan->problem, decision.kernel, gpu::map_encoder());
      !s) {
    return s;
  }
  const auto clusters = launch::allowed_clusters(loaded.clusters(), launch::cluster_of(instance), problem.sm_limit);
  plan->sums_bytes = size_t(launch::workspace_bytes(instance, plan->args, clusters));
  plan->put_copies_behind(plan->sums_bytes);
  // A run that is given a workspace needs no pool, so that there is none is for a run without one to say.
  if (plan->workspace_bytes() > 0) (void)gpu::RunMemory::prepare(device.number);
  if (decision.packing.any()) {
    auto packer = gpu::ready(pack_instance(low.a.type), device.number);
    if (!packer) return packer.status();
    plan->packer = *packer;
  }
  return plan;
}

}  // namespace

Result<GemmPlan> make_plan(const GemmProblem& problem) try {
  auto device = gpu::this_device();
  // A wrong problem is refused without a GPU as well.
  const Arch arch = device ? arch_for(problem, *device) : Arch::sm90;
  if (Status s = problem::validate(problem, arch); !s) return s;
  if (Status s = choice::check_tuning(); !s) return s;
  if (!device) return device.status();
  problem::Lowered low = problem::lower(problem);
  const choice::Chip chip{device->name, device->multiprocessors, arch, device->driver};
  const auto limits = choice::limits_of(device->major, device->minor, device->shared_bytes);
  auto decision = choice::choose(problem, chip, choice::OnDemand::allowed, limits);
  if (!decision) return decision.status();
  auto loaded = gpu::ready(decision->choice.instance, device->number);
  if (!loaded && loaded.status().code() == Code::missing && problem.plan.empty()) {
    // No compiler here: a slower instance that was compiled ahead is better than none.
    auto ahead = choice::choose(problem, chip, choice::OnDemand::refused, limits);
    if (ahead) {
      decision = ahead;
      loaded = gpu::ready(decision->choice.instance, device->number);
    }
  }
  if (!loaded) return loaded.status();
  auto state = std::make_unique<GemmPlan::State>(problem, std::move(low), *device);
  auto first = prepare(problem, state->low, *device, *decision, **loaded);
  if (!first) return first.status();
  state->plans.push_back(std::move(*first));
  const bool measures = problem.plan.empty() && choice::asks_to_measure(problem.tuning) &&
                        decision->choice.by != choice::ChosenBy::measured && !state->nothing_to_do();
  if (measures) {
    for (const choice::Decision& other : choice::finalists(*decision, problem, chip, limits)) {
      // One that cannot be had here does not compete.
      auto found = gpu::ready(other.choice.instance, device->number);
      if (!found) continue;
      auto ready = prepare(problem, state->low, *device, other, **found);
      if (ready) state->plans.push_back(std::move(*ready));
    }
  }
  std::vector<std::string> names;
  for (const auto& plan : state->plans) state->kept_bytes = std::max(state->kept_bytes, plan->sums_bytes);
  for (const auto& plan : state->plans) {
    names.push_back(plan->name);
    plan->put_copies_behind(state->kept_bytes);
    state->workspace_bytes = std::max(state->workspace_bytes, plan->workspace_bytes());
  }
  state->contest = std::make_unique<const api::Contest>(measures ? choice::measured_key(problem) : "", chip, names);
  return GemmPlan(std::move(state));
} catch (const std::bad_alloc&) {
  return Status(Code::missing, "the host has no memory left for a plan.");
}

namespace {

// Puts a plan on a stream. `put` gets the launch of its kernel, before which all else is on the stream.
template <class Put>
Status launch_plan(const ReadyPlan& plan, const problem::Lowered& low, int device, const GemmPointers& pointers,
                   void* stream, const Put& put) {
  void *sums = nullptr, *copies = nullptr;
  gpu::RunMemory sums_of_graph, copy_memory;  // handed back after the kernel
  if (pointers.workspace != nullptr && plan.workspace_bytes() > 0) {
    sums = pointers.workspace;
    copies = static_cast<uint8_t*>(pointers.workspace) + plan.copies_at;
  } else {
    if (plan.sums_bytes > 0) {
      auto own = plan.workspaces.get(device, stream, plan.sums_bytes, sums_of_graph);
      if (!own) return own.status();
      sums = *own;
    }
    if (plan.packing().any()) {
      auto own = copy_memory.take(device, stream, size_t(plan.packing().bytes()));
      if (!own) return own.status();
      copies = *own;
    }
  }
  launch::Arguments args = plan.args;
  const GemmPointers seen = launch::packed_pointers(plan.packing(), pointers, copies);
  if (Status status =
          launch::set_addresses(args, plan.instance(), plan.problem, plan.decision.kernel, seen, gpu::map_encoder());
      !status) {
    return status;
  }
  if (plan.sums_bytes > 0) launch::set_workspace(args, sums);
  if (plan.packing().any()) {
    const PackRowsArgs rows = launch::pack_arguments(low, plan.packing(), pointers, copies);
    const auto config = std::get<PackRowsConfig>(pack_instance(low.a.type).config);
    const int64_t work = launch::work_of(config, rows);
    if (Status status = gpu::launch(*plan.packer, &rows, work, stream, plan.problem.sm_limit); !status) return status;
  }
  return put(
      [&] { return gpu::launch(*plan.loaded, plan.instance(), args, stream, plan.problem.sm_limit, plan.early); });
}

// Whether the matrix at `x` has bytes of D: what a launch writes would be the next one's input.
bool overlaps(const void* x, const problem::StoredMatrix& matrix, const GemmPointers& pointers,
              const problem::StoredMatrix& d) {
  const auto first = reinterpret_cast<uintptr_t>(x), result = reinterpret_cast<uintptr_t>(pointers.d);
  return x != nullptr && first < result + uintptr_t(d.bytes()) && result < first + uintptr_t(matrix.bytes());
}

// What the plans of a contest are launched with: the caller's operands, their own memory for sums and copies, and for D
// too where it is an input.
class Trial {
 public:
  template <class Plans>
  Trial(const Plans& plans, const problem::Lowered& low, int device, GemmPointers pointers, void* stream)
      : low_(low), device_(device), pointers_(pointers), stream_(stream) {
    if ((low.reads_c && overlaps(pointers.c, low.c, pointers, low.d)) ||
        (low.shape.epilogue.residual && overlaps(pointers.residual, low.residual, pointers, low.d))) {
      memory_.emplace_back(size_t(low.d.bytes()));
      pointers_.d = memory_.back().data();
    }
    for (const auto& plan : plans) {
      workspaces_.push_back(nullptr);
      if (plan->workspace_bytes() == 0) continue;
      memory_.emplace_back(plan->workspace_bytes());
      workspaces_.back() = memory_.back().data();
      gpu::set_bytes(workspaces_.back(), 0, plan->workspace_bytes(), stream);
    }
  }
  Status launch(const ReadyPlan& plan, size_t i) const {
    GemmPointers with = pointers_;
    with.workspace = workspaces_[i];
    return launch_plan(plan, low_, device_, with, stream_, [](const auto& put) { return put(); });
  }

 private:
  const problem::Lowered& low_;
  int device_;
  GemmPointers pointers_;
  void* stream_;
  std::deque<gpu::DeviceMemory> memory_;
  std::vector<uint8_t*> workspaces_;
};

// Runs it and compares the result. A run that is captured is not compared: the next one is.
template <class State, class Put>
Status run_verified(const State& s, const catalog::Instance& instance, GemmPointers pointers, void* stream,
                    const Put& put) try {
  int capturing = 0;
  (void)gpu::door().stream_is_capturing(stream, &capturing);
  if (capturing != 0) {
    s.verified = false;
    return put();
  }
  std::optional<gpu::DeviceMemory> addend;  // C from before, where it is D
  if (s.low.reads_c && pointers.c == pointers.d) {
    addend.emplace(size_t(s.low.c.bytes()));
    gpu::copy_on_device(addend->data(), pointers.c, size_t(s.low.c.bytes()), stream);
    pointers.c = addend->data();
  }
  if (Status status = put(); !status) return status;
  const auto plain = launch::verify_arguments(s.problem, s.low, pointers);
  if (!plain) return {};
  const Status status = gpu::verify(*plain, stream);
  if (status) return {};
  return Status(status.code(),
                fmt::format("{} on the {}: {}", catalog::name_of(instance), s.device.name, status.message()));
} catch (const gpu::Failure& failure) {
  return Status(Code::failed, failure.what());
}

}  // namespace

Status GemmPlan::run(const GemmPointers& pointers, void* stream) const {
  const State& s = *state_;
  if (s.nothing_to_do()) return {};
  for (const auto& plan : s.plans) {
    if (Status status = launch::check_pointers(plan->problem, s.low, plan->instance(), pointers, plan->packing());
        !status) {
      return status;
    }
  }
  const auto current = gpu::current_device();
  if (!current) return current.status();
  if (*current != s.device.number) {
    return Status(Code::invalid_argument,
                  fmt::format("device = {}: the plan was made for device {}.", *current, s.device.number));
  }
  const bool given = pointers.workspace != nullptr && s.workspace_bytes > 0;
  if (given && pointers.workspace_bytes < s.workspace_bytes) {
    return Status(Code::invalid_argument,
                  fmt::format("workspace_bytes = {}: the plan needs {}.", pointers.workspace_bytes, s.workspace_bytes));
  }
  if (given && reinterpret_cast<uintptr_t>(pointers.workspace) % 128 != 0) {
    return Status(Code::invalid_argument,
                  fmt::format("workspace = {}: it must be a multiple of 128 bytes.", fmt::ptr(pointers.workspace)));
  }
  size_t winner = s.contest->current();
  if (!s.contest->is_decided()) {
    std::optional<Trial> trial;
    winner = s.contest->pick(stream, given, [&] {
      trial.emplace(s.plans, s.low, s.device.number, pointers, stream);
      std::vector<gpu::Launch> launches;
      for (size_t i = 0; i < s.plans.size(); ++i) launches.push_back([&, i] { return trial->launch(*s.plans[i], i); });
      return launches;
    });
  }
  const ReadyPlan& plan = *s.plans[winner];
  return launch_plan(plan, s.low, s.device.number, pointers, stream, [&](const auto& put) {
    if (!gpu::verifies() || s.verified.exchange(true)) return put();
    return run_verified(s, plan.instance(), pointers, stream, put);
  });
}

namespace {

// All of a problem that a plan depends on, and the device. In the thread's own memory: a call that finds its plan
// allocates nothing.
const std::string& key_of(const GemmProblem& p, int alignment, int device) {
  thread_local std::string key;
  key.clear();
  const auto add = [&](auto value) { key.append(reinterpret_cast<const char*>(&value), sizeof value); };
  const auto layout = [&](const MatrixLayout& m) {
    add(m.type);
    add(m.major);
    add(m.stride);
    add(m.batch_stride);
  };
  for (const int64_t extent : {p.m, p.n, p.k, p.batch}) add(extent);
  for (const MatrixLayout* m : {&p.a, &p.b, &p.c, &p.d, &p.epilogue.residual_layout}) layout(*m);
  add(p.alpha);
  add(p.beta);
  add(p.scaling);
  add(p.accumulation);
  add(p.epilogue.bias);
  add(p.epilogue.bias_type);
  add(p.epilogue.bias_batch_stride);
  add(p.epilogue.activation);
  add(p.epilogue.residual);
  add(p.epilogue.quantize);
  add(alignment);
  add(p.sm_limit);
  add(p.deterministic);
  add(p.dependent);
  add(p.b_is_constant);
  add(p.block_scaling);
  add(p.tuning);
  add(device);
  return key.append(p.plan).append(1, '\0').append(p.epilogue.formula);
}

// 16, or the power of two that divides them all.
int common_alignment(const GemmPointers& p) {
  const auto all = reinterpret_cast<uintptr_t>(p.a) | reinterpret_cast<uintptr_t>(p.b) |
                   reinterpret_cast<uintptr_t>(p.d) | uintptr_t(16);
  return int(all & (~all + 1));
}

int current_device_number() {
  const auto device = gpu::current_device();
  return device ? *device : 0;
}

}  // namespace

Status gemm(const GemmProblem& problem, const GemmPointers& pointers, void* stream) try {
  constexpr size_t most_plans = 4096;
  static std::shared_mutex mutex;
  static std::unordered_map<std::string, std::shared_ptr<const GemmPlan>> plans;
  const int least = std::max({bits(problem.a.type), bits(problem.d.type), 8}) / 8;
  // A pointer below the size of its element is refused with the sentence for pointers, by a plan that can be made.
  const int alignment = std::max(common_alignment(pointers), least);
  const std::string& key = key_of(problem, alignment, current_device_number());
  std::shared_ptr<const GemmPlan> plan;
  {
    const std::shared_lock lock(mutex);
    if (const auto found = plans.find(key); found != plans.end()) plan = found->second;
  }
  if (plan == nullptr) {
    GemmProblem actual = problem;
    actual.alignment = alignment;
    auto made = make_plan(actual);
    if (!made) return made.status();
    plan = std::make_shared<const GemmPlan>(std::move(*made));
    const std::unique_lock lock(mutex);
    if (plans.size() >= most_plans) plans.clear();
    plans.emplace(key, plan);
  }
  return plan->run(pointers, stream);
} catch (const std::bad_alloc&) {
  return Status(Code::missing, "the host has no memory left for a plan.");
}

}  // namespace warpwright
