#include "warpwright/moe.h"

#include <fmt/format.h>

#include <cstdint>
#include <new>
#include <utility>

#include "api/refused.h"
#include "choice/tuned_grouped.h"
#include "gpu/driver.h"
#include "gpu/executor.h"
#include "gpu/maker.h"
#include "gpu/run_memory.h"
#include "launch/moe.h"
#include "warpwright/grouped.h"

namespace warpwright {

Status validate(const MoeProblem& p) {
  constexpr int64_t most_pairs = int64_t(1) << 28;
  if (Status s = check_extent("tokens", p.tokens); !s) return s;
  if (p.experts < 1 || p.experts > 65535) return refused("experts = {}: it must be from 1 to 65535.", p.experts);
  if (p.top_k < 1 || p.top_k > 1024) return refused("top_k = {}: it must be from 1 to 1024.", p.top_k);
  if (p.shared < 0 || p.shared >= p.experts) {
    return refused("shared = {}: of {} experts it must be from 0 to {}, so that one is left to choose.", p.shared,
                   p.experts, p.experts - 1);
  }
  if (p.tokens * (p.top_k + p.shared) > most_pairs) {
    return refused("tokens = {}: with {} experts each there are more than {} rows.", p.tokens, p.top_k + p.shared,
                   most_pairs);
  }
  if (p.type != DType::bf16 && p.type != DType::e4m3) {
    return refused("type = {}: x and the weights must be bf16, or e4m3 with blockwise scales.", name(p.type));
  }
  const int64_t unit = p.type == DType::e4m3 ? kScaleBlock : 8;
  const auto check_columns = [&](const char* argument, int64_t value) {
    if (Status s = check_extent(argument, value); !s) return s;
    if (value > 0 && value % unit == 0) return Status();
    return refused("{} = {}: it must be a positive multiple of {}{}.", argument, value, unit,
                   unit == 8 ? "" : ", since a scale covers that many");
  };
  if (Status s = check_columns("hidden", p.hidden); !s) return s;
  if (Status s = check_columns("intermediate", p.intermediate); !s) return s;
  if (p.id_bytes != 4 && p.id_bytes != 8) {
    return refused("id_bytes = {}: the number of an expert has 4 or 8 bytes.", p.id_bytes);
  }
  if (p.tokens == 0) return {};
  if (Status s = validate(launch::gate_up_problem(p)); !s) return s;
  return validate(launch::down_problem(p));
}

struct MoePlan::State {
  MoeProblem problem;
  gpu::Device device;
  GroupedPlan gate_up, down;
  catalog::Instance route, combine;
  const gpu::LoadedInstance *route_loaded, *combine_loaded;
};

MoePlan::MoePlan(std::unique_ptr<State> state) : state_(std::move(state)) {}
MoePlan::MoePlan(MoePlan&&) noexcept = default;
MoePlan& MoePlan::operator=(MoePlan&&) noexcept = default;
MoePlan::~MoePlan() = default;

int MoePlan::device() const { return state_->device.number; }
size_t MoePlan::workspace_bytes() const { return launch::workspace_bytes(state_->problem, state_->device.arch); }
std::string MoePlan::explanation() const {
  return fmt::format("{}\n{}\n{}\n{}\n", catalog::name_of(state_->route), state_->gate_up.instance(),
                     state_->down.instance(), catalog::name_of(state_->combine));
}

Result<MoePlan> make_plan(const MoeProblem& problem) try {
  // A wrong problem is refused without a GPU as well.
  if (Status s = validate(problem); !s) return s;
  const auto device = gpu::this_device();
  if (!device) return device.status();
  if (device->arch != Arch::sm90 && device->arch != Arch::sm100) {
    return Status(Code::missing, fmt::format("device {} ({}) has {}; this needs 9.0, 10.0 or 10.3.", device->number,
                                             device->name, device->kind()));
  }
  auto gate_up = make_plan(launch::gate_up_problem(problem));
  if (!gate_up) return gate_up.status();
  auto down = make_plan(launch::down_problem(problem));
  if (!down) return down.status();
  const catalog::Instance route{launch::route_config(problem, device->arch)},
      combine{launch::combine_config(problem, device->arch)};
  const auto route_loaded = gpu::ready(route, device->number);
  if (!route_loaded) return route_loaded.status();
  const auto combine_loaded = gpu::ready(combine, device->number);
  if (!combine_loaded) return combine_loaded.status();
  // A run that is given a workspace needs no pool, so that there is none is for a run without one to say.
  (void)gpu::RunMemory::prepare(device->number);
  return MoePlan(std::make_unique<MoePlan::State>(MoePlan::State{
      problem, *device, std::move(*gate_up), std::move(*down), route, combine, *route_loaded, *combine_loaded}));
} catch (const std::bad_alloc&) {
  return Status(Code::missing, "the host has no memory left for a plan.");
}

Status MoePlan::run(const MoePointers& pointers, void* stream) const {
  const State& s = *state_;
  const MoeProblem& p = s.problem;
  const auto current = gpu::current_device();
  if (!current) return current.status();
  if (*current != s.device.number) {
    return refused("device = {}: the plan was made for device {}.", *current, s.device.number);
  }
  if (p.tokens == 0) {
    if (pointers.status == nullptr) return {};
    return gpu::status_of(
        gpu::driver().set_words_async(gpu::address(pointers.status), 0, 1, static_cast<gpu::abi::Stream>(stream)),
        "setting the status word");
  }
  if (Status status = launch::check_pointers(p, pointers); !status) return status;
  void* workspace = pointers.workspace;
  gpu::RunMemory own;  // handed back after the last launch
  if (workspace == nullptr) {
    auto taken = own.take(s.device.number, stream, workspace_bytes());
    if (!taken) return taken.status();
    workspace = *taken;
  } else if (pointers.workspace_bytes < workspace_bytes()) {
    return refused("workspace_bytes = {}: the plan needs {}.", pointers.workspace_bytes, workspace_bytes());
  } else if (reinterpret_cast<uintptr_t>(workspace) % 128 != 0) {
    return refused("workspace = {}: it must be a multiple of 128 bytes.", fmt::ptr(workspace));
  }
  const launch::MoeLaunches l = launch::moe_launches(p, s.device.arch, pointers, workspace);
  const int64_t routes = launch::work_of(*s.route.as<RouteConfig>(), l.route);
  const int64_t sums = launch::work_of(*s.combine.as<CombineConfig>(), l.combine);
  if (Status status = gpu::launch(*s.route_loaded, &l.route, routes, stream, p.sm_limit); !status) return status;
  if (Status status = s.gate_up.run(l.gate_up, stream); !status) return status;
  if (Status status = s.down.run(l.down, stream); !status) return status;
  return gpu::launch(*s.combine_loaded, &l.combine, sums, stream, p.sm_limit);
}

Status moe(const MoeProblem& problem, const MoePointers& pointers, void* stream) {
  auto plan = make_plan(problem);
  return plan ? plan->run(pointers, stream) : plan.status();
}

}  // namespace warpwright
