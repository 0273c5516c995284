#include "cli/schedule_isa.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "cli/commands.h"

namespace warpwright::cli {
namespace {

std::optional<CdnaVariant> variant_of(const std::string& schedule) {
  if (schedule == "ping-pong") return CdnaVariant::ping_pong;
  if (schedule == "4-wave") return CdnaVariant::four_wave;
  if (schedule == "blocks") return CdnaVariant::blocks;
  if (schedule == "default") return CdnaVariant::standard;
  return std::nullopt;
}

Json execution_document(const amd::MatmulProof::Execution& e) {
  Json findings = Json::array();
  for (const amd::Finding& f : e.result.run.findings) {
    findings.push_back({{"rule", amd::word(f.rule)},
                        {"address", f.address},
                        {"workgroup", f.group},
                        {"wave", f.wave},
                        {"times", f.times},
                        {"text", f.text}});
  }
  return {{"landing", amd::word(e.completion)},
          {"m", e.problem.m},
          {"n", e.problem.n},
          {"k", e.problem.k},
          {"instructions", e.result.run.instructions},
          {"opcodes", e.result.run.opcodes},
          {"seconds", e.result.seconds},
          {"wrong", e.result.wrong},
          {"first_wrong", e.result.first_wrong},
          {"error", e.result.run.error},
          {"findings", findings}};
}

}  // namespace

std::vector<amd::MatmulProof> prove_code_object(const std::string& path, const std::string& schedule,
                                                const std::string& target) {
  const std::optional<CdnaVariant> variant = variant_of(schedule);
  if (!variant) throw UsageError(fmt::format("--isa: no kernel is made from the schedule '{}'", schedule));
  if (target.rfind("gfx", 0) != 0) throw UsageError(fmt::format("--isa: {} has no AMD code objects", target));
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    throw UsageError(fmt::format("--isa: '{}' is not a file", path));
  if (amd::find_disassembler().empty()) {
    throw MissingError("--isa needs llvm-objdump of version 20 or later: install the package llvm-22");
  }
  const Result<amd::CodeObject> loaded = amd::load_code_object(path);
  if (!loaded) throw UsageError("--isa: " + loaded.status().message());
  const amd::CodeObject& object = *loaded;
  if (object.chip_name != target) {
    throw UsageError(fmt::format("--isa: '{}' is for {}, not for {}", path, object.chip_name, target));
  }
  std::vector<amd::MatmulProof> proofs;
  for (const amd::CodeObjectKernel& kernel : object.kernels) {
    const std::optional<CdnaMatmulConfig> config = amd::matmul_config(object.chip, kernel.name);
    if (!config || config->variant != *variant) continue;
    proofs.push_back(amd::prove_matmul(object, kernel, *config));
  }
  if (proofs.empty()) {
    throw UsageError(fmt::format("--isa: '{}' has no kernel made from '{}'; it has '{}'", path, schedule,
                                 object.kernels.front().name));
  }
  return proofs;
}

Json isa_document(const std::vector<amd::MatmulProof>& proofs) {
  Json list = Json::array();
  for (const amd::MatmulProof& p : proofs) {
    Json executions = Json::array();
    for (const amd::MatmulProof::Execution& e : p.executions) executions.push_back(execution_document(e));
    Json mismatches = p.order.mismatches;
    for (const std::string& m : p.run_mismatches) mismatches.push_back(m);
    list.push_back({{"kernel", p.kernel},
                    {"chip", p.chip},
                    {"proven", p.proven()},
                    {"registers", {{"vgpr", p.vgprs}, {"agpr", p.agprs}, {"sgpr", p.sgprs}, {"spills", p.spills}}},
                    {"lds_bytes", p.lds_bytes},
                    {"order",
                     {{"verified", p.in_order()},
                      {"events", p.order.events},
                      {"origins", p.order.dataflow},
                      {"waves", p.waves},
                      {"mismatches", mismatches},
                      {"notes", p.order.notes}}},
                    {"executions", executions}});
  }
  return list;
}

void print_isa(const std::vector<amd::MatmulProof>& proofs, Output& out) {
  for (const amd::MatmulProof& p : proofs) {
    out.line("");
    out.line(fmt::format("{} for {}: {} VGPRs, {} AGPRs, {} spills, {} of LDS", p.kernel, p.chip, p.vgprs, p.agprs,
                         p.spills, bytes_text(uint64_t(p.lds_bytes))));
    for (const std::string& m : p.order.mismatches) out.line(out.paint(Mark::bad, m));
    for (const std::string& m : p.run_mismatches) out.line(out.paint(Mark::bad, m));
    out.line(p.in_order() ? fmt::format("order verified: {} events of the loop, {} origins of values; {} waves from "
                                        "prologue to epilogue",
                                        p.order.events, p.order.dataflow, p.waves)
                          : "order differs from the schedule");
    Table table({"landing", "problem", "wave instructions", "findings", "result"});
    for (const amd::MatmulProof::Execution& e : p.executions) {
      const amd::MatmulRun& r = e.result;
      table.row({amd::word(e.completion), fmt::format("{}x{}x{}", e.problem.m, e.problem.n, e.problem.k),
                 fmt::format("{}", r.run.instructions), fmt::format("{}", r.run.findings.size()),
                 !r.run.error.empty() ? "stopped"
                 : r.wrong == 0       ? "exact"
                                      : fmt::format("{} wrong", r.wrong)});
    }
    out.table(table);
    for (const amd::MatmulProof::Execution& e : p.executions) {
      if (!e.result.run.error.empty()) out.line(out.paint(Mark::bad, e.result.run.error));
      if (e.result.wrong > 0) out.line(out.paint(Mark::bad, e.result.first_wrong));
      for (const amd::Finding& f : e.result.run.findings) {
        out.line(out.paint(Mark::bad, fmt::format("{}: {}", amd::word(f.rule), f.text)));
      }
      if (!e.result.passed()) break;
    }
    out.line("executed by the ISA interpreter, not on hardware");
  }
}

bool all_proven(const std::vector<amd::MatmulProof>& proofs) {
  return std::all_of(proofs.begin(), proofs.end(), [](const amd::MatmulProof& p) { return p.proven(); });
}

}  // namespace warpwright::cli
