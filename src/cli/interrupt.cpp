#include "cli/interrupt.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>
#include <initializer_list>

namespace warpwright::cli {
namespace {

// A handler may touch nothing but memory that is always there.
struct Folder {
  std::atomic<bool> used = false;
  char path[PATH_MAX] = {};
};
Folder folders[4];
std::atomic<bool> bar = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void remove_folder(const char* path) {
  // Only calls that POSIX allows in a handler; walking a folder is not among them.
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/rm", "rm", "-rf", "--", path, static_cast<char*>(nullptr));
    _exit(127);
  }
  if (child > 0) waitpid(child, nullptr, 0);
}

void end(int signal) {
  if (bar) {
    constexpr char clear_line[] = "\r\033[K";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, clear_line, sizeof(clear_line) - 1);
  }
  for (Folder& folder : folders) {
    if (folder.used) remove_folder(folder.path);
  }
  // The handler was for one signal only: now it ends the process.
  raise(signal);
}

}  // namespace

void clean_up_on_signals() {
  // Fibers have small stacks.
  static char stack[64 * 1024];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_handler = end;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    // What the caller ignores, as nohup does, stays ignored.
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

void remove_on_signal(const char* path) {
  if (std::strlen(path) >= PATH_MAX) return;
  for (Folder& folder : folders) {
    if (folder.used) continue;
    std::strcpy(folder.path, path);
    folder.used = true;
    return;
  }
}

void forget(const char* path) {
  for (Folder& folder : folders) {
    if (folder.used && std::strcmp(folder.path, path) == 0) folder.used = false;
  }
}

void bar_is_shown(bool shown) { bar = shown; }

}  // namespace warpwright::cli
