#include "driver/session.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "gpu/driver.h"
#include "gpu/require.h"
#include "hip/driver.h"

namespace warpwright::recorded {
namespace {

namespace fs = std::filesystem;

// Removed when the program ends.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "warpwright-recorded-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder can be made");
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};
const Folder& folder() {
  static const Folder one;
  return one;
}

std::ifstream& log_file() {
  static std::ifstream file;
  return file;
}

constexpr const char* kDriver = "libcuda.so.1";

void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

}  // namespace

bool has_driver() {
  // Left open: a driver does not survive being unloaded.
  return dlopen(kDriver, RTLD_NOW | RTLD_LOCAL) != nullptr;
}

namespace {

// Beside this program: a build folder may be moved to the machine that has the GPU.
std::string beside(const char* library) {
  return (fs::read_symlink("/proc/self/exe").parent_path() / library).string();
}

void begin_log(const char* variable) {
  const fs::path log = folder().path / "log";
  std::ofstream(log).flush();
  set(variable, log.string());
  log_file().open(log);
}

void begin_recording() {
  unsetenv("WARPWRIGHT_CUDA");
  set("WARPWRIGHT_HIP", "off");
  set("WARPWRIGHT_CUDA_DRIVER", beside("warpwright_recorder.so"));
  begin_log("WARPWRIGHT_RECORDER_LOG");
}

}  // namespace

void begin(const std::string& devices) {
  begin_recording();
  set("WARPWRIGHT_RECORDER_DEVICES", devices);
  set("WARPWRIGHT_CACHE_DIR", (folder().path / "cache").string());
}

void begin_above(Below below) {
  begin_recording();
  const bool real = below == Below::driver;
  set("WARPWRIGHT_RECORDER_BELOW", real ? kDriver : beside("warpwright_recorder_below.so"));
  if (!real) set("WARPWRIGHT_CACHE_DIR", (folder().path / "cache").string());
}

void begin_hip(const std::string& devices, Rocm rocm) {
  set("WARPWRIGHT_CUDA", "off");
  unsetenv("WARPWRIGHT_HIP");
  set("WARPWRIGHT_HIP_DRIVER",
      beside(rocm == Rocm::five ? "warpwright_hip_recorder_old.so" : "warpwright_hip_recorder.so"));
  set("WARPWRIGHT_HIP_RECORDER_DEVICES", devices);
  begin_log("WARPWRIGHT_HIP_RECORDER_LOG");
}

void set_device(int number) {
  if (gpu::maker() == gpu::Maker::amd) {
    if (const int code = hip::driver().set_device(number); code != 0)
      throw gpu::Failure(hip::failure(code, "setting a device").message());
    return;
  }
  gpu::require(gpu::driver_status());
  const gpu::abi::Functions& cu = gpu::driver();
  gpu::abi::Context context = nullptr;
  gpu::require(cu.primary_context(&context, number), "taking a context");
  gpu::require(cu.set_context(context), "setting a context");
}

std::vector<nlohmann::json> lines() {
  std::vector<nlohmann::json> list;
  std::ifstream& file = log_file();
  file.clear();
  for (std::string line; std::getline(file, line);) list.push_back(nlohmann::json::parse(line));
  return list;
}

std::vector<nlohmann::json> launches(const std::vector<nlohmann::json>& lines) {
  std::vector<nlohmann::json> list;
  for (const nlohmann::json& line : lines)
    if (line["call"] == "launch" && !line.value("captured", false)) list.push_back(line);
  return list;
}

std::vector<nlohmann::json> disagreements(const std::vector<nlohmann::json>& lines) {
  std::vector<nlohmann::json> list;
  for (const nlohmann::json& line : lines) {
    if (!line.contains("answer")) continue;
    if ((line["answer"] == 0) != (line["by_rules"] == 0)) list.push_back(line);
  }
  return list;
}

}  // namespace warpwright::recorded
