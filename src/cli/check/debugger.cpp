#include "cli/check/debugger.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "system/embedded.h"
#include "system/process.h"

namespace warpwright::cli {
namespace {

constexpr const char* kInside = "WARPWRIGHT_IN_GDB";

// gdb reads the commands from memory that it inherits, so no file is left behind, however it ends.
int open_commands() {
  const std::string text = system::embedded_gdb().front().text;
  const int file = memfd_create("warpwright-gdb", 0);
  if (file < 0 || write(file, text.data(), text.size()) != ssize_t(text.size()))
    throw MissingError("--debug: there is no memory for the commands of gdb");
  return file;
}

std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  words.at(0) = std::filesystem::read_symlink("/proc/self/exe").string();
  return words;
}

}  // namespace

bool is_debugged() { return std::getenv(kInside) != nullptr; }

void start_debugger() {
  const char* const named = std::getenv("WARPWRIGHT_GDB");
  std::istringstream words(named != nullptr ? named : "gdb");
  std::vector<std::string> line{std::istream_iterator<std::string>(words), {}};
  if (line.empty() || !system::program_exists(line.front()))
    throw MissingError(fmt::format("--debug needs gdb, and {} cannot be run; install the package gdb",
                                   line.empty() ? "an empty WARPWRIGHT_GDB" : "'" + line.front() + "'"));
  const std::string commands = fmt::format("python exec(open('/proc/self/fd/{}').read())", open_commands());
  line.insert(line.begin() + 1, {"-q", "-ex", commands, "-ex", fmt::format("set environment {}=1", kInside)});
  line.emplace_back("--args");
  for (std::string& word : own_command_line()) line.push_back(std::move(word));
  std::vector<char*> arguments;
  for (std::string& word : line) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  throw MissingError(fmt::format("--debug: {} cannot be run: {}", line.front(), std::strerror(errno)));
}

}  // namespace warpwright::cli
