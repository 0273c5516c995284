#include "cli/check/machine_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "amd/matmul.h"
#include "amd/program.h"
#include "cli/temporary_folder.h"
#include "jit/cache.h"
#include "jit/compiler_words.h"
#include "jit/host_compiler.h"
#include "jit/sha256.h"
#include "system/process.h"

namespace warpwright::cli {
namespace {

// gfx950/matmul-pingpong/bf16 is the kernel matmul_pingpong_bf16 for gfx950.
struct DeviceName {
  std::string chip, kernel;
};
DeviceName device_name(const catalog::Instance& instance) {
  const std::string name = catalog::image_name(instance);
  const size_t slash = name.find('/');
  DeviceName n{name.substr(0, slash), name.substr(slash + 1)};
  std::replace_if(
      n.kernel.begin(), n.kernel.end(), [](char c) { return c == '/' || c == '-'; }, '_');
  return n;
}

constexpr const char *kClang = "clang++-22", *kLinker = "ld.lld-22";

std::string missing_program() {
  for (const char* program : {kClang, kLinker}) {
    if (!system::program_exists(program)) return fmt::format("{} is not installed", program);
  }
  return amd::find_disassembler().empty() ? "llvm-objdump of version 20 or later is not installed" : "";
}

// The linked code object, from the cache or made now.
Result<jit::Bytes> code_object(const catalog::Instance& instance, const DeviceName& name) {
  const auto headers = jit::header_folder();
  if (!headers) return headers.status();
  const std::string source = catalog::source_of(instance);
  std::istringstream flags(WARPWRIGHT_CDNA_FLAGS);
  std::vector<std::string> command = {kClang};
  command.insert(command.end(), std::istream_iterator<std::string>(flags), {});
  command.insert(command.end(), {"--offload-arch=" + name.chip, "-DWW_INSTANCE_NAME=" + name.kernel});
  jit::Sha256 hash;
  hash.text(source).text(jit::hex(jit::headers_digest(*headers)));
  for (const std::string& word : command) hash.text(word);
  const jit::Cache cache(jit::cache_folder());
  const jit::Digest key = hash.digest();
  if (auto found = cache.load(key)) return std::move(*found);
  const TemporaryFolder folder;
  const std::string to = (folder.path() / "instance.co").string();
  command.insert(command.end(), {"-I", *headers, folder.write("instance.hip", source), "-o", to});
  std::string output;
  if (const Status s = system::run_program(command, output); !s) {
    return Status(Code::failed, fmt::format("{} does not compile it: {}", kClang,
                                            output.empty() ? s.message() : jit::first_error(output, *headers).text()));
  }
  std::ifstream in(to, std::ios::binary);
  jit::Bytes bytes(std::istreambuf_iterator<char>(in), {});
  (void)cache.store(key, bytes);  // without a folder that can be written the next process compiles again
  return bytes;
}

std::string wrong_execution(const amd::MatmulProof::Execution& e) {
  const amd::MatmulRun& r = e.result;
  const std::string what = !r.run.error.empty()      ? r.run.error
                           : !r.run.findings.empty() ? fmt::format("{}: {}", amd::word(r.run.findings.front().rule),
                                                                   r.run.findings.front().text)
                                                     : r.first_wrong;
  return fmt::format("{} on {}x{}x{}, landing {}", what, e.problem.m, e.problem.n, e.problem.k,
                     amd::word(e.completion));
}

std::string report_of(const amd::MatmulProof& p) {
  std::vector<std::string> order = p.order.mismatches;
  order.insert(order.end(), p.run_mismatches.begin(), p.run_mismatches.end());
  std::string text;
  if (!order.empty()) {
    text = fmt::format("machine.order: the machine code of {} for {} is not in the order of its schedule: {}", p.kernel,
                       p.chip, order.front());
    for (size_t i = 1; i < std::min<size_t>(order.size(), 8); ++i) text += "\n  " + order[i];
    return text;
  }
  for (const amd::MatmulProof::Execution& e : p.executions) {
    if (e.result.passed()) continue;
    return fmt::format("machine.run: the machine code of {} for {}: {}", p.kernel, p.chip, wrong_execution(e));
  }
  if (p.proven()) return {};
  return p.spills > 0
             ? fmt::format("machine.spills: {} for {} keeps {} registers in memory", p.kernel, p.chip, p.spills)
             : fmt::format("machine.order: no wave of {} for {} was compared with its schedule", p.kernel, p.chip);
}

}  // namespace

MachineCode check_machine_code(const catalog::Instance& instance) {
  const auto* const config = instance.as<CdnaMatmulConfig>();
  if (config == nullptr) return {};
  if (std::string missing = missing_program(); !missing.empty()) return {{}, std::move(missing)};
  const DeviceName name = device_name(instance);
  const auto bytes = code_object(instance, name);
  if (!bytes) return {"machine.compile: " + bytes.status().message(), {}};
  const TemporaryFolder folder;
  const std::string file = folder.write("instance.co", {reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  const auto object = amd::load_code_object(file);
  if (!object) return {"machine.compile: " + object.status().message(), {}};
  const amd::CodeObjectKernel* const kernel = object->find(name.kernel);
  if (kernel == nullptr) return {fmt::format("machine.compile: the code object has no kernel {}", name.kernel), {}};
  return {report_of(amd::prove_matmul(*object, *kernel, *config)), {}};
}

}  // namespace warpwright::cli
