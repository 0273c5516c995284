// Compiling a kernel at run time, without a GPU: the result is machine code, the second request takes it from disk, and
// nothing that lies in the cache is trusted unseen.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "catalog/instance.h"
#include "jit/compiler.h"
#include "system/embedded.h"

namespace warpwright::jit {
namespace {

namespace fs = std::filesystem;

// As gpu/executor.cpp has it compiled; with timestamps it is another kernel.
Source source_of(const std::string& name, bool recorded = false) {
  const auto instance = catalog::parse_instance(name);
  if (!instance) throw std::invalid_argument(instance.status().message());
  return {(recorded ? "#define WW_RECORD\n" : "") + catalog::source_of(*instance), "sm_90a"};
}

class CompileTest : public testing::Test {
 protected:
  CompileTest() {
    std::string name = (fs::temp_directory_path() / "ww-jit-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~CompileTest() override { fs::remove_all(folder_); }
  void SetUp() override {
    if (!toolkit().status()) GTEST_SKIP() << toolkit().status().message();
  }
  Cache cache() const { return Cache(folder_.string()); }
  static bool is_elf(const Bytes& bytes) {
    return bytes.size() > 4 && bytes[0] == 0x7f && bytes[1] == 'E' && bytes[2] == 'L' && bytes[3] == 'F';
  }
  // Takes NVRTC a moment, a real kernel takes it seconds.
  static Source small(int value) {
    return {"extern \"C\" __global__ void warpwright_kernel(int* p) { *p = " + std::to_string(value) + "; }", "sm_90a"};
  }
  fs::path folder_;
};

TEST_F(CompileTest, MakesMachineCodeOfADenseKernelThatWasNotCompiledAhead) {
  const std::string name = "sm90/dense-128x208-c2-s4/bf16-nt";
  ASSERT_FALSE(catalog::is_ahead(*catalog::parse_instance(name))) << "choose another tile for this test";
  const auto first = obtain(source_of(name), toolkit(), cache());
  ASSERT_TRUE(first) << first.status().message();
  EXPECT_TRUE(is_elf(first->cubin));
  EXPECT_FALSE(first->from_cache);
  const auto second = obtain(source_of(name), toolkit(), cache());
  ASSERT_TRUE(second) << second.status().message();
  EXPECT_TRUE(second->from_cache);
  EXPECT_EQ(second->cubin, first->cubin);
}

TEST_F(CompileTest, MakesMachineCodeOfASkinnyKernel) {
  const auto binary = obtain(source_of("sm90/skinny-64x24-split3-s18/bf16-nt"), toolkit(), cache());
  ASSERT_TRUE(binary) << binary.status().message();
  EXPECT_TRUE(is_elf(binary->cubin));
}

// Every kernel can be had with timestamps; it is another entry of the cache.
TEST_F(CompileTest, MakesMachineCodeOfKernelsWithTimestamps) {
  const std::string dense = "sm90/dense-64x64-c1-s4/bf16-nt", skinny = "sm90/skinny-64x8-split4-s20/bf16-nt";
  EXPECT_NE(key_of(source_of(dense, true), toolkit()), key_of(source_of(dense), toolkit()));
  for (const Source& source : {source_of(dense, true), source_of(skinny, true)}) {
    const auto binary = obtain(source, toolkit(), cache());
    ASSERT_TRUE(binary) << binary.status().message();
    EXPECT_TRUE(is_elf(binary->cubin));
  }
}

TEST_F(CompileTest, TheKeyFollowsSourceAndArchitecture) {
  const Source a = source_of("sm90/dense-128x208-c2-s4/bf16-nt");
  EXPECT_EQ(key_of(a, toolkit()), key_of(source_of("sm90/dense-128x208-c2-s4/bf16-nt"), toolkit()));
  EXPECT_NE(key_of(a, toolkit()), key_of(source_of("sm90/dense-128x192-c2-s4/bf16-nt"), toolkit()));
  Source other = a;
  other.arch = "sm_100a";
  EXPECT_NE(key_of(a, toolkit()), key_of(other, toolkit()));
}

// What lies in the padding of a configuration differs from one copy to the next.
TEST(CompileSource, DoesNotDependOnPadding) {
  alignas(DenseGemmConfig) unsigned char storage[2][sizeof(DenseGemmConfig)];
  std::string texts[2];
  for (int i = 0; i < 2; ++i) {
    std::fill(std::begin(storage[i]), std::end(storage[i]), static_cast<unsigned char>(i == 0 ? 0 : 0xa5));
    texts[i] = catalog::source_of({*new (storage[i]) DenseGemmConfig{.tile_n = 208}});
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST_F(CompileTest, RebuildsADamagedEntry) {
  const auto first = obtain(small(1), toolkit(), cache());
  ASSERT_TRUE(first) << first.status().message();
  const std::string path = cache().path_of(key_of(small(1), toolkit()));
  for (const char* damage : {"truncated", "overwritten"}) {
    if (std::string(damage) == "truncated") {
      fs::resize_file(path, fs::file_size(path) / 2);
    } else {
      std::ofstream(path) << "not a cubin";
    }
    const auto again = obtain(small(1), toolkit(), cache());
    ASSERT_TRUE(again) << again.status().message();
    EXPECT_FALSE(again->from_cache) << damage;
    EXPECT_EQ(again->cubin, first->cubin) << damage;
    EXPECT_TRUE(obtain(small(1), toolkit(), cache())->from_cache) << damage << ": it was not repaired";
  }
}

TEST_F(CompileTest, WorksWithoutACache) {
  std::ofstream(folder_ / "file") << "x";
  for (const Cache& none : {Cache(""), Cache((folder_ / "file" / "below").string())}) {
    const auto binary = obtain(small(2), toolkit(), none);
    ASSERT_TRUE(binary) << binary.status().message();
    EXPECT_TRUE(is_elf(binary->cubin));
    EXPECT_FALSE(binary->from_cache);
  }
}

TEST_F(CompileTest, ProcessesThatAskAtOnceCompileOnceAndAgree) {
  constexpr int processes = 4;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto binary = obtain(small(3), toolkit(), cache());
      ::_exit(!binary || !is_elf(binary->cubin) ? 2 : binary->from_cache ? 0 : 1);
    }
    children.push_back(child);
  }
  int compiled = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_NE(WEXITSTATUS(status), 2) << "a process got no binary";
    compiled += WEXITSTATUS(status);
  }
  EXPECT_EQ(compiled, 1);
  EXPECT_TRUE(cache().load(key_of(small(3), toolkit())));
}

TEST_F(CompileTest, SaysWhatIsWrongWithASource) {
  const auto binary = obtain({"__global__ void f() { nonsense }", "sm_90a"}, toolkit(), cache());
  ASSERT_FALSE(binary);
  EXPECT_EQ(binary.status().code(), Code::failed);
  EXPECT_NE(binary.status().message().find("nonsense"), std::string::npos) << binary.status().message();
  EXPECT_TRUE(fs::is_empty(folder_) ||
              !cache().load(key_of({"__global__ void f() { nonsense }", "sm_90a"}, toolkit())));
}

TEST(CompileToolkit, AMissingCompilerIsASentence) {
  ::setenv("WARPWRIGHT_NVRTC", "/nonexistent", 1);
  const Toolkit absent;
  ::unsetenv("WARPWRIGHT_NVRTC");
  EXPECT_EQ(absent.status().code(), Code::missing);
  EXPECT_NE(absent.status().message().find("install the CUDA toolkit"), std::string::npos);
  const auto binary = obtain({"", "sm_90a"}, absent, Cache(""));
  EXPECT_EQ(binary.status().code(), Code::missing);
}

TEST(CompileHeaders, HoldTheKernelsAndNotTheSimulator) {
  bool kernel = false;
  for (const system::EmbeddedFile& header : system::embedded_headers()) {
    const std::string name = header.name;
    kernel |= name == "warpwright/kernel/sm90/dense/dense_gemm.h" && std::string(header.text).find("DenseGemm") != 0;
    EXPECT_EQ(name.find("/sim/"), std::string::npos) << name;
  }
  EXPECT_TRUE(kernel);
}

}  // namespace
}  // namespace warpwright::jit
