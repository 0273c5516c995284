// Results on disk, whole or not at all.
#pragma once
#include <string>
#include <utility>

#include "warpwright/status.h"

namespace warpwright::system {

// A file that appears whole or not at all: written under another name in the same folder, then renamed.
class WholeFile {
 public:
  explicit WholeFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // Whether the file could be written; leaves nothing behind. To be asked before the work whose result the file will
  // hold.
  Status check_writable() const;
  Status write(const std::string& text) const;

 private:
  std::string path_;
};

}  // namespace warpwright::system
