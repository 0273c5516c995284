#include "gpu/driver.h"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "system/library.h"

namespace warpwright::gpu {
namespace {

constexpr const char* kLibraries[] = {"libcuda.so.1"};
constexpr const char* kVariable = "WARPWRIGHT_CUDA_DRIVER";  // names a library to open in its place

struct Opened {
  abi::Functions functions;
  Status status;

  Opened() {
    const auto library = system::open_library("NVIDIA driver library libcuda.so.1", kLibraries, kVariable);
    if (!library) {
      status = library.status();
      return;
    }
    const auto find = [&](auto& function, const char* symbol) {
      function = system::find_function<std::remove_reference_t<decltype(function)>>(*library, symbol);
      if (function == nullptr && status)
        status = missing(fmt::format("the NVIDIA driver is too old: it has no {}.", symbol));
    };
#define WW_FIND(name, symbol, signature) find(functions.name, #symbol);
    WW_DRIVER_FUNCTIONS(WW_FIND)
#undef WW_FIND
    if (!status) return;
    if (const abi::Result r = functions.init(0); r != abi::kSuccess) {
      status = missing(fmt::format("the NVIDIA driver does not start: {}.", text(r)));
    }
  }

  static Status missing(std::string sentence) { return Status(Code::missing, std::move(sentence)); }

  std::string text(abi::Result r) const {
    const char* words = nullptr;
    if (functions.error_string != nullptr && functions.error_string(r, &words) == abi::kSuccess && words != nullptr) {
      return fmt::format("{} (error {})", words, r);
    }
    return fmt::format("error {}", r);
  }
};

// Opened once, by the first caller, and never closed: the driver does not survive being unloaded, and objects that
// outlive main() still hand their memory back.
const Opened& opened() {
  static const Opened& driver = *new Opened;
  return driver;
}

}  // namespace

const Status& driver_status() { return opened().status; }
const abi::Functions& driver() { return opened().functions; }
std::string error_text(abi::Result result) { return opened().text(result); }

Status failure(abi::Result result, const char* what) {
  return Status(Code::failed, fmt::format("{} failed: {}.", what, error_text(result)));
}

Result<int> current_nvidia_device() {
  if (const Status& s = driver_status(); !s) return Status(Code::missing, "no GPU can be used: " + s.message());
  const abi::Functions& cu = driver();
  abi::Device device = 0;
  abi::Context context = nullptr;
  // Asked for its device, a thread without a context would be answered with an error, which tools report.
  abi::Result r = cu.context(&context);
  if (r == abi::kSuccess && context != nullptr) r = cu.context_device(&device);
  if (r == abi::kSuccess && context != nullptr) return int(device);
  if (r = cu.device(&device, 0); r == abi::kSuccess) r = cu.primary_context(&context, device);
  if (r == abi::kSuccess) r = cu.set_context(context);
  if (r != abi::kSuccess) return Status(Code::missing, fmt::format("no GPU can be used: {}.", error_text(r)));
  return int(device);
}

}  // namespace warpwright::gpu
