// What a command takes on its command line: options, positional arguments, commands below it. A command describes
// itself once; the parser, the help pages and the completion of shells read that description.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/line/arguments.h"

namespace warpwright::cli {

// An option, or a positional argument when its name has no dashes.
class Option {
 public:
  // Where what the user wrote goes; a bool is a flag and takes no value.
  using Value =
      std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*, std::vector<std::string>*>;

  struct Facts {
    std::string name;
    Value value;
    std::string help;
    std::string group = "Options";  // on the help page
    std::string type;               // shown instead of the type of the value
    Check check;
    char delimiter = 0;
    bool required = false;
    bool repeated = false;  // a list that takes one value each time it is given
    std::size_t count = 0;  // how often it was given
  };

  Option(std::string name, Value value, std::string help);

  Option& check(Check check);
  Option& one_of(std::vector<std::string> words);
  // Takes any text but an empty one.
  Option& not_empty();
  Option& offers(std::vector<std::string> words);

  Option& required(bool value = true);
  Option& group(std::string name);
  Option& type(std::string name);
  // Between the values of a list.
  Option& delimiter(char value);
  Option& repeated();
  void given(std::size_t times);

  const Facts& facts() const { return facts_; }

 private:
  Facts facts_;
};

// A command, or the tool itself.
class CommandLine {
 public:
  CommandLine(std::string name, std::string summary, CommandLine* parent = nullptr);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Option& text(std::string name, std::string& value, std::string help);
  // The path of a file.
  Option& file(std::string name, std::string& path, std::string help);
  Option& list(std::string name, std::vector<std::string>& values, std::string help);
  Option& flag(std::string name, bool& value, std::string help);
  Option& number(std::string name, int& value, std::string help, std::int64_t lowest, std::int64_t highest);
  Option& number(std::string name, std::int64_t& value, std::string help, std::int64_t lowest, std::int64_t highest);
  Option& number(std::string name, std::uint64_t& value, std::string help, std::int64_t lowest, std::int64_t highest);
  // Any finite number.
  Option& real(std::string name, double& value, std::string help);
  Option& real(std::string name, double& value, std::string help, double lowest, double highest);
  void remove(const std::string& name);

  // A command below this one; where there are some, the user must give one.
  CommandLine& command(std::string name, std::string summary);
  // The end of the help page.
  void footer(std::string text) { footer_ = std::move(text); }
  // What --version prints.
  void version(std::string text) { version_ = std::move(text); }

  // Whether the user gave the option.
  bool given(const std::string& name) const;

  const std::string& name() const { return name_; }
  // With the commands above it: "warpwright encode smem".
  std::string full_name() const;
  const std::string& summary() const { return summary_; }
  const std::string& footer() const { return footer_; }
  const std::string& version() const { return version_; }
  CommandLine* parent() const { return parent_; }
  const std::vector<std::unique_ptr<Option>>& options() const { return options_; }
  const std::vector<std::unique_ptr<CommandLine>>& commands() const { return commands_; }

 private:
  Option& add(std::string name, Option::Value value, std::string help);

  std::string name_, summary_, footer_, version_;
  CommandLine* parent_;
  std::vector<std::unique_ptr<Option>> options_;
  std::vector<std::unique_ptr<CommandLine>> commands_;
};

// The options that every command, or the tool itself, has without asking.
inline constexpr const char* kHelpNames = "-h,--help";
inline constexpr const char* kHelpHelp = "Print this help message and exit";
inline constexpr const char* kVersionName = "--version";
inline constexpr const char* kVersionHelp = "Display program version information and exit";

}  // namespace warpwright::cli
