// Compiled kernels on disk, shared by processes. An entry is written beside its place and renamed into it, so a reader
// sees a whole entry or none; it carries its key and a checksum, so whatever else is found there is not an entry.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/sha256.h"
#include "system/cache_folder.h"

namespace warpwright::jit {

using Bytes = std::vector<uint8_t>;

class Cache {
 public:
  // Without a folder nothing is found and nothing is kept.
  explicit Cache(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  std::string path_of(const Digest& key) const;

  // Nothing if there is no entry, or if it is truncated, changed, or has another key.
  std::optional<Bytes> load(const Digest& key) const;
  // False if the folder cannot be made or written: the kernel then has to be compiled again next time.
  bool store(const Digest& key, const Bytes& payload) const;

  // Held while one process compiles an entry that others wait for. Where the folder cannot be written, or locks are not
  // supported, nobody waits: compiling twice is slow, never wrong.
  class Lock {
   public:
    Lock(const Cache& cache, const Digest& key);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    int file_ = -1;
  };

 private:
  bool make_folder() const;
  std::string folder_;
};

using system::cache_folder;

}  // namespace warpwright::jit
