// `completion`: what a shell needs to complete the tool's command line. The scripts are written from the parser's own
// commands and options, so they always agree with the help pages.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cli/commands.h"
#include "cli/line/arguments.h"

namespace warpwright::cli {
namespace {

// An option or a positional argument.
struct Argument {
  std::vector<std::string> names;  // with their dashes; none: positional
  std::string help;
  std::vector<std::string> words;
  bool takes_value = false;
  bool files = false;
  bool list = false;  // several words with commas between them
};

// A command, or the tool itself.
struct Page {
  std::string path;
  std::vector<std::pair<std::string, std::string>> commands;  // names and summaries
  std::vector<Argument> options;
  std::optional<Argument> positional;
};

Argument argument_of(const Option& option) {
  const Option::Facts& facts = option.facts();
  Argument a;
  if (facts.name.starts_with("-")) a.names = {facts.name};
  a.help = facts.help;
  a.takes_value = !std::holds_alternative<bool*>(facts.value);
  a.list = facts.delimiter == ',';
  if (a.takes_value) {
    a.words = facts.check.offered;
    a.files = facts.type.find("FILE") != std::string::npos;
  }
  return a;
}

void add_pages(const CommandLine& line, std::vector<Page>& pages) {
  Page page{line.full_name(), {}, {}, {}};
  for (const auto& command : line.commands()) page.commands.emplace_back(command->name(), command->summary());
  page.options.push_back({split(kHelpNames, ','), kHelpHelp, {}});
  if (!line.version().empty()) page.options.push_back({{kVersionName}, kVersionHelp, {}});
  for (const auto& option : line.options()) {
    const Argument a = argument_of(*option);
    if (a.names.empty()) {
      page.positional = a;
    } else {
      page.options.push_back(a);
    }
  }
  pages.push_back(page);
  for (const auto& command : line.commands()) add_pages(*command, pages);
}

std::vector<std::string> names_of(const Page& page) {
  std::vector<std::string> names;
  for (const Argument& option : page.options) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// For each of the shells: text that it takes as it is.
std::string quoted(const std::string& text, const char* quote_inside) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += quote_inside;
    } else {
      out += c;
    }
  }
  return out + "'";
}
std::string quoted(const std::string& text) { return quoted(text, "'\\''"); }
std::string quoted(const std::vector<std::string>& words) { return quoted(fmt::format("{}", fmt::join(words, " "))); }

std::string kind_of(const Argument& a) {
  return fmt::format("value{}{}", a.files ? " files" : "", a.list ? " list" : "");
}

// The paths below the tool as the patterns of one `case`.
std::string command_patterns(const std::vector<Page>& pages, const char* between) {
  std::vector<std::string> patterns;
  for (const Page& page : pages) {
    if (page.path.find(' ') != std::string::npos) patterns.push_back(quoted(page.path));
  }
  return fmt::format("{}", fmt::join(patterns, between));
}

std::string option_patterns(const Page& page, const Argument& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names) patterns.push_back(quoted(page.path + " " + name));
  return fmt::format("{}", fmt::join(patterns, " | "));
}

constexpr const char* kBash = R"sh(# Completion of warpwright in bash: source <(./warpwright completion bash)
_warpwright() {
  local line=${COMP_LINE:0:COMP_POINT} at=warpwright current='' option='' word commands='' options='' words='' kind=''
  local -a typed
  read -ra typed <<<"$line"
  if [[ $line != *[[:space:]] ]]; then
    current=${typed[-1]}
    unset 'typed[-1]'
  fi
  for word in "${typed[@]:1}"; do
    case "$at $word" in
      @COMMANDS@) at+=" $word" ;;
    esac
  done
  option=${typed[-1]}
  local prefix=''
  if [[ $current == --*=* ]]; then
    option=${current%%=*}
    current=${current#*=}
    [[ $COMP_WORDBREAKS == *=* ]] || prefix=$option=
  fi
  case $at in
@PAGES@
  esac
  case "$at $option" in
@VALUES@
  esac
  if [[ $kind == value* ]]; then
    commands='' options=''
  elif [[ $current == -* ]]; then
    commands='' words='' kind=''
  elif [[ -n $commands$words$kind ]]; then
    options=''
  fi
  if [[ $kind == *list* && $current == *,* ]]; then
    prefix+=${current%,*},
    current=${current##*,}
  fi
  mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$commands $options $words" -- "$current")
  if [[ $kind == *files* ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -P "$prefix" -f -- "$current")
  fi
  # Readline replaces only what stands after a colon.
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*:}"}"}")
  fi
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _warpwright warpwright
)sh";

std::string bash_script(const std::vector<Page>& pages) {
  std::string script = kBash, page_cases, value_cases;
  for (const Page& page : pages) {
    page_cases += fmt::format("    {})", quoted(page.path));
    if (!page.commands.empty()) {
      std::vector<std::string> names;
      for (const auto& [name, summary] : page.commands) names.push_back(name);
      page_cases += fmt::format(" commands={}", quoted(names));
    }
    page_cases += fmt::format(" options={}", quoted(names_of(page)));
    if (page.positional) {
      page_cases += fmt::format(" words={}", quoted(page.positional->words));
      if (page.positional->files) page_cases += " kind=files";
    }
    page_cases += " ;;\n";
    for (const Argument& option : page.options) {
      if (option.takes_value)
        value_cases += fmt::format("    {}) words={} kind={} ;;\n", option_patterns(page, option), quoted(option.words),
                                   quoted(kind_of(option)));
    }
  }
  page_cases.pop_back();
  value_cases.pop_back();
  const std::pair<const char*, std::string> parts[] = {
      {"@COMMANDS@", command_patterns(pages, " | ")}, {"@PAGES@", page_cases}, {"@VALUES@", value_cases}};
  for (const auto& [mark, text] : parts) script.replace(script.find(mark), std::string_view(mark).size(), text);
  return script;
}

