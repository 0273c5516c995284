#include "warpwright/gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "choice/choose.h"
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

struct GemmPlan::State {
  GemmProblem problem;
  problem::Lowered low;
  problem::Lowered kernel;  // the problem as the kernel sees it
  gpu::Device device;
  choice::Choice choice;
  choice::Packing packing;
  std::string name;
  const gpu::LoadedInstance* loaded;
  const gpu::LoadedInstance* packer = nullptr;  // where operands are copied first
  launch::Arguments args;
  size_t sums_bytes = 0;  // of the workspace; copies of operands lie behind them
  bool early = false;     // it starts before the launch ahead has ended
  // Whether the first product was compared, where WARPWRIGHT_VERIFY asks for it.
  mutable std::atomic<bool> verified = false;
  mutable gpu::Workspaces workspaces;

  bool nothing_to_do() const { return problem.m == 0 || problem.n == 0 || problem.batch == 0; }

  size_t copies_at() const {
    constexpr auto alignment = size_t(choice::Packing::kAlignment);
    return (sums_bytes + alignment - 1) / alignment * alignment;
  }
  size_t workspace_bytes() const { return packing.any() ? copies_at() + size_t(packing.bytes()) : sums_bytes; }

  State(const GemmProblem& p, problem::Lowered l, gpu::Device d, const choice::Decision& decision,
        const gpu::LoadedInstance* ready)
      : problem(p),
        low(std::move(l)),
        kernel(decision.kernel),
        device(std::move(d)),
        choice(decision.choice),
        packing(decision.packing),
        name(decision.name()),
        loaded(ready) {}
};

GemmPlan::GemmPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}
GemmPlan::GemmPlan(GemmPlan&&) noexcept = default;
GemmPlan& GemmPlan::operator=(GemmPlan&&) noexcept = default;
GemmPlan::~GemmPlan() = default;

size_t GemmPlan::workspace_bytes() const { return state_->workspace_bytes(); }
int GemmPlan::device() const { return state_->device.number; }
std::string GemmPlan::name() const { return state_->name; }
std::string GemmPlan::instance() const { return catalog::name_of(state_->choice.instance); }
std::string GemmPlan::explanation() const {
  const catalog::Instance& instance = state_->choice.instance;
  // Only Hopper's plans are described in words.
  const bool words = catalog::arch_of(instance) == Arch::sm90;
  return fmt::format("{}: {}", words ? choice::plan_text(instance) : catalog::plan_name(instance),
                     state_->choice.reason);
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

// Every NVIDIA device here runs mma.sync: a plan that names such an instance is taken on all of them.
Arch arch_for(const GemmProblem& problem, const gpu::Device& device) {
  return problem.plan.starts_with("sm80/") && !is_cdna(device.arch) ? Arch::sm80 : device.arch;
}
}  // namespace

Result<GemmPlan> make_plan(const GemmProblem& problem) try {
  auto device = gpu::this_device();
  // A wrong problem is refused without a GPU as well.
  const Arch arch = device ? arch_for(problem, *device) : Arch::sm90;
  if (Status s = problem::validate(problem, arch); !s) return s;
  if (!device) return device.status();
  problem::Lowered low = problem::lower(problem);
  const choice::Chip chip{device->name, device->multiprocessors, arch};
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
  const catalog::Instance& instance = decision->choice.instance;
  auto state = std::make_unique<GemmPlan::State>(problem, low, *device, *decision, *loaded);
  // A copy of B is what the launch ahead writes.
  state->problem.b_is_constant = problem.b_is_constant && !decision->packing.b;
  state->early = problem.dependent && starts_early(decision->choice, state->problem.b_is_constant);
  if (!state->nothing_to_do()) {
    if (Status s =
            launch::prepare_arguments(state->args, instance, state->problem, decision->kernel, gpu::map_encoder());
        !s) {
      return s;
    }
    const auto clusters =
        launch::allowed_clusters((*loaded)->clusters(), launch::cluster_of(instance), problem.sm_limit);
    state->sums_bytes = size_t(launch::workspace_bytes(instance, state->args, clusters));
    // A run that is given a workspace needs no pool, so that there is none is for a run without one to say.
    if (state->workspace_bytes() > 0) (void)gpu::RunMemory::prepare(device->number);
    if (decision->packing.any()) {
      auto packer = gpu::ready(pack_instance(low.a.type), device->number);
      if (!packer) return packer.status();
      state->packer = *packer;
    }
  }
  return GemmPlan(std::move(state));
} catch (const std::bad_alloc&) {
  return Status(Code::missing, "the host has no memory left for a plan.");
}

