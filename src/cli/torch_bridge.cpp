#include "cli/torch_bridge.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "catalog/instance.h"
#include "cli/commands.h"
#include "cli/temporary_folder.h"
#include "measure/basis_table.h"
#include "system/embedded.h"
#include "system/process.h"

namespace warpwright::cli {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == 0 ? otherwise : value;
}

// Beside the tool in a build tree and in an installation.
std::string find_library(const char* peer) {
  if (const std::string given = environment("WARPWRIGHT_LIBRARY", ""); !given.empty()) return given;
  std::error_code error;
  const fs::path tool = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"../lib/libwarpwright.so", "libwarpwright.so"}) {
    if (fs::exists(tool / place, error)) return (tool / place).lexically_normal().string();
  }
  throw MissingError(
      fmt::format("--against {} needs libwarpwright.so, which was not found beside the tool; build it (ninja "
                  "warpwright_shared) or name it in WARPWRIGHT_LIBRARY",
                  peer));
}

// The programs and what they import, as they are in the source tree.
void unpack(const TemporaryFolder& folder) {
  for (const system::EmbeddedFile& file : system::embedded_package())
    (void)folder.write(fs::path("warpwright") / file.name, file.text);
  for (const system::EmbeddedFile& file : system::embedded_scripts()) (void)folder.write(file.name, file.text);
}

// Runs peer_PEER.py on the shapes.
PythonResult run_peer(const char* peer, const std::string& shapes, const std::vector<std::string>& options) {
  const std::string python = environment("WARPWRIGHT_PYTHON", "python3");
  const std::string library = find_library(peer);
  const TemporaryFolder folder;
  unpack(folder);
  std::vector<std::string> command = {python,      (folder.path() / fmt::format("peer_{}.py", peer)).string(),
                                      "--library", library,
                                      "--shapes",  folder.write("shapes.tsv", shapes)};
  command.insert(command.end(), options.begin(), options.end());
  std::string text;
  const int code = system::run_for_output(command, text);
  if (code == 127) throw MissingError(fmt::format("--against {} needs Python, and '{}' cannot be run", peer, python));
  // The program writes {"error": sentence} when it ends with one of the tool's own codes.
  std::optional<Json> answer = Json::parse(text);
  if (!answer || !answer->is_object()) throw std::runtime_error(fmt::format("{} ended with code {}", python, code));
  if (answer->contains("error")) {
    const std::string sentence = (*answer)["error"].get<std::string>();
    if (code == exit_missing) throw MissingError(sentence);
    if (code == exit_usage) throw UsageError(sentence);
    throw std::runtime_error(sentence);
  }
  return {std::move(*answer), code};
}

// All instances of the catalogue that may serve such a product on Hopper, separated by commas.
std::string grouped_instances() {
  std::string names;
  for (const catalog::Instance& instance : catalog::ahead()) {
    if (instance.as<GroupedGemmConfig>() == nullptr && instance.as<SkinnyBlockwiseConfig>() == nullptr) continue;
    names += (names.empty() ? "" : ",") + catalog::name_of(instance);
  }
  return names;
}

}  // namespace

bool python_was_named() { return !environment("WARPWRIGHT_PYTHON", "").empty(); }

PythonResult bench_against_torch(const TorchBench& bench) {
  std::string shapes = "dtype\tm\tn\tk\n";
  for (const problem::GemmShape& s : bench.shapes)
    shapes += fmt::format("{}\t{}\t{}\t{}\n", name(s.dtype), s.m, s.n, s.k);
  std::vector<std::string> options = {
      "--mode", bench.mode, "--rounds", std::to_string(bench.rounds), "--burst", fmt::format("{}", bench.burst_s)};
  if (!bench.plan.empty()) options.insert(options.end(), {"--plan", bench.plan});
  return run_peer("torch", shapes, options);
}

PythonResult bench_against_deepgemm(const DeepGemmBench& bench) {
  std::string shapes = "op\tdtype\tgroups\tm\tn\tk\tcounts\n";
  for (const measure::GroupedCase& s : bench.shapes) shapes += measure::basis_problem(s) + '\n';
  std::vector<std::string> options = {"--rounds", std::to_string(bench.rounds), "--burst",
                                      fmt::format("{}", bench.burst_s)};
  if (!bench.plan.empty()) options.insert(options.end(), {"--plan", bench.plan});
  if (bench.budget_s > 0) options.insert(options.end(), {"--limit", fmt::format("{}", bench.budget_s)});
  if (bench.plan == "every") options.insert(options.end(), {"--instances", grouped_instances()});
  return run_peer("deepgemm", shapes, options);
}

}  // namespace warpwright::cli
