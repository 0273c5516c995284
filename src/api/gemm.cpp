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
#include "api/packing.h"

#if WW_HAVE_CUDA
#include <cuda_runtime.h>

#include "device/pack.h"
#endif

namespace warpwright {
namespace {

#if WW_HAVE_CUDA
Status failure(cudaError_t error, const char* what) {
  (void)cudaGetLastError();  // the failure is reported here, not to whoever asks next
  return Status(Code::failed, fmt::format("{} failed: {}.", what, cudaGetErrorString(error)));
}

// Device memory for one run, from a pool of the device that keeps what is handed back, in the order of the stream. In a
// captured run taking it and handing it back are nodes of the graph.
class RunMemory {
 public:
  RunMemory() = default;
  ~RunMemory() {
    if (memory_ != nullptr) (void)cudaFreeAsync(memory_, stream_);
  }
  RunMemory(const RunMemory&) = delete;
  RunMemory& operator=(const RunMemory&) = delete;

  Result<void*> take(int device, void* stream, size_t bytes) {
    const auto pool = pool_of(device);
    if (!pool) return pool.status();
    stream_ = static_cast<cudaStream_t>(stream);
    if (const cudaError_t e = cudaMallocFromPoolAsync(&memory_, bytes, *pool, stream_); e != cudaSuccess) {
      memory_ = nullptr;
      Status s = failure(e, "the allocation of memory for a run");
      return Status(Code::missing, s.message());
    }
    return memory_;
  }
  Result<void*> take_zeroed(int device, void* stream, size_t bytes) {
    auto memory = take(device, stream, bytes);
    if (!memory) return memory;
    if (const cudaError_t e = cudaMemsetAsync(*memory, 0, bytes, stream_); e != cudaSuccess) {
      return failure(e, "cudaMemset");
    }
    return memory;
  }
  // The pool is made here, since a capture may forbid it.
  static Status prepare(int device) { return pool_of(device).status(); }

 private:
  // Never destroyed: at exit the driver may be gone.
  static Result<cudaMemPool_t> pool_of(int device) {
    static std::mutex mutex;
    static auto* const pools = new std::map<int, cudaMemPool_t>;
    const std::lock_guard lock(mutex);
    if (const auto found = pools->find(device); found != pools->end()) return found->second;
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device};
    cudaMemPool_t pool = nullptr;
    if (const cudaError_t e = cudaMemPoolCreate(&pool, &properties); e != cudaSuccess) {
      return failure(e, "cudaMemPoolCreate");
    }
    // By default a pool gives everything back to the system whenever a stream is waited for.
    uint64_t kept = uint64_t(1) << 30;
    (void)cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept);
    return pools->emplace(device, pool).first->second;
  }

  void* memory_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

// Device memory for partial sums, one for each stream: runs on two streams may overlap.
class Workspaces {
 public:
  ~Workspaces() {
    for (const auto& [stream, memory] : by_stream_) (void)cudaFree(memory);
  }
  // In a captured run, whose graph may outlive the plan, memory that the graph takes.
  Result<void*> get(int device, void* stream, size_t bytes, RunMemory& of_graph) {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    if (const cudaError_t e = cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &capture); e != cudaSuccess) {
      return failure(e, "cudaStreamIsCapturing");
    }
    if (capture != cudaStreamCaptureStatusNone) return of_graph.take_zeroed(device, stream, bytes);
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = by_stream_.find(stream); found != by_stream_.end()) return found->second;
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

Status launch_copies(const PackRowsArgs& args, DType type, void* stream, int sm_limit) {
  const auto why = device::launch_pack_rows_sm90(bits(type) / 8, args, stream, sm_limit);
  return why ? Status(Code::failed, *why) : Status();
}
#else
class RunMemory {
 public:
  Result<void*> take(int, void*, size_t) { return api::current_device().status(); }
  static Status prepare(int) { return api::current_device().status(); }
};
class Workspaces {
 public:
  Result<void*> get(int, void*, size_t, RunMemory&) { return api::current_device().status(); }
};
Status launch_copies(const PackRowsArgs&, DType, void*, int) { return api::current_device().status(); }
#endif

}  // namespace

struct GemmPlan::State {
  GemmProblem problem;
  api::Lowered low;
  api::Device device;
  runtime::Choice choice;
  api::Packing packing;
  std::string name;
  api::Launcher launcher;
  api::KernelArgs args;
  size_t sums_bytes = 0;  // of the workspace; copies of operands lie behind them
  bool early = false;     // it starts before the launch ahead has ended
  mutable Workspaces workspaces;

