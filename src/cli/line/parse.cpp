// The one file that includes the library that parses: its headers cost seconds.
#include "cli/line/parse.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "cli/line/arguments.h"

namespace warpwright::cli {
namespace {

const CLI::App* deepest(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

bool has_commands(const CLI::App& app) {
  return !app.get_subcommands([](const CLI::App*) { return true; }).empty();
}

std::string unexpected(const CLI::App& app, const std::string& argument) {
  const std::string help = fmt::format("'{} --help'", full_name(app));
  std::vector<std::string> known;
  if (argument.starts_with("-")) {
    const std::string name = argument.substr(0, argument.find('='));
    for (const CLI::Option* option : app.get_options()) known.push_back(option->get_name());
    return fmt::format("unknown option '{}'{}; {} lists the options.", argument, suggestion(name, known), help);
  }
  if (has_commands(app)) {
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(sub->get_name());
    return fmt::format("unknown command '{}'{}; {} lists the commands.", argument, suggestion(argument, known), help);
  }
  return fmt::format("unexpected argument '{}'; {} shows what is accepted.", argument, help);
}

// The parser's own text for a wrong number of values speaks of its types; this one speaks of the command line.
std::string wrong_count(const CLI::App& app, const std::string& text) {
  std::string name = text.substr(0, text.find_first_of(": "));
  if (!name.starts_with("-")) name = "--" + name;
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr) return text;
  if (option->get_expected_max() == 0) return fmt::format("{} takes no value.", name);
  if (option->count() == 0) return fmt::format("{} needs a value, and none was given.", name);
  return fmt::format("{} may be given once, and was given {} times ({}).", name, option->count(),
                     fmt::join(option->results(), ", "));
}

std::string complaint_of(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App& app = *deepest(root);
  // An unknown argument explains the error better than the option that is missing because of it.
  const bool bad_value = dynamic_cast<const CLI::ValidationError*>(&error) != nullptr ||
                         dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return wrong_count(app, error.what());
  const auto remaining = root.remaining(true);
  if (!remaining.empty() && !bad_value) return unexpected(app, remaining.front());
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && has_commands(app))
    return fmt::format("a command is missing; '{} --help' lists them.", full_name(app));
  return error.what();
}

// The description in the terms of the library, and the way back.
class Translation {
 public:
  explicit Translation(CommandLine& tool) : root_(tool.summary(), tool.name()) {
    root_.set_help_flag(kHelpNames, kHelpHelp);
    root_.set_version_flag(kVersionName, tool.version(), kVersionHelp);
    add(root_, tool);
  }

  CLI::App& root() { return root_; }
  CommandLine& given() { return *lines_.at(deepest(root_)); }
  void count() {
    for (const auto& [ours, theirs] : options_) ours->given(theirs->count());
  }

 private:
  void add(CLI::App& app, CommandLine& line) {
    lines_[&app] = &line;
    app.footer(line.footer());
    // Before the commands below, which inherit it.
    if (!line.commands().empty()) app.require_subcommand(1);
    for (const auto& option : line.options()) options_.emplace_back(option.get(), add(app, option->facts()));
    for (const auto& command : line.commands()) add(*app.add_subcommand(command->name(), command->summary()), *command);
  }

  static CLI::Option* add(CLI::App& app, const Option::Facts& facts) {
    CLI::Option* option = std::visit(
        [&](auto* value) {
          if constexpr (std::is_same_v<decltype(value), bool*>) {
            return app.add_flag(facts.name, *value, facts.help)->disable_flag_override();
          } else {
            return app.add_option(facts.name, *value, facts.help);
          }
        },
        facts.value);
    option->required(facts.required)->group(facts.group);
    if (!facts.type.empty()) option->type_name(facts.type);
    if (facts.repeated) option->allow_extra_args(false);
    if (facts.delimiter != 0) option->delimiter(facts.delimiter);
    if (facts.check.complaint) option->transform(CLI::Validator(facts.check.complaint, facts.check.shown));
    return option;
  }

  CLI::App root_;
  std::map<const CLI::App*, CommandLine*> lines_;
  std::vector<std::pair<Option*, const CLI::Option*>> options_;
};

}  // namespace

Parsed parse(CommandLine& tool, int argc, char** argv) {
  Translation translation(tool);
  CLI::App& root = translation.root();
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success))
      return {&translation.given(), {}, complaint_of(root, error)};
    std::ostringstream page, ignored;
    root.exit(error, page, ignored);
    return {&tool, page.str(), {}};
  }
  translation.count();
  return {&translation.given(), {}, {}};
}

}  // namespace warpwright::cli
