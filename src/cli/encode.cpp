// `encode`: the descriptors that kernels hand to the tensor core, as hex.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "warpwright/core/descriptor.h"
#include "warpwright/core/instr_descriptor.h"

namespace warpwright::cli {
namespace {

// The largest M and N of one MMA, in a pair of CTAs.
constexpr int largest_mma = 256;

struct IdescOptions {
  std::string a, b, c;
  int m = 0;
  int n = 0;
  std::string a_major, b_major;
  std::string scale;
};

struct SmemOptions {
  std::string arch, type, swizzle, major;
  int rows = 128;
  int k = 0;  // 0: the depth of one MMA
};

Check operand_type() { return one_of({"bf16", "fp16", "tf32", "fp32", "e4m3", "fp8", "e5m2", "e2m1", "s8"}); }

DType type_of(const std::string& word) {
  DType type = DType::bf16;
  if (!parse_dtype(word.c_str(), type)) throw UsageError(fmt::format("'{}' is not a type", word));
  return type;
}

Accumulator accumulator(const std::string& word) {
  return word == "s32" ? Accumulator::s32 : accumulator_of(type_of(word));
}

Major major_of(const std::string& word) { return word == "K" ? Major::K : Major::MN; }

int print_value(Output& out, const std::string& value) {
  out.document({{"value", value}});
  out.line(value);
  return exit_ok;
}

int run_idesc(const IdescOptions& options, Output& out) {
  InstrDesc desc;
  desc.a = type_of(options.a);
  desc.b = type_of(options.b);
  desc.d = accumulator(options.c);
  desc.m = options.m;
  desc.n = options.n;
  desc.a_major = major_of(options.a_major);
  desc.b_major = major_of(options.b_major);
  if (options.scale.empty()) {
    desc.kind = mma_kind(desc.a, desc.b);
  } else {
    desc.scale = type_of(options.scale);
    desc.kind = scaled_mma_kind(desc.a, desc.b, desc.scale);
  }
  if (const char* rule = idesc_error(desc)) {
    throw UsageError(fmt::format("--a {} --b {} --c {} --m {} --n {} --a-major {} --b-major {}{}{} is not an MMA: {}",
                                 options.a, options.b, options.c, options.m, options.n, options.a_major,
                                 options.b_major, options.scale.empty() ? "" : " --scale ", options.scale, rule));
  }
  return print_value(out, fmt::format("0x{:08x}", encode_idesc(desc)));
}

Swizzle swizzle_of(const SmemOptions& options, Arch arch, DType type, Major major) {
  if (options.swizzle == "0") return Swizzle::none;
  if (options.swizzle == "32") return Swizzle::b32;
  if (options.swizzle == "64") return Swizzle::b64;
  // The only 128-byte swizzle that sm_100 has for 32-bit elements along M or N moves 32 bytes at a time.
  const bool wide = arch == Arch::sm100 && major == Major::MN && bits(type) == 32;
  return wide ? Swizzle::b128_atom32 : Swizzle::b128;
}

int run_smem(const SmemOptions& options, Output& out) {
  const Arch arch = options.arch == "sm90" ? Arch::sm90 : Arch::sm100;
  const DType type = type_of(options.type);
  const Major major = major_of(options.major);
  const Swizzle swizzle = swizzle_of(options, arch, type, major);
  const int k = options.k == 0 ? mma_k(type) : options.k;
  if (const char* rule = operand_error(arch, type, major, swizzle)) {
    throw UsageError(fmt::format("--arch {} --type {} --swizzle {} --major {} is not an operand: {}", options.arch,
                                 options.type, options.swizzle, options.major, rule));
  }
  if (options.rows % 8 != 0) throw UsageError(fmt::format("--rows: '{}' is not a multiple of 8", options.rows));
  if (k % mma_k(type) != 0) {
    throw UsageError(
        fmt::format("--k: '{}' is not a multiple of {}, the depth of one MMA of {}", k, mma_k(type), options.type));
  }
  const MatrixDesc desc =
      major == Major::K ? k_major_desc(type, swizzle, options.rows) : mn_major_desc(type, swizzle, options.rows, k);
  return print_value(out, fmt::format("0x{:016x}", encode(arch, desc)));
}

void configure_idesc(CommandLine& line, Context& context) {
  auto options = std::make_shared<IdescOptions>();
  line.text("--a", options->a, "type of A").check(operand_type()).required();
  line.text("--b", options->b, "type of B").check(operand_type()).required();
  line.text("--c", options->c, "type of the accumulator").one_of({"f32", "f16", "s32", "fp32", "fp16"}).required();
  line.number("--m", options->m, "rows of the whole MMA", 1, largest_mma).required();
  line.number("--n", options->n, "columns of the MMA", 1, largest_mma).required();
  line.text("--a-major", options->a_major, "contiguous dimension of A").one_of({"K", "M"}).required();
  line.text("--b-major", options->b_major, "contiguous dimension of B (M: along N)").one_of({"K", "M", "N"}).required();
  line.text("--scale", options->scale, "type of the block scales").one_of({"ue8m0", "ue4m3"});
  context.runs(line, "./warpwright encode idesc --a bf16 --b bf16 --c f32 --m 128 --n 256 --a-major K --b-major K",
               [options](Output& out) { return run_idesc(*options, out); });
}

void configure_smem(CommandLine& line, Context& context) {
  auto options = std::make_shared<SmemOptions>();
  line.text("--arch", options->arch, "architecture").one_of({"sm90", "sm100"}).required();
  line.text("--type", options->type, "type of the operand").check(operand_type()).required();
  line.text("--swizzle", options->swizzle, "bytes of the swizzle").one_of({"0", "32", "64", "128"}).required();
  line.text("--major", options->major, "contiguous dimension").one_of({"K", "M"}).required();
  line.number("--rows", options->rows, "rows (M or N) of the tile (default 128)", 8, largest_mma);
  line.number("--k", options->k, "depth of the slice (default: one MMA)", 1, largest_mma);
  context.runs(line, "./warpwright encode smem --arch sm90 --type bf16 --swizzle 128 --major K",
               [options](Output& out) { return run_smem(*options, out); });
}

}  // namespace

void configure_encode(CommandLine& line, Context& context) {
  line.footer("Example:\n  ./warpwright encode smem --arch sm90 --type bf16 --swizzle 128 --major K");
  configure_idesc(line.command("idesc", "instruction descriptor of tcgen05.mma"), context);
  configure_smem(line.command("smem", "shared-memory matrix descriptor of wgmma or tcgen05"), context);
}

}  // namespace warpwright::cli
