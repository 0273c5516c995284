// The tool's commands. A command is one .cpp file with a configure function; it is added by declaring that function and
// putting it into the table below.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>

#include "cli/line/command_line.h"
#include "cli/output.h"

namespace warpwright::cli {

// How every command ends; scripts rely on these numbers.
enum ExitCode : int {
  exit_ok = 0,       // it worked and the result is right
  exit_wrong = 1,    // it ran and found something wrong
  exit_usage = 2,    // bad usage or input
  exit_missing = 3,  // the machine lacks something
};

// Bad input that only the command itself can see. The text is one sentence that names the argument, its value and the
// rule; nothing has been written when it is thrown.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The machine lacks something; the sentence says what to install.
struct MissingError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Connects a parsed command line with the function to run.
class Context {
 public:
  using Action = std::function<int(Output&)>;

  // Gives `line` its --json option, an example on its help page, and the action to run when it was the command given.
  void runs(CommandLine& line, const std::string& example, Action action);

  const Action& action_of(const CommandLine& line) const { return actions_.at(&line); }
  bool json() const { return json_; }

 private:
  std::map<const CommandLine*, Action> actions_;
  bool json_ = false;
};

struct Command {
  const char* name;
  const char* summary;
  void (*configure)(CommandLine&, Context&);
};
// Parses the command line, runs one of the commands, and turns every way it can end into an exit code and at most one
// sentence.
int run(int argc, char** argv, std::span<const Command> commands);

void configure_bench(CommandLine& line, Context& context);
void configure_check(CommandLine& line, Context& context);
void configure_completion(CommandLine& line, Context& context);
void configure_demo(CommandLine& line, Context& context);
void configure_devices(CommandLine& line, Context& context);
void configure_encode(CommandLine& line, Context& context);
void configure_explain(CommandLine& line, Context& context);
void configure_gemm(CommandLine& line, Context& context);
void configure_lint(CommandLine& line, Context& context);
void configure_moe(CommandLine& line, Context& context);
void configure_mutants(CommandLine& line, Context& context);
void configure_report(CommandLine& line, Context& context);
void configure_schedule(CommandLine& line, Context& context);
void configure_test(CommandLine& line, Context& context);
void configure_trace(CommandLine& line, Context& context);
void configure_tune(CommandLine& line, Context& context);

// In the tool, and in the program that has this command alone.
inline constexpr const char* kDemoSummary = "run real kernels, check them, write a timeline";
inline constexpr Command kCommands[] = {
    {"demo", kDemoSummary, configure_demo},
    {"test", "run the test suite (from a checkout)", configure_test},
    {"lint", "formatting and static checks (from a checkout)", configure_lint},
    {"gemm", "one matrix product, compared with a float64 reference", configure_gemm},
    {"moe", "a mixture of experts, compared with a float64 reference", configure_moe},
    {"check", "the checker over sizes, landings and schedules of a kernel", configure_check},
    {"mutants", "the bug corpus: what the checker finds", configure_mutants},
    {"trace", "write the timeline of a matrix product or of a kernel of your own", configure_trace},
    {"bench", "compare with cuBLASLt, torch or DeepGEMM, pairwise, on a GPU", configure_bench},
    {"tune", "measure plans on this GPU and write the tuned table", configure_tune},
    {"schedule", "software pipelines: their entries, waits and proofs", configure_schedule},
    {"explain", "which kernel serves a problem, how it is built, and why", configure_explain},
    {"encode", "print a descriptor as hex", configure_encode},
    {"devices", "list GPUs, simulators and compilers found here", configure_devices},
    {"report", "what this machine is and what ran on it, in one file for a bug report", configure_report},
    {"completion", "print the completion of a shell: bash, zsh or fish", configure_completion},
};

// Whether CUDA was switched off in the environment; the tool then behaves as if the machine had none.
bool cuda_switched_off();

}  // namespace warpwright::cli