constexpr const char* kZsh = R"sh(#compdef warpwright
# Completion of warpwright in zsh, after compinit: source <(./warpwright completion zsh)
# or as the file _warpwright in a folder of $fpath.
_warpwright() {
  local at=warpwright word kind='' option=$words[CURRENT-1]
  local -a commands options offered
  for word in $words[2,CURRENT-1]; do
    case "$at $word" in
      (@COMMANDS@) at+=" $word" ;;
    esac
  done
  if [[ $PREFIX == --*=* ]]; then
    option=${PREFIX%%=*}
    compset -P 1 '*='
  fi
  case $at in
@PAGES@
  esac
  case "$at $option" in
@VALUES@
  esac
  if [[ $kind != value* && $PREFIX == -* ]]; then
    _describe -o option options
    return
  fi
  if [[ $kind != value* ]] && (( $#commands )); then
    _describe command commands
    return
  fi
  if [[ $kind == *list* ]]; then compset -P '*,'; fi
  local status_=1
  compadd -- ${offered:#*:} && status_=0
  compadd -S '' -- ${(M)offered:#*:} && status_=0
  if [[ $kind == *files* ]]; then _files && status_=0; fi
  if [[ -z $kind ]] && (( ! $#offered )); then _describe -o option options && status_=0; fi
  return $status_
}
if [[ $funcstack[1] == _warpwright ]]; then
  _warpwright "$@"
else
  compdef _warpwright warpwright
fi
)sh";

std::string described(const std::string& name, const std::string& help) { return quoted(name + ":" + help); }

std::string zsh_script(const std::vector<Page>& pages) {
  std::string script = kZsh, page_cases, value_cases;
  for (const Page& page : pages) {
    std::vector<std::string> commands, options;
    for (const auto& [name, summary] : page.commands) commands.push_back(described(name, summary));
    for (const Argument& option : page.options) {
      for (const std::string& name : option.names) options.push_back(described(name, option.help));
      if (option.takes_value)
        value_cases += fmt::format("    ({}) offered=({}) kind={} ;;\n", option_patterns(page, option),
                                   fmt::join(option.words, " "), quoted(kind_of(option)));
    }
    page_cases += fmt::format("    ({}) commands=({}) options=({})", quoted(page.path), fmt::join(commands, " "),
                              fmt::join(options, " "));
    if (page.positional) {
      page_cases += fmt::format(" offered=({})", fmt::join(page.positional->words, " "));
      if (page.positional->files) page_cases += " kind=files";
    }
    page_cases += " ;;\n";
  }
  page_cases.pop_back();
  value_cases.pop_back();
  const std::pair<const char*, std::string> parts[] = {
      {"@COMMANDS@", command_patterns(pages, " | ")}, {"@PAGES@", page_cases}, {"@VALUES@", value_cases}};
  for (const auto& [mark, text] : parts) script.replace(script.find(mark), std::string_view(mark).size(), text);
  return script;
}

std::string fish_script(const std::vector<Page>& pages) {
  const auto quoted = [](const std::string& text) { return cli::quoted(text, "\\'"); };
  std::string script = fmt::format(
      "# Completion of warpwright in fish: ./warpwright completion fish | source\n"
      "function __warpwright_at\n"
      "  set -l at warpwright\n"
      "  for word in (commandline -opc)[2..]\n"
      "    switch \"$at $word\"\n"
      "      case {}\n"
      "        set at \"$at $word\"\n"
      "    end\n"
      "  end\n"
      "  test \"$at\" = \"$argv\"\n"
      "end\n"
      "complete -c warpwright -f\n",
      command_patterns(pages, " "));
  for (const Page& page : pages) {
    const std::string here = fmt::format("complete -c warpwright -n '__warpwright_at {}'", page.path);
    const auto values = [&](const Argument& a) {
      const std::string words = fmt::format("{}", fmt::join(a.words, " "));
      std::string text = a.files ? " -F" : "";
      if (!a.words.empty()) text += " -a " + quoted(a.list ? fmt::format("(__fish_append , {})", words) : words);
      return text;
    };
    for (const auto& [name, summary] : page.commands)
      script += fmt::format("{} -a {} -d {}\n", here, name, quoted(summary));
    for (const Argument& option : page.options) {
      script += here;
      for (const std::string& name : option.names)
        script +=
            name.starts_with("--") ? fmt::format(" -l {}", name.substr(2)) : fmt::format(" -s {}", name.substr(1));
      if (option.takes_value) script += (option.files ? " -r" : " -x") + values(option);
      script += fmt::format(" -d {}\n", quoted(option.help));
    }
    if (page.positional && !values(*page.positional).empty())
      script += fmt::format("{}{} -d {}\n", here, values(*page.positional), quoted(page.positional->help));
  }
  return script;
}

int run_completion(const CommandLine& tool, const std::string& shell, Output& out) {
  std::vector<Page> pages;
  add_pages(tool, pages);
  const std::string script = shell == "bash"  ? bash_script(pages)
                             : shell == "zsh" ? zsh_script(pages)
                                              : fish_script(pages);
  out.document({{"shell", shell}, {"script", script}});
  out.line(script.substr(0, script.size() - 1));
  return exit_ok;
}

}  // namespace

void configure_completion(CommandLine& line, Context& context) {
  auto shell = std::make_shared<std::string>();
  line.text("SHELL", *shell, "bash, zsh or fish").one_of({"bash", "zsh", "fish"}).required();
  context.runs(line, "source <(./warpwright completion bash)",
               [&line, shell](Output& out) { return run_completion(*line.parent(), *shell, out); });
}

}  // namespace warpwright::cli
