#include "api/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>

#include "device/launch.h"
#include "jit/compiler.h"
#include "runtime/gpu.h"

#if WW_HAVE_CUDA
#include <cuda_runtime.h>

#include "jit/loaded.h"
#endif

namespace warpwright::api {

#if WW_HAVE_CUDA
namespace {

Status failure(cudaError_t error, const char* what) {
  (void)cudaGetLastError();  // the failure is reported here, not to whoever asks next
  return Status(Code::failed, fmt::format("{} failed: {}.", what, cudaGetErrorString(error)));
}

Result<Device> describe(int number) {
  cudaDeviceProp properties{};
  if (const cudaError_t e = cudaGetDeviceProperties(&properties, number); e != cudaSuccess) {
    return failure(e, "cudaGetDeviceProperties");
  }
  if (properties.major != 9) {
    return Status(Code::missing,
                  fmt::format("device {} ({}) has compute capability {}.{}; the kernels need 9.0, Hopper.", number,
                              properties.name, properties.major, properties.minor));
  }
  return Device{number, {properties.name, properties.multiProcessorCount}};
}

// The grid of a dense kernel that was compiled now, in clusters; 0 where it cannot run. As the launch functions of
// device/sm90 do for theirs: all parts of a tile are in one round of the grid.
int64_t grid_of(const DenseGemmConfig& c, const DenseGemmArgs& args, int64_t clusters) {
  const int64_t depth = std::max<int64_t>(1, (args.k + c.tile_k() - 1) / c.tile_k());
  const int64_t shares = c.split == DepthSplit::none      ? 1
                         : c.split == DepthSplit::split_k ? std::min<int64_t>(args.splits, depth)
                                                          : depth;
  if (c.split == DepthSplit::split_k) clusters -= clusters % shares;
  return std::min(c.tiles(args.m, args.n, args.batches) * shares, clusters);
}

}  // namespace

Result<Device> current_device() {
  if (const auto problem = runtime::gpu_driver_problem()) {
    return Status(Code::missing, fmt::format("no GPU can be used: {}.", *problem));
  }
  int number = 0;
  if (const cudaError_t e = cudaGetDevice(&number); e != cudaSuccess) {
    Status s = failure(e, "cudaGetDevice");
    return Status(Code::missing, fmt::format("no GPU can be used: {}", s.message()));
  }
  // The facts of a device never change; asking the driver takes a millisecond.
  static std::mutex mutex;
  static std::array<std::optional<Device>, 64> known;
  const std::lock_guard lock(mutex);
  if (size_t(number) >= known.size()) return describe(number);
  if (!known[size_t(number)]) {
    auto found = describe(number);
    if (!found) return found;
    known[size_t(number)] = *found;
  }
  return *known[size_t(number)];
}

Result<Launcher> Launcher::prepare(const runtime::Kernel& kernel, const Device& device) {
  Launcher launcher(kernel);
  if (!kernel.ahead()) {
    const jit::Source source =
        kernel.dense() != nullptr ? jit::source_of(*kernel.dense()) : jit::source_of(*kernel.skinny());
    const auto loaded = jit::LoadedKernel::get(source, runtime::plan_of(kernel));
    if (!loaded) return loaded.status();
    launcher.loaded_ = *loaded;
    const auto clusters = launcher.loaded_->prepare(device.number);
    if (!clusters) return clusters.status();
    if (*clusters == 0) return Status(Code::failed, "the compiled kernel does not fit the device.");
    launcher.clusters_ = *clusters;
  } else {
    // Its own launch function knows better; this bounds it.
    const Plan plan = runtime::plan_of(kernel);
    launcher.clusters_ = std::max(1, device.chip.multiprocessors * plan.blocks_per_sm / plan.cluster);
  }
  const auto launch = [&](void* stream) {
    KernelArgs args;
    if (kernel.dense() == nullptr) args = SkinnyGemmArgs{};
    std::visit([](auto& a) { a.m = a.n = 1; }, args);
    return launcher.launch(args, stream, 0, false);
  };
  if (Status s = warm(launch); !s) return s;
  return launcher;
}

Status warm(const std::function<Status(void* stream)>& launch) {
  cudaStream_t stream = nullptr;
  if (const cudaError_t e = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); e != cudaSuccess) {
    return failure(e, "cudaStreamCreate");
  }
  Status status;
  // Relaxed: loading a kernel is among the calls that the other modes forbid.
  if (const cudaError_t e = cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed); e != cudaSuccess) {
    status = failure(e, "cudaStreamBeginCapture");
  } else {
    status = launch(stream);
    cudaGraph_t graph = nullptr;
    if (const cudaError_t end = cudaStreamEndCapture(stream, &graph); end != cudaSuccess && status.ok()) {
      status = failure(end, "cudaStreamEndCapture");
    }
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
  }
  (void)cudaStreamDestroy(stream);
  return status;
}

