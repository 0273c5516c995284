// Parses the command line, runs one command, and turns every way it can end into an exit code and at most one sentence.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"

namespace warpwright::cli {

void Context::runs(CLI::App& app, const std::string& example, Action action) {
  app.add_flag("--json", json_, "print one JSON document on stdout")->disable_flag_override();
  app.footer("Example:\n  " + example);
  actions_[&app] = std::move(action);
}

const Context::Action* Context::action_of(const CLI::App& app) const {
  const auto found = actions_.find(&app);
  return found == actions_.end() ? nullptr : &found->second;
}

bool cuda_switched_off() {
  const char* value = std::getenv("WARPWRIGHT_CUDA");
  if (value == nullptr) return false;
  std::string text(value);
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text == "off";
}

namespace {

int fail(int code, std::string_view who, std::string sentence) {
  // One sentence means one line, whatever the user typed or a library reported.
  for (char& c : sentence) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  fmt::print(stderr, "{}: {}\n", who, sentence);
  return code;
}

// The number of edits between two words, for "did you mean".
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t furthest = 2;
  const std::string* best = nullptr;
  std::size_t best_distance = furthest + 1;
  for (const auto& candidate : known) {
    const std::size_t d = distance(word, candidate);
    if (d < best_distance) {
      best = &candidate;
      best_distance = d;
    }
  }
  return best == nullptr ? std::string() : fmt::format(" (did you mean '{}'?)", *best);
}

const CLI::App* deepest(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

std::string unexpected(const CLI::App& app, const std::string& argument) {
  const std::string help = fmt::format("'{} --help'", full_name(app));
  const bool has_commands = !app.get_subcommands([](const CLI::App*) { return true; }).empty();
  std::vector<std::string> known;
  if (argument.starts_with("-")) {
    const std::string name = argument.substr(0, argument.find('='));
    for (const CLI::Option* option : app.get_options()) known.push_back(option->get_name());
    return fmt::format("unknown option '{}'{}; {} lists the options.", argument, suggestion(name, known), help);
  }
  if (has_commands) {
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(sub->get_name());
    return fmt::format("unknown command '{}'{}; {} lists the commands.", argument, suggestion(argument, known), help);
  }
  return fmt::format("unexpected argument '{}'; {} shows what is accepted.", argument, help);
}

std::string full_stop(std::string sentence) {
  if (!sentence.empty() && sentence.back() != '.') sentence += '.';
  return sentence;
}

// The parser's own text for a wrong number of values speaks of its types; this one speaks of the command line.
std::string wrong_count(const CLI::App& app, const std::string& text) {
  std::string name = text.substr(0, text.find_first_of(": "));
  if (!name.starts_with("-")) name = "--" + name;
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr) return full_stop(text);
  if (option->get_expected_max() == 0) return fmt::format("{} takes no value.", name);
  if (option->count() == 0) return fmt::format("{} needs a value, and none was given.", name);
  return fmt::format("{} may be given once, and was given {} times ({}).", name, option->count(),
                     fmt::join(option->results(), ", "));
}

int usage_failure(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App& app = *deepest(root);
  const std::string who = full_name(app);
  // An argument nobody knows explains the error better than the option that is missing because of it.
  const bool bad_value = dynamic_cast<const CLI::ValidationError*>(&error) != nullptr ||
                         dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return fail(exit_usage, who, wrong_count(app, error.what()));
  }
  const auto remaining = root.remaining(true);
  if (!remaining.empty() && !bad_value) {
    return fail(exit_usage, who, unexpected(app, remaining.front()));
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const bool has_commands = !app.get_subcommands([](const CLI::App*) { return true; }).empty();
    if (has_commands) return fail(exit_usage, who, fmt::format("a command is missing; '{} --help' lists them.", who));
    return fail(exit_usage, who, full_stop(error.what()));
  }
  return fail(exit_usage, who, full_stop(error.what()));
}

int run_action(const CLI::App& app, const Context& context) {
  const std::string who = full_name(app);
  try {
    Output output(context.json());
    const int code = (*context.action_of(app))(output);
    // A line that was lost on the way leaves its mark, and so does what the last flush cannot write.
    if (std::ferror(stdout) != 0 || std::fflush(stdout) != 0)
      return fail(exit_wrong, who, "the result could not be written to stdout.");
    return code;
  } catch (const UsageError& error) {
    return fail(exit_usage, who, full_stop(error.what()));
  } catch (const MissingError& error) {
    return fail(exit_missing, who, full_stop(error.what()));
  } catch (const std::exception& error) {
    return fail(exit_wrong, who, fmt::format("stopped by an unexpected error: {}", full_stop(error.what())));
  }
}

int run(int argc, char** argv) {
  clean_up_on_signals();
  CLI::App root{"Warp-specialized GPU matrix kernels: run, check, trace and measure them.", "warpwright"};
  Context context;
  root.require_subcommand(1);
  root.set_version_flag("--version", std::string("warpwright ") + WARPWRIGHT_VERSION);
  root.footer(
      "Exit codes: 0 the result is right, 1 something wrong was found, 2 bad usage or input, 3 the machine lacks "
      "something.\nWARPWRIGHT_CUDA=off behaves as if there were no CUDA.\n\nExample:\n  ./warpwright devices --json");
  for (const Command& command : kCommands) {
    command.configure(*root.add_subcommand(command.name, command.summary), context);
  }
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      const int code = root.exit(error);
      return std::cout.flush() ? code : fail(exit_wrong, root.get_name(), "the text could not be written to stdout.");
    }
    return usage_failure(root, error);
  }
  return run_action(*deepest(root), context);
}

}  // namespace
}  // namespace warpwright::cli

int main(int argc, char** argv) { return warpwright::cli::run(argc, argv); }
