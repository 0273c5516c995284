#include "cli/problem/problem_options.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <system_error>

#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "cli/problem/gemm_problem.h"
#include "simulate/examples.h"
#include "warpwright/core/block_scaling.h"
#include "warpwright/core/dtype.h"

namespace warpwright::cli {
namespace {

constexpr std::int64_t largest_extent = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t largest_seed = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t most_seeds = 1'000'000;
constexpr int deepest_pct = 64;

const std::vector<std::string>& dtype_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all;
    for (const DType type : kDTypes)
      if (type != DType::ue8m0 && type != DType::ue4m3) all.emplace_back(name(type));  // types of factors only
    all.emplace_back("fp8");
    return all;
  }();
  return words;
}

// fp8 is another word for e4m3; after the parser only the latter is known.
Check dtype() {
  Check words = one_of(dtype_words());
  Check check = words;
  check.complaint = [words](std::string& value) {
    std::string complaint = words.complaint(value);
    if (complaint.empty() && value == "fp8") value = "e4m3";
    return complaint;
  };
  return check;
}

Check schedule() {
  const auto complaint = [](std::string& value) {
    return parse_schedule(value).kind.empty()
               ? fmt::format("'{}' is not one of fifo, lanes, freeze:ROLE, random, pct:D (D from 1 to {})", value,
                             deepest_pct)
               : std::string();
  };
  return {complaint, "fifo|lanes|freeze:ROLE|random|pct:D", {"fifo", "lanes", "freeze:", "random", "pct:"}};
}

}  // namespace

DType dtype_of(const std::string& word) {
  DType type = DType::bf16;
  if (!parse_dtype(word.c_str(), type)) throw UsageError(fmt::format("'{}' is not a type", word));
  return type;
}

ScheduleWord parse_schedule(const std::string& word) {
  if (word == "fifo" || word == "lanes" || word == "random") return {word, "", 0};
  const auto colon = word.find(':');
  if (colon == std::string::npos || colon + 1 == word.size()) return {};
  const std::string kind = word.substr(0, colon);
  const std::string detail = word.substr(colon + 1);
  if (kind == "freeze") return {kind, detail, 0};
  if (kind != "pct") return {};
  int depth = 0;
  const char* end = detail.data() + detail.size();
  const auto [stop, error] = std::from_chars(detail.data(), end, depth);
  if (stop != end || error != std::errc() || depth < 1 || depth > deepest_pct) return {};
  return {kind, "", depth};
}

std::string empty_text(const ProblemOptions& o) {
  if (o.m == 0 || o.n == 0 || o.batch == 0) return "nothing is launched: the result has no elements";
  if (o.k == 0 && o.op == "grouped_k") return "k = 0: there is nothing to add to the result";
  if (o.k == 0) {
    return fmt::format("k = 0: there is nothing to sum, the result is what the epilogue makes of {}",
                       o.beta == 0 ? "zeros" : "beta * C");
  }
  return "";
}

void add_mode_options(CommandLine& line, ProblemOptions& options) {
  const std::string group = "Simulator";
  line.text("--landing", options.landing, "when asynchronous copies land (default: a quick sweep of all)")
      .one_of({"eager", "late", "seeded", "timed"})
      .group(group);
  line.text("--schedule", options.schedule, "which thread runs next (default: a quick sweep of all)")
      .check(schedule())
      .group(group);
}

void add_simulation_options(CommandLine& line, ProblemOptions& options) {
  const std::string group = "Simulator";
  add_mode_options(line, options);
  line.number("--seeds", options.seeds, "how many seeds each seeded mode tries", 1, most_seeds).group(group);
  line.number("--seed", options.seed, "seed of operands and seeded modes", 0, largest_seed).group(group);
}

void add_problem_options(CommandLine& line, ProblemOptions& options, bool sizes_required) {
  const std::string group = "Problem";
  line.text("--op", options.op, "operation (default dense)")
      .one_of({"dense", "blockwise", "grouped_contiguous", "grouped_masked", "grouped_k"})
      .group(group);
  const auto extent = [&](const char* name, std::int64_t& value, const char* help) {
    line.number(name, value, help, 0, largest_extent).required(sizes_required).group(group);
  };
  extent("--m", options.m, "rows of the result");
  extent("--n", options.n, "columns of the result");
  extent("--k", options.k, "length of the inner product");
  line.number("--groups", options.groups, "groups of a grouped operation (default 1)", 0, largest_extent).group(group);
  line.number("--a-rows", options.a_rows,
              "rows of A, from which those of grouped_contiguous are gathered (default: they are A's own)", 1,
              largest_extent)
      .group(group);
  line.number("--batch", options.batch, "problems of the same shape (default 1)", 0, largest_extent).group(group);
  line.text("--dtype", options.dtype, "operands (default bf16; fp8 = e4m3)").check(dtype()).group(group);
  line.text("--out-dtype", options.out_dtype, "result (default: the kernel's own)").check(dtype()).group(group);
  line.text("--layout", options.layout, "A and B, n or t each (default nt)")
      .one_of({"nt", "nn", "tn", "tt"})
      .group(group);
  line.real("--alpha", options.alpha, "factor of the product (default 1)").group(group);
  line.real("--beta", options.beta, "factor of C (default 0)").group(group);
  const std::vector<std::string> epilogues = dense_epilogues();
  std::vector<std::string> scalings = dense_scalings();
  scalings.insert(scalings.end(), {"blockwise", "blockwise_rows"});
  line.text("--epilogue", options.epilogue,
            fmt::format(
                "what happens to a sum on its way out: {}; several joined by '+'; or an expression of C++ over x, "
                "c, bias, row_bias, residual, beta, row, column and batch, '30 * tanh(x / 30)'",
                listed(epilogues)))
      .offers(epilogues)
      .group(group);
  line.text("--scaling", options.scaling,
            fmt::format("factors of narrow operands: {}; several joined by '+'", listed(scalings)))
      .offers(scalings)
      .group(group);
  line.text("--target", options.target, "where it runs (default auto)")
      .one_of({"auto", "gpu", "sm80", "sm90", "sm100", "gfx942", "gfx950", "sim:sm80", "sim:sm90", "sim:sm100",
               "sim:gfx942", "sim:gfx950"})
      .group(group);
  line.text("--plan", options.plan, "plan or instance to use instead of the chosen one, as explain prints them")
      .offers(simulate::example_names())
      .group(group);
  add_simulation_options(line, options);
}

}  // namespace warpwright::cli
