#include "warpwright/gemm.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>

#include "api/arguments.h"
#include "api/launcher.h"
#include "api/lower.h"

#if WW_HAVE_CUDA
#include <cuda_runtime.h>
#endif

namespace warpwright {
namespace {

#if WW_HAVE_CUDA
Status failure(cudaError_t error, const char* what) {
  (void)cudaGetLastError();  // the failure is reported here, not to whoever asks next
  return Status(Code::failed, fmt::format("{} failed: {}.", what, cudaGetErrorString(error)));
}

// Device memory for partial sums, one for each stream: runs on two streams may overlap.
class Workspaces {
 public:
  ~Workspaces() {
    for (const auto& [stream, memory] : by_stream_) (void)cudaFree(memory);
  }
  Result<void*> get(void* stream, size_t bytes) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = by_stream_.find(stream); found != by_stream_.end()) return found->second;
    }
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    if (const cudaError_t e = cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &capture); e != cudaSuccess) {
      return failure(e, "cudaStreamIsCapturing");
    }
    if (capture != cudaStreamCaptureStatusNone) {
      return Status(Code::invalid_argument,
                    fmt::format("workspace = null: a captured run needs one of {} bytes, or a run on the stream "
                                "before the capture begins.",
                                bytes));
    }
    const std::unique_lock lock(mutex_);
    void* memory = nullptr;
    if (const cudaError_t e = cudaMalloc(&memory, bytes); e != cudaSuccess) {
      Status s = failure(e, "the allocation of the workspace");
      return Status(Code::missing, s.message());
    }
    if (const cudaError_t e = cudaMemsetAsync(memory, 0, bytes, static_cast<cudaStream_t>(stream)); e != cudaSuccess) {
      (void)cudaFree(memory);
      return failure(e, "cudaMemset");
    }
    const auto [place, fresh] = by_stream_.emplace(stream, memory);
    if (!fresh) (void)cudaFree(memory);  // another thread was faster
    return place->second;
  }

 private:
  std::shared_mutex mutex_;
  std::map<void*, void*> by_stream_;
};
#else
class Workspaces {
 public:
  Result<void*> get(void*, size_t) { return api::current_device().status(); }
};
#endif

}  // namespace

struct GemmPlan::State {
  GemmProblem problem;
  api::Lowered low;
  api::Device device;
  runtime::Choice choice;
  api::Launcher launcher;
  api::KernelArgs args;
  size_t workspace_bytes = 0;
  bool early = false;  // it starts before the launch ahead has ended
  mutable Workspaces workspaces;

  bool nothing_to_do() const { return problem.m == 0 || problem.n == 0 || problem.batch == 0; }

  State(const GemmProblem& p, api::Lowered l, api::Device d, runtime::Choice c, api::Launcher launch)
      : problem(p), low(std::move(l)), device(std::move(d)), choice(std::move(c)), launcher(std::move(launch)) {}
};

GemmPlan::GemmPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}
GemmPlan::GemmPlan(GemmPlan&&) noexcept = default;
GemmPlan& GemmPlan::operator=(GemmPlan&&) noexcept = default;
GemmPlan::~GemmPlan() = default;

size_t GemmPlan::workspace_bytes() const { return state_->workspace_bytes; }
int GemmPlan::device() const { return state_->device.number; }
std::string GemmPlan::name() const { return runtime::plan_name(state_->choice.kernel); }
std::string GemmPlan::explanation() const {
  return fmt::format("{}: {}", runtime::plan_text(state_->choice.kernel), state_->choice.reason);
}

namespace {
// Where an early start pays. On an H200 it saves 1.3 us a launch, which a long kernel does not show: the CTAs that wait
// for its end, or the power it is bound by, take them back (docs/evidence/hopper-log.md). The skinny kernel gains more
// where it may fetch the weights at once.
bool starts_early(const runtime::Choice& choice, bool weights_are_constant) {
  constexpr double short_us = 25;
  return choice.estimate.us < short_us || (weights_are_constant && choice.kernel.skinny() != nullptr);
}
}  // namespace