int Launcher::clusters(int sm_limit) const {
  if (sm_limit <= 0) return clusters_;
  return std::clamp(sm_limit / kernel_.cluster(), 1, clusters_);
}

Status Launcher::launch(const KernelArgs& args, void* stream, int sm_limit, bool dependent) const {
  if (loaded_ == nullptr) return launch_ahead(args, stream, sm_limit, dependent);
  cudaError_t error = cudaSuccess;
  if (const auto* dense = std::get_if<DenseGemmArgs>(&args)) {
    const DenseGemmConfig& c = *kernel_.dense();
    const int64_t grid = grid_of(c, *dense, clusters(sm_limit));
    if (grid == 0) return Status(Code::failed, "more parts of a tile than clusters that run at once.");
    error = loaded_->launch(dense, unsigned(grid) * unsigned(c.cluster), static_cast<cudaStream_t>(stream),
                            dependent && c.dependent);
  } else {
    const auto& skinny = std::get<SkinnyGemmArgs>(args);
    const SkinnyGemmConfig& c = *kernel_.skinny();
    const int64_t grid = std::min<int64_t>(c.tiles(skinny.m, skinny.n), clusters(sm_limit));
    error = loaded_->launch(&skinny, unsigned(grid) * unsigned(c.split), static_cast<cudaStream_t>(stream), dependent);
  }
  return error == cudaSuccess ? Status() : failure(error, "the launch of a compiled kernel");
}

Status Launcher::launch_ahead(const KernelArgs& args, void* stream, int sm_limit, bool dependent) const {
  const auto [table, index] = runtime::instance_of(kernel_.plan);
  // The workspace of shared depth was measured for this many clusters.
  const bool shared = kernel_.dense() != nullptr && kernel_.dense()->split != DepthSplit::none;
  const int ctas = shared ? clusters(sm_limit) * kernel_.cluster() : sm_limit;
  std::optional<std::string> why;
  switch (table) {
    case runtime::AheadTable::dense:
      why = device::launch_dense_gemm_sm90(index, std::get<DenseGemmArgs>(args), stream, ctas, dependent);
      break;
    case runtime::AheadTable::dense_variant:
      why = device::launch_dense_variant_sm90(index, std::get<DenseGemmArgs>(args), stream, ctas, dependent);
      break;
    case runtime::AheadTable::skinny:
      why = device::launch_skinny_gemm_sm90(index, std::get<SkinnyGemmArgs>(args), stream, ctas, dependent);
      break;
    case runtime::AheadTable::skinny_variant:
      why = device::launch_skinny_variant_sm90(index, std::get<SkinnyGemmArgs>(args), stream, ctas, dependent);
      break;
  }
  return why ? Status(Code::failed, *why) : Status();
}

#else

Result<Device> current_device() {
  return Status(Code::missing, "this build has no device code; install the CUDA toolkit 13 and build again.");
}
Result<Launcher> Launcher::prepare(const runtime::Kernel&, const Device&) { return current_device().status(); }
Status Launcher::launch(const KernelArgs&, void*, int, bool) const { return current_device().status(); }
Status Launcher::launch_ahead(const KernelArgs&, void*, int, bool) const { return current_device().status(); }
Status warm(const std::function<Status(void*)>&) { return current_device().status(); }
int Launcher::clusters(int) const { return clusters_; }

#endif

}  // namespace warpwright::api
