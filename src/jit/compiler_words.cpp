#include "jit/compiler_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <regex>
#include <string_view>
#include <system_error>
#include <utility>

namespace warpwright::jit {
namespace {

using Kind = CompilerMessage::Kind;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

struct Place {
  std::string file;
  int line = 0;
  size_t end = 0;  // the end of what was read
};

// "FILE:LINE:" or "FILE:LINE:COLUMN:" at the start of a line.
std::optional<Place> place_of(const std::string& line) {
  const auto number = [&](size_t begin, size_t& end) {
    int value = 0;
    const auto [stop, error] = std::from_chars(line.data() + begin, line.data() + line.size(), value);
    end = size_t(stop - line.data());
    return error == std::errc() && end < line.size() && line[end] == ':' ? value : 0;
  };
  for (size_t colon = line.find(':'); colon != std::string::npos; colon = line.find(':', colon + 1)) {
    size_t end = 0, further = 0;
    const int value = number(colon + 1, end);
    if (value == 0 || colon == 0) continue;
    if (number(end + 1, further) != 0) end = further;
    return Place{line.substr(0, colon), value, end};
  }
  return std::nullopt;
}

bool is_users(const std::string& file, const std::string& headers) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto full = [&](const std::string& path) { return fs::weakly_canonical(fs::absolute(path, error), error); };
  const std::string path = full(file).string(), library = (full(headers) / "").string();
  return !path.starts_with(library) && !path.starts_with("/usr/") && !file.starts_with('<');
}

// Where the error comes from: itself, or whoever made the compiler come by. g++ says that ahead, clang++ afterwards.
Place users_place(const std::vector<std::string>& lines, const std::vector<CompilerMessage>& messages, size_t error,
                  const std::string& headers) {
  const CompilerMessage& message = messages[error];
  if (!message.file.empty() && is_users(message.file, headers)) return {message.file, message.line};
  // The innermost is wanted: g++ lists calls of a constant expression from the outermost on, instantiations to it.
  std::optional<Place> instantiated, evaluated;
  const size_t begin = error == 0 ? 0 : messages[error - 1].at + 1;
  for (size_t i = begin; i < message.at; ++i) {
    const auto place = place_of(lines[i]);
    if (!place || !is_users(place->file, headers)) continue;
    if (lines[i].find("expansion of") != std::string::npos) evaluated = place;
    if (lines[i].find("required from") != std::string::npos && !instantiated) instantiated = place;
  }
  if (evaluated) return *evaluated;
  if (instantiated) return *instantiated;
  for (size_t i = error + 1; i < messages.size() && messages[i].kind == Kind::note; ++i) {
    if (!messages[i].file.empty() && is_users(messages[i].file, headers)) return {messages[i].file, messages[i].line};
  }
  return {};
}

// Everything that is said about one error.
std::string said_of(const std::vector<std::string>& lines, const std::vector<CompilerMessage>& messages, size_t error) {
  const size_t begin = error == 0 ? 0 : messages[error - 1].at + 1;
  size_t end = error + 1;
  while (end < messages.size() && messages[end].kind == Kind::note) ++end;
  std::string text;
  for (size_t i = begin; i < (end < messages.size() ? messages[end].at : lines.size()); ++i) text += lines[i] + "\n";
  return text;
}

// A look-up of the plan (core/block_plan.h) that finds nothing.
std::string unknown_name(const std::string& said) {
  if (said.find("no_such_name") == std::string::npos) return {};
  // As compilers write the call, not as it is in the source: a line may have several.
  static const std::regex call(
      R"re(\b(role|barrier|region|named_barrier|tensor_memory)\((?:\(\(const char\*\)|&)"([^"]*)")re");
  std::smatch found;
  if (!std::regex_search(said, found, call)) return {};
  std::string kind = found[1];
  std::replace(kind.begin(), kind.end(), '_', ' ');
  return fmt::format("the plan has no {} '{}'", kind, std::string(found[2]));
}

// The names and numbers of detail::PlanArrivals<PlanName{"x.empty"}, 4, 3> and its like, and of the refusal of a
// schedule, where a number of -1 does not apply. clang++ writes short names as
// a list of their characters.
std::string plan_facts(const std::string& said) {
  static const std::regex rule(R"re(\b(?:Plan(?:Arrivals|Role|Unique)|schedule::Refusal)<(.*?)>[' ])re");
  static const std::regex name(R"re((?:PlanName|FixedText<\d+>)\{(?:"([^"]*)"|\{([^}]*)\})\})re");
  static const std::regex numbers(R"re(, (-?\d+), (-?\d+)$)re");
  std::smatch found;
  if (!std::regex_search(said, found, rule)) return {};
  const std::string arguments = found[1];
  const bool is_schedule = std::string(found[0]).find("Refusal<") != std::string::npos;
  std::string facts;
  for (std::sregex_iterator i(arguments.begin(), arguments.end(), name), end; i != end; ++i) {
    std::string word = (*i)[1];
    const std::string list = (*i)[2];
    for (const char* at = list.c_str(); *at != 0;) {
      char* next = nullptr;
      const long character = std::strtol(at, &next, 10);
      if (next == at || character == 0) break;
      word += char(character);
      at = next;
      while (*at == ',' || *at == ' ') ++at;
    }
    if (!word.empty()) facts += fmt::format("{}'{}'", facts.empty() ? "" : ", ", word);
  }
  if (!std::regex_search(arguments, found, numbers)) return facts;
  const std::string have = found[1], need = found[2];
  if (is_schedule) return need == "-1" ? facts : facts + fmt::format(": have {}, need {}", have, need);
  return facts + fmt::format(": {} arrivals, a count of {}", have, need);
}

// "static assertion failed: SENTENCE", with the condition between or the sentence in quotes, as compilers have it.
std::string without_assertion(const std::string& text) {
  if (!text.starts_with("static assertion failed") && !text.starts_with("static_assert failed")) return text;
  for (const char* before : {"': ", "' \"", ": "}) {
    const size_t at = text.find(before);
    if (at == std::string::npos) continue;
    std::string sentence = text.substr(at + std::string_view(before).size());
    if (before[2] == '"' && sentence.ends_with('"')) sentence.pop_back();
    return sentence;
  }
  return text;
}

// Without the name of the warning that was made an error.
std::string without_flag(std::string text) {
  const size_t at = text.rfind(" [-W");
  if (at != std::string::npos && text.ends_with(']')) text.resize(at);
  return text;
}

// The rule of a handle that is quoted in a warning.
std::string quoted_rule(const std::string& text) {
  const size_t begin = text.find("linear: ");
  if (begin == std::string::npos) return {};
  std::string rule = text.substr(begin, text.find_first_of("'[", begin) - begin);
  while (!rule.empty() && (rule.back() == ' ' || rule.back() == ';')) rule.pop_back();
  return rule;
}

bool says_unused(const CompilerMessage& m) {
  for (const char* flag : {"unused-variable]", "unused-result]", "unused-value]"}) {
    if (m.text.ends_with(flag)) return true;
  }
  return false;
}

}  // namespace

std::vector<CompilerMessage> messages_of(const std::string& output) {
  const std::vector<std::string> lines = lines_of(output);
  std::vector<CompilerMessage> messages;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    for (const auto& [word, kind] : {std::pair<std::string_view, Kind>{"fatal error: ", Kind::error},
                                     {"error: ", Kind::error},
                                     {"warning: ", Kind::warning},
                                     {"note: ", Kind::note}}) {
      const size_t at = line.find(word);
      // Its place comes before it, or the name of the program that speaks.
      if (at == std::string::npos || (at != 0 && (at < 2 || line.substr(at - 2, 2) != ": "))) continue;
      CompilerMessage m;
      m.kind = kind;
      m.text = line.substr(at + word.size());
      m.at = i;
      if (const auto place = place_of(line); place && place->end < at) {
        m.file = place->file;
        m.line = place->line;
        m.place = line.substr(0, place->end);
      }
      messages.push_back(std::move(m));
      break;
    }
  }
  return messages;
}

