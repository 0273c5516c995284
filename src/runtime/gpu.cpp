#include "runtime/gpu.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace warpwright::runtime {
namespace {

// The driver's ABI, as far as it is used here: numbers and signatures of its public header, which a machine without the
// toolkit does not have.
namespace driver {
using Result = int;
using Device = int;
constexpr Result kSuccess = 0;
constexpr int kMultiprocessorCount = 16;
constexpr int kL2CacheSize = 38;
constexpr int kComputeCapabilityMajor = 75;
constexpr int kComputeCapabilityMinor = 76;

constexpr int kTypeUint8 = 0;
constexpr int kTypeFloat16 = 6;
constexpr int kTypeFloat32 = 7;
constexpr int kTypeBfloat16 = 9;
constexpr int kTypeTfloat32 = 11;
constexpr int kType16U4Align8B = 13;
constexpr int kType16U4Align16B = 14;
constexpr int kInterleaveNone = 0;
constexpr int kFillZero = 0;

using Init = Result (*)(unsigned);
using DriverGetVersion = Result (*)(int*);
using DeviceGetCount = Result (*)(int*);
using DeviceGet = Result (*)(Device*, int);
using DeviceGetName = Result (*)(char*, int, Device);
using DeviceGetAttribute = Result (*)(int*, int, Device);
using DeviceTotalMem = Result (*)(size_t*, Device);
using GetErrorString = Result (*)(Result, const char**);
using TensorMapEncodeTiled = Result (*)(void* map, int type, uint32_t rank, void* base, const uint64_t* dims,
                                        const uint64_t* strides, const uint32_t* box, const uint32_t* element_strides,
                                        int interleave, int swizzle, int l2_promotion, int fill);
}  // namespace driver

struct Driver {
  driver::DriverGetVersion version = nullptr;
  driver::DeviceGetCount count = nullptr;
  driver::DeviceGet device = nullptr;
  driver::DeviceGetName name = nullptr;
  driver::DeviceGetAttribute attribute = nullptr;
  driver::DeviceTotalMem memory = nullptr;
  driver::GetErrorString error_string = nullptr;
  driver::TensorMapEncodeTiled encode_tiled = nullptr;
  std::optional<std::string> problem;

  Driver() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      problem = "the NVIDIA driver library libcuda.so.1 was not found";
      return;
    }
    driver::Init init = nullptr;
    bool complete = true;
    const auto find = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
      if (function == nullptr && complete) {
        problem = fmt::format("the NVIDIA driver is too old: it has no {}", symbol);
        complete = false;
      }
    };
    find(init, "cuInit");
    find(version, "cuDriverGetVersion");
    find(count, "cuDeviceGetCount");
    find(device, "cuDeviceGet");
    find(name, "cuDeviceGetName");
    find(attribute, "cuDeviceGetAttribute");
    find(memory, "cuDeviceTotalMem_v2");
    find(error_string, "cuGetErrorString");
    find(encode_tiled, "cuTensorMapEncodeTiled");
    if (!complete) return;
    if (const driver::Result r = init(0); r != driver::kSuccess) {
      problem = fmt::format("the NVIDIA driver does not start: {}", describe(r));
    }
  }

  std::string describe(driver::Result r) const {
    const char* text = nullptr;
    if (error_string(r, &text) == driver::kSuccess && text != nullptr) return fmt::format("{} (error {})", text, r);
    return fmt::format("error {}", r);
  }
};

// Opened once, by the first caller, and never closed: the driver does not survive being unloaded.
const Driver& the_driver() {
  static const Driver driver;
  return driver;
}

std::optional<int> tensor_type(DType type, bool padded) {
  switch (type) {
    case DType::bf16:
      return driver::kTypeBfloat16;
    case DType::fp16:
      return driver::kTypeFloat16;
    case DType::fp32:
      return driver::kTypeFloat32;
    case DType::tf32:
      return driver::kTypeTfloat32;
    case DType::e2m1:
      return padded ? driver::kType16U4Align16B : driver::kType16U4Align8B;
    case DType::e4m3:
    case DType::e5m2:
    case DType::ue8m0:
    case DType::ue4m3:
    case DType::s8:
      return driver::kTypeUint8;
  }
  return std::nullopt;
}

std::optional<int> swizzle_mode(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none:
      return 0;
    case Swizzle::b32:
      return 1;
    case Swizzle::b64:
      return 2;
    case Swizzle::b128:
      return 3;
    case Swizzle::b128_atom32:
      return 4;
  }
  return std::nullopt;
}

