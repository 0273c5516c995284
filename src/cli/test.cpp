// `test` and `lint` belong to the script at the root of a checkout; the tool only documents them.
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace warpwright::cli {
namespace {

struct TestOptions {
  bool gpu = false, full = false, tool = false;
  std::vector<std::string> names;
};

struct LintOptions {
  bool all = false, fix = false, quick = false;
  int seconds = 0;
  std::string base;
  std::vector<std::string> files;
};

}  // namespace

void configure_test(CommandLine& line, Context& context) {
  auto options = std::make_shared<TestOptions>();
  line.flag("--gpu", options->gpu, "also run the tests that need a GPU");
  line.flag("--full", options->full, "also run the tests that take long");
  line.flag("--tool", options->tool, "build the tool only and run its tests");
  line.list("NAME", options->names, "run only tests whose name matches one of these expressions");
  context.runs(line, "./warpwright test core sim", [options](Output&) -> int {
    throw MissingError("the tests are part of a checkout of the project; run ./warpwright test there");
  });
}

void configure_lint(CommandLine& line, Context& context) {
  auto options = std::make_shared<LintOptions>();
  line.flag("--all", options->all, "look at every file, not only at those that have changed since origin/main");
  line.text("--base", options->base, "look at what has changed since this commit");
  line.flag("--fix", options->fix, "format, put includes in, and mend what ruff can mend");
  line.flag("--quick", options->quick, "without clang-tidy");
  line.number("--seconds", options->seconds, "give clang-tidy no more files after this many seconds", 0, 100'000);
  line.list("FILE", options->files, "look at these files and folders");
  context.runs(line, "./warpwright lint --fix", [options](Output&) -> int {
    throw MissingError("lint is part of a checkout of the project; run ./warpwright lint there");
  });
}

}  // namespace warpwright::cli
