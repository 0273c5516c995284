#include "cli/line/command_line.h"

#include <algorithm>
#include <utility>

namespace warpwright::cli {

Option::Option(std::string name, Value value, std::string help) {
  facts_.name = std::move(name);
  facts_.value = value;
  facts_.help = std::move(help);
}

Option& Option::check(Check check) {
  facts_.check = std::move(check);
  return *this;
}
Option& Option::one_of(std::vector<std::string> words) { return check(cli::one_of(std::move(words))); }
Option& Option::not_empty() { return check(cli::not_empty()); }
Option& Option::offers(std::vector<std::string> words) {
  not_empty();
  facts_.check.offered = std::move(words);
  return *this;
}

Option& Option::required(bool value) {
  facts_.required = value;
  return *this;
}
Option& Option::group(std::string name) {
  facts_.group = std::move(name);
  return *this;
}
Option& Option::type(std::string name) {
  facts_.type = std::move(name);
  return *this;
}
Option& Option::delimiter(char value) {
  facts_.delimiter = value;
  return *this;
}
Option& Option::repeated() {
  facts_.repeated = true;
  return *this;
}
void Option::given(std::size_t times) { facts_.count = times; }

CommandLine::CommandLine(std::string name, std::string summary, CommandLine* parent)
    : name_(std::move(name)), summary_(std::move(summary)), parent_(parent) {}

Option& CommandLine::add(std::string name, Option::Value value, std::string help) {
  return *options_.emplace_back(std::make_unique<Option>(std::move(name), value, std::move(help)));
}

Option& CommandLine::text(std::string name, std::string& value, std::string help) {
  return add(std::move(name), &value, std::move(help));
}
Option& CommandLine::file(std::string name, std::string& path, std::string help) {
  return text(std::move(name), path, std::move(help)).not_empty().type("FILE");
}
Option& CommandLine::list(std::string name, std::vector<std::string>& values, std::string help) {
  return add(std::move(name), &values, std::move(help));
}
Option& CommandLine::flag(std::string name, bool& value, std::string help) {
  return add(std::move(name), &value, std::move(help));
}
Option& CommandLine::number(std::string name, int& value, std::string help, std::int64_t lowest, std::int64_t highest) {
  return add(std::move(name), &value, std::move(help)).check(whole_number(lowest, highest));
}
Option& CommandLine::number(std::string name, std::int64_t& value, std::string help, std::int64_t lowest,
                            std::int64_t highest) {
  return add(std::move(name), &value, std::move(help)).check(whole_number(lowest, highest));
}
Option& CommandLine::number(std::string name, std::uint64_t& value, std::string help, std::int64_t lowest,
                            std::int64_t highest) {
  return add(std::move(name), &value, std::move(help)).check(whole_number(lowest, highest));
}
Option& CommandLine::real(std::string name, double& value, std::string help) {
  return add(std::move(name), &value, std::move(help)).check(finite_number());
}
Option& CommandLine::real(std::string name, double& value, std::string help, double lowest, double highest) {
  return add(std::move(name), &value, std::move(help)).check(number_between(lowest, highest));
}

void CommandLine::remove(const std::string& name) {
  std::erase_if(options_, [&](const auto& option) { return option->facts().name == name; });
}

CommandLine& CommandLine::command(std::string name, std::string summary) {
  return *commands_.emplace_back(std::make_unique<CommandLine>(std::move(name), std::move(summary), this));
}

bool CommandLine::given(const std::string& name) const {
  return std::any_of(options_.begin(), options_.end(),
                     [&](const auto& option) { return option->facts().name == name && option->facts().count > 0; });
}

std::string CommandLine::full_name() const { return parent_ == nullptr ? name_ : parent_->full_name() + " " + name_; }

}  // namespace warpwright::cli
