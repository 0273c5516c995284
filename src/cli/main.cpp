// The tool: all commands.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "jit/cache.h"
#include "simulate/executor.h"

int main(int argc, char** argv) {
  warpwright::simulate::on_compile([](const std::string& name) {
    const bool kept = !warpwright::jit::cache_folder().empty();
    fmt::print(stderr, "Compiling {} for the simulator{}.\n", name, kept ? "; the next time it is in the cache" : "");
  });
  return warpwright::cli::run(argc, argv, warpwright::cli::kCommands);
}
