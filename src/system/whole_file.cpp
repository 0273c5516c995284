#include "system/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace warpwright::system {
namespace {

// The file behind a link, so that the link stays one.
std::string resolved(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

std::string temporary_name(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.parent_path() / fmt::format(".{}.{}.tmp", whole.filename().string(), getpid())).string();
}

Status cannot_write(const std::string& path, int error) {
  return Status(Code::failed, fmt::format("{} cannot be written: {}.", path, std::strerror(error)));
}

int create(const std::string& path) { return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); }

}  // namespace

Status WholeFile::check_writable() const {
  const auto refused = [](std::string sentence) { return Status(Code::invalid_argument, std::move(sentence)); };
  if (path_.empty() || path_.back() == '/') return refused(fmt::format("'{}' is not the name of a file.", path_));
  const std::string real = resolved(path_);
  struct stat info;
  if (stat(real.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return refused(fmt::format("{} is a folder, not a file.", path_));
    if (!S_ISREG(info.st_mode)) return refused(fmt::format("{} is not an ordinary file.", path_));
    if (access(real.c_str(), W_OK) != 0) return cannot_write(path_, errno);
  }
  const std::string probe = temporary_name(real);
  const int file = create(probe);
  if (file < 0) return cannot_write(path_, errno);
  close(file);
  unlink(probe.c_str());
  return {};
}

Status WholeFile::write(const std::string& text) const {
  if (Status s = check_writable(); !s) return s;
  const std::string real = resolved(path_), temporary = temporary_name(real);
  const int file = create(temporary);
  if (file < 0) return cannot_write(path_, errno);
  int error = 0;
  for (size_t done = 0; done < text.size() && error == 0;) {
    const ssize_t wrote = ::write(file, text.data() + done, text.size() - done);
    if (wrote > 0)
      done += size_t(wrote);
    else if (errno != EINTR)
      error = errno;
  }
  if (close(file) != 0 && error == 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), real.c_str()) != 0) error = errno;
  if (error == 0) return {};
  unlink(temporary.c_str());
  return cannot_write(path_, error);
}

}  // namespace warpwright::system
