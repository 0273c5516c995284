// Operands that the user brings in files instead of random ones, for products in a simulator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/line/command_line.h"
#include "reference/grouped_sm90_workload.h"
#include "reference/workload.h"
#include "system/whole_file.h"
#include "warpwright/gemm.h"

namespace warpwright::cli {

// Paths; empty: not given.
struct OwnOperands {
  std::string a, b, d;
  std::string a_scales, b_scales, c;
  std::string table, experts, index;  // for products by groups
  std::string bias;
  std::string residual, out_scale;  // for dense products
  std::string d_scales;             // for products by groups
  bool judge_scales = false;        // what the simulator returns are these, not D

  bool any() const { return !a.empty() || !b.empty() || !d.empty() || any_grouped() || any_addend(); }
  bool any_grouped() const { return !table.empty() || !experts.empty() || !index.empty() || !d_scales.empty(); }
  bool any_addend() const {
    return !a_scales.empty() || !b_scales.empty() || !c.empty() || !bias.empty() || !residual.empty() ||
           !out_scale.empty();
  }
};

void add_own_operands(CommandLine& line, OwnOperands& own);

// All of a file that the option names. Throws UsageError.
std::vector<std::uint8_t> read_file(const char* option, const std::string& path);

// The file for the result. Throws UsageError unless --a, --b and --d are given and the file can be written.
system::WholeFile result_file(const OwnOperands& own);
system::WholeFile factors_file(const OwnOperands& own);
void write_result(const system::WholeFile& file, const std::vector<std::uint8_t>& result);

// Puts the operands of a dense product into its workload, with the reference that belongs to them: what the problem
// reads must be given. Throws UsageError.
void take_dense_operands(const OwnOperands& own, const GemmProblem& problem, reference::Workload& workload);

// The workload of a product by groups, or with factors, of these operands. Tables must be legal: what a kernel makes of
// others is its own affair. The product gets its table. Throws
// UsageError.
reference::Workload own_grouped_workload(const OwnOperands& own, reference::GroupedProduct& product);

}  // namespace warpwright::cli
