// Operands that the user brings in files instead of random ones, for products in a simulator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/grouped_sm90_workload.h"
#include "runtime/whole_file.h"
#include "runtime/workload.h"

namespace CLI {
class App;
}

namespace warpwright::cli {

// Paths; empty: not given.
struct OwnOperands {
  std::string a, b, d;
  std::string a_scales, b_scales, table, experts, c;  // of products with factors or groups

  bool any() const { return !a.empty() || !b.empty() || !d.empty() || any_grouped(); }
  bool any_grouped() const {
    return !a_scales.empty() || !b_scales.empty() || !table.empty() || !experts.empty() || !c.empty();
  }
};

void add_own_operands(CLI::App& app, OwnOperands& own);

// The file for the result. Throws UsageError unless --a, --b and --d are given and the file can be written.
runtime::WholeFile result_file(const OwnOperands& own);
void write_result(const runtime::WholeFile& file, const std::vector<std::uint8_t>& result);

// Puts the operands of a plain product into its workload, with the reference that belongs to them. Throws UsageError.
void take_plain_operands(const OwnOperands& own, runtime::Workload& workload);

// The workload of a product by groups, or with factors, of these operands. Tables must be legal: what a kernel makes of
// others is its own affair. Throws UsageError.
runtime::Workload own_grouped_workload(const OwnOperands& own, runtime::GroupedProduct product);

}  // namespace warpwright::cli
