#include "jit/host_compiler.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "jit/compiler_words.h"
#include "jit/sha256.h"
#include "system/process.h"

namespace warpwright::jit {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

Digest headers_digest(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(folder) / "warpwright", error)) {
    if (entry.is_regular_file() && entry.path().extension() == ".h") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  Sha256 hash;
  for (const fs::path& file : files) hash.text(fs::relative(file, folder).string()).text(text_of(file));
  return hash.digest();
}

namespace {

Digest key_of(const std::string& source, const std::string& headers, const std::vector<std::string>& flags,
              const std::vector<std::string>& compiler) {
  std::string version;
  std::vector<std::string> asked = compiler;
  asked.emplace_back("--version");
  (void)system::run_program(asked, version);
  Sha256 hash;
  hash.text(source).text(hex(headers_digest(headers))).text(version);
  for (const std::string& word : compiler) hash.text(word);
  // The folder of the headers is identified by its content, not by where it is.
  for (const std::string& flag : flags) hash.text(flag == headers ? "headers" : flag);
  return hash.digest();
}

// A folder of this call alone, gone when it ends.
class Workplace {
 public:
  Workplace() {
    std::string name = (fs::temp_directory_path() / "warpwright-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Workplace() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Result<Bytes> compile(const std::string& source, const std::vector<std::string>& compiler,
                      std::vector<std::string> flags, const std::string& headers) {
  const Workplace folder;
  if (folder.path().empty()) {
    return Status(Code::missing, fmt::format("no folder for temporary files can be made: {}.", std::strerror(errno)));
  }
  const fs::path from = folder.path() / "instance.cpp", to = folder.path() / "instance.so";
  std::ofstream(from) << source;
  flags.insert(flags.begin(), compiler.begin(), compiler.end());
  flags.insert(flags.end(), {from.string(), "-o", to.string()});
  std::string output;
  if (const Status s = system::run_program(flags, output); !s) {
    return Status(Code::failed, fmt::format("{} does not compile an instance: {}.", compiler.back(),
                                            output.empty() ? s.message() : first_error(output, headers).sentence));
  }
  const std::string bytes = text_of(to);
  return Bytes(bytes.begin(), bytes.end());
}

}  // namespace

Result<std::vector<std::string>> host_compiler() {
  using Words = std::vector<std::string>;
  if (const char* named = std::getenv("CXX"); named != nullptr) {
    std::istringstream text(named);
    const Words words(std::istream_iterator<std::string>(text), {});
    if (!words.empty()) {
      if (system::program_exists(words.front())) return words;
      return Status(Code::missing,
                    fmt::format("a C++20 compiler is needed to compile a kernel for the simulator, and CXX "
                                "names '{}', which cannot be run.",
                                named));
    }
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (system::program_exists(name)) return Words{name};
  }
  return Status(Code::missing,
                "a C++20 compiler is needed to compile a kernel for the simulator, and none is on PATH; install g++.");
}

bool headers_are_named() {
  const char* const named = std::getenv("WARPWRIGHT_INCLUDE");
  return named != nullptr && *named != 0;
}

Result<std::string> header_folder() {
  std::vector<fs::path> places;
  if (headers_are_named()) places.emplace_back(std::getenv("WARPWRIGHT_INCLUDE"));
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) places.push_back(self.parent_path().parent_path() / "include");
  places.emplace_back(WARPWRIGHT_INCLUDE_FOLDER);
  for (const fs::path& place : places) {
    if (fs::exists(place / "warpwright" / "check.h", error)) return place.string();
  }
  return Status(Code::missing, "the headers of warpwright are not found; WARPWRIGHT_INCLUDE names their folder.");
}

std::vector<std::string> simulator_flags(const std::string& headers) {
  // The program may hold functions of the same names from other headers: an object uses its own.
  return {"-std=c++20", "-O1", "-shared", "-fPIC", "-Wl,-Bsymbolic-functions", "-w", "-I", headers, "-x", "c++"};
}

Result<SharedObject> obtain_shared_object(const std::string& source, const std::function<void()>& compiling) {
  const auto compiler = host_compiler();
  if (!compiler) return compiler.status();
  const auto headers = header_folder();
  if (!headers) return headers.status();
  std::vector<std::string> flags = simulator_flags(*headers);
  if (compiler->back().find("clang") != std::string::npos) flags.emplace_back("-fconstexpr-steps=100000000");
  const Cache cache(cache_folder());
  const Digest key = key_of(source, *headers, flags, *compiler);
  if (auto found = cache.load(key)) return SharedObject{std::move(*found), true};
  const Cache::Lock lock(cache, key);
  // Another process may have compiled it while this one waited.
  if (auto found = cache.load(key)) return SharedObject{std::move(*found), true};
  if (compiling) compiling();
  auto compiled = compile(source, *compiler, flags, *headers);
  if (!compiled) return compiled.status();
  (void)cache.store(key, *compiled);  // without a folder that can be written the next process compiles again
  return SharedObject{std::move(*compiled), false};
}

Result<void*> open_shared_object(const Bytes& bytes, const std::string& name) {
  // Memory with a descriptor: nobody else can change it between writing and loading.
  const int file = ::memfd_create("warpwright", MFD_CLOEXEC);
  const auto failed = [&](const std::string& why) {
    if (file >= 0) ::close(file);
    return Status(Code::failed, fmt::format("{} cannot be loaded: {}.", name, why));
  };
  if (file < 0) return failed(std::strerror(errno));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(file, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failed(std::strerror(errno));
    done += size_t(n);
  }
  // Each object has a path of its own while its descriptor stays open; a loader that saw the path again would hand out
  // the object it loaded before.
  void* const opened = ::dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return failed(::dlerror());
  return opened;
}

}  // namespace warpwright::jit
