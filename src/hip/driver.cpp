#include "hip/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "system/library.h"

namespace warpwright::hip {
namespace {

// ROCm 7, 6 and 5, and where its packages put it without telling the loader.
constexpr const char* kLibraries[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so",
                                      "/opt/rocm/lib/libamdhip64.so"};
constexpr const char* kVariable = "WARPWRIGHT_HIP_DRIVER";  // names a library to open in their place
constexpr const char* kSwitch = "WARPWRIGHT_HIP";

struct Opened {
  abi::Functions functions;
  Status status;

  Opened() {
    if (system::says_off(kSwitch)) {
      status = missing(fmt::format("HIP is switched off by {}=off.", kSwitch));
      return;
    }
    const auto library = system::open_library("HIP library libamdhip64.so", kLibraries, kVariable);
    if (!library) {
      status = library.status();
      return;
    }
    const auto find = [&](auto& function, const char* symbol, bool needed = true) {
      function = system::find_function<std::remove_reference_t<decltype(function)>>(*library, symbol);
      if (function == nullptr && needed && status)
        status = missing(fmt::format("the HIP library is too old: it has no {}.", symbol));
    };
#define WW_FIND(name, symbol, signature) find(functions.name, #symbol);
    WW_HIP_FUNCTIONS(WW_FIND)
#undef WW_FIND
    find(functions.error_string, abi::kErrorString);
    find(functions.properties, abi::kProperties, false);
    if (functions.properties == nullptr) find(functions.old_properties, abi::kOldProperties);
    if (status) begin();
  }

  void begin() {
    int count = 0;
    abi::Result r = functions.init(0);
    if (r == abi::kSuccess) r = functions.device_count(&count);
    if (r != abi::kSuccess) {
      status = missing(fmt::format("the HIP library does not start: {}.", text(r)));
    } else if (count == 0) {
      status = missing("the HIP library lists no GPU.");
    }
  }

  static Status missing(std::string sentence) { return Status(Code::missing, std::move(sentence)); }

  std::string text(abi::Result r) const {
    const char* const words = functions.error_string == nullptr ? nullptr : functions.error_string(r);
    return words != nullptr ? fmt::format("{} (error {})", words, r) : fmt::format("error {}", r);
  }
};

// Opened once, by the first caller, and never closed.
const Opened& opened() {
  static const Opened& driver = *new Opened;
  return driver;
}

template <class Properties>
abi::Result read_architecture(abi::Result (*ask)(Properties*, int), int device, std::string& architecture) {
  Properties properties = {};
  const abi::Result r = ask(&properties, device);
  if (r == abi::kSuccess) {
    const char* const text = properties.architecture;
    architecture.assign(text, strnlen(text, sizeof properties.architecture));
  }
  return r;
}

}  // namespace

const Status& driver_status() { return opened().status; }
const abi::Functions& driver() { return opened().functions; }
std::string error_text(abi::Result result) { return opened().text(result); }

Status failure(abi::Result result, const char* what) {
  return Status(Code::failed, fmt::format("{} failed: {}.", what, error_text(result)));
}

Result<int> current_device() {
  if (const Status& s = driver_status(); !s) return Status(Code::missing, "no GPU can be used: " + s.message());
  int device = 0;
  if (const abi::Result r = driver().device(&device); r != abi::kSuccess) {
    return Status(Code::missing, fmt::format("no GPU can be used: {}.", error_text(r)));
  }
  return device;
}

Result<GpuInfo> describe(int device) {
  const abi::Functions& hip = driver();
  GpuInfo gpu;
  abi::Result r = hip.properties != nullptr ? read_architecture(hip.properties, device, gpu.architecture)
                                            : read_architecture(hip.old_properties, device, gpu.architecture);
  char name[256] = {};
  if (r == abi::kSuccess) r = hip.device_name(name, int(sizeof name), device);
  if (r != abi::kSuccess) return failure(r, "asking for the properties of a device");
  gpu.name = name;
  const auto attribute = [&](int which) {
    int value = 0;
    (void)hip.device_attribute(&value, which, device);
    return value;
  };
  size_t memory = 0;
  (void)hip.device_memory(&memory, device);
  gpu.memory = memory;
  gpu.compute_units = attribute(abi::kMultiprocessorCount);
  gpu.l2_bytes = uint64_t(attribute(abi::kL2CacheSize));
  gpu.lds_bytes = uint32_t(attribute(abi::kMaxSharedMemoryPerBlock));
  return gpu;
}

std::vector<GpuInfo> list_gpus() {
  std::vector<GpuInfo> gpus;
  if (!driver_status()) return gpus;
  int count = 0;
  if (driver().device_count(&count) != abi::kSuccess) return gpus;
  for (int i = 0; i < count; ++i)
    if (auto gpu = describe(i)) gpus.push_back(std::move(*gpu));
  return gpus;
}

std::string_view chip_of(std::string_view architecture) { return architecture.substr(0, architecture.find(':')); }

}  // namespace warpwright::hip
