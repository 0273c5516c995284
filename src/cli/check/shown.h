// What a check shows besides its verdict: a finding in its parts, predicted times.
#pragma once
#include <string>
#include <vector>

#include "cli/check/runs.h"
#include "cli/output.h"

namespace warpwright::cli {

// Null where there is none.
Json finding_document(const Checked& checked);

// By size; empty for what is shipped, of which a check runs a few blocks only.
Json predicted_document(const CheckWork& work, const Checked& checked);
void show_predicted(const std::vector<CheckWork>& work, const std::vector<Checked>& results, Output& out);

}  // namespace warpwright::cli
