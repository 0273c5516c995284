// `report`: what this machine is, what ran on it and what failed, in one file for a bug report.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "choice/choose.h"
#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/here.h"
#include "gpu/driver.h"
#include "gpu/embedded.h"
#include "hip/driver.h"
#include "measure/grouped_check.h"
#include "reference/problem_workload.h"
#include "simulate/gpu_run.h"
#include "simulate/product.h"
#include "system/whole_file.h"

extern char** environ;

namespace warpwright::cli {
namespace {

struct ReportOptions {
  std::string file = "warpwright-report.json";
};

// What is tried, and how it ended.
struct Tried {
  std::string what;
  std::string instance;  // empty: it came to no choice
  bool ok = false;
  std::string sentence;  // why not
  double relative_error = 0;
  double measured_us = 0;
};

Tried ended(std::string what, const Status& status) {
  Tried t;
  t.what = std::move(what);
  t.sentence = status.message();
  return t;
}

template <class Product>
Tried launched(std::string what, const Product& product, const reference::Workload& workload) {
  simulate::GpuOutcome outcome;
  const simulate::Example example = simulate::gpu_example_of(product);
  const Status status = simulate::run_on_gpu(example, workload, outcome);
  Tried t = ended(std::move(what), status);
  t.instance = example.instance;
  if (!status) return t;
  const reference::Verdict& v = outcome.verdict;
  t.ok = v.ok;
  t.relative_error = v.max_rel_error;
  t.measured_us = outcome.measured_us;
  if (!v.ok) {
    t.sentence = fmt::format("{} of {} elements are wrong, {} of them were never written; {} bytes outside it changed.",
                             v.wrong, workload.expected.size(), v.unwritten, outcome.stray_bytes);
  }
  return t;
}

Tried try_dense(std::string what, const GemmProblem& problem, const gpu::Device& device, Arch arch) {
  const auto limits = choice::limits_of(device.major, device.minor, device.shared_bytes);
  const auto product = simulate::dense_product(problem, {device.name, device.multiprocessors, arch}, 0, limits);
  if (!product) return ended(std::move(what), product.status());
  return launched(std::move(what), *product, reference::workload_of(product->problem, 0, reference::Data::normal, 1));
}

Tried try_grouped(std::string what, const GroupedProblem& problem, const gpu::Device& device) {
  const auto sample = measure::sample_product(problem, 1);
  const auto product = simulate::grouped_run(problem, sample, {device.name, device.multiprocessors, device.arch});
  if (!product) return ended(std::move(what), product.status());
  return launched(std::move(what), *product,
                  simulate::workload_of(problem, sample, device.arch, reference::Data::normal, 1));
}

// A product of every kind that the device may have; a sentence tells which it does not have.
std::vector<Tried> try_products(const gpu::Device& device) {
  std::vector<Tried> list;
  const auto dense = [&](std::string what, GemmProblem problem, DType type, Arch arch) {
    problem.a.type = problem.b.type = type;
    problem.d.type = type == DType::s8 ? DType::fp32 : type == DType::fp16 ? DType::fp16 : DType::bf16;
    list.push_back(try_dense(std::move(what), problem, device, arch));
  };
  const GemmProblem square{.m = 512, .n = 512, .k = 512}, odd{.m = 300, .n = 520, .k = 200},
      few{.m = 16, .n = 512, .k = 512};
  for (const DType type : {DType::bf16, DType::fp16, DType::e4m3}) {
    dense(fmt::format("gemm {} 512x512x512", name(type)), square, type, device.arch);
  }
  dense("gemm bf16 300x520x200", odd, DType::bf16, device.arch);
  dense("gemm bf16 16x512x512", few, DType::bf16, device.arch);
  GemmProblem three = square, across = square;
  three.batch = 3;
  across.a.major = across.b.major = Major::MN;
  dense("gemm bf16 512x512x512, batch 3", three, DType::bf16, device.arch);
  dense("gemm bf16 tn 512x512x512", across, DType::bf16, device.arch);
  if (is_cdna(device.arch)) {
    GemmProblem fused{.m = 301, .n = 517, .k = 203};
    fused.epilogue.bias = Bias::per_column;
    fused.epilogue.activation = Activation::silu;
    dense("gemm bf16 301x517x203, bias, silu", fused, DType::bf16, device.arch);
    dense("gemm bf16 128x128x8192", {.m = 128, .n = 128, .k = 8192}, DType::bf16, device.arch);
    return list;
  }
  for (const DType type : {DType::bf16, DType::fp16, DType::s8, DType::e4m3}) {
    dense(fmt::format("mma.sync {} 512x512x512", name(type)), square, type, Arch::sm80);
  }
  dense("mma.sync bf16 16x512x512", few, DType::bf16, Arch::sm80);
  dense("mma.sync bf16 tn 512x512x512", across, DType::bf16, Arch::sm80);
  if (device.arch == Arch::sm100) {
    for (const BlockScaling scaling : {BlockScaling::mxfp8, BlockScaling::mxfp4, BlockScaling::nvfp4}) {
      GemmProblem p = square;
      p.block_scaling = scaling;
      dense(fmt::format("gemm {} 512x512x512", name(scaling)), p,
            scaling == BlockScaling::mxfp8 ? DType::e4m3 : DType::e2m1, device.arch);
    }
  }
  if (device.arch != Arch::sm80) {
    GroupedProblem p{.m = 512, .n = 512, .k = 512};
    list.push_back(try_grouped("blockwise e4m3 512x512x512", p, device));
    p.groups = Groups::contiguous;
    p.group_count = 4;
    list.push_back(try_grouped("grouped_contiguous e4m3 4 groups 512x512x512", p, device));
  }
  return list;
}

Json environment() {
  Json list = Json::object();
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view line = *at;
    const size_t end = line.find('=');
    if (!line.starts_with("WARPWRIGHT_") || end == std::string_view::npos) continue;
    list[std::string(line.substr(0, end))] = std::string(line.substr(end + 1));
  }
  return list;
}

int run_report(const ReportOptions& options, Output& out) {
  const system::WholeFile file(options.file);
  if (const Status s = file.check_writable(); !s) throw UsageError("--out: " + s.message());
  Json document = find_devices().document;
  document["version"] = WARPWRIGHT_VERSION;
  document["environment"] = environment();
  document["images"] = gpu::embedded_images().size();
  int version = 0;
  if (!cuda_switched_off() && gpu::driver_status()) (void)gpu::driver().driver_version(&version);
  document["driver_cuda"] = version == 0 ? Json() : Json(fmt::format("{}.{}", version / 1000, version % 1000 / 10));
  int hip_runtime = 0, hip_driver = 0;  // 10000000 * major + 100000 * minor + patch
  if (hip::driver_status()) {
    (void)hip::driver().runtime_version(&hip_runtime);
    (void)hip::driver().driver_version(&hip_driver);
  }
  document["hip_runtime"] = hip_runtime == 0 ? Json() : Json(hip_runtime);
  document["hip_driver"] = hip_driver == 0 ? Json() : Json(hip_driver);
  Json products = Json::array();
  int right = 0, failed = 0;
  if (const auto device = gpu_here()) {
    // The library compares the first product of every plan as well: on the device or, for AMD, on the host.
    setenv("WARPWRIGHT_VERIFY", "1", 1);
    for (const Tried& t : try_products(*device)) {
      (t.ok ? right : failed) += 1;
      products.push_back({{"what", t.what},
                          {"instance", t.instance},
                          {"ok", t.ok},
                          {"sentence", t.sentence},
                          {"max_rel_error", t.relative_error},
                          {"measured_us", t.measured_us}});
    }
    document["note"] = note_here();
  }
  document["products"] = products;
  if (const Status s = file.write(document.dump(2) + "\n"); !s) throw UsageError("--out: " + s.message());
  out.document({{"file", file.path()}, {"right", right}, {"failed", failed}});
  Table table;
  table.row({"file", file.path()});
  table.row({"products", fmt::format("{} right, {} refused or wrong", right, failed)});
  out.table(table);
  return exit_ok;
}

}  // namespace

void configure_report(CommandLine& line, Context& context) {
  auto options = std::make_shared<ReportOptions>();
  line.text("--out", options->file, "the file (default warpwright-report.json)");
  context.runs(line, "./warpwright report", [options](Output& out) { return run_report(*options, out); });
}

}  // namespace warpwright::cli