std::string CompileError::text() const {
  return file.empty() ? fmt::format("this does not compile: {}", sentence)
                      : fmt::format("{}:{}: this does not compile: {}", file, line, sentence);
}

CompileError first_error(const std::string& output, const std::string& headers) {
  const std::vector<CompilerMessage> messages = messages_of(output);
  const auto found =
      std::find_if(messages.begin(), messages.end(), [](const auto& m) { return m.kind == Kind::error; });
  if (found == messages.end()) return {{}, 0, "the compiler's words are above"};
  const std::vector<std::string> lines = lines_of(output);
  const auto index = size_t(found - messages.begin());
  const Place place = users_place(lines, messages, index, headers);
  // clang++ writes a header next to the file with the folder.
  CompileError error{place.file.starts_with("./") ? place.file.substr(2) : place.file, place.line, {}};
  const std::string said = said_of(lines, messages, index);
  error.sentence = unknown_name(said);
  if (error.sentence.empty()) error.sentence = quoted_rule(without_assertion(found->text));
  if (error.sentence.empty()) error.sentence = without_flag(without_assertion(found->text));
  const bool has_facts = error.sentence.starts_with("plan: ") || error.sentence.starts_with("schedule: ");
  if (const std::string facts = plan_facts(said); has_facts && !facts.empty())
    error.sentence += fmt::format(" ({})", facts);
  return error;
}

bool only_unused(const std::vector<CompilerMessage>& messages) {
  bool some = false;
  for (const CompilerMessage& m : messages) {
    if (m.kind != Kind::error) continue;
    if (!says_unused(m)) return false;
    some = true;
  }
  return some;
}

std::vector<CompilerMessage> unused_receipts(const std::vector<CompilerMessage>& strict,
                                             const std::vector<CompilerMessage>& lenient) {
  std::vector<CompilerMessage> receipts;
  for (const CompilerMessage& m : strict) {
    if (m.kind != Kind::error) continue;
    const bool known = std::any_of(lenient.begin(), lenient.end(), [&](const CompilerMessage& other) {
      return other.kind == Kind::warning && other.place == m.place;
    });
    if (!known || !quoted_rule(m.text).empty()) receipts.push_back(m);
  }
  return receipts;
}

}  // namespace warpwright::jit
