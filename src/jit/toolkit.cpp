#include "jit/toolkit.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <glob.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "system/embedded.h"

namespace warpwright::jit {
namespace {

constexpr const char* kLibrary = "libnvrtc.so.13";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> matches(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

void append(std::vector<std::string>& to, std::vector<std::string> from) {
  for (std::string& path : from) to.push_back(std::move(path));
}

// What a Python package of CUDA brings along, for every folder of PATH that may belong to an environment.
std::vector<std::string> beside_pythons(const std::string& tail) {
  std::vector<std::string> paths;
  const std::string path = variable("PATH");
  std::string_view rest = path;
  while (!rest.empty()) {
    const size_t end = rest.find(':');
    const std::string folder(rest.substr(0, end));
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
    for (const char* site : {"site-packages", "dist-packages"}) {
      append(paths, matches(fmt::format("{}/../lib/python3*/{}/nvidia/{}", folder, site, tail)));
    }
  }
  return paths;
}

std::vector<std::string> toolkit_roots() {
  std::vector<std::string> roots;
  for (const char* name : {"WARPWRIGHT_CUDA_HOME", "CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string given = variable(name); !given.empty()) roots.push_back(given);
  }
  append(roots, matches("/usr/local/cuda"));
  append(roots, matches("/usr/local/cuda-1[3-9]*"));
  return roots;
}

void* open_nvrtc() {
  const auto open = [](const std::string& path) { return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); };
  if (const std::string given = variable("WARPWRIGHT_NVRTC"); !given.empty()) {
    if (void* library = open(fmt::format("{}/{}", given, kLibrary))) return library;
    return open(given);
  }
  if (void* library = open(kLibrary)) return library;
  std::vector<std::string> candidates;
  for (const std::string& root : toolkit_roots()) {
    append(candidates, {fmt::format("{}/lib64/{}", root, kLibrary), fmt::format("{}/lib/{}", root, kLibrary)});
  }
  append(candidates, beside_pythons(fmt::format("cu13/lib/{}", kLibrary)));
  append(candidates, beside_pythons(fmt::format("cuda_nvrtc/lib/{}", kLibrary)));
  for (const std::string& path : candidates) {
    if (void* library = open(path)) return library;
  }
  return nullptr;
}

// The folder that has cuda/std: "include/cccl" of a toolkit, or an "include" where CCCL lies without one.
std::string find_cccl() {
  std::vector<std::string> folders;
  for (const std::string& root : toolkit_roots()) append(folders, {root + "/include/cccl", root + "/include"});
  append(folders, beside_pythons("cu13/include/cccl"));
  append(folders, beside_pythons("cuda_cccl/include"));
  std::error_code error;
  for (const std::string& folder : folders) {
    if (std::filesystem::exists(folder + "/cuda/std/array", error)) return folder;
  }
  return "";
}

std::string cccl_version(const std::string& folder) {
  std::ifstream file(folder + "/cuda/std/__cccl/version.h");
  constexpr std::string_view wanted = "#define CCCL_VERSION ";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(wanted)) return line.substr(wanted.size());
  }
  return "unknown";
}

}  // namespace

// NVRTC's ABI, as far as it is used here: a machine without the toolkit does not have its header.
struct Toolkit::Functions {
  using Program = struct OpaqueProgram*;
  using Code = int;
  static constexpr Code success = 0, compilation_failed = 6;

  const char* (*error_string)(Code) = nullptr;
  Code (*version)(int*, int*) = nullptr;
  Code (*create)(Program*, const char* source, const char* name, int headers, const char* const* texts,
                 const char* const* names) = nullptr;
  Code (*destroy)(Program*) = nullptr;
  Code (*compile)(Program, int options, const char* const* texts) = nullptr;
  Code (*log_size)(Program, size_t*) = nullptr;
  Code (*log)(Program, char*) = nullptr;
  Code (*cubin_size)(Program, size_t*) = nullptr;
  Code (*cubin)(Program, char*) = nullptr;

