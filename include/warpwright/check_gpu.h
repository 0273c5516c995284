// The kernels of check.h on a GPU: compiled by nvcc for sm_90a, `int main() { return warpwright::check::run_on_gpu();
// }` runs every registered kernel on each of its shapes and compares what it wrote. With -DWW_RECORD each launch also
// leaves its timeline in a file.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "warpwright/check.h"
#include "warpwright/launch.h"
#include "warpwright/record_launch.h"

namespace warpwright::check {

// Arrays in the memory of the current CUDA device.
class GpuArrays final : public Arrays {
 public:
  using Arrays::Arrays;
  ~GpuArrays() override {
    for (void* p : memory_) cudaFree(p);
  }
  std::vector<std::byte> fetch(const Array& array) const {
    std::vector<std::byte> host(array.initial.size());
    if (cudaMemcpy(host.data(), array.data, host.size(), cudaMemcpyDeviceToHost) != cudaSuccess) host = array.initial;
    return host;
  }

 private:
  void* place(const std::vector<std::byte>& initial) override {
    void* data = nullptr;
    if (cudaMalloc(&data, initial.size() + 16) != cudaSuccess) {
      refuse("the device has no memory for " + std::to_string(initial.size()) + " bytes.");
      return nullptr;
    }
    memory_.push_back(data);
    if (cudaMemcpy(data, initial.data(), initial.size(), cudaMemcpyHostToDevice) != cudaSuccess)
      refuse("an array could not be copied to the device.");
    return data;
  }

  static std::optional<CUtensorMapDataType> type_of(DType type) {
    switch (type) {
      case DType::bf16:
        return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
      case DType::fp16:
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
      case DType::fp32:
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
      case DType::tf32:
        return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
      case DType::e4m3:
      case DType::e5m2:
      case DType::s8:
        return CU_TENSOR_MAP_DATA_TYPE_UINT8;
      default:
        return {};
    }
  }
  static std::optional<CUtensorMapSwizzle> swizzle_of(Swizzle swizzle) {
    switch (swizzle) {
      case Swizzle::none:
        return CU_TENSOR_MAP_SWIZZLE_NONE;
      case Swizzle::b32:
        return CU_TENSOR_MAP_SWIZZLE_32B;
      case Swizzle::b64:
        return CU_TENSOR_MAP_SWIZZLE_64B;
      case Swizzle::b128:
        return CU_TENSOR_MAP_SWIZZLE_128B;
      default:
        return {};
    }
  }

  std::optional<std::string> encode(TensorMap& map, const TensorBox& box, void* data, int64_t rows,
                                    int64_t columns) override {
    const auto type = type_of(box.type);
    const auto swizzle = swizzle_of(box.swizzle);
    if (!type || !swizzle) return "a tensor map of this type or swizzle is not made here.";
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found) !=
            cudaSuccess ||
        found != cudaDriverEntryPointSuccess)
      return "the driver has no cuTensorMapEncodeTiled.";
    const cuuint64_t extent[] = {cuuint64_t(columns), cuuint64_t(rows)};
    const cuuint64_t stride[] = {cuuint64_t(columns) * cuuint64_t(bits(box.type)) / 8};
    const cuuint32_t part[] = {cuuint32_t(box.inner), cuuint32_t(box.outer)}, step[] = {1, 1};
    static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
    const auto result = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)(
        reinterpret_cast<CUtensorMap*>(&map), *type, 2, data, extent, stride, part, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
        *swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result == CUDA_SUCCESS) return {};
    return "the driver refuses a tensor map of " + std::to_string(rows) + " x " + std::to_string(columns) + ".";
  }

  std::vector<void*> memory_;
};

template <class K>
std::optional<std::string> Registry::launch(const typename K::Args& args, unsigned ctas) {
#if defined(WW_RECORD)
  static int number = 0;
  const std::string path = std::string(K::plan.kernel) + "-" + std::to_string(++number) + ".record";
  const cudaError_t e = record::launch_to_file<K>(args, ctas, path);
  if (e == cudaSuccess) std::printf("%s: draw it with ./warpwright trace --recording %s\n", path.c_str(), path.c_str());
#else
  const cudaError_t e = launch_kernel<K>(args, ctas, nullptr);
#endif
  if (e == cudaSuccess) return {};
  return std::string(K::plan.kernel) + " could not be launched: " + cudaGetErrorString(e) + ".";
}

// Why no kernel can be run here; empty if there is a GPU.
inline std::optional<std::string> no_gpu() {
  int devices = 0;
  const cudaError_t e = cudaGetDeviceCount(&devices);
  if (e == cudaSuccess && devices > 0) return {};
  return std::string("There is no GPU here: these kernels need an NVIDIA Hopper GPU and its driver (") +
         (e == cudaSuccess ? "no device is visible" : cudaGetErrorString(e)) +
         "). './warpwright check FILE.cpp' runs them on the CPU.";
}

// Exit code 0: every result was right; 1: one was not; 3: it could not be run.
inline int run_on_gpu(uint64_t seed = 1) {
  if (const auto why = no_gpu()) {
    std::fprintf(stderr, "%s\n", why->c_str());
    return 3;
  }
  Registry registry;
  warpwright_kernels(registry);
  int code = 0;
  for (const Kernel& kernel : registry.kernels()) {
    for (const Shape& shape : kernel.shapes) {
      GpuArrays arrays(seed);
      std::optional<std::string> why = kernel.run(arrays, shape);
      if (!why) {
        if (const cudaError_t e = cudaDeviceSynchronize(); e != cudaSuccess) why = cudaGetErrorString(e);
      }
      const std::string what =
          kernel.name + " " + std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
      if (why) {
        std::printf("%s: %s\n", what.c_str(), why->c_str());
        return 3;
      }
      for (const Arrays::Array& array : arrays.all()) {
        if (!array.output()) continue;
        const Differences d = compare(array, arrays.fetch(array).data());
        if (!d.none()) code = 1;
        std::printf("%s: %s is %s\n", what.c_str(), array.name.c_str(), d.none() ? "right" : "wrong");
        if (!d.none()) std::printf("  %s\n", d.sentence.c_str());
        for (const std::string& line : d.details) std::printf("  %s\n", line.c_str());
      }
    }
  }
  return code;
}

}  // namespace warpwright::check
