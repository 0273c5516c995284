// Parses the command line, runs one command, and turns every way it can end into an exit code and at most one sentence.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/line/parse.h"
#include "cli/output.h"
#include "simulate/executor.h"

namespace warpwright::cli {

void Context::runs(CommandLine& line, const std::string& example, Action action) {
  line.flag("--json", json_, "print one JSON document on stdout");
  line.footer("Example:\n  " + example);
  actions_[&line] = std::move(action);
}

namespace {

// Where a line of the user's text with a mark below it follows the sentence (formula/formula.h); npos: nowhere.
size_t picture_at(const std::string& sentence) {
  const size_t mark = sentence.rfind('\n');
  if (mark == std::string::npos || mark == 0) return std::string::npos;
  if (sentence.find_first_not_of(" \t", mark + 1) != sentence.size() - 1 || !sentence.ends_with('^'))
    return std::string::npos;
  return sentence.rfind('\n', mark - 1);
}

// With --json the sentence is also a document, unless the command has already printed its own.
int end_with(int code, std::string_view who, std::string sentence, bool json = false) {
  // One sentence means one line, whatever the user typed or a library reported.
  const size_t picture = picture_at(sentence);
  for (size_t i = 0; i < std::min(picture, sentence.size()); ++i) {
    if (static_cast<unsigned char>(sentence[i]) < ' ') sentence[i] = ' ';
  }
  fmt::print(stderr, "{}: {}\n", who, sentence);
  if (json) Output(true).document({{"error", {{"message", sentence}, {"exit_code", code}}}});
  return code;
}

std::string full_stop(std::string sentence) {
  const bool ends = sentence.empty() || sentence.back() == '.' || sentence.back() == '?';
  if (!ends && picture_at(sentence) == std::string::npos) sentence += '.';
  return sentence;
}

// A line that was lost on the way leaves its mark, and so does what the last flush cannot write.
bool written() { return std::ferror(stdout) == 0 && std::fflush(stdout) == 0; }

int run_action(const CommandLine& line, const Context& context) {
  const std::string who = line.full_name();
  Output output(context.json());
  const auto stopped = [&](int code, std::string sentence) {
    return end_with(code, who, std::move(sentence), output.json() && !output.documented());
  };
  try {
    const int code = context.action_of(line)(output);
    if (!written()) return end_with(exit_wrong, who, "the result could not be written to stdout.");
    return code;
  } catch (const UsageError& error) {
    return stopped(exit_usage, full_stop(error.what()));
  } catch (const MissingError& error) {
    return stopped(exit_missing, full_stop(error.what()));
  } catch (const simulate::NotReady& error) {
    const bool missing = error.status.code() == Code::missing;
    return stopped(missing ? exit_missing : exit_wrong, full_stop(error.what()));
  } catch (const std::exception& error) {
    return stopped(exit_wrong, fmt::format("stopped by an unexpected error: {}", full_stop(error.what())));
  }
}

}  // namespace

int run(int argc, char** argv, std::span<const Command> commands) {
  clean_up_on_signals();
  CommandLine tool("warpwright", "Warp-specialized GPU matrix kernels: run, check, trace and measure them.");
  Context context;
  tool.version(std::string("warpwright ") + WARPWRIGHT_VERSION);
  tool.footer(
      "Exit codes: 0 the result is right, 1 something wrong was found, 2 bad usage or input, 3 the machine lacks "
      "something.\nWARPWRIGHT_CUDA=off behaves as if there were no CUDA, WARPWRIGHT_HIP=off as if "
      "there were no HIP.\n\nExample:\n  ./warpwright devices --json");
  for (const Command& command : commands) command.configure(tool.command(command.name, command.summary), context);
  const Parsed parsed = parse(tool, argc, argv);
  if (parsed.page) {
    std::fwrite(parsed.page->data(), 1, parsed.page->size(), stdout);
    if (written()) return exit_ok;
    return end_with(exit_wrong, tool.name(), "the text could not be written to stdout.");
  }
  if (!parsed.complaint.empty()) {
    // A command line that could not be read as a whole has not set the options that could be read.
    const bool json =
        std::any_of(argv + 1, argv + argc, [](const char* word) { return word == std::string_view("--json"); });
    return end_with(exit_usage, parsed.command->full_name(), full_stop(parsed.complaint), json);
  }
  return run_action(*parsed.command, context);
}

}  // namespace warpwright::cli
