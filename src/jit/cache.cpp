#include "jit/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace warpwright::jit {
namespace {

// Changes with the format, so that an older tool's entry is not an entry.
constexpr char kMagic[8] = {'W', 'W', 'C', 'A', 'C', 'H', 'E', '1'};

struct Header {
  char magic[8];
  Digest key;
  Digest checksum;
  uint64_t size;
};
static_assert(sizeof(Header) == 80, "the header is written as it lies in memory");

Digest checksum(const Bytes& payload) { return Sha256().bytes(payload.data(), payload.size()).digest(); }

bool write_all(int file, const void* data, size_t size) {
  const auto* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t done = ::write(file, from, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    from += done;
    size -= size_t(done);
  }
  return true;
}

bool read_all(int file, void* data, size_t size) {
  auto* to = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t done = ::read(file, to, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    to += done;
    size -= size_t(done);
  }
  return true;
}

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (number_ >= 0) ::close(number_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

std::string Cache::path_of(const Digest& key) const { return folder_ + "/" + hex(key) + ".kernel"; }

bool Cache::make_folder() const {
  if (folder_.empty()) return false;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  return std::filesystem::is_directory(folder_, error);
}

std::optional<Bytes> Cache::load(const Digest& key) const {
  if (folder_.empty()) return {};
  const OpenFile file(path_of(key));
  // What is loaded is executed, so an entry that others could have written does not count.
  struct stat facts {};
  if (file.number() < 0 || ::fstat(file.number(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  const bool own = facts.st_uid == ::geteuid() || facts.st_uid == 0;
  if (!own || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) return {};
  Header header;
  if (!read_all(file.number(), &header, sizeof header)) return {};
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.key != key) return {};
  // A size that is wrong must not become an allocation: the file itself says how much there is.
  if (facts.st_size < off_t(sizeof header) || uint64_t(facts.st_size) - sizeof header != header.size) return {};
  Bytes payload(header.size);
  if (!read_all(file.number(), payload.data(), payload.size())) return {};
  if (checksum(payload) != header.checksum) return {};
  return payload;
}

bool Cache::store(const Digest& key, const Bytes& payload) const {
  if (!make_folder()) return false;
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.key = key;
  header.checksum = checksum(payload);
  header.size = payload.size();
  std::string temporary = folder_ + "/.writing-XXXXXX";
  const int file = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return false;
  bool ok = write_all(file, &header, sizeof header) && write_all(file, payload.data(), payload.size());
  ok = ::close(file) == 0 && ok;
  ok = ok && ::rename(temporary.c_str(), path_of(key).c_str()) == 0;
  if (!ok) ::unlink(temporary.c_str());
  return ok;
}

Cache::Lock::Lock(const Cache& cache, const Digest& key) {
  if (!cache.make_folder()) return;
  // One of a few files, so that they do not pile up next to the entries; two kernels that share one only wait longer.
  const std::string path = cache.folder_ + "/.lock-" + hex(key).substr(0, 1);
  file_ = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  while (file_ >= 0 && ::flock(file_, LOCK_EX) != 0 && errno == EINTR) {
  }
}
Cache::Lock::~Lock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace warpwright::jit
