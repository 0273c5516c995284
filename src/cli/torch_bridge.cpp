#include "cli/torch_bridge.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/temporary_folder.h"
#include "runtime/embedded.h"
#include "system/process.h"

namespace warpwright::cli {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == 0 ? otherwise : value;
}

// Beside the tool in a build tree and in an installation.
std::string find_library() {
  if (const std::string given = environment("WARPWRIGHT_LIBRARY", ""); !given.empty()) return given;
  std::error_code error;
  const fs::path tool = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"../lib/libwarpwright.so", "libwarpwright.so"}) {
    if (fs::exists(tool / place, error)) return (tool / place).lexically_normal().string();
  }
  throw MissingError(
      "--against torch needs libwarpwright.so, which was not found beside the tool; build it (ninja warpwright_shared) "
      "or name it in WARPWRIGHT_LIBRARY");
}

// The program and what it imports, as they lie in the source tree; returns the program's path.
std::string unpack(const TemporaryFolder& folder) {
  for (const runtime::EmbeddedFile& file : runtime::embedded_package())
    (void)folder.write(fs::path("warpwright") / file.name, file.text);
  for (const runtime::EmbeddedFile& file : runtime::embedded_scripts()) (void)folder.write(file.name, file.text);
  return (folder.path() / "peer_torch.py").string();
}

void print(const Json& document, Output& out) {
  Table table({"dtype", "m", "n", "k", "mode", "us", "peer us", "ratio", "lo", "hi", "TFLOP/s", "plan"});
  const auto number = [](const Json& value, const char* format) {
    return fmt::format(fmt::runtime(format), value.get<double>());
  };
  for (const Json& row : document["rows"]) {
    table.row({row["dtype"].get<std::string>(), row["m"].dump(), row["n"].dump(), row["k"].dump(),
               row["mode"].get<std::string>(), number(row["us"], "{:.2f}"), number(row["peer_us"], "{:.2f}"),
               number(row["ratio"], "{:.3f}"), number(row["ratio_lo"], "{:.3f}"), number(row["ratio_hi"], "{:.3f}"),
               number(row["tflops"], "{:.0f}"), row["plan"].get<std::string>()});
  }
  out.document(document);
  out.table(table);
  out.line(fmt::format("{} against {}: geometric mean {:.3f}, least {:.3f} (above 1 we are faster)",
                       document["device"].get<std::string>(), document["protocol"]["against"].get<std::string>(),
                       document["geomean"].get<double>(), document["min"].get<double>()));
}

}  // namespace

int bench_against_torch(const TorchBench& bench, Output& out) {
  const std::string python = environment("WARPWRIGHT_PYTHON", "python3");
  const std::string library = find_library();
  std::string shapes = "dtype\tm\tn\tk\n";
  for (const runtime::GemmShape& s : bench.shapes)
    shapes += fmt::format("{}\t{}\t{}\t{}\n", name(s.dtype), s.m, s.n, s.k);
  const TemporaryFolder folder;
  std::vector<std::string> command = {python,      unpack(folder),
                                      "--library", library,
                                      "--shapes",  folder.write("shapes.tsv", shapes),
                                      "--mode",    bench.mode,
                                      "--rounds",  std::to_string(bench.rounds),
                                      "--burst",   fmt::format("{}", bench.burst_s)};
  if (!bench.plan.empty()) {
    command.push_back("--plan");
    command.push_back(bench.plan);
  }
  std::string text;
  const int code = system::run_for_output(command, text);
  if (code == 127) throw MissingError(fmt::format("--against torch needs Python, and '{}' cannot be run", python));
  // The program writes {"error": sentence} when it ends with one of the tool's own codes.
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) throw std::runtime_error(fmt::format("{} ended with code {}", python, code));
  if (document.contains("error")) {
    const std::string sentence = document["error"].get<std::string>();
    if (code == exit_missing) throw MissingError(sentence);
    if (code == exit_usage) throw UsageError(sentence);
    throw std::runtime_error(sentence);
  }
  print(document, out);
  return code;
}

}  // namespace warpwright::cli
