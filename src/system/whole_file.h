// Results on disk, whole or not at all.
#pragma once
#include <optional>
#include <string>
#include <utility>

namespace warpwright::system {

// A file that appears whole or not at all: written under another name in the same folder, then renamed.
class WholeFile {
 public:
  explicit WholeFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // Nothing, or a sentence that says why the file could not be written; leaves nothing behind. To be asked before the
  // work whose result the file will hold.
  std::optional<std::string> refuse() const;
  // Nothing, or a sentence that says why it was not written.
  std::optional<std::string> write(const std::string& text) const;

 private:
  std::string path_;
};

}  // namespace warpwright::system