  // The name of the first function the library does not have, or nullptr.
  const char* find(void* library) {
    const char* absent = nullptr;
    const auto one = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
      if (function == nullptr && absent == nullptr) absent = symbol;
    };
    one(error_string, "nvrtcGetErrorString");
    one(version, "nvrtcVersion");
    one(create, "nvrtcCreateProgram");
    one(destroy, "nvrtcDestroyProgram");
    one(compile, "nvrtcCompileProgram");
    one(log_size, "nvrtcGetProgramLogSize");
    one(log, "nvrtcGetProgramLog");
    one(cubin_size, "nvrtcGetCUBINSize");
    one(cubin, "nvrtcGetCUBIN");
    return absent;
  }
};

Toolkit::Toolkit() {
  void* const library = open_nvrtc();
  if (library == nullptr) {
    status_ = {Code::missing,
               fmt::format("this kernel was not compiled ahead, and NVRTC ({}), which would compile it now, was not "
                           "found; install the CUDA toolkit 13 or name NVRTC's folder in WARPWRIGHT_NVRTC.",
                           kLibrary)};
    return;
  }
  static Functions functions;
  if (const char* absent = functions.find(library)) {
    status_ = {Code::missing, fmt::format("{} has no {}; install the CUDA toolkit 13.", kLibrary, absent)};
    return;
  }
  const std::string cccl = find_cccl();
  if (cccl.empty()) {
    status_ = {Code::missing,
               "NVRTC was found, but not the headers of CCCL (cuda/std/array) that the kernels include; install the "
               "CUDA toolkit 13 or name its root in WARPWRIGHT_CUDA_HOME."};
    return;
  }
  includes_.push_back(cccl);
  if (std::filesystem::path(cccl).filename() == "cccl") {
    includes_.push_back(std::filesystem::path(cccl).parent_path().string());
  }
  int major = 0, minor = 0;
  functions.version(&major, &minor);
  version_ = fmt::format("NVRTC {}.{}, CCCL {}", major, minor, cccl_version(cccl));
  functions_ = &functions;
}

Result<Compiled> Toolkit::compile(const std::string& source, const std::string& arch,
                                  const std::vector<std::string>& options) const {
  if (!status_) return status_;
  const Functions& nvrtc = *functions_;
  const auto failure = [&](Functions::Code code, const char* what) {
    return Status(Code::failed, fmt::format("{} failed: {}.", what, nvrtc.error_string(code)));
  };
  std::vector<const char*> names, texts;
  for (const system::EmbeddedFile& header : system::embedded_headers()) {
    names.push_back(header.name);
    texts.push_back(header.text);
  }
  Functions::Program program = nullptr;
  if (const auto code =
          nvrtc.create(&program, source.c_str(), "warpwright_kernel.cu", int(names.size()), texts.data(), names.data());
      code != Functions::success) {
    return failure(code, "nvrtcCreateProgram");
  }
  const auto release = [&](Functions::Program* p) { nvrtc.destroy(p); };
  const std::unique_ptr<Functions::Program, decltype(release)> owner(&program, release);

  std::vector<std::string> all = {"--gpu-architecture=" + arch};
  for (const std::string& option : options) all.push_back(option);
  for (const std::string& folder : includes_) all.push_back("-I" + folder);
  std::vector<const char*> pointers;
  for (const std::string& option : all) pointers.push_back(option.c_str());
  const auto code = nvrtc.compile(program, int(pointers.size()), pointers.data());

  Compiled compiled;
  size_t size = 0;
  if (nvrtc.log_size(program, &size) == Functions::success && size > 1) {
    compiled.log.resize(size);
    nvrtc.log(program, compiled.log.data());
    compiled.log.resize(size - 1);
  }
  if (code == Functions::compilation_failed) {
    const std::string first = compiled.log.substr(0, compiled.log.find('\n'));
    return Status(Code::failed, fmt::format("NVRTC refuses the kernel: {}.", first));
  }
  if (code != Functions::success) return failure(code, "nvrtcCompileProgram");
  if (const auto c = nvrtc.cubin_size(program, &size); c != Functions::success) return failure(c, "nvrtcGetCUBINSize");
  compiled.cubin.resize(size);
  if (const auto c = nvrtc.cubin(program, reinterpret_cast<char*>(compiled.cubin.data())); c != Functions::success) {
    return failure(c, "nvrtcGetCUBIN");
  }
  return compiled;
}

const Toolkit& toolkit() {
  static const Toolkit instance;
  return instance;
}

}  // namespace warpwright::jit
