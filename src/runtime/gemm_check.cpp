#include "runtime/gemm_check.h"

#include "api/launcher.h"
#include "api/lower.h"

#if WW_HAVE_CUDA
#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "runtime/gpu_memory.h"
#endif

namespace warpwright::runtime {

#if WW_HAVE_CUDA
namespace {

constexpr int kTimedLaunches = 11;
// Long enough for the chip to lose the heat of a launch of this size.
constexpr std::chrono::milliseconds kIdle(5);

MatrixLayout layout_of(const api::StoredMatrix& m, int64_t offset) {
  // A matrix that the whole batch uses has no step.
  return {m.rows, m.columns, m.stride, m.count == 1 ? 0 : m.batch_stride, offset};
}

// The packed form of what the reference packs.
void pack(GemmProblem& p) {
  p.c.stride = p.c.batch_stride = kPacked;
  p.epilogue.residual_layout.stride = p.epilogue.residual_layout.batch_stride = kPacked;
  if (p.epilogue.bias != Bias::none) p.epilogue.bias_batch_stride = p.epilogue.bias == Bias::per_row ? p.m : p.n;
}

GemmSpec spec_of(const GemmProblem& p, const api::Lowered& low, int64_t offset) {
  GemmSpec spec;
  spec.shape = {p.m, p.n, p.k};
  spec.batch = p.batch;
  spec.a_type = p.a.type;
  spec.b_type = p.b.type;
  spec.a_major = p.a.major;
  spec.b_major = p.b.major;
  spec.a = layout_of(low.a, offset);
  spec.b = layout_of(low.b, offset);
  spec.d = layout_of(low.d, offset);
  spec.epilogue = low.shape.epilogue;
  spec.alpha = double(p.alpha);
  spec.beta = double(p.beta);
  spec.scale = 0.5;
  spec.scaling = p.scaling;
  return spec;
}

template <class T>
T* shifted(T* pointer, int64_t elements, DType type) {
  if (pointer == nullptr) return nullptr;
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) + uintptr_t(elements * bits(type) / 8));
}

}  // namespace

Status check_gemm(GemmProblem problem, const GemmTrial& trial, GemmOutcome& outcome) {
  outcome = {};
  pack(problem);
  if (problem.scaling == Scaling::tensor && problem.batch > 1) {
    return Status(Code::unsupported, "the reference has one factor for each matrix of a batch, the API one for all.");
  }
  auto plan = make_plan(problem);
  if (!plan) return plan.status();
  const auto device = api::current_device();
  outcome.device = device ? device->chip.name : "";
  outcome.device_number = plan->device();
  outcome.plan = plan->name();
  outcome.explanation = plan->explanation();
  try {
    const api::Lowered low = api::lower(problem);
    const Workload w = gemm_workload(spec_of(problem, low, trial.offset), trial.data, trial.seed);
    const GuardedArrays arrays(w);
    const DeviceMemory scale(sizeof(float));
    const float half = 0.5f;
    require(cudaMemcpy(scale.data(), &half, sizeof half, cudaMemcpyHostToDevice), "cudaMemcpy");
    const auto at = [&](const char* name) { return pointer_of(w, arrays.pointers(), name); };
    const GemmPointers pointers{.a = shifted(at("A"), trial.offset, problem.a.type),
                                .b = shifted(at("B"), trial.offset, problem.b.type),
                                .c = at("C"),
                                .d = shifted(at("D"), trial.offset, problem.d.type),
                                .bias = at("bias"),
                                .residual = at("residual"),
                                .a_scales = static_cast<const float*>(at("a_scales")),
                                .b_scales = static_cast<const float*>(at("b_scales")),
                                .d_scale = reinterpret_cast<const float*>(scale.data())};
    std::optional<Stream> own;
    if (trial.stream == nullptr) own.emplace();
    void* const stream = own ? own->get() : trial.stream;
    if (Status s = plan->run(pointers, stream); !s) return s;
    require(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "the kernel");
    outcome.verdict = judge(w, arrays.output());
    outcome.elements = w.expected.size();
    outcome.stray_bytes = arrays.stray_bytes(w);
    if (outcome.stray_bytes != 0) outcome.verdict.ok = false;
    if (trial.timed && own) {
      const Event start, stop;
      std::vector<double> us;
      for (int i = 0; i < kTimedLaunches; ++i) {
        std::this_thread::sleep_for(kIdle);
        start.record(*own);
        if (Status s = plan->run(pointers, stream); !s) return s;
        stop.record(*own);
        stop.synchronize();
        us.push_back(stop.us_since(start));
      }
      std::nth_element(us.begin(), us.begin() + kTimedLaunches / 2, us.end());
      outcome.measured_us = us[kTimedLaunches / 2];
    }
  } catch (const CudaFailure& failure) {
    return Status(Code::failed, failure.what());
  }
  return {};
}

#else

Status check_gemm(GemmProblem, const GemmTrial&, GemmOutcome&) { return api::current_device().status(); }

#endif

}  // namespace warpwright::runtime
