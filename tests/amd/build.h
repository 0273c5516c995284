// Compiles the kernels of the tests with clang, as a user would, into a folder that lives as long as the test program.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "amd/program.h"
#include "system/process.h"

namespace warpwright::amd {

inline const char* kCompiler = "clang++-22";

// Why the tests cannot run here; empty: they can.
inline std::string missing_tool() {
  if (!system::program_exists(kCompiler)) return "clang++-22 is not installed";
  if (!system::program_exists("ld.lld-22")) return "lld-22 is not installed";
  if (find_disassembler().empty()) return "llvm-22 (llvm-objdump) is not installed";
  return {};
}

#define WW_NEEDS_AMD_TOOLS()                                   \
  do {                                                         \
    const std::string why = ::warpwright::amd::missing_tool(); \
    if (!why.empty()) GTEST_SKIP() << why;                     \
  } while (false)

class BuildFolder {
 public:
  static BuildFolder& instance() {
    static BuildFolder folder;
    return folder;
  }
  ~BuildFolder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

  // A kernel of tests/amd/kernels, plain C++.
  const CodeObject& kernels(const std::string& name, const std::string& chip) {
    return object(name + "." + chip, {"--target=amdgcn-amd-amdhsa", "-mcpu=" + chip, "-O3", "-nogpulib",
                                      std::string(WW_TEST_DATA) + "/kernels/" + name + ".cpp"});
  }
  // A shipped one, by its name, which the build has compiled.
  const CodeObject& matmul(const std::string& name, const std::string& chip) {
    return loaded(name + "." + chip, std::string(WW_CODE_OBJECTS) + "/" + chip + "/" + name + ".co");
  }

 private:
  BuildFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "warpwright-amd-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  const CodeObject& object(const std::string& name, std::vector<std::string> arguments) {
    const auto known = objects_.find(name);
    if (known != objects_.end()) return known->second;
    arguments.insert(arguments.begin(), {kCompiler, "-std=c++20"});
    arguments.insert(arguments.end(), {"-o", file(name + ".co")});
    std::string output;
    const Status compiled = system::run_program(arguments, output);
    EXPECT_TRUE(compiled) << compiled.message() << "\n" << output;
    return loaded(name, file(name + ".co"));
  }
  const CodeObject& loaded(const std::string& name, const std::string& path) {
    const auto known = objects_.find(name);
    if (known != objects_.end()) return known->second;
    Result<CodeObject> object = load_code_object(path);
    EXPECT_TRUE(object) << object.status().message();
    return objects_[name] = object ? std::move(*object) : CodeObject();
  }

  std::filesystem::path path_;
  std::map<std::string, CodeObject> objects_;
};

// By pointer: a reference to a temporary beside a reference that is returned looks dangling to g++ 13.
inline const CodeObject& test_kernels(const char* name, const char* chip) {
  return BuildFolder::instance().kernels(name, chip);
}

}  // namespace warpwright::amd
