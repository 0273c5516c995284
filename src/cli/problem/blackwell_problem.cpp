#include "cli/problem/blackwell_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "cli/simulation.h"
#include "sim/timing.h"
#include "simulate/choose_sm100.h"
#include "simulate/examples.h"
#include "simulate/product.h"

namespace warpwright::cli {
namespace {

using Kernel = simulate::ScaledKernel;

const std::vector<std::string>& scaling_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all;
    for (const BlockScaling s : kBlockScalings)
      if (s != BlockScaling::none) all.emplace_back(name(s));
    all.emplace_back("blockwise");
    return all;
  }();
  return words;
}
bool known(const std::string& word) {
  return std::find(scaling_words().begin(), scaling_words().end(), word) != scaling_words().end();
}
bool for_blackwell(const ProblemOptions& o) { return o.target == "sm100" || o.target == "sim:sm100"; }

// Rows of the groups: contiguous ones of uneven lengths, masked ones that are partly full.
reference::GroupedSpec table_of(const ProblemOptions& o, const Kernel& kernel) {
  reference::GroupedSpec s;
  s.matrix_count = int(o.groups);
  s.n = int(o.n);
  s.k = int(o.k);
  s.scaling = kernel.format;
  s.type = kernel.type;
  s.out_type = kernel.out;
  s.out_scaling = kernel.out_format;
  s.clamped_swiglu = kernel.clamped;
  std::mt19937_64 random(o.seed);
  const auto up_to = [&](std::int64_t most) { return int(random() % std::uint64_t(most + 1)); };
  if (o.op == "grouped_masked") {
    s.slot_rows = int(o.m / o.groups);
    for (std::int64_t g = 0; g < o.groups; ++g) s.tokens.push_back(up_to(s.slot_rows));
    return s;
  }
  std::vector<int> ends;
  for (std::int64_t g = 1; g < o.groups; ++g) ends.push_back(up_to(o.m));
  std::sort(ends.begin(), ends.end());
  ends.push_back(int(o.m));
  for (std::size_t g = 0; g < ends.size(); ++g) s.tokens.push_back(ends[g] - (g == 0 ? 0 : ends[g - 1]));
  return s;
}

void refuse_unserved(const ProblemOptions& o, const std::string& scaling) {
  const auto refuse_unless = [&](bool usual, const char* option) {
    if (!usual) throw UsageError(fmt::format("{}: {} products on sm100 do not have it", option, scaling));
  };
  refuse_unless(o.layout == "nt", "--layout");
  refuse_unless(o.alpha == 1 && o.beta == 0, "--alpha, --beta");
  refuse_unless(o.batch == 1, "--batch");
  if (o.op == "grouped_k") throw UsageError("op = grouped_k: it has no kernel for sm100");
  const bool grouped = o.op.starts_with("grouped");
  if (!grouped && o.groups != 1)
    throw UsageError(fmt::format("groups = {}: op = {} has exactly 1 group", o.groups, o.op));
  if (grouped && o.groups < 1) throw UsageError(fmt::format("groups = {}: it must be at least 1", o.groups));
  if (o.op == "grouped_masked" && o.m % o.groups != 0) {
    throw UsageError(
        fmt::format("m = {}: masked groups have equal room, m must be a multiple of groups = {}", o.m, o.groups));
  }
  if (o.op == "blockwise" && scaling != "blockwise")
    throw UsageError(fmt::format("--scaling {}: op = blockwise has blockwise scales", scaling));
}

// Of the list, or made now and kept: a plan may name an instance that no list has.
const simulate::Example* example_of(const catalog::Instance& instance) {
  if (const simulate::Example* e = simulate::find_example(catalog::name_of(instance))) return e;
  static std::deque<simulate::Example> made;
  const auto fresh = simulate::example_of(instance);
  if (!fresh) fail(fresh.status());
  return &made.emplace_back(*fresh);
}

}  // namespace

