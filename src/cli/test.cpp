// `test` belongs to the script at the root of a checkout, which builds the suite and runs it; the tool only documents
// it.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"

namespace warpwright::cli {
namespace {

struct TestOptions {
  bool gpu = false;
  std::vector<std::string> names;
};

}  // namespace

void configure_test(CLI::App& app, Context& context) {
  auto options = std::make_shared<TestOptions>();
  app.add_flag("--gpu", options->gpu, "also run the tests that need a GPU");
  app.add_option("NAME", options->names, "run only tests whose name matches one of these expressions");
  context.runs(app, "./warpwright test core sim", [options](Output&) -> int {
    throw MissingError("the tests are part of a checkout of the project; run ./warpwright test there");
  });
}

}  // namespace warpwright::cli