  bool nothing_to_do() const { return problem.m == 0 || problem.n == 0 || problem.batch == 0; }

  size_t copies_at() const {
    constexpr auto alignment = size_t(api::Packing::kAlignment);
    return (sums_bytes + alignment - 1) / alignment * alignment;
  }
  size_t workspace_bytes() const { return packing.any() ? copies_at() + size_t(packing.bytes()) : sums_bytes; }

  State(const GemmProblem& p, api::Lowered l, api::Device d, const api::Decision& decision, api::Launcher launch)
      : problem(p),
        low(std::move(l)),
        device(std::move(d)),
        choice(decision.choice),
        packing(decision.packing),
        name(decision.name()),
        launcher(std::move(launch)) {}
};

GemmPlan::GemmPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}
GemmPlan::GemmPlan(GemmPlan&&) noexcept = default;
GemmPlan& GemmPlan::operator=(GemmPlan&&) noexcept = default;
GemmPlan::~GemmPlan() = default;

size_t GemmPlan::workspace_bytes() const { return state_->workspace_bytes(); }
int GemmPlan::device() const { return state_->device.number; }
std::string GemmPlan::name() const { return state_->name; }
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
  auto decision = api::decide(problem, low, chip);
  if (!decision) return decision.status();
  auto launcher = api::Launcher::prepare(decision->choice.kernel, *device);
  if (!launcher && launcher.status().code() == Code::missing && problem.plan.empty()) {
    // No compiler here: a slower instance that was compiled ahead is better than none.
    auto ahead = api::decide(problem, low, chip, runtime::OnDemand::refused);
    if (ahead) {
      decision = ahead;
      launcher = api::Launcher::prepare(decision->choice.kernel, *device);
    }
  }
  if (!launcher) return launcher.status();
  const runtime::Kernel& kernel = decision->choice.kernel;
  auto state = std::make_unique<GemmPlan::State>(problem, low, *device, *decision, *launcher);
  // A copy of B is what the launch ahead writes.
  state->problem.b_is_constant = problem.b_is_constant && !decision->packing.b;
  state->early = problem.dependent && starts_early(decision->choice, state->problem.b_is_constant);
  if (!state->nothing_to_do()) {
    if (Status s = api::prepare_arguments(state->args, kernel, state->problem, decision->kernel); !s) return s;
    if (auto* dense = std::get_if<DenseGemmArgs>(&state->args)) {
      const DenseGemmConfig& c = *kernel.dense();
      dense->splits = kernel.splits;
      state->sums_bytes = size_t(
          c.workspace_bytes(dense->m, dense->n, dense->batches, dense->splits, launcher->clusters(problem.sm_limit)));
    }
    // A run that is given a workspace needs no pool, so that there is none is for a run without one to say.
    if (state->workspace_bytes() > 0) (void)RunMemory::prepare(device->number);
    if (decision->packing.any()) {
      PackRowsArgs one;
      one.list[0].rows = one.list[0].columns = one.list[0].matrices = 1;
      const auto launch = [&](void* stream) { return launch_copies(one, low.a.type, stream, 0); };
      if (Status s = api::warm(launch); !s) return s;
    }
  }
  return GemmPlan(std::move(state));
} catch (const std::bad_alloc&) {
  return Status(Code::missing, "the host has no memory left for a plan.");
}

Status GemmPlan::run(const GemmPointers& pointers, void* stream) const {
  const State& s = *state_;
  if (s.nothing_to_do()) return {};
  if (Status status = api::check_pointers(s.problem, s.low, s.choice.kernel, pointers, s.packing); !status) {
    return status;
  }
#if WW_HAVE_CUDA
  int current = 0;
  if (const cudaError_t e = cudaGetDevice(&current); e != cudaSuccess) return failure(e, "cudaGetDevice");
  if (current != s.device.number) {
    return Status(Code::invalid_argument,
                  fmt::format("device = {}: the plan was made for device {}.", current, s.device.number));
  }
#endif
  void *sums = nullptr, *copies = nullptr;
  RunMemory sums_of_graph, copy_memory;  // handed back behind the kernel
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
  api::KernelArgs args = s.args;
  const GemmPointers seen = api::packed_pointers(s.packing, pointers, copies);
  if (Status status = api::set_addresses(args, s.choice.kernel, s.problem, seen); !status) return status;
  if (s.sums_bytes > 0) std::get<DenseGemmArgs>(args).workspace = sums;
  if (s.packing.any()) {
    const PackRowsArgs rows = api::pack_arguments(s.low, s.packing, pointers, copies);
    if (Status status = launch_copies(rows, s.low.a.type, stream, s.problem.sm_limit); !status) return status;
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