bool wants_block_scaling(const ProblemOptions& o) {
  if (for_blackwell(o)) return o.op != "dense" || !o.scaling.empty();
  return o.target == "auto" && o.scaling != "blockwise" && known(o.scaling);
}

BlackwellProblem blackwell_problem_of(const ProblemOptions& o) {
  const std::string scaling = o.scaling.empty() ? "blockwise" : o.scaling;
  if (!known(scaling))
    throw UsageError(fmt::format("--scaling {}: for sm100 it is one of {}", scaling, listed(scaling_words())));
  refuse_unserved(o, scaling);
  BlackwellProblem p;
  p.scaling = scaling;
  p.grouped = o.op.starts_with("grouped");
  const bool swiglu = o.epilogue == "swiglu";
  if (!o.epilogue.empty() && !swiglu) throw UsageError(fmt::format("--epilogue {}: only swiglu is served", o.epilogue));
  const std::int64_t rows = p.grouped ? o.m / o.groups : o.m;
  const auto chosen = simulate::choose_sm100({scaling, p.grouped, swiglu, rows, o.plan});
  if (!chosen && chosen.status().code() == Code::unsupported && o.plan.empty())
    throw UsageError(fmt::format("--epilogue swiglu: {} {} products do not have it", scaling, o.op));
  if (!chosen) throw UsageError(chosen.status().message());
  const Kernel& best = *chosen;
  // bf16 is what --dtype says when nobody said anything.
  if (o.dtype != "bf16" && o.dtype != name(best.type))
    throw UsageError(fmt::format("dtype = {}: elements with {} scales are {}", o.dtype, scaling, name(best.type)));
  if (!o.out_dtype.empty() && o.out_dtype != name(best.out))
    throw UsageError(
        fmt::format("out-dtype = {}: {} writes {}", o.out_dtype, catalog::name_of(best.instance), name(best.out)));
  p.example = example_of(best.instance);
  if (auto why = p.example->refuse({o.m, o.n, o.k})) throw UsageError(*why);
  p.tile_m = best.tile_m;
  p.tile_n = best.tile_n;
  p.tile_k = best.tile_k;
  if (p.grouped) p.groups = table_of(o, best);
  const std::int64_t matrices = p.grouped ? o.groups : 1;
  p.work = {o.m,      o.n, o.k, matrices, 1, swiglu ? o.n / 2 : o.n, best.type, b_dtype(best.format, best.type),
            best.out, 0};
  const auto blocks = [&](std::int64_t extent, std::int64_t block) { return double((extent + block - 1) / block); };
  p.work.scale_bytes = scaling == "blockwise"
                           ? 4 * blocks(o.k, 128) * (double(o.m) + double(matrices) * blocks(o.n, 128))
                           : blocks(o.k, scale_block(best.format)) * (double(o.m) + double(matrices) * double(o.n));
  const int sms = simulator::ChipTiming::of(Arch::sm100).sms;
  p.waves = choice::waves_of(matrices, rows, o.n, best.tile_m, best.tile_n, sms / best.cluster);
  p.reason = !o.plan.empty() ? "it was named by --plan"
                             : fmt::format("the kernel for {} operands{}{} whose tile of {} rows {} rows {}", scaling,
                                           p.grouped ? " in groups" : "", swiglu ? " and swiglu" : "", best.tile_m,
                                           rows, 2 * rows > best.tile_m ? "fill more than half" : "come nearest to");
  return p;
}

reference::Workload BlackwellProblem::workload(std::uint64_t seed) const {
  if (!grouped) return example->workload({work.rows, work.n, work.k}, reference::Data::normal, seed);
  return scaling == "blockwise" ? reference::grouped_blockwise_workload(groups, reference::Data::normal, seed)
                                : reference::grouped_workload(groups, reference::Data::normal, seed);
}

std::string BlackwellProblem::text(const ProblemOptions& o) const {
  const std::string shape = fmt::format("{}x{}x{} {}", o.m, o.n, o.k, scaling);
  return grouped ? fmt::format("{}, {} groups ({})", shape, o.groups, o.op) : shape;
}

}  // namespace warpwright::cli
