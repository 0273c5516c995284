// Parses the command line, runs one command, and turns every way it can end into an exit code and at most one sentence.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/line/parse.h"
#include "cli/output.h"
#include "jit/cache.h"
#include "simulate/executor.h"
#include "system/library.h"

namespace warpwright::cli {

void Context::runs(CommandLine& line, const std::string& example, Action action) {
  line.flag("--json", json_, "print one JSON document on stdout");
  line.footer("Example:\n  " + example);
  actions_[&line] = std::move(action);
}

bool cuda_switched_off() { return system::says_off("WARPWRIGHT_CUDA"); }

namespace {

int end_with(int code, std::string_view who, std::string sentence) {
  // One sentence means one line, whatever the user typed or a library reported.
  for (char& c : sentence) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  fmt::print(stderr, "{}: {}\n", who, sentence);
  return code;
}

std::string full_stop(std::string sentence) {
  if (!sentence.empty() && sentence.back() != '.' && sentence.back() != '?') sentence += '.';
  return sentence;
}

// A line that was lost on the way leaves its mark, and so does what the last flush cannot write.
bool written() { return std::ferror(stdout) == 0 && std::fflush(stdout) == 0; }

int run_action(const CommandLine& line, const Context& context) {
  const std::string who = line.full_name();
  try {
    Output output(context.json());
    const int code = context.action_of(line)(output);
    if (!written()) return end_with(exit_wrong, who, "the result could not be written to stdout.");
    return code;
  } catch (const UsageError& error) {
    return end_with(exit_usage, who, full_stop(error.what()));
  } catch (const MissingError& error) {
    return end_with(exit_missing, who, full_stop(error.what()));
  } catch (const simulate::NotReady& error) {
    const bool missing = error.status.code() == Code::missing;
    return end_with(missing ? exit_missing : exit_wrong, who, full_stop(error.what()));
  } catch (const std::exception& error) {
    return end_with(exit_wrong, who, fmt::format("stopped by an unexpected error: {}", full_stop(error.what())));
  }
}

int run(int argc, char** argv) {
  clean_up_on_signals();
  simulate::on_compile([](const std::string& name) {
    const bool kept = !jit::cache_folder().empty();
    fmt::print(stderr, "Compiling {} for the simulator{}.\n", name, kept ? "; the next time it is in the cache" : "");
  });
  CommandLine tool("warpwright", "Warp-specialized GPU matrix kernels: run, check, trace and measure them.");
  Context context;
  tool.version(std::string("warpwright ") + WARPWRIGHT_VERSION);
  tool.footer(
      "Exit codes: 0 the result is right, 1 something wrong was found, 2 bad usage or input, 3 the machine lacks "
      "something.\nWARPWRIGHT_CUDA=off behaves as if there were no CUDA, WARPWRIGHT_HIP=off as if "
      "there were no HIP.\n\nExample:\n  ./warpwright devices --json");
  for (const Command& command : kCommands) command.configure(tool.command(command.name, command.summary), context);
  const Parsed parsed = parse(tool, argc, argv);
  if (parsed.page) {
    std::fwrite(parsed.page->data(), 1, parsed.page->size(), stdout);
    if (written()) return exit_ok;
    return end_with(exit_wrong, tool.name(), "the text could not be written to stdout.");
  }
  if (!parsed.complaint.empty()) return end_with(exit_usage, parsed.command->full_name(), full_stop(parsed.complaint));
  return run_action(*parsed.command, context);
}

}  // namespace
}  // namespace warpwright::cli

int main(int argc, char** argv) { return warpwright::cli::run(argc, argv); }