namespace {

// Runs it and compares the result. A run that is captured is not compared: the next one is.
template <class State, class Put>
Status run_verified(const State& s, GemmPointers pointers, void* stream, const Put& put) try {
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
                fmt::format("{} on the {}: {}", catalog::name_of(s.choice.instance), s.device.name, status.message()));
} catch (const gpu::Failure& failure) {
  return Status(Code::failed, failure.what());
}

}  // namespace

Status GemmPlan::run(const GemmPointers& pointers, void* stream) const {
  const State& s = *state_;
  if (s.nothing_to_do()) return {};
  if (Status status = launch::check_pointers(s.problem, s.low, s.choice.instance, pointers, s.packing); !status) {
    return status;
  }
  const auto current = gpu::current_device();
  if (!current) return current.status();
  if (*current != s.device.number) {
    return Status(Code::invalid_argument,
                  fmt::format("device = {}: the plan was made for device {}.", *current, s.device.number));
  }
  void *sums = nullptr, *copies = nullptr;
  gpu::RunMemory sums_of_graph, copy_memory;  // handed back behind the kernel
  if (pointers.workspace != nullptr && s.workspace_bytes() > 0) {
    if (pointers.workspace_bytes < s.workspace_bytes()) {
      return Status(Code::invalid_argument, fmt::format("workspace_bytes = {}: the plan needs {}.",
                                                        pointers.workspace_bytes, s.workspace_bytes()));
    }
    if (reinterpret_cast<uintptr_t>(pointers.workspace) % 128 != 0) {
      return Status(Code::invalid_argument,
                    fmt::format("workspace = {}: it must be a multiple of 128 bytes.", fmt::ptr(pointers.workspace)));
    }
    sums = pointers.workspace;
    copies = static_cast<uint8_t*>(pointers.workspace) + s.copies_at();
  } else {
    if (s.sums_bytes > 0) {
      auto own = s.workspaces.get(s.device.number, stream, s.sums_bytes, sums_of_graph);
      if (!own) return own.status();
      sums = *own;
    }
    if (s.packing.any()) {
      auto own = copy_memory.take(s.device.number, stream, size_t(s.packing.bytes()));
      if (!own) return own.status();
      copies = *own;
    }
  }
  launch::Arguments args = s.args;
  const GemmPointers seen = launch::packed_pointers(s.packing, pointers, copies);
  if (Status status = launch::set_addresses(args, s.choice.instance, s.problem, s.kernel, seen, gpu::map_encoder());
      !status) {
    return status;
  }
  if (s.sums_bytes > 0) launch::set_workspace(args, sums);
  if (s.packing.any()) {
    const PackRowsArgs rows = launch::pack_arguments(s.low, s.packing, pointers, copies);
    const auto config = std::get<PackRowsConfig>(pack_instance(s.low.a.type).config);
    const int64_t work = launch::work_of(config, rows);
    if (Status status = gpu::launch(*s.packer, &rows, work, stream, s.problem.sm_limit); !status) return status;
  }
  const auto put = [&] { return gpu::launch(*s.loaded, s.choice.instance, args, stream, s.problem.sm_limit, s.early); };
  if (!gpu::verifies() || s.verified.exchange(true)) return put();
  return run_verified(s, pointers, stream, put);
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