Result<GemmPlan> make_plan(const GemmProblem& problem) try {
  if (Status s = validate(problem); !s) return s;
  api::Lowered low = api::lower(problem);
  auto device = api::current_device();
  if (!device) return device.status();
  runtime::Chip chip = device->chip;
  if (problem.sm_limit > 0 && problem.sm_limit < chip.multiprocessors) {
    // The tuned table was measured with all of them.
    chip = {fmt::format("{} SMs of {}", problem.sm_limit, chip.name), problem.sm_limit};
  }
  auto choice = runtime::choose(low.shape, chip, problem.plan);
  if (!choice) return choice.status();
  auto launcher = api::Launcher::prepare(choice->kernel, *device);
  if (!launcher && launcher.status().code() == Code::missing && problem.plan.empty()) {
    // No compiler here: a slower instance that was compiled ahead is better than none.
    auto ahead = runtime::choose(low.shape, chip, "", runtime::OnDemand::refused);
    if (ahead) {
      choice = ahead;
      launcher = api::Launcher::prepare(choice->kernel, *device);
    }
  }
  if (!launcher) return launcher.status();
  auto state = std::make_unique<GemmPlan::State>(problem, low, *device, *choice, *launcher);
  state->early = problem.dependent && starts_early(*choice, problem.b_is_constant);
  if (!state->nothing_to_do()) {
    if (Status s = api::prepare_arguments(state->args, choice->kernel, problem, low); !s) return s;
    if (auto* dense = std::get_if<DenseGemmArgs>(&state->args)) {
      const DenseGemmConfig& c = *choice->kernel.dense();
      dense->splits = choice->kernel.splits;
      state->workspace_bytes = size_t(
          c.workspace_bytes(dense->m, dense->n, dense->batches, dense->splits, launcher->clusters(problem.sm_limit)));
    }
  }
  return GemmPlan(std::move(state));
} catch (const std::bad_alloc&) {
  return Status(Code::missing, "the host has no memory left for a plan.");
}

Status GemmPlan::run(const GemmPointers& pointers, void* stream) const {
  const State& s = *state_;
  if (s.nothing_to_do()) return {};
  if (Status status = api::check_pointers(s.problem, s.low, s.choice.kernel, pointers); !status) return status;
#if WW_HAVE_CUDA
  int current = 0;
  if (const cudaError_t e = cudaGetDevice(&current); e != cudaSuccess) return failure(e, "cudaGetDevice");
  if (current != s.device.number) {
    return Status(Code::invalid_argument,
                  fmt::format("device = {}: the plan was made for device {}.", current, s.device.number));
  }
#endif
  api::KernelArgs args = s.args;
  if (Status status = api::set_addresses(args, s.choice.kernel, s.problem, pointers); !status) return status;
  if (s.workspace_bytes > 0) {
    void* workspace = pointers.workspace;
    if (workspace != nullptr) {
      if (pointers.workspace_bytes < s.workspace_bytes) {
        return Status(Code::invalid_argument, fmt::format("workspace_bytes = {}: the plan needs {}.",
                                                          pointers.workspace_bytes, s.workspace_bytes));
      }
      if (reinterpret_cast<uintptr_t>(workspace) % 128 != 0) {
        return Status(Code::invalid_argument,
                      fmt::format("workspace = {}: it must be a multiple of 128 bytes.", fmt::ptr(workspace)));
      }
    } else {
      auto own = s.workspaces.get(stream, s.workspace_bytes);
      if (!own) return own.status();
      workspace = *own;
    }
    std::get<DenseGemmArgs>(args).workspace = workspace;
  }
  return s.launcher.launch(args, stream, s.problem.sm_limit, s.early);
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
  add(device);
  return key.append(p.plan);
}

// 16, or the power of two that divides them all.
int common_alignment(const GemmPointers& p) {
  const auto all = reinterpret_cast<uintptr_t>(p.a) | reinterpret_cast<uintptr_t>(p.b) |
                   reinterpret_cast<uintptr_t>(p.d) | uintptr_t(16);
  return int(all & (~all + 1));
}

int current_device_number() {
  int device = 0;
#if WW_HAVE_CUDA
  if (cudaGetDevice(&device) != cudaSuccess) (void)cudaGetLastError();
#endif
  return device;
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
