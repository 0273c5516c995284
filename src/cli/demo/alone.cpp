// A program that has `demo` alone, and no GPU: what ./warpwright builds for the first result, before it builds the
// tool.
#include "cli/demo/demo.h"

int main(int argc, char** argv) {
  using namespace warpwright::cli;
  constexpr Command kAlone[] = {
      {"demo", kDemoSummary, [](CommandLine& line, Context& context) { configure_demo(line, context, nullptr); }}};
  return run(argc, argv, kAlone);
}
