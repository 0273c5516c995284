// The cache of compiled kernels: what was written is read back, anything else on disk is not an entry.
#include "jit/cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>

namespace warpwright::jit {
namespace {

namespace fs = std::filesystem;

class CacheTest : public testing::Test {
 protected:
  CacheTest() {
    std::string name = (fs::temp_directory_path() / "ww-cache-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~CacheTest() override { fs::remove_all(folder_); }

  static Digest key(int n) { return Sha256().bytes(&n, sizeof n).digest(); }
  static Bytes payload(size_t size) {
    Bytes bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = uint8_t(i * 7 + 3);
    return bytes;
  }
  Bytes file_of(const Digest& key) const {
    std::ifstream file(cache().path_of(key), std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(file), {});
  }
  void put(const Digest& key, const Bytes& bytes) const {
    std::ofstream file(cache().path_of(key), std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  }
  Cache cache() const { return Cache(folder_.string()); }

  fs::path folder_;
};

TEST(Sha256, AgreesWithThePublishedVectors) {
  EXPECT_EQ(hex(Sha256().digest()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(Sha256().bytes("abc", 3).digest()), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string million(1000000, 'a');
  EXPECT_EQ(hex(Sha256().bytes(million.data(), million.size()).digest()),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, TextsKeepTheirBorders) {
  EXPECT_NE(Sha256().text("ab").text("c").digest(), Sha256().text("a").text("bc").digest());
}

TEST_F(CacheTest, ReturnsWhatWasStored) {
  for (size_t size : {size_t(0), size_t(1), size_t(100000)}) {
    ASSERT_TRUE(cache().store(key(int(size)), payload(size)));
    EXPECT_EQ(cache().load(key(int(size))), payload(size));
  }
  EXPECT_FALSE(cache().load(key(7)));
}

TEST_F(CacheTest, MakesItsFolder) {
  const Cache deep((folder_ / "a" / "b").string());
  ASSERT_TRUE(deep.store(key(1), payload(10)));
  EXPECT_EQ(deep.load(key(1)), payload(10));
}

TEST_F(CacheTest, LeavesNoTemporaryFiles) {
  ASSERT_TRUE(cache().store(key(1), payload(10)));
  ASSERT_TRUE(cache().store(key(1), payload(10)));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(CacheTest, RefusesATruncatedEntryOfAnyLength) {
  ASSERT_TRUE(cache().store(key(1), payload(200)));
  const Bytes whole = file_of(key(1));
  for (size_t size = 0; size < whole.size(); ++size) {
    put(key(1), Bytes(whole.begin(), whole.begin() + std::ptrdiff_t(size)));
    ASSERT_FALSE(cache().load(key(1))) << size << " bytes of " << whole.size();
  }
}

TEST_F(CacheTest, RefusesAnEntryWithAnyByteChangedOrAdded) {
  ASSERT_TRUE(cache().store(key(1), payload(200)));
  const Bytes whole = file_of(key(1));
  for (size_t i = 0; i < whole.size(); ++i) {
    Bytes changed = whole;
    changed[i] ^= 0x40;
    put(key(1), changed);
    ASSERT_FALSE(cache().load(key(1))) << "byte " << i;
  }
  Bytes longer = whole;
  longer.push_back(0);
  put(key(1), longer);
  EXPECT_FALSE(cache().load(key(1)));
  put(key(1), whole);
  EXPECT_TRUE(cache().load(key(1)));
}

TEST_F(CacheTest, RefusesTheEntryOfAnotherKey) {
  ASSERT_TRUE(cache().store(key(1), payload(200)));
  fs::copy(cache().path_of(key(1)), cache().path_of(key(2)));
  EXPECT_FALSE(cache().load(key(2)));
}

TEST_F(CacheTest, SurvivesAFolderThatCannotBeWritten) {
  // Below a file, where not even root can make a folder.
  std::ofstream(folder_ / "file") << "x";
  const Cache blocked((folder_ / "file" / "cache").string());
  EXPECT_FALSE(blocked.store(key(1), payload(10)));
  EXPECT_FALSE(blocked.load(key(1)));
  { const Cache::Lock lock(blocked, key(1)); }
  const Cache none("");
  EXPECT_FALSE(none.store(key(1), payload(10)));
  EXPECT_FALSE(none.load(key(1)));
}

TEST_F(CacheTest, ReadsFromAFolderThatMayOnlyBeRead) {
  ASSERT_TRUE(cache().store(key(1), payload(10)));
  ASSERT_EQ(::chmod(folder_.c_str(), 0500), 0);
  EXPECT_EQ(cache().load(key(1)), payload(10));
  if (::geteuid() != 0) {
    EXPECT_FALSE(cache().store(key(2), payload(10)));
  }
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
}

TEST(CacheFolder, FollowsTheEnvironment) {
  ::setenv("WARPWRIGHT_CACHE_DIR", "/a/b", 1);
  ::setenv("XDG_CACHE_HOME", "/x", 1);
  ::setenv("HOME", "/h", 1);
  EXPECT_EQ(cache_folder(), "/a/b");
  ::setenv("WARPWRIGHT_CACHE_DIR", "off", 1);
  EXPECT_EQ(cache_folder(), "");
  ::unsetenv("WARPWRIGHT_CACHE_DIR");
  EXPECT_EQ(cache_folder(), "/x/warpwright");
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(cache_folder(), "/h/.cache/warpwright");
  ::unsetenv("HOME");
  EXPECT_EQ(cache_folder(), "");
}

// What is loaded is executed.
TEST_F(CacheTest, AnEntryThatOthersMayWriteIsNone) {
  ASSERT_TRUE(cache().store(key(1), payload(100)));
  ASSERT_TRUE(cache().load(key(1)));
  for (const mode_t mode : {mode_t(0620), mode_t(0602), mode_t(0666)}) {
    ASSERT_EQ(::chmod(cache().path_of(key(1)).c_str(), mode), 0);
    EXPECT_FALSE(cache().load(key(1))) << std::oct << mode;
  }
  ASSERT_EQ(::chmod(cache().path_of(key(1)).c_str(), 0600), 0);
  EXPECT_TRUE(cache().load(key(1)));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(cache().path_of(key(1)).c_str(), 12345, 12345), 0);
    EXPECT_FALSE(cache().load(key(1)));
  }
}

}  // namespace
}  // namespace warpwright::jit
