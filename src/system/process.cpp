#include "system/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace warpwright::system {
namespace {

struct Ended {
  int code = 0;         // 128: by a signal
  std::string failure;  // it was not started
};

Ended run(const std::vector<std::string>& arguments, bool errors_too, std::string& output) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {0, fmt::format("no pipe for {}: {}", arguments[0], std::strerror(errno))};
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (errors_too) posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed != 0) {
    close(ends[0]);
    return {0, fmt::format("cannot start {}: {}", arguments[0], std::strerror(failed))};
  }
  char buffer[65536];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0 || (n < 0 && errno == EINTR);) {
    if (n > 0) output.append(buffer, size_t(n));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, {}};
}

}  // namespace

bool program_exists(const std::string& name) {
  if (name.empty()) return false;
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::string folder;
  for (const char* c = path == nullptr ? "" : path;; ++c) {
    if (*c != ':' && *c != '\0') {
      folder.push_back(*c);
      continue;
    }
    if (!folder.empty() && access((folder + "/" + name).c_str(), X_OK) == 0) return true;
    folder.clear();
    if (*c == '\0') return false;
  }
}

Status run_program(const std::vector<std::string>& arguments, std::string& output) {
  const Ended ended = run(arguments, true, output);
  if (!ended.failure.empty()) return Status(Code::failed, ended.failure);
  if (ended.code == 0) return {};
  return Status(Code::failed, fmt::format("{} failed: {}", arguments[0], output.substr(0, output.find('\n'))));
}

int run_for_output(const std::vector<std::string>& arguments, std::string& output) {
  const Ended ended = run(arguments, false, output);
  return ended.failure.empty() ? ended.code : 127;
}

}  // namespace warpwright::system