// The rules of cuTensorMapEncodeTiled that a caller can break; the driver itself answers "invalid argument" to each.
std::optional<std::string> refuse(const TensorMapSpec& s) {
  if (s.rank < 1 || s.rank > 5) return fmt::format("a tensor map has 1 to 5 dimensions, not {}", s.rank);
  const uint64_t alignment = s.padded ? 32 : 16;
  const auto address = reinterpret_cast<uintptr_t>(s.base);
  if (s.base == nullptr) return "a tensor map needs a base address";
  if (address % alignment != 0) {
    return fmt::format("the base address {:#x} of a {} tensor map must be a multiple of {}", address, name(s.element),
                       alignment);
  }
  for (int i = 0; i < s.rank; ++i) {
    if (s.dims[i] < 1 || s.dims[i] > (uint64_t(1) << 32)) {
      return fmt::format("dimension {} of a tensor map is {}; it must be 1 to 2^32", i, s.dims[i]);
    }
    if (s.box[i] < 1 || s.box[i] > 256) {
      return fmt::format("box dimension {} of a tensor map is {}; it must be 1 to 256", i, s.box[i]);
    }
    if (i > 0 && (s.strides[i] % alignment != 0 || s.strides[i] >= (uint64_t(1) << 40))) {
      return fmt::format("stride {} of a {} tensor map is {} bytes; it must be a multiple of {} below 2^40", i,
                         name(s.element), s.strides[i], alignment);
    }
  }
  if (s.element == DType::e2m1 && s.dims[0] % 2 != 0) {
    return fmt::format("the inner dimension of {} e2m1 elements must be even: two of them share a byte", s.dims[0]);
  }
  if (s.padded && (s.element != DType::e2m1 || s.dims[0] % 128 != 0 || s.box[0] != 128)) {
    return fmt::format(
        "a padded tensor map is of e2m1, its inner dimension, {}, is a multiple of 128 and that of its box, {}, is 128",
        s.dims[0], s.box[0]);
  }
  const uint64_t inner_bits = uint64_t(s.box[0]) * uint64_t(bits(s.element));
  if (inner_bits % 128 != 0) {
    return fmt::format("the inner box dimension of {} {} elements is not a multiple of 16 bytes", s.box[0],
                       name(s.element));
  }
  if (s.swizzle != Swizzle::none && inner_bits / 8 > swizzle_bytes(s.swizzle)) {
    return fmt::format("the inner box dimension of {} bytes exceeds the {} bytes of its swizzle", inner_bits / 8,
                       swizzle_bytes(s.swizzle));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> gpu_driver_problem() { return the_driver().problem; }

std::vector<GpuInfo> list_gpus() {
  const Driver& driver = the_driver();
  std::vector<GpuInfo> gpus;
  int count = 0;
  int version = 0;
  if (driver.problem || driver.count(&count) != driver::kSuccess) return gpus;
  driver.version(&version);
  for (int i = 0; i < count; ++i) {
    driver::Device device = 0;
    if (driver.device(&device, i) != driver::kSuccess) continue;
    const auto attribute = [&](int which) {
      int value = 0;
      driver.attribute(&value, which, device);
      return value;
    };
    char text[256] = {};
    size_t memory = 0;
    driver.name(text, int(sizeof text), device);
    driver.memory(&memory, device);
    gpus.push_back({text, attribute(driver::kComputeCapabilityMajor), attribute(driver::kComputeCapabilityMinor),
                    attribute(driver::kMultiprocessorCount), memory, uint64_t(attribute(driver::kL2CacheSize)),
                    version});
  }
  return gpus;
}

std::optional<std::string> encode_tensor_map_gpu(const TensorMapSpec& spec, TensorMap& map) {
  if (auto problem = refuse(spec)) return problem;
  const Driver& driver = the_driver();
  if (driver.problem) return driver.problem;
  const auto type = tensor_type(spec.element, spec.padded);
  const auto swizzle = swizzle_mode(spec.swizzle);
  if (!type || !swizzle) return "the tensor map's element type or swizzle has no name in the driver";
  const uint32_t element_strides[5] = {1, 1, 1, 1, 1};
  const driver::Result r = driver.encode_tiled(
      &map, *type, uint32_t(spec.rank), spec.base, spec.dims.data(), spec.strides.data() + 1, spec.box.data(),
      element_strides, driver::kInterleaveNone, *swizzle, int(spec.l2_promotion), driver::kFillZero);
  if (r != driver::kSuccess) return fmt::format("the driver refuses the tensor map: {}", driver.describe(r));
  return std::nullopt;
}

}  // namespace warpwright::runtime
