#include "cli/user/user_file.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "cli/commands.h"
#include "cli/temporary_folder.h"
#include "jit/compiler_words.h"
#include "jit/host_compiler.h"
#include "system/process.h"

namespace warpwright::cli {
namespace {

namespace fs = std::filesystem;

// The rule that a named receipt breaks; the compiler only says that a variable is not used.
constexpr const char* kReceiptRule = "linear: a receipt is only ever returned";

std::vector<std::string> compile_line(const std::vector<std::string>& compiler, const std::string& headers,
                                      const CompileOptions& options) {
  // In one language, whatever the user's: the words are read.
  std::vector<std::string> line = {"env", "LC_ALL=C"};
  line.insert(line.end(), compiler.begin(), compiler.end());
  for (const std::string& flag : jit::simulator_flags(headers)) {
    if (flag == "-w") continue;  // its own warnings are the user's business
    line.push_back(flag == "-O1" && options.for_debugger ? "-O0" : flag);
  }
  line.emplace_back(options.for_debugger ? "-g" : "-g1");
  // A frame that is larger than the page after the stack is found there too.
  line.emplace_back("-fstack-clash-protection");
  // A kernel does not end the tool (sim/guard).
  line.emplace_back("-Wl,--wrap=exit,--wrap=_exit,--wrap=_Exit,--wrap=quick_exit");
  // What C++ leaves open ends the run there: an overflow of a signed number, an index past the end of an array.
  line.emplace_back("-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,bounds");
  line.emplace_back("-fsanitize-undefined-trap-on-error");
  // g++ takes an array that a class ends with for one without a length, unless told.
  if (compiler.back().find("clang") == std::string::npos) line.emplace_back("-fsanitize=bounds-strict");
  if (compiler.back().find("clang") != std::string::npos) line.emplace_back("-fconstexpr-steps=100000000");
  if (const char* flags = std::getenv("CXXFLAGS"); flags != nullptr) {
    std::istringstream words(flags);
    line.insert(line.end(), std::istream_iterator<std::string>(words), {});
  }
  for (const std::string& folder : options.folders) line.push_back("-I" + folder);
  for (const std::string& macro : options.macros) line.push_back("-D" + macro);
  return line;
}

[[noreturn]] void refuse(const std::string& output, const std::string& sentence) {
  fmt::print(stderr, "{}\n", output);
  throw UsageError(sentence);
}

// Into `library`.
void compile(std::vector<std::string> line, const std::string& file, const std::string& headers,
             const std::string& library) {
  const Progress progress("compiling " + file, 1);
  const auto attempt = [&](std::string& output) {
    std::vector<std::string> words = line;
    words.insert(words.end(), {file, "-o", library});
    return system::run_program(words, output);
  };
  std::string strict;
  const Status first = attempt(strict);
  if (first) return;
  if (strict.empty()) throw UsageError(fmt::format("'{}' does not compile: {}", file, first.message()));
  const auto errors = jit::messages_of(strict);
  if (!jit::only_unused(errors)) refuse(strict, jit::first_error(strict, headers).text());
  line.emplace_back("-DWW_LINEAR_UNUSED_WARNS");
  std::string lenient;
  if (!attempt(lenient)) refuse(lenient, jit::first_error(lenient, headers).text());
  const auto receipts = jit::unused_receipts(errors, jit::messages_of(lenient));
  if (receipts.empty()) return;
  const jit::CompilerMessage& one = receipts.front();
  const jit::CompileError error = jit::first_error(one.place + ": error: " + one.text, headers);
  const bool named = error.sentence.starts_with("unused variable");
  refuse(strict, named ? fmt::format("{}; it holds a receipt: {}", error.text(), kReceiptRule) : error.text());
}

}  // namespace

void add_compile_options(CommandLine& line, CompileOptions& options) {
  line.list("-I", options.folders,
            "a folder of headers for the compiler of FILE, which also gets CXXFLAGS; may be repeated")
      .not_empty()
      .repeated()
      .type("FOLDER")
      .group("Compiler");
  line.list("-D", options.macros, "a macro for the compiler of FILE; may be repeated")
      .not_empty()
      .repeated()
      .type("NAME[=VALUE]")
      .group("Compiler");
}

void refuse_compile_options(const CompileOptions& options, const std::string& what) {
  if (options.folders.empty() && options.macros.empty()) return;
  throw UsageError(
      fmt::format("{}: it is for a source file, and {} is not one", options.folders.empty() ? "-D" : "-I", what));
}

bool is_source_file(const std::string& word) {
  for (const char* ending : {".cpp", ".cc", ".cxx", ".cu", ".cuh", ".h"}) {
    if (word.ends_with(ending)) return true;
  }
  return false;
}

void* open_user_file(const std::string& file, const CompileOptions& options, const char* entry,
                     const char* declaration) {
  if (!fs::is_regular_file(file)) throw UsageError(fmt::format("'{}' is not a file", file));
  const auto headers = jit::header_folder();
  if (!headers) throw MissingError(headers.status().message());
  const auto compiler = jit::host_compiler();
  if (!compiler) throw MissingError(compiler.status().message());
  static std::deque<TemporaryFolder> folders;  // for as long as somebody may ask for a line of the library
  const TemporaryFolder& folder = folders.emplace_back();
  const std::string library = folder.path() / "user.so";
  compile(compile_line(*compiler, *headers, options), file, *headers, library);
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) throw UsageError(fmt::format("'{}' cannot be opened: {}", file, dlerror()));
  void* const function = dlsym(opened, entry);
  if (function == nullptr) throw UsageError(fmt::format("'{}' does not define {}", file, declaration));
  return function;
}

}  // namespace warpwright::cli
